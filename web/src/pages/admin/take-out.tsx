/** The window that takes an endpoint or a provider out of service: first what that does, in numbers, then how and for how long. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { put, remove, type Reply } from '../../api/client'
import {
  getAbsenceEffect,
  getAdminEndpoint,
  getAdminNow,
  getAdminProvider,
  listAdminEndpoints,
  listAdminProviders,
} from '../../api/operations'
import { renew } from '../../api/query'
import { integer, percent } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Segmented } from '../../ui/controls'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Field, Input, Select } from '../../ui/field'
import { Dialog } from '../../ui/overlay'
import { Table } from '../../ui/table'
import { toast, toastError } from '../../ui/toast'

type Effect = Reply<'/api/admin/absences/{target}/effect'>['data']
type Mode = 'drain' | 'eject'

const renewAll = () =>
  renew(listAdminEndpoints, getAdminEndpoint, listAdminProviders, getAdminProvider, getAdminNow)

const lengths = [
  ['0', 'untilReturned'],
  ['600', 'tenMinutes'],
  ['3600', 'hour'],
  ['86400', 'day'],
] as const

export function TakeOut({
  target,
  name,
  seconds,
  onClose,
}: {
  target: string
  name: string
  seconds?: '3600'
  onClose: () => void
}) {
  const t = useT('endpoints')
  const c = useT('common')
  const { data, error, refetch } = useQuery(getAbsenceEffect({ path: { target } }))
  const [mode, setMode] = useState<Mode>('drain')
  const [length, setLength] = useState<string>(seconds ?? '0')
  const [reason, setReason] = useState('')
  const act = useAction(async () => {
    await put('/api/admin/absences/{target}', {
      path: { target },
      body: {
        mode,
        ...(length === '0' ? {} : { seconds: Number(length) }),
        ...(reason.trim() ? { reason: reason.trim() } : {}),
      },
    })
    await renewAll()
    toast(t('outNow', { name }))
    onClose()
  })
  const wrong = act.except('reason')
  return (
    <Dialog
      open
      wide
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('title_out', { name })}
      footer={
        <>
          <Button onClick={onClose}>{c('cancel')}</Button>
          <Button look="bad" type="submit" form="take-out" busy={act.busy} disabled={!data}>
            {t(mode)}
          </Button>
        </>
      }
    >
      <form id="take-out" onSubmit={act.submit} noValidate className="flex flex-col gap-4">
        <div role="status" className="flex flex-col gap-3">
          {error ? (
            <ErrorBox error={error} onRetry={() => void refetch()} />
          ) : data ? (
            <Shown e={data.data} />
          ) : (
            <p className="text-ink2">{t('computing')}</p>
          )}
        </div>
        <div>
          <Segmented<Mode>
            label={t('how')}
            value={mode}
            onChange={setMode}
            options={[
              { value: 'drain', label: t('drain') },
              { value: 'eject', label: t('eject') },
            ]}
          />
          <p className="pt-1.5 text-small text-ink3">{t(`${mode}Text`)}</p>
        </div>
        <div className="flex flex-wrap gap-3">
          <Field label={t('howLong')}>
            <Select
              value={length}
              onChange={(e) => setLength(e.target.value)}
              options={lengths.map(([value, label]) => ({ value, label: t(label) }))}
            />
          </Field>
          <Field className="min-w-0 flex-1 basis-60" label={t('reason')} error={act.at('reason')} optional>
            <Input value={reason} onChange={(e) => setReason(e.target.value)} autoComplete="off" />
          </Field>
        </div>
        <p className="text-small text-ink3">{t('undo')}</p>
        {wrong !== null && <ErrorBox error={wrong} />}
      </form>
    </Dialog>
  )
}

function Shown({ e }: { e: Effect }) {
  const t = useT('endpoints')
  const moved = Math.round(e.moved_per_hour)
  const failing = Math.round(e.failing_per_hour)
  return (
    <>
      <p className="text-ink">
        {moved > 0
          ? t('moving', { n: moved, others: t('others', { n: e.goes_to_count }) })
          : failing === 0 && t('idle')}{' '}
        {e.running > 0 && t('runs', { n: e.running })} {failing > 0 && t('fails', { n: failing })}
      </p>
      {e.models_alone_count > 0 && (
        <Notice
          tone="warn"
          title={t('alone', { n: e.models_alone_count, names: e.models_alone.slice(0, 5).join(', ') })}
        />
      )}
      {e.goes_to.length > 0 && (
        <Table
          caption={t('goesTo')}
          rows={e.goes_to}
          rowKey={(x) => x.id}
          columns={[
            {
              key: 'to',
              head: t('goesTo'),
              cell: (x) => (
                <span translate="no" className="break-all">
                  {x.provider} <span className="text-small text-ink3">{x.model}</span>
                </span>
              ),
            },
            { key: 'now', head: t('now'), align: 'end', cell: (x) => integer(x.calls_per_hour) },
            { key: 'after', head: t('after'), align: 'end', cell: (x) => integer(x.after_per_hour) },
            {
              key: 'room',
              head: t('room'),
              align: 'end',
              from: 'lg',
              cell: (x) => `${integer(x.in_flight)} / ${integer(x.max_in_flight)}`,
            },
            {
              key: 'price',
              head: t('price'),
              align: 'end',
              cell: (x) =>
                x.price_percent === null
                  ? '—'
                  : `${x.price_percent > 0 ? '+' : ''}${percent(x.price_percent)}`,
            },
          ]}
        />
      )}
    </>
  )
}

/** Brings back what was taken out. */
export function useReturn(name: string) {
  const t = useT('endpoints')
  return useAction(
    async (target: string) => {
      await remove('/api/admin/absences/{target}', { path: { target } })
      await renewAll()
      toast(t('returned', { name }))
    },
    { failed: toastError },
  )
}
