/** /admin/statements/$id: what became of a statement of the bank; what waits is assigned, or set aside. */
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { post } from '../../api/client'
import { said } from '../../api/explain'
import { getBankStatement } from '../../api/operations'
import { useMe } from '../../api/query'
import { money } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Link } from '../../ui/link'
import { Confirm } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast } from '../../ui/toast'
import { Money, When } from '../../ui/values'
import { Became, Choose, Counts, Payer, refreshStatements, type Kept, type Line } from './statement-data'

export default function StatementPage() {
  const t = useT('adminbank')
  const { id } = useParams({ strict: false }) as { id: string }
  const administrator = useMe()?.user?.role === 'administrator'
  const q = useQuery(getBankStatement({ path: { id } }))
  const [aside, setAside] = useState<Line | null>(null)
  const s = q.data?.data
  const crumbs = [
    { label: t('invoices'), to: '/admin/invoices' },
    { label: t('statements'), to: '/admin/statements' },
  ]
  if (s?.id !== id)
    return (
      <Page>
        <PageHead title={t('statement')} crumbs={crumbs} />
        {q.error ? <ErrorBox error={q.error} onRetry={() => void q.refetch()} /> : <SkeletonRows rows={6} />}
      </Page>
    )
  const act = (l: Line) =>
    l.invoice !== null ? (
      <Link to={`/admin/invoices/${l.invoice}`} translate="no">
        {l.invoice_number}
      </Link>
    ) : (
      administrator &&
      l.needs_you && (
        <span className="flex flex-col items-start gap-1 pb-1">
          {l.may_assign && <Assign s={s} l={l} />}
          <Button
            small
            look="quiet"
            onClick={() => setAside(l)}
            aria-label={`${t('setAside')}: ${t('lineN', { line: l.line })}`}
          >
            {t('setAside')}
          </Button>
        </span>
      )
    )
  return (
    <Page>
      <PageHead
        title={<span translate="no">{s.name ?? s.id}</span>}
        name={s.name ?? s.id}
        crumbs={[...crumbs, { label: s.name ?? s.id }]}
        note={
          <>
            <When at={s.imported_at} form="full" /> · <span translate="no">{s.actor_name ?? s.actor}</span>
          </>
        }
      />
      <div className="flex flex-col gap-4">
        <p className="flex flex-wrap items-center gap-x-3">
          <Counts s={s} />
          <span>
            {t('creditedSum')} <Money value={s.amount} exact />
          </span>
          <Link to="/admin/audit" search={{ target: s.id }}>
            {t('inAudit')}
          </Link>
        </p>
        <Panel flush>
          <Table<Line>
            main
            caption={t('documentsOf')}
            rows={s.lines}
            rowKey={(l) => String(l.line)}
            empty={<Empty icon="file" title={t('nothingKept')} />}
            columns={[
              { key: 'became', head: t('outcome'), cell: (l) => <Became d={l} dry={false} /> },
              { key: 'payer', head: t('payer'), cell: (l) => <Payer d={l} /> },
              { key: 'act', head: t('invoice'), cell: act },
              {
                key: 'amount',
                head: t('amountRubles'),
                align: 'end',
                cell: (l) => <Money value={l.amount} exact sign={false} />,
              },
            ]}
            phone={(l) => (
              <div className="flex flex-col gap-1.5 py-1">
                <span className="flex gap-2">
                  <span className="min-w-0 flex-1">
                    <Became d={l} dry={false} />
                  </span>
                  <Money value={l.amount} exact />
                </span>
                <Payer d={l} />
                {act(l)}
              </div>
            )}
          />
        </Panel>
      </div>
      {aside && <Aside s={s} l={aside} onClose={() => setAside(null)} />}
    </Page>
  )
}

function Assign({ s, l }: { s: Kept; l: Line }) {
  const t = useT('adminbank')
  const give = useAction(async (invoice: string) => {
    const { data } = await post('/api/admin/statements/{id}/lines/{line}/assign', {
      path: { id: s.id, line: String(l.line) },
      body: { invoice },
    })
    await refreshStatements()
    toast(t('applied', { amount: money(data.credited, { exact: true }) }))
  })
  return (
    <span className="flex flex-col gap-2">
      <Choose
        d={l}
        verb={t('creditIt')}
        busy={give.busy}
        error={give.at('invoice')}
        onChoose={(number) => give.run(number)}
      />
      {give.except('invoice') !== null && <ErrorBox error={give.error} title={said(give.error)} />}
    </span>
  )
}

function Aside({ s, l, onClose }: { s: Kept; l: Line; onClose: () => void }) {
  const t = useT('adminbank')
  const [reason, setReason] = useState('')
  const set = useAction(async () => {
    await post('/api/admin/statements/{id}/lines/{line}/aside', {
      path: { id: s.id, line: String(l.line) },
      body: { reason: reason.trim() },
    })
    await refreshStatements()
    onClose()
  })
  return (
    <Confirm
      open
      onOpenChange={(o) => !o && onClose()}
      title={t('asideTitle')}
      verb={t('setAside')}
      busy={set.busy}
      onConfirm={() => set.run()}
      fields={
        <>
          <Field label={t('asideReason')} error={set.at('reason')}>
            <Input value={reason} onChange={(e) => setReason(e.target.value)} maxLength={300} />
          </Field>
          {set.except('reason') !== null && <ErrorBox error={set.error} />}
        </>
      }
    >
      {t('asideText', { amount: money(l.amount, { exact: true }), payer: l.payer ?? t('unknownPayer') })}
    </Confirm>
  )
}
