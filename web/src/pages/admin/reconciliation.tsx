/** /admin/reconciliation/$id: what a provider bills and what was recorded, each difference by its name with the calls behind it. */
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { address, put, remove } from '../../api/client'
import { getReconciliation, listReconciliations } from '../../api/operations'
import { renew } from '../../api/query'
import { day, integer } from '../../format'
import { useT } from '../../i18n'
import { Button, buttonClass } from '../../ui/button'
import { ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Link, useGo } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Segmented } from '../../ui/controls'
import { Field, Input } from '../../ui/field'
import { Confirm, Dialog } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast } from '../../ui/toast'
import { When } from '../../ui/values'
import {
  excess,
  figuresOf,
  furthest,
  groupKey,
  namesOf,
  sentence,
  spanOf,
  type Detail,
  type Difference,
  type Group,
} from './reconciliation-data'

export default function ReconciliationPage() {
  const t = useT('reconciliation')
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const q = useQuery(getReconciliation({ path: { id } }))
  const d = q.data?.data
  const [deleting, setDeleting] = useState(false)
  return (
    <Page>
      <PageHead
        title={d ? `${d.provider}, ${spanOf(d)}` : t('title')}
        crumbs={[{ label: t('title'), to: '/admin/reconciliation' }, { label: d?.provider ?? id }]}
      >
        {d && (
          <>
            <a
              href={address('/api/admin/reconciliations/{id}/file', { path: { id } })}
              download
              className={`${buttonClass()} no-underline`}
            >
              {t('csv')}
            </a>
            <Button look="bad" onClick={() => setDeleting(true)}>
              {t('delete')}
            </Button>
          </>
        )}
      </PageHead>
      {q.error ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : d ? (
        <Found d={d} />
      ) : (
        <SkeletonRows rows={8} />
      )}
      {d && deleting && <Delete d={d} close={() => setDeleting(false)} />}
    </Page>
  )
}

function Found({ d }: { d: Detail }) {
  const t = useT('reconciliation')
  const names = namesOf(d.differences)
  return (
    <div className="flex flex-col gap-5">
      <Notice tone={d.open > 0 ? 'warn' : 'good'} title={sentence(t, d)}>
        {t(`by_${d.by}`, { rows: integer(d.rows), calls: integer(d.calls) })} {d.by_key && t('byKey')}{' '}
        {d.differences.some((x) => x.decision !== null) && t('open', { n: d.open })}{' '}
        {d.more && t('furtherPages')} {d.calls === 0 && t('noCalls', { who: d.provider })}
      </Notice>
      <p className="flex flex-wrap gap-x-4 gap-y-1 text-small text-ink2">
        {d.files.map((f) => (
          <span key={f.sha256} translate="no" title={`SHA-256 ${f.sha256}`} className="break-all">
            <b className="font-semibold text-ink">{f.name}</b> {f.format}
          </span>
        ))}
        {d.keys !== null && <span>{t('onlyKeys', { keys: d.keys.join(', ') })}</span>}
        <span>
          {t('made')} <When at={d.at} form="full" />
        </span>
      </p>
      {d.differences.length > 0 && (
        <Panel title={t('differences')} flush>
          <ul aria-label={t('differences')} className="divide-y divide-line border-t border-line">
            {d.differences.slice(0, 200).map((x, i) => (
              <Row key={`${i} ${x.kind}`} of={d.id} x={x} />
            ))}
          </ul>
          {d.differences.length > 200 && (
            <p className="px-4 py-2.5 text-small text-ink3">{t('restInFile')}</p>
          )}
        </Panel>
      )}
      <Panel title={t('days')} flush>
        <Table<Group>
          main
          caption={t('days')}
          rows={furthest(d.groups)}
          rowKey={groupKey}
          columns={[
            { key: 'day', head: t('day'), cell: (g) => day(g.day) },
            { key: 'model', head: t('model'), cell: (g) => <Model name={g.model} /> },
            ...(d.by_key
              ? [{ key: 'key', head: t('col_key'), cell: (g: Group) => <Model name={g.key} /> }]
              : []),
            { key: 'theirs', head: t('theirs'), cell: (g) => figuresOf(t, g.theirs) },
            { key: 'ours', head: t('ours'), cell: (g) => figuresOf(t, g.ours) },
            { key: 'difference', head: t('difference'), align: 'end', cell: (g) => excess(g.delta) },
            { key: 'result', head: t('result'), cell: (g) => <Kinds kinds={names.get(groupKey(g))} /> },
          ]}
          phone={(g) => (
            <div className="flex flex-col gap-1.5 py-1">
              <span className="flex items-start justify-between gap-2">
                <span className="min-w-0">
                  {day(g.day)} <Model name={g.model} /> {g.key !== null && <Model name={g.key} />}
                </span>
                <span>{excess(g.delta)}</span>
              </span>
              <span className="text-small text-ink2">
                {t('theirs')}: {figuresOf(t, g.theirs)}
              </span>
              <span className="text-small text-ink2">
                {t('ours')}: {figuresOf(t, g.ours)}
              </span>
              <Kinds kinds={names.get(groupKey(g))} />
            </div>
          )}
        />
      </Panel>
    </div>
  )
}

function Model({ name }: { name: string | null }) {
  return (
    <span translate="no" className="break-all">
      {name ?? '—'}
    </span>
  )
}

function Kinds({ kinds }: { kinds: readonly Difference['kind'][] | undefined }) {
  const t = useT('reconciliation')
  if (!kinds) return <span className="text-ink3">{t('equal')}</span>
  return (
    <span className="flex flex-wrap gap-1.5">
      {kinds.map((k) => (
        <Tag key={k} tone={k === 'late' ? 'plain' : 'warn'}>
          {t(`kind_${k}`)}
        </Tag>
      ))}
    </span>
  )
}

function Row({ of, x }: { of: string; x: Difference }) {
  const t = useT('reconciliation')
  const [deciding, setDeciding] = useState(false)
  const path = { id: of, difference: x.id }
  const reopen = useAction(async () => {
    await remove('/api/admin/reconciliations/{id}/differences/{difference}', { path })
    await renew(getReconciliation)
  })
  const [open, setOpen] = useState(false)
  const shown = open ? x.call_ids : x.call_ids.slice(0, 3)
  const more = x.call_ids.length - shown.length + x.more
  return (
    <li className="flex flex-col gap-1 px-4 py-3">
      <p className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <Tag tone={x.kind === 'late' || x.decision !== null ? 'plain' : 'warn'}>{t(`kind_${x.kind}`)}</Tag>
        <b className="font-semibold">
          {day(x.day)} <Model name={x.model} /> {x.key !== null && <Model name={x.key} />}
        </b>
        <span className="flex-1 text-small text-ink2 max-md:order-last max-md:basis-full">
          {t(`what_${x.kind}`, { n: Math.max(1, x.calls) })}
        </span>
        <span className="ms-auto font-medium tabular-nums">{excess(x.delta)}</span>
      </p>
      <p className="text-small text-ink2">
        {t('theirs')}: {figuresOf(t, x.theirs)}. {t('ours')}: {figuresOf(t, x.ours)}.
        {x.place !== null && (
          <span translate="no" className="text-ink3">
            {' '}
            {x.place.replace(/^line (\d+)$/, (_, n: string) => t('line', { n }))}
          </span>
        )}
      </p>
      {x.answer !== null && (
        <p translate="no" className="text-small break-all text-ink3">
          {x.answer}
        </p>
      )}
      {shown.length > 0 && (
        <p className="flex flex-wrap gap-x-3 gap-y-1 text-small">
          {shown.map((id) => (
            <Link
              key={id}
              to={`/admin/calls/${id}`}
              search={{ reference: `${x.id}:${id}` }}
              className="break-all"
            >
              {id}
            </Link>
          ))}
          {more > 0 &&
            (open ? (
              <span className="text-ink3">{t('moreCalls', { n: more })}</span>
            ) : (
              <button type="button" className="text-accent-ink underline" onClick={() => setOpen(true)}>
                {t('moreCalls', { n: more })}
              </button>
            ))}
        </p>
      )}
      {x.decision !== null ? (
        <p className="flex flex-wrap items-baseline gap-x-3 gap-y-1 text-small">
          <Tag tone="good">{t(`outcome_${x.decision.outcome}`)}</Tag>
          <span className="break-words">{x.decision.reason}</span>
          <span className="text-ink3">
            <When at={x.decision.at} form="full" />
          </span>
          <Button small look="quiet" busy={reopen.busy} onClick={() => reopen.run()}>
            {t('reopen')}
          </Button>
        </p>
      ) : (
        x.kind !== 'late' && (
          <p>
            <Button small onClick={() => setDeciding(true)}>
              {t('settle')}
            </Button>
          </p>
        )
      )}
      {reopen.error !== null && <ErrorBox error={reopen.error} />}
      {deciding && <Decide path={path} x={x} close={() => setDeciding(false)} />}
    </li>
  )
}

/** Books a difference as borne or explained. No money moves. */
function Decide({
  path,
  x,
  close,
}: {
  path: { id: string; difference: string }
  x: Difference
  close: () => void
}) {
  const t = useT('reconciliation'),
    c = useT('common')
  const [outcome, setOutcome] = useState<'loss' | 'explained'>('loss')
  const [reason, setReason] = useState('')
  const settle = useAction(async () => {
    await put('/api/admin/reconciliations/{id}/differences/{difference}', { path, body: { outcome, reason } })
    await renew(getReconciliation)
    toast(t('settled'))
    close()
  })
  return (
    <Dialog
      open
      onOpenChange={(o) => !o && close()}
      title={t('settleTitle', { amount: excess(x.delta) })}
      footer={
        <>
          <Button onClick={close}>{c('cancel')}</Button>
          <Button look="main" type="submit" form="settle" busy={settle.busy}>
            {t('settle')}
          </Button>
        </>
      }
    >
      <form id="settle" noValidate onSubmit={settle.submit} className="flex flex-col gap-4 pt-1">
        <Segmented
          label={t('outcome')}
          value={outcome}
          onChange={setOutcome}
          options={(['loss', 'explained'] as const).map((v) => ({ value: v, label: t(`outcome_${v}`) }))}
        />
        <Field label={t('reason')} help={t('settleHelp')} error={settle.at('reason')}>
          <Input
            value={reason}
            onChange={(e) => setReason(e.target.value)}
            maxLength={500}
            autoComplete="off"
          />
        </Field>
        {settle.except('reason') !== null && <ErrorBox error={settle.error} />}
      </form>
    </Dialog>
  )
}

function Delete({ d, close }: { d: Detail; close: () => void }) {
  const t = useT('reconciliation')
  const go = useGo()
  const gone = useAction(async () => {
    await remove('/api/admin/reconciliations/{id}', { path: { id: d.id } })
    await renew(listReconciliations)
    toast(t('deleted'))
    go('/admin/reconciliation')
  })
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={t('deleteTitle')}
      verb={t('delete')}
      busy={gone.busy}
      onConfirm={() => gone.run()}
      fields={gone.error !== null && <ErrorBox error={gone.error} />}
    >
      {t('deleteText', { n: d.sums.reduce((n, s) => n + s.differences, 0) })}
    </Confirm>
  )
}
