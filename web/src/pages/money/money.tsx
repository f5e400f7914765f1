import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { address, get, type Reply } from '../../api/client'
import { useRenewed } from '../../api/live'
import { getLedger, getLedgerDay } from '../../api/operations'
import { compare, date, dayText, decimal } from '../../format'
import { useT } from '../../i18n'
import { Button, IconButton, buttonClass } from '../../ui/button'
import { Empty, ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { PeriodPicker, type Period } from '../../ui/filters'
import { Icon } from '../../ui/icons'
import { Link, LinkButton, usePageSearch, type SearchShape } from '../../ui/link'
import { Menu } from '../../ui/menu'
import { Page, PageHead, Panel, SectionHead, Strip } from '../../ui/page'
import { useShortcuts } from '../../ui/shortcuts'
import type { Column } from '../../ui/columns'
import { Table } from '../../ui/table'
import { Money, When } from '../../ui/values'
import { Payments, usePayments } from './payments'
import { useInvoices } from './invoicing'
import { Redeem } from './redeem'

type Row = Reply<'/api/ledger'>['data']['rows'][number]
type Tax = Reply<'/api/ledger'>['data']['vat'][number]
const isDay = (s: unknown): s is string => typeof s === 'string' && /^\d{4}-\d\d-\d\d$/.test(s)
/** The day that a midnight in UTC stands for */
const utcDay = (ms: number) => dayText(ms, 'UTC')

/** The period as it stands in the address: `days`, or `from` and `to`. */
export const shape: SearchShape<{ period: Period }> = {
  read: (raw) => {
    if (isDay(raw.from) && isDay(raw.to)) return { period: { from: raw.from, to: raw.to } }
    const days = Number(raw.days)
    return { period: { days: [7, 30, 90].includes(days) ? days : 30 } }
  },
  write: ({ period }) =>
    'from' in period
      ? { from: period.from, to: period.to }
      : period.days === 30
        ? {}
        : { days: String(period.days) },
}
/** First and last day of a period, both included. */
export function daysOf(period: Period, now: number): { from: string; to: string } {
  return 'from' in period
    ? { from: period.from, to: period.to }
    : { from: utcDay(now - (period.days - 1) * 86_400_000), to: utcDay(now) }
}

/** The statement: what was there, what came and went, what is left. */
export default function MoneyPage() {
  const t = useT('money')
  const p = useT('pay')
  const n = useT('invoices')
  const paid = usePayments()
  const invoiced = useInvoices()
  const [{ period }, change] = usePageSearch(shape)
  const query = daysOf(period, Date.now())
  const q = useQuery(getLedger({ query }))
  useRenewed(['money'], [getLedger])
  const s = q.data?.data
  const available = decimal(s?.available)
  const zero = decimal('0')
  const none = available !== null && zero !== null && compare(available, zero) <= 0
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const toggle = (r: Row) =>
    setOpened((now) => {
      const next = new Set(now)
      if (!next.delete(r.id)) next.add(r.id)
      return next
    })
  const what = (r: Row) =>
    r.kind === 'calls' ? (
      <button
        type="button"
        aria-expanded={opened.has(r.id)}
        onClick={() => toggle(r)}
        className="inline-flex items-center gap-1.5 text-left hover:underline max-md:min-h-6"
      >
        <Icon name={opened.has(r.id) ? 'down' : 'right'} size={14} className="text-ink3" />
        {t('calls', { n: r.count })}
      </button>
    ) : r.kind === 'refund' ? (
      t('refunds', { n: r.count })
    ) : (
      <span>
        {r.kind === 'topup' && r.debit !== null ? t('payback') : t.or(r.kind, r.kind)}
        {r.title_args.source && (
          <span translate="no" className="text-ink2">
            {' '}
            · {t.or(`source_${r.title_args.source}`, r.title_args.source)}
          </span>
        )}
        {r.title_args.reason && (
          <span translate="no" className="text-ink2">
            {' '}
            · {r.title_args.reason}
          </span>
        )}
        {r.title_args.actor && !r.title_args.actor.startsWith('payment:') && (
          <span translate="no" className="text-ink3">
            {' '}
            · {t('by', { name: r.title_args.actor })}
          </span>
        )}
      </span>
    )
  const rate = (percent: string | null) => (percent === null ? t('noVat') : t('vatRate', { rate: percent }))
  const taxed = s?.vat.some((v) => v.percent !== null) ?? false
  const contains = (r: Row) =>
    r.vat
      .filter((v) => v.percent !== null)
      .map((v) => (
        <div key={v.percent} className="text-small text-ink3">
          {rate(v.percent)}: <Money value={v.vat} exact />
        </div>
      ))
  const columns: Column<Row>[] = [
    { key: 'date', head: t('date'), cell: (r) => date(r.date) },
    {
      key: 'what',
      head: t('what'),
      cell: (r) => (
        <>
          {what(r)}
          {contains(r)}
        </>
      ),
    },
    {
      key: 'debit',
      head: t('debit'),
      align: 'end',
      cell: (r) => r.debit !== null && <Money value={r.debit} exact />,
    },
    {
      key: 'credit',
      head: t('credit'),
      align: 'end',
      cell: (r) => r.credit !== null && <Money value={r.credit} exact />,
    },
    { key: 'balance', head: t('balance'), align: 'end', cell: (r) => <Money value={r.balance} exact /> },
  ]
  const taxes: Column<Tax>[] = [
    { key: 'rate', head: t('vat'), cell: (v) => rate(v.percent) },
    { key: 'net', head: t('net'), align: 'end', cell: (v) => <Money value={v.net} exact /> },
    { key: 'vat', head: t('vatAmount'), align: 'end', cell: (v) => <Money value={v.vat} exact /> },
    { key: 'gross', head: t('gross'), align: 'end', cell: (v) => <Money value={v.gross} exact /> },
  ]
  const csv = useRef<HTMLDivElement>(null)
  useShortcuts({ e: () => csv.current?.querySelector('a')?.click() })
  const file = (kind: 'csv' | 'pdf') => (
    <a
      href={address(`/api/ledger.${kind}`, { query: { from: query.from, to: query.to } })}
      download
      className={`${buttonClass('plain')} no-underline`}
    >
      {t(kind)}
    </a>
  )
  return (
    <Page>
      <PageHead title={t('title')} note={t('note')}>
        {paid.data?.settings && (
          <LinkButton to="/money/top-up" look="main" icon="plus">
            {p('button')}
          </LinkButton>
        )}
        {invoiced.data?.settings && <LinkButton to="/money/invoices">{n('button')}</LinkButton>}
        <Redeem />
        <div ref={csv} className="flex gap-2 max-md:hidden">
          {file('csv')}
          {file('pdf')}
        </div>
        <span className="md:hidden">
          <Menu
            trigger={<IconButton icon="more" label={t('files')} />}
            items={(['csv', 'pdf'] as const).map((kind, i) => ({
              label: t(kind),
              icon: 'download',
              onSelect: () => csv.current?.querySelectorAll('a')[i]?.click(),
            }))}
          />
        </span>
      </PageHead>
      <div className="flex flex-wrap pb-4">
        <PeriodPicker value={period} onChange={(p) => change({ period: p }, { push: true })} />
      </div>
      {q.error && !s ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !s ? (
        <SkeletonRows rows={8} />
      ) : (
        <div className="flex flex-col gap-5">
          {none && (
            <Notice
              tone="warn"
              title={t('noMoney')}
              action={
                paid.data?.settings && (
                  <LinkButton to="/money/top-up" small>
                    {p('button')}
                  </LinkButton>
                )
              }
            >
              {paid.data?.settings ? undefined : t('noMoneyText')}
            </Notice>
          )}
          <Strip
            items={[
              { label: t('opening'), value: <Money value={s.opening} headline /> },
              { label: t('credited'), value: <Money value={s.credited} headline /> },
              { label: t('debited'), value: <Money value={s.debited} headline /> },
              { label: t('closing'), value: <Money value={s.closing} headline /> },
              {
                label: t('held'),
                value: (
                  <span className="text-hold">
                    <Money value={s.held} headline />
                  </span>
                ),
              },
              { label: t('available'), value: <Money value={s.available} headline /> },
            ]}
          />
          <p className={`text-small ${s.verified ? 'text-good' : 'text-bad'}`}>
            {t.rich(s.verified ? 'verified' : 'notVerified', {
              time: <When at={s.verified_at} form="clock" />,
            })}
          </p>
          {s.holds.length > 0 && (
            <Panel title={t('holds')}>
              <ul className="flex flex-col gap-2">
                {s.holds.map((h) => (
                  <li key={`${h.kind} ${h.ref ?? ''}`} className="flex flex-wrap justify-between gap-2">
                    <span>
                      {h.kind === 'job' ? t('hold_job', { id: h.ref ?? '' }) : t('hold_calls')}
                      {h.model && (
                        <span translate="no" className="text-ink3">
                          {' '}
                          · {h.model}
                        </span>
                      )}
                    </span>
                    <span className="num text-hold">
                      <Money value={h.amount} exact />
                    </span>
                  </li>
                ))}
              </ul>
            </Panel>
          )}
          <div className="overflow-clip rounded-panel border border-line bg-surface">
            <Table
              caption={t('rows')}
              rows={s.rows}
              rowKey={(r) => r.id}
              columns={columns}
              main
              stale={q.isPlaceholderData}
              onOpen={(r) => {
                if (r.kind === 'calls') toggle(r)
              }}
              expanded={(r) =>
                r.kind === 'calls' && opened.has(r.id) ? <Day date={r.date.slice(0, 10)} /> : null
              }
              empty={
                <Empty icon="wallet" title={t('empty')}>
                  {t('emptyText')}
                </Empty>
              }
              phone={(r) => (
                <div>
                  <div className="flex gap-3">
                    <span className="min-w-0 flex-1">{what(r)}</span>
                    <span className="num">
                      {r.debit !== null ? (
                        <>
                          −<Money value={r.debit} exact />
                        </>
                      ) : (
                        r.credit !== null && <Money value={r.credit} exact plus />
                      )}
                    </span>
                  </div>
                  <div className="flex gap-3 pt-1 text-small text-ink3">
                    <span className="flex-1">{date(r.date)}</span>
                    <Money value={r.balance} exact />
                  </div>
                  {contains(r)}
                </div>
              )}
            />
          </div>
          {paid.data && paid.data.data.length > 0 && (
            <section>
              <SectionHead title={p('payments')} />
              <Payments rows={paid.data.data} />
            </section>
          )}
          {taxed && (
            <div className="overflow-clip rounded-panel border border-line bg-surface">
              <Table
                caption={t('vat')}
                rows={s.vat}
                rowKey={(v) => v.percent ?? ''}
                columns={taxes}
                phone={(v) => (
                  <div>
                    <div className="pb-1">{rate(v.percent)}</div>
                    {(['net', 'vatAmount', 'gross'] as const).map((k) => (
                      <div key={k} className="flex gap-3 text-small">
                        <span className="flex-1 text-ink3">{t(k)}</span>
                        <Money value={v[k === 'vatAmount' ? 'vat' : k]} exact />
                      </div>
                    ))}
                  </div>
                )}
              />
            </div>
          )}
        </div>
      )}
    </Page>
  )
}

/** The charged calls of a day, under its row: they add up to it. */
function Day({ date: of }: { date: string }) {
  const t = useT('money')
  const q = useInfiniteQuery({
    queryKey: getLedgerDay.key(of),
    queryFn: ({ signal, pageParam }) =>
      get('/api/ledger/day/{date}', { path: { date: of }, query: { cursor: pageParam, limit: 50 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.data.next ?? undefined,
  })
  const calls = q.data?.pages.flatMap((p) => p.data.calls.data)
  const sum = q.data?.pages[0]?.data.calls
  if (q.error && !calls)
    return (
      <div className="p-4">
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      </div>
    )
  if (!calls || !sum) return <SkeletonRows rows={3} height={32} />
  return (
    <div className="px-4 py-2 md:px-10">
      <ul className="m-0 list-none p-0 text-dense" aria-label={t('callsOf', { day: date(of) })}>
        {calls.map((c) => (
          <li key={c.id} className="flex min-h-8 items-center gap-3 border-b border-line last:border-b-0">
            <Link
              to={`/calls/${c.id}`}
              className="flex-none text-ink tabular-nums no-underline hover:underline"
            >
              <When at={c.created_at} form={dayText(c.created_at) === of ? 'clock' : 'row'} />
            </Link>
            <span translate="no" className="min-w-0 flex-1 truncate text-ink2">
              {c.model ?? c.model_asked}
            </span>
            <Money value={c.cost} exact />
          </li>
        ))}
      </ul>
      <p className="flex flex-wrap items-center gap-x-4 gap-y-2 py-2 text-small text-ink3">
        <span className="flex-1">
          {t('dayTotal', { n: sum.count })} <Money value={sum.debit} exact className="text-ink" />
        </span>
        {q.hasNextPage && (
          <Button small busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
            {t('moreCalls')}
          </Button>
        )}
        <Link to="/calls" search={{ from: of, to: of }}>
          {t('asList')}
        </Link>
      </p>
    </div>
  )
}
