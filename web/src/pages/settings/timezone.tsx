/** By which clock the days of the account are counted. */
import { useAction } from '../../api/action'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useState } from 'react'
import { put } from '../../api/client'
import { explain } from '../../api/explain'
import { queries } from '../../api/query'
import { getTimezone } from '../../api/operations'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Panel } from '../../ui/page'
import { toast } from '../../ui/toast'
import { When } from '../../ui/values'

const reading = getTimezone()

export function Timezone() {
  const t = useT('settings'),
    c = useT('common')
  const list = useId()
  const { data, error, refetch } = useQuery(reading)
  const z = data?.data
  const chosen = z?.next?.timezone ?? z?.timezone ?? ''
  const [zone, setZone] = useState('')
  useEffect(() => setZone(chosen), [chosen])
  const save = useAction(async () => {
    if (zone.trim() === chosen) return
    queries.setQueryData(
      reading.queryKey,
      await put('/api/account/timezone', { body: { timezone: zone.trim() } }),
    )
    toast(c('saved'))
  })
  const failed = save.except('timezone')
  return (
    <Panel title={t('timezone')}>
      {error && !z ? (
        <ErrorBox error={error} onRetry={() => void refetch()} />
      ) : !z ? (
        <SkeletonRows rows={2} />
      ) : (
        <form onSubmit={save.submit} className="flex flex-col gap-4">
          <p className="text-ink2">
            {z.next
              ? t.rich('timezoneNext', {
                  zone: z.timezone,
                  next: z.next.timezone,
                  at: <When at={z.next.since} form="full" />,
                })
              : t('timezoneNow', { zone: z.timezone })}
          </p>
          <Field label={t('timezone')} help={t('timezoneText')} error={save.at('timezone')}>
            <Input
              value={zone}
              list={list}
              maxLength={60}
              required
              translate="no"
              onChange={(e) => setZone(e.target.value)}
            />
          </Field>
          <datalist id={list}>
            {['UTC', ...Intl.supportedValuesOf('timeZone')].map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          {failed !== null && <ErrorBox error={failed} title={explain(failed)} />}
          <div>
            <Button type="submit" busy={save.busy} disabled={zone.trim() === '' || zone.trim() === chosen}>
              {t('timezoneChange')}
            </Button>
          </div>
        </form>
      )}
    </Panel>
  )
}
