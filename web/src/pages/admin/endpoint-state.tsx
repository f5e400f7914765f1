/** How an endpoint stands, in words, and who took it out of service. */
import { duration } from '../../format'
import { useT } from '../../i18n'
import { State, type Tone } from '../../ui/marks'
import { When } from '../../ui/values'
import type { Endpoint } from './provider-data'

const tones: Record<string, Tone> = {
  healthy: 'good',
  slow: 'warn',
  ejected: 'bad',
  draining: 'accent',
  off: 'plain',
}

export function Stand({ e }: { e: Endpoint }) {
  const t = useT('endpoints')
  const { state, until, in_flight: running } = e.health
  const words =
    state === 'draining'
      ? t('running', { n: running })
      : state === 'off' && e.absence?.until
        ? t.rich('offUntil', { time: <When at={e.absence.until} form="minutes" /> })
        : state === 'ejected' && until && Date.parse(until) > Date.now()
          ? t('retry', { time: duration(Date.parse(until) - Date.now()) })
          : t.or(`state_${state}`, state)
  return (
    <span className="flex flex-col">
      <State tone={tones[state] ?? 'plain'}>{words}</State>
      {e.absence && (
        <span className="text-small text-ink3 wrap-anywhere">
          {t('byAt', { by: e.absence.by })}
          {e.absence.target !== `endpoint:${e.id}` &&
            `, ${t('ofWhole', { target: e.absence.target.replace(/^\w+:/, '') })}`}
          {e.absence.reason && `: ${e.absence.reason}`}
        </span>
      )}
    </span>
  )
}
