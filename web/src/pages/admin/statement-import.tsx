/** What an import will do, document by document, before anything is credited. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { post } from '../../api/client'
import { said } from '../../api/explain'
import { money } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Link, useGo } from '../../ui/link'
import { Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast } from '../../ui/toast'
import { Money, When } from '../../ui/values'
import {
  Became,
  Choose,
  Payer,
  refreshStatements,
  type Document,
  type Report,
  type Chosen,
} from './statement-data'

export function Preview({ file, first, onClose }: { file: Chosen; first: Report; onClose: () => void }) {
  const t = useT('adminbank')
  const c = useT('common')
  const go = useGo()
  const [report, setReport] = useState(first)
  const [assign, setAssign] = useState<ReadonlyMap<number, string>>(new Map())
  const body = (chosen: ReadonlyMap<number, string>, dry: boolean) => ({
    statement: file.base64,
    name: file.name,
    dry_run: dry,
    assign: [...chosen].map(([line, invoice]) => ({ line, invoice })),
  })
  const choose = useAction(async (line: number, number: string) => {
    const next = new Map(assign)
    if (number) next.set(line, number)
    else next.delete(line)
    const { data } = await post('/api/admin/invoices/import', { body: body(next, true) })
    setAssign(next)
    setReport(data)
  })
  const apply = useAction(async () => {
    const { data } = await post('/api/admin/invoices/import', { body: body(assign, false) })
    await refreshStatements()
    toast(t('applied', { amount: money(data.credited, { exact: true }) }))
    onClose()
    if (data.statement !== null) go(`/admin/statements/${data.statement}`)
  })
  const n = (outcome: string) => report.counts[outcome] ?? 0
  const waits = report.documents.filter((d) => d.needs_you).length
  const act = (d: Document) =>
    assign.has(d.line) ? (
      <span className="flex flex-wrap items-center gap-2">
        <span translate="no">{d.invoice_number}</span>
        <Button small look="quiet" onClick={() => choose.run(d.line, '')}>
          {t('unchoose')}
        </Button>
      </span>
    ) : d.needs_you && d.may_assign ? (
      <Choose
        d={d}
        verb={t('choose')}
        busy={choose.running?.[0] === d.line}
        onChoose={(number) => choose.run(d.line, number)}
      />
    ) : d.invoice !== null ? (
      <Link to={`/admin/invoices/${d.invoice}`} translate="no">
        {d.invoice_number}
      </Link>
    ) : null
  return (
    <Panel
      title={<span translate="no">{file.name}</span>}
      actions={
        <>
          <Button small onClick={onClose}>
            {c('cancel')}
          </Button>
          <Button small look="main" busy={apply.busy} disabled={choose.busy} onClick={() => apply.run()}>
            {report.credited === '0'
              ? t('applyNothing')
              : t('apply', { amount: money(report.credited, { exact: true }) })}
          </Button>
        </>
      }
      flush
    >
      <div className="flex flex-col gap-3 px-4 pb-3">
        <p role="status">
          {t('willDo', {
            n: report.documents.length,
            credited: n('credited'),
            amount: money(report.credited, { exact: true }),
            already: n('already'),
            outgoing: n('outgoing'),
          })}{' '}
          {waits > 0 && t('willWait', { n: waits })}
        </p>
        {report.earlier && (
          <Notice tone="warn" title={t('doubled')}>
            {t('doubledText')}{' '}
            <Link to={`/admin/statements/${report.earlier.id}`}>
              <When at={report.earlier.imported_at} form="full" />
            </Link>{' '}
            · <span translate="no">{report.earlier.actor_name ?? report.earlier.actor}</span>
          </Notice>
        )}
        {choose.error !== null && <ErrorBox error={choose.error} title={said(choose.error)} />}
        {apply.error !== null && <ErrorBox error={apply.error} />}
      </div>
      <Table<Document>
        caption={t('documentsOf')}
        rows={report.documents}
        rowKey={(d) => String(d.line)}
        columns={[
          { key: 'became', head: t('outcome'), cell: (d) => <Became d={d} dry /> },
          { key: 'payer', head: t('payer'), cell: (d) => <Payer d={d} /> },
          { key: 'act', head: t('invoice'), cell: act },
          {
            key: 'amount',
            head: t('amountRubles'),
            align: 'end',
            cell: (d) => <Money value={d.amount} exact sign={false} />,
          },
        ]}
        phone={(d) => (
          <div className="flex flex-col gap-1.5 py-1">
            <span className="flex gap-2">
              <span className="min-w-0 flex-1">
                <Became d={d} dry />
              </span>
              <Money value={d.amount} exact />
            </span>
            <Payer d={d} />
            {act(d)}
          </div>
        )}
      />
    </Panel>
  )
}
