/** /admin/invoices/$id: one invoice, what arrived for it, and what an administrator does with it. */
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { useAction } from '../../api/action'
import { post, remove } from '../../api/client'
import { getAnyInvoice, listAllInvoices } from '../../api/operations'
import { renew, useMe } from '../../api/query'
import { compare, date as dayOf, dayText, decimal, money, plain, subtract, ZERO } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Checkbox, Field, Input } from '../../ui/field'
import { Link } from '../../ui/link'
import { Confirm, Dialog } from '../../ui/overlay'
import { Page, PageHead, Panel, Strip } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast } from '../../ui/toast'
import { Money, When } from '../../ui/values'
import { Buyer, Pdf, Standing, type Invoice } from './invoice-data'

type Transfer = Invoice['transfers'][number]
const refresh = () => renew(getAnyInvoice, listAllInvoices)
const exact = (v: string) => money(v, { exact: true })

export default function InvoicePage() {
  const t = useT('adminbank')
  const { id } = useParams({ strict: false }) as { id: string }
  const administrator = useMe()?.user?.role === 'administrator'
  const q = useQuery(getAnyInvoice({ path: { id } }))
  const [doing, setDoing] = useState<'paid' | 'back' | 'cancel' | null>(null)
  const i = q.data?.data
  if (i?.id !== id)
    return (
      <Page>
        <PageHead title={t('invoice')} crumbs={[{ label: t('invoices'), to: '/admin/invoices' }]} />
        {q.error ? <ErrorBox error={q.error} onRetry={() => void q.refetch()} /> : <SkeletonRows rows={6} />}
      </Page>
    )
  const close = () => setDoing(null)
  return (
    <Page>
      <PageHead
        title={
          <span className="flex flex-wrap items-center gap-3">
            <span translate="no">{i.number}</span> <Standing i={i} />
          </span>
        }
        name={i.number}
        crumbs={[{ label: t('invoices'), to: '/admin/invoices' }, { label: i.number }]}
      >
        <Pdf href={`/api/admin/invoices/${i.id}/pdf`} of={i.number} />
        {administrator && i.state === 'open' && i.received === '0' && (
          <Button onClick={() => setDoing('cancel')}>{t('cancelInvoice')}</Button>
        )}
        {administrator && compare(decimal(i.credited) ?? ZERO, ZERO) > 0 && (
          <Button onClick={() => setDoing('back')}>{t('payBack')}</Button>
        )}
        {administrator && i.state !== 'cancelled' && (
          <Button look={i.state === 'open' ? 'main' : 'plain'} onClick={() => setDoing('paid')}>
            {t(i.state === 'open' ? 'markPaid' : 'moreArrived')}
          </Button>
        )}
      </PageHead>
      <div className="flex flex-col gap-4">
        <Strip
          items={[
            { label: t('total'), value: <Money value={i.total} headline /> },
            { label: t('received'), value: <Money value={i.received} headline /> },
            { label: t('missing'), value: <Money value={i.missing} headline /> },
            { label: t('credited'), value: <Money value={i.credited} headline /> },
            { label: t('until'), value: <When at={i.expires_at} form="full" /> },
          ]}
        />
        <Panel title={t('buyer')}>
          <Buyer b={i.buyer} />
          <p className="pt-2">
            <Link to={`/admin/people/${i.user}`} translate="no">
              {i.user_name ?? i.user}
            </Link>
            {' · '}
            <Link to="/admin/audit" search={{ target: i.id }}>
              {t('inAudit')}
            </Link>
          </p>
        </Panel>
        <Panel title={t('transfers')} flush>
          <Table<Transfer>
            caption={t('transfers')}
            rows={i.transfers}
            rowKey={(x) => x.reference}
            empty={<Empty icon="wallet" title={t('nothingArrived')} />}
            columns={[
              { key: 'date', head: t('date'), cell: (x) => dayOf(x.date) },
              { key: 'number', head: t('document'), cell: (x) => <span translate="no">{x.number}</span> },
              { key: 'what', head: t('purpose'), from: 'md', cell: (x) => <Purpose x={x} /> },
              {
                key: 'by',
                head: t('by'),
                from: 'lg',
                cell: (x) => <span translate="no">{x.actor_name ?? x.actor}</span>,
              },
              {
                key: 'amount',
                head: t('amountRubles'),
                align: 'end',
                cell: (x) => <Money value={x.amount} exact sign={false} />,
              },
            ]}
            phone={(x) => (
              <div className="flex flex-col gap-0.5 py-1">
                <span className="flex gap-2">
                  <span className="flex-1">
                    {dayOf(x.date)} · <span translate="no">{x.number}</span>
                  </span>
                  <Money value={x.amount} exact />
                </span>
                <Purpose x={x} />
              </div>
            )}
          />
        </Panel>
      </div>
      {doing === 'paid' && <Paid i={i} onClose={close} />}
      {doing === 'back' && <PaidBack i={i} onClose={close} />}
      {doing === 'cancel' && <CancelIt i={i} onClose={close} />}
    </Page>
  )
}

function Purpose({ x }: { x: Transfer }) {
  const t = useT('adminbank')
  return (
    <span className="block max-w-[60ch] wrap-anywhere">
      <span translate="no">{x.purpose}</span>
      <span className="block text-small text-ink3">{t(x.imported ? 'imported' : 'byHand')}</span>
    </span>
  )
}

/** Takes from the wallet what was paid back: says what is left, before. */
function PaidBack({ i, onClose }: { i: Invoice; onClose: () => void }) {
  const t = useT('adminbank')
  const c = useT('common')
  const form = useId()
  const credited = decimal(i.credited) ?? ZERO
  const [typed, setTyped] = useState('')
  const [reference, setReference] = useState('')
  const [date, setDate] = useState(dayText(Date.now(), 'UTC'))
  const [reason, setReason] = useState('')
  const [below, setBelow] = useState(false)
  const amount = decimal(typed.replace(',', '.').replace(/\s/g, ''))
  const good = amount !== null && amount.digits > 0n
  const pay = useAction(async () => {
    if (!good) return
    const { data } = await post('/api/admin/invoices/{id}/refund', {
      path: { id: i.id },
      body: {
        amount: plain(amount),
        reference: reference.trim(),
        date,
        reason: reason.trim(),
        ...(below ? { below_zero: true } : {}),
      },
    })
    await refresh()
    toast(data.repeated ? t('paidBackBefore') : t('paidBackNow', { amount: exact(plain(amount)) }))
    onClose()
  })
  const shown = good ? exact(plain(amount)) : '…'
  const error = pay.except('amount', 'reference', 'date', 'reason')
  return (
    <Dialog
      open
      onOpenChange={(o) => !o && onClose()}
      title={t('payBackTitle', { number: i.number })}
      footer={
        <>
          <Button onClick={onClose}>{c('cancel')}</Button>
          <Button look="bad" type="submit" form={form} busy={pay.busy} disabled={!good}>
            {t('payBackDo', { amount: shown })}
          </Button>
        </>
      }
    >
      <form id={form} noValidate onSubmit={pay.submit} className="flex flex-col gap-4 pt-1">
        <Field label={t('paidBackAmount')} error={pay.at('amount')}>
          <Input
            value={typed}
            onChange={(e) => setTyped(e.target.value)}
            inputMode="decimal"
            autoComplete="off"
            unit="₽"
          />
        </Field>
        <Field label={t('reference')} help={t('backReferenceHelp')} error={pay.at('reference')}>
          <Input
            value={reference}
            onChange={(e) => setReference(e.target.value)}
            maxLength={40}
            autoComplete="off"
          />
        </Field>
        <Field label={t('documentDate')} error={pay.at('date')}>
          <Input type="date" value={date} onChange={(e) => setDate(e.target.value)} />
        </Field>
        <Field label={t('payBackReason')} error={pay.at('reason')}>
          <Input
            value={reason}
            onChange={(e) => setReason(e.target.value)}
            maxLength={300}
            autoComplete="off"
          />
        </Field>
        <p role="status" className="rounded-control bg-sunken px-3 py-2.5 text-small text-ink2">
          {t('payBackEffect', {
            amount: shown,
            buyer: i.buyer.name,
            left: exact(plain(good ? subtract(credited, amount) : credited)),
          })}
        </p>
        {error !== null && (
          <>
            <ErrorBox error={error} />
            <Checkbox checked={below} onChange={setBelow}>
              {t('belowZero')}
            </Checkbox>
          </>
        )}
      </form>
    </Dialog>
  )
}

function CancelIt({ i, onClose }: { i: Invoice; onClose: () => void }) {
  const t = useT('adminbank')
  const end = useAction(async () => {
    await remove('/api/admin/invoices/{id}', { path: { id: i.id } })
    await refresh()
    toast(t('cancelled', { number: i.number }))
    onClose()
  })
  return (
    <Confirm
      open
      onOpenChange={(o) => !o && onClose()}
      title={t('cancelTitle', { number: i.number })}
      verb={t('cancelInvoice')}
      busy={end.busy}
      onConfirm={() => end.run()}
      fields={end.error !== null && <ErrorBox error={end.error} />}
    >
      {t('cancelText', { number: i.number, total: exact(i.total), buyer: i.buyer.name })}
    </Confirm>
  )
}

/** Credits what arrived: says what it makes of the invoice. */
function Paid({ i, onClose }: { i: Invoice; onClose: () => void }) {
  const t = useT('adminbank')
  const c = useT('common')
  const form = useId()
  const missing = decimal(i.missing) ?? ZERO
  const [typed, setTyped] = useState(missing.digits > 0n ? i.missing : '')
  const [reference, setReference] = useState('')
  const [date, setDate] = useState(dayText(Date.now(), 'UTC'))
  const [note, setNote] = useState('')
  const amount = decimal(typed.replace(',', '.').replace(/\s/g, ''))
  const good = amount !== null && amount.digits > 0n
  const pay = useAction(async () => {
    if (!good) return
    const { data } = await post('/api/admin/invoices/{id}/paid', {
      path: { id: i.id },
      body: {
        amount: plain(amount),
        reference: reference.trim(),
        date,
        ...(note.trim() ? { note: note.trim() } : {}),
      },
    })
    await refresh()
    toast(data.repeated ? t('paidBefore') : t('paidNow', { amount: exact(data.transfer.credited) }))
    onClose()
  })
  const shown = good ? exact(plain(amount)) : '…'
  const then = good ? subtract(missing, amount) : missing
  return (
    <Dialog
      open
      onOpenChange={(o) => !o && onClose()}
      title={t('paidTitle', { number: i.number })}
      footer={
        <>
          <Button onClick={onClose}>{c('cancel')}</Button>
          <Button look="main" type="submit" form={form} busy={pay.busy} disabled={!good}>
            {t('paidDo', { amount: shown })}
          </Button>
        </>
      }
    >
      <form id={form} noValidate onSubmit={pay.submit} className="flex flex-col gap-4 pt-1">
        <Field label={t('arrived')} error={pay.at('amount')}>
          <Input
            value={typed}
            onChange={(e) => setTyped(e.target.value)}
            inputMode="decimal"
            autoComplete="off"
            unit="₽"
          />
        </Field>
        <Field label={t('reference')} help={t('referenceHelp')} error={pay.at('reference')}>
          <Input
            value={reference}
            onChange={(e) => setReference(e.target.value)}
            maxLength={40}
            autoComplete="off"
          />
        </Field>
        <Field label={t('documentDate')} error={pay.at('date')}>
          <Input type="date" value={date} onChange={(e) => setDate(e.target.value)} />
        </Field>
        <Field label={t('note')} optional error={pay.at('note')}>
          <Input value={note} onChange={(e) => setNote(e.target.value)} maxLength={300} autoComplete="off" />
        </Field>
        <p role="status" className="rounded-control bg-sunken px-3 py-2.5 text-small text-ink2">
          {t('paidEffect', { amount: shown, total: exact(i.total), buyer: i.buyer.name })}{' '}
          {compare(then, ZERO) > 0
            ? t('thenMissing', { missing: exact(plain(then)) })
            : compare(then, ZERO) < 0
              ? t('thenMore', { more: exact(plain(subtract(ZERO, then))) })
              : t('thenPaid')}
        </p>
        {pay.except('amount', 'reference', 'date', 'note') !== null && <ErrorBox error={pay.error} />}
      </form>
    </Dialog>
  )
}
