/** Invoices of an organization: its data, new ones, what became of them, and the acts of its months. */
import { useAction } from '../../api/action'
import { useState, type FormEvent } from 'react'
import { listInvoices } from '../../api/operations'
import { ApiError, address, post, put, remove, type Reply } from '../../api/client'
import { explain } from '../../api/explain'
import { useRenewed } from '../../api/live'
import { money } from '../../format'
import { useT } from '../../i18n'
import { Button, buttonClass } from '../../ui/button'
import { Empty, ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Field, Input, Textarea } from '../../ui/field'
import { State, type Tone } from '../../ui/marks'
import { Confirm } from '../../ui/overlay'
import { Page, PageHead, Panel, SectionHead } from '../../ui/page'
import type { Column } from '../../ui/columns'
import { Table } from '../../ui/table'
import { toast, toastError } from '../../ui/toast'
import { Money, When } from '../../ui/values'
import { innFits, innProblem, isSole, kppFits } from './inn'
import { renewInvoices, useActs, useInvoices } from './invoicing'

type Answer = Reply<'/api/invoices'>
type Settings = NonNullable<Answer['settings']>
type Buyer = NonNullable<Answer['buyer']>
type Invoice = Answer['data'][number]
type Act = Reply<'/api/acts'>['data'][number]

const Download = ({ href, label, children }: { href: string; label: string; children: string }) => (
  <a href={href} download aria-label={label} className={`${buttonClass('plain', true)} no-underline`}>
    {children}
  </a>
)

export default function InvoicesPage() {
  const t = useT('invoices')
  const q = useInvoices()
  useRenewed(['money'], [listInvoices])
  const s = q.data
  const [editing, setEditing] = useState(false)
  return (
    <Page>
      <PageHead title={t('title')} note={t('note')} crumbs={[{ label: t('statement'), to: '/money' }]} />
      {q.error && !s ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !s ? (
        <SkeletonRows rows={6} />
      ) : !s.settings ? (
        <Empty icon="wallet" title={t('none')}>
          {t('noneText')}
        </Empty>
      ) : (
        <div className="flex flex-col gap-5">
          {s.buyer && !editing ? (
            <Organization buyer={s.buyer} onChange={() => setEditing(true)} />
          ) : (
            <BuyerForm buyer={s.buyer} onDone={() => setEditing(false)} />
          )}
          {s.buyer && !editing && <Make settings={s.settings} />}
          {s.data.some((i) => i.state === 'open') && <Notice title={t('how')}>{t('howText')}</Notice>}
          <section>
            <SectionHead title={t('list')} />
            <Invoices rows={s.data} />
          </section>
          <Acts />
        </div>
      )}
    </Page>
  )
}

function Organization({ buyer, onChange }: { buyer: Buyer; onChange: () => void }) {
  const t = useT('invoices')
  return (
    <Panel
      title={t('buyer')}
      actions={
        <Button small onClick={onChange}>
          {t('change')}
        </Button>
      }
    >
      <p translate="no" className="font-medium break-words">
        {buyer.name}
      </p>
      <p className="text-small text-ink2">
        {t('inn')}{' '}
        <span translate="no" className="num">
          {buyer.inn}
        </span>
        {buyer.kpp && (
          <>
            {' '}
            · {t('kpp')}{' '}
            <span translate="no" className="num">
              {buyer.kpp}
            </span>
          </>
        )}
      </p>
      <p translate="no" className="text-small break-words text-ink3">
        {buyer.address}
      </p>
    </Panel>
  )
}

/** The data of the organization. The INN is checked while it is typed. */
function BuyerForm({ buyer, onDone }: { buyer: Buyer | null; onDone: () => void }) {
  const t = useT('invoices')
  const [data, setData] = useState({
    name: buyer?.name ?? '',
    inn: buyer?.inn ?? '',
    kpp: buyer?.kpp ?? '',
    address: buyer?.address ?? '',
  })
  const [tried, setTried] = useState(false)
  const set = (field: keyof typeof data) => (e: { target: { value: string } }) =>
    setData({ ...data, [field]: e.target.value })
  const inn = data.inn.replace(/\s/g, ''),
    kpp = data.kpp.trim(),
    sole = isSole(inn)
  const problem = innProblem(inn)
  const wrong = {
    name: data.name.trim() === '' ? t('missing') : undefined,
    inn:
      problem === 'check'
        ? t('innCheck')
        : problem === 'digits' || !innFits(inn)
          ? t('innDigits')
          : undefined,
    kpp: sole ? (kpp === '' ? undefined : t('kppNone')) : kppFits(kpp) ? undefined : t('kppWrong'),
    address: data.address.trim() === '' ? t('missing') : undefined,
  }
  const save = useAction(async () => {
    await put('/api/invoices/buyer', {
      body: { name: data.name, inn, ...(sole ? {} : { kpp }), address: data.address },
    })
    toast(t('saved'))
    renewInvoices()
    onDone()
  })
  const of = (field: keyof typeof data) =>
    (tried ? wrong[field] : undefined) ??
    (save.error instanceof ApiError && save.error.field === field ? save.error.message : undefined)
  const submit = (e: FormEvent) => {
    e.preventDefault()
    setTried(true)
    if (!Object.values(wrong).some(Boolean)) save.run()
  }
  const error = save.except(...Object.keys(data))
  return (
    <Panel title={t('buyer')}>
      <form onSubmit={submit} className="flex max-w-xl flex-col gap-4" noValidate>
        <p className="text-ink2">{t('buyerText')}</p>
        <Field label={t('name')} help={t('nameHelp')} error={of('name')}>
          <Input autoComplete="organization" maxLength={300} value={data.name} onChange={set('name')} />
        </Field>
        <Field
          label={t('inn')}
          help={
            innFits(inn) ? (
              <span role="status" className="text-good">
                {t('innGood')}
              </span>
            ) : (
              t('innHelp')
            )
          }
          error={of('inn') ?? (problem && wrong.inn)}
        >
          <Input
            inputMode="numeric"
            autoComplete="off"
            maxLength={20}
            value={data.inn}
            onChange={set('inn')}
            className="font-mono"
          />
        </Field>
        {(!sole || kpp !== '') && (
          <Field label={t('kpp')} help={t('kppHelp')} error={of('kpp')}>
            <Input
              autoComplete="off"
              maxLength={20}
              value={data.kpp}
              onChange={set('kpp')}
              className="font-mono"
            />
          </Field>
        )}
        <Field label={t('address')} error={of('address')}>
          <Textarea
            autoComplete="street-address"
            rows={2}
            maxLength={500}
            value={data.address}
            onChange={set('address')}
          />
        </Field>
        {error !== null && <Notice tone="bad" title={explain(error)} />}
        <div className="flex gap-2">
          <Button type="submit" look="main" busy={save.busy}>
            {t('save')}
          </Button>
          {buyer && (
            <Button type="button" onClick={onDone}>
              {t('stop')}
            </Button>
          )}
        </div>
      </form>
    </Panel>
  )
}

function Make({ settings }: { settings: Settings }) {
  const t = useT('invoices')
  const [amount, setAmount] = useState('')
  const range = t('range', {
    least: money(settings.min, { exact: true }),
    most: money(settings.max, { exact: true }),
  })
  const vat = settings.vat ? t(`vat_${settings.vat.mode}`, { rate: settings.vat.percent }) : t('vat_none')
  const make = useAction(async () => {
    const { data } = await post('/api/invoices', {
      body: { amount: amount.replace(/\s/g, '').replace(',', '.') },
    })
    toast(t('made', { number: data.number }))
    setAmount('')
    renewInvoices()
  })
  const error = make.except('amount')
  return (
    <Panel title={t('make')}>
      <form onSubmit={make.submit} className="flex max-w-xl flex-col gap-4" noValidate>
        <Field label={t('amount')} help={`${range}. ${vat}.`} error={make.at('amount') && range}>
          <Input
            inputMode="decimal"
            autoComplete="off"
            value={amount}
            onChange={(e) => setAmount(e.target.value)}
            unit="₽"
          />
        </Field>
        {error !== null && (
          <Notice tone="bad" title={explain(error)}>
            {error instanceof ApiError ? <span lang="en">{error.message}</span> : undefined}
          </Notice>
        )}
        <div>
          <Button type="submit" look="main" busy={make.busy}>
            {t('makeDo')}
          </Button>
        </div>
      </form>
    </Panel>
  )
}

const tones: Record<string, Tone> = { open: 'hold', expired: 'plain', paid: 'good', cancelled: 'plain' }

function Invoices({ rows }: { rows: readonly Invoice[] }) {
  const t = useT('invoices')
  const [asking, setAsking] = useState<Invoice | null>(null)
  const cancel = useAction(
    async (i: Invoice) => {
      await remove('/api/invoices/{id}', { path: { id: i.id } })
      toast(t('cancelled', { number: i.number }))
    },
    {
      failed: toastError,
      settled: () => {
        setAsking(null)
        renewInvoices()
      },
    },
  )
  const state = (i: Invoice) => {
    const word = i.expired ? 'expired' : i.state
    const difference =
      i.received === '0' || i.missing === '0'
        ? null
        : i.missing.startsWith('-')
          ? t('over', { amount: money(i.missing.slice(1), { exact: true }) })
          : t('left', { amount: money(i.missing, { exact: true }) })
    return (
      <>
        <State tone={tones[word] ?? 'plain'}>{t(`state_${word}`)}</State>
        {difference && <div className="text-small text-ink3">{difference}</div>}
      </>
    )
  }
  const acts = (i: Invoice) => (
    <span className="inline-flex flex-wrap gap-2">
      <Download
        href={address('/api/invoices/{id}/pdf', { path: { id: i.id } })}
        label={t('pdfOf', { number: i.number })}
      >
        {t('pdf')}
      </Download>
      {i.state === 'open' && i.received === '0' && (
        <Button small aria-label={t('cancelOf', { number: i.number })} onClick={() => setAsking(i)}>
          {t('cancel')}
        </Button>
      )}
    </span>
  )
  const number = (i: Invoice) => (
    <span translate="no" className="num whitespace-nowrap">
      {i.number}
    </span>
  )
  const columns: Column<Invoice>[] = [
    { key: 'number', head: t('number'), cell: number },
    { key: 'date', head: t('date'), cell: (i) => <When at={i.created_at} /> },
    { key: 'state', head: t('state'), cell: state },
    { key: 'total', head: t('total'), align: 'end', cell: (i) => <Money value={i.total} exact /> },
    { key: 'pdf', head: t('pdf'), cell: acts },
  ]
  return (
    <div className="overflow-clip rounded-panel border border-line bg-surface">
      <Table
        caption={t('list')}
        rows={[...rows]}
        rowKey={(i) => i.id}
        columns={columns}
        empty={
          <Empty icon="wallet" title={t('empty')}>
            {t('emptyText')}
          </Empty>
        }
        phone={(i) => (
          <div>
            <div className="flex gap-3">
              <span className="flex-1">{number(i)}</span>
              <Money value={i.total} exact />
            </div>
            <div className="flex gap-3 pt-1 pb-2 text-small text-ink3">
              <span className="flex-1">{state(i)}</span>
              <When at={i.created_at} />
            </div>
            {acts(i)}
          </div>
        )}
      />
      <Confirm
        open={asking !== null}
        onOpenChange={(o) => {
          if (!o) setAsking(null)
        }}
        title={t('cancelTitle', { number: asking?.number ?? '' })}
        verb={t('cancelVerb')}
        busy={cancel.busy}
        onConfirm={() => {
          if (asking) cancel.run(asking)
        }}
      >
        {t('cancelText')}
      </Confirm>
    </div>
  )
}

function Acts() {
  const t = useT('invoices')
  const q = useActs()
  const s = q.data
  const last = s?.due.at(-1)
  const make = useAction(
    async (month: string) =>
      toast(t('actsMade', { n: (await post('/api/acts', { body: { month } })).data.length })),
    { failed: toastError, settled: renewInvoices },
  )
  const number = (a: Act) => (
    <span translate="no" className="num whitespace-nowrap">
      {a.number}
    </span>
  )
  const pdf = (a: Act) => (
    <Download
      href={address('/api/acts/{id}/pdf', { path: { id: a.id } })}
      label={t('pdfOf', { number: a.number })}
    >
      {t('pdf')}
    </Download>
  )
  const columns: Column<Act>[] = [
    { key: 'number', head: t('number'), cell: number },
    { key: 'month', head: t('month'), cell: (a) => <span className="num">{a.month}</span> },
    {
      key: 'spent',
      head: t('spent'),
      align: 'end',
      from: 'md',
      cell: (a) => <Money value={a.spent} exact />,
    },
    {
      key: 'vat',
      head: t('vat'),
      align: 'end',
      from: 'lg',
      cell: (a) => a.vat && <Money value={a.vat_amount} exact />,
    },
    { key: 'total', head: t('total'), align: 'end', cell: (a) => <Money value={a.total} exact /> },
    { key: 'pdf', head: t('pdf'), cell: pdf },
  ]
  return (
    <section>
      <SectionHead title={t('acts')} />
      <p className="pb-3 text-small text-ink2">{t('actsText')}</p>
      {q.error && !s ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !s ? (
        <SkeletonRows rows={2} />
      ) : (
        <div className="flex flex-col gap-3">
          {last !== undefined && (
            <Notice
              title={t('actsDue', { n: s.due.length })}
              action={
                <Button small busy={make.busy} onClick={() => make.run(last)}>
                  {t('actsMake', { month: last })}
                </Button>
              }
            />
          )}
          <div className="overflow-clip rounded-panel border border-line bg-surface">
            <Table
              caption={t('acts')}
              rows={s.data}
              rowKey={(a) => a.id}
              columns={columns}
              empty={
                <Empty icon="wallet" title={t('actsEmpty')}>
                  {t('actsEmptyText')}
                </Empty>
              }
              phone={(a) => (
                <div className="flex items-center gap-3">
                  <span className="flex-1">
                    {number(a)}
                    <span className="text-small text-ink3"> · {a.month}</span>
                  </span>
                  <Money value={a.total} exact />
                  {pdf(a)}
                </div>
              )}
            />
          </div>
        </div>
      )}
    </section>
  )
}
