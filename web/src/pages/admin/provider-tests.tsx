/** What the test of a provider found, and what can be done about it. */
import type { ReactNode } from 'react'
import { useAction } from '../../api/action'
import { patch } from '../../api/client'
import { duration } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Notice } from '../../ui/feedback'
import { Panel } from '../../ui/page'
import { toastError } from '../../ui/toast'
import { When } from '../../ui/values'
import { renewAll, type Test } from './provider-data'
import type { Provider } from './providers'

export function Tests({
  p,
  tests,
  may,
  onTrusted,
}: {
  p: Provider
  tests: readonly Test[] | null
  may: boolean
  onTrusted: () => void
}) {
  const t = useT('providers')
  return (
    <Panel title={t('tests', { provider: p.name })}>
      <div role="status" className="flex flex-col gap-2">
        {!tests && <p className="text-ink2">{t('testing', { provider: p.name })}</p>}
        {tests?.map((x, i) => (
          <One key={i} x={x} />
        ))}
        {tests?.map(
          (x, i) =>
            x.authority && <Trust key={i} p={p} authority={x.authority} may={may} onTrusted={onTrusted} />,
        )}
      </div>
    </Panel>
  )
}

function One({ x }: { x: Test }) {
  const t = useT('providers')
  const which: ReactNode = (
    <>
      <span translate="no">{x.model}</span>
      {x.credential > 0 && <>, {t('whichKey', { n: x.credential })}</>}
    </>
  )
  if (x.skipped !== null)
    return (
      <p className="text-ink3">
        {which}: {t('skipped')}
      </p>
    )
  const advice = x.advice.map((a) => (
    <span key={a} className="block">
      {a}
    </span>
  ))
  if (x.wrong === null)
    return (
      <Notice tone="good" title={t('works', { model: x.model ?? '', time: duration(x.took_ms) })}>
        {x.tokens !== null && t('worksTokens', { n: x.tokens })}
        {x.way !== 'direct' && <span className="block">{t('through', { way: x.way })}</span>}
        {advice}
      </Notice>
    )
  return (
    <Notice tone="bad" title={t(`wrong_${x.wrong}`)}>
      <span className="block">{which}</span>
      <code className="block py-1 break-words whitespace-pre-wrap">{x.detail}</code>
      <span className="block font-medium text-ink">{advice}</span>
    </Notice>
  )
}

/** An authority that this machine does not trust, and the act of trusting it for this provider. */
function Trust({
  p,
  authority,
  may,
  onTrusted,
}: {
  p: Provider
  authority: NonNullable<Test['authority']>
  may: boolean
  onTrusted: () => void
}) {
  const t = useT('providers')
  const trust = useAction(
    async () => {
      await patch('/api/admin/providers/{id}', { path: { id: p.id }, body: { ca: authority.pem } })
      await renewAll()
      onTrusted()
    },
    { failed: toastError },
  )
  return (
    <Notice
      tone="warn"
      title={t('trustTitle', { authority: authority.name })}
      action={
        may && (
          <Button busy={trust.busy} onClick={() => trust.run()}>
            {t('trust')}
          </Button>
        )
      }
    >
      <span className="block">{t('trustText', { provider: p.name })}</span>
      <code className="block py-1 break-all">SHA-256 {authority.fingerprint}</code>
      <span className="block">
        {t.rich('trustEnds', { date: <When at={authority.ends_at} form="date" /> })}
      </span>
    </Notice>
  )
}
