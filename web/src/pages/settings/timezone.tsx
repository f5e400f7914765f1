/** By which clock the days of the account are counted. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useState, type FormEvent } from 'react'
import { ApiError, get, put } from '../../api/client'
import { explain, said } from '../../api/explain'
import { queries } from '../../api/query'
import { dateTime } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Panel } from '../../ui/page'
import { toast } from '../../ui/toast'

const queryKey = ['timezone']

export function Timezone() {
  const t = useT('settings'),
    c = useT('common')
  const list = useId()
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => get('/api/account/timezone', { signal }),
  })
  const z = data?.data
  const chosen = z?.next?.timezone ?? z?.timezone ?? ''
  const [zone, setZone] = useState('')
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState<unknown>(null)
  useEffect(() => setZone(chosen), [chosen])
  const save = async (e: FormEvent) => {
    e.preventDefault()
    if (busy || zone.trim() === chosen) return
    setBusy(true)
    setFailed(null)
    try {
      queries.setQueryData(queryKey, await put('/api/account/timezone', { body: { timezone: zone.trim() } }))
      toast(c('saved'))
    } catch (e) {
      setFailed(e)
    } finally {
      setBusy(false)
    }
  }
  const field = failed instanceof ApiError && failed.field === 'timezone' ? said(failed) : undefined
  return (
    <Panel title={t('timezone')}>
      {error && !z ? (
        <ErrorBox error={error} onRetry={() => void refetch()} />
      ) : !z ? (
        <SkeletonRows rows={2} />
      ) : (
        <form
          onSubmit={(e) => {
            void save(e)
          }}
          className="flex flex-col gap-4"
        >
          <p className="text-ink2">
            {z.next
              ? t('timezoneNext', {
                  zone: z.timezone,
                  next: z.next.timezone,
                  at: dateTime(z.next.since),
                })
              : t('timezoneNow', { zone: z.timezone })}
          </p>
          <Field label={t('timezone')} help={t('timezoneText')} error={field}>
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
          {failed !== null && !field && <ErrorBox error={failed} title={explain(failed)} />}
          <div>
            <Button type="submit" busy={busy} disabled={zone.trim() === '' || zone.trim() === chosen}>
              {t('timezoneChange')}
            </Button>
          </div>
        </form>
      )}
    </Panel>
  )
}
