/** /admin/sales: what was earned, on what. The strip, the chart and the table are made of the same rows. */
import { useMemo } from 'react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { address, get, type Reply } from '../../api/client'
import { getSales } from '../../api/operations'
import {
  date,
  day,
  dayText,
  decimal,
  drawnMoney,
  integer,
  money,
  percent,
  period as writePeriod,
} from '../../format'
import { useT } from '../../i18n'
import { Button, buttonClass } from '../../ui/button'
import { Chart } from '../../ui/chart'
import type { Column } from '../../ui/columns'
import { Empty, ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { Chip } from '../../ui/chip'
import { FilterBar, PeriodPicker } from '../../ui/filters'
import { Link, useGo, usePageSearch } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Page, PageHead, Panel, Strip } from '../../ui/page'
import { Money } from '../../ui/values'
import {
  asked,
  callsOf,
  changed,
  DAYS,
  drawn,
  filters,
  negative,
  parts,
  shape,
  within,
  type Part,
  type View,
} from './sales-view'
import { Sorted } from '../../ui/sorted'

type Report = Reply<'/api/admin/sales'>['data']
type Row = Report['rows'][number]
type Figures = Report['total']

export default function Sales() {
  const t = useT('adminsales')
  const [view, set] = usePageSearch(shape)
  const query = { ...asked(view), by: view.by }
  const q = useInfiniteQuery({
    queryKey: getSales.key(query),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/sales', { query: { ...query, cursor: pageParam, limit: 50 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.data.next ?? undefined,
    refetchInterval: 60_000,
  })
  const report = q.data?.pages[0]?.data
  const rows = useMemo(() => q.data?.pages.flatMap((p) => p.data.rows), [q.data])
  const on = filters.filter((f) => view.only[f] !== '')
  const without = (f?: string) =>
    set({
      only: Object.fromEntries(filters.map((n) => [n, !f || n === f ? '' : view.only[n]])) as View['only'],
    })
  const chip = (f: (typeof filters)[number]) =>
    `${t(`one_${f}`)}: ${view.only[f] === '(none)' ? t('none') : view.only[f]}`
  return (
    <Page>
      <PageHead title={t('title')} note={t('note')}>
        <a
          href={address('/api/admin/sales.csv', { query: asked(view) })}
          download
          className={`${buttonClass()} no-underline`}
        >
          {t('csv')}
        </a>
      </PageHead>
      <FilterBar
        active={on.length}
        onClear={() => without()}
        end={<PeriodPicker utc days={DAYS} value={view.period} onChange={(period) => set({ period })} />}
      >
        <Field label={t('by')} className="md:flex md:items-center md:gap-2 md:[&>div]:pb-0">
          <Select
            value={view.by}
            onChange={(e) => set({ by: e.target.value as Part })}
            options={parts.map((p) => ({ value: p, label: t(`by_${p}`) }))}
          />
        </Field>
      </FilterBar>
      {on.length > 0 && (
        <div className="flex flex-wrap gap-2 pb-3" translate="no">
          {on.map((f) => (
            <Chip key={f} name={chip(f)} onRemove={() => without(f)}>
              <span className="max-w-[260px] truncate">{chip(f)}</span>
            </Chip>
          ))}
        </div>
      )}
      {q.error && !report ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !report || !rows ? (
        <SkeletonRows rows={10} />
      ) : report.count === 0 ? (
        <Panel>
          <Empty
            icon="chart"
            title={t('empty')}
            action={
              report.last_day ? (
                <Button
                  onClick={() =>
                    set({ period: { from: report.last_day!, to: report.last_day! } }, { push: true })
                  }
                >
                  {t('emptyGo', { day: date(report.last_day) })}
                </Button>
              ) : undefined
            }
          >
            {report.last_day ? t('emptyLast', { day: date(report.last_day) }) : t('emptyText')}
          </Empty>
        </Panel>
      ) : (
        <div
          className={`flex flex-col gap-5 transition-opacity delay-200 ${q.isPlaceholderData ? 'opacity-60' : ''}`}
          aria-busy={q.isPlaceholderData || undefined}
        >
          <Sums report={report} />
          <Days report={report} onZoom={(from, to) => set({ period: { from, to } }, { push: true })} />
          <Rows
            report={report}
            rows={rows}
            whole={!q.hasNextPage}
            view={view}
            onWithin={(key) => set(within(view, key), { push: true })}
          />
          {q.hasNextPage && (
            <p className="text-center">
              <Button onClick={() => void q.fetchNextPage()} busy={q.isFetchingNextPage}>
                {t('more', { n: report.count - rows.length })}
              </Button>
            </p>
          )}
        </div>
      )}
    </Page>
  )
}

const signed = (n: number) => `${n > 0 ? '+' : n < 0 ? '−' : ''}${percent(Math.abs(n), 1)}`
const onCost = (f: Figures) =>
  f.margin_percent === null
    ? '—'
    : `${f.margin_percent.startsWith('-') ? '' : '+'}${percent(Number(f.margin_percent))}`

/** Sales − VAT − provider cost = margin, each against as many days before. */
function Sums({ report: r }: { report: Report }) {
  const t = useT('adminsales')
  const note = (now: string, before: string) => {
    const by = changed(now, before)
    return by === null ? t('beforeNone') : t('before', { change: signed(by), was: money(before) })
  }
  const one = (label: string, figure: 'sales' | 'vat' | 'provider_cost' | 'margin') => ({
    label,
    value: (
      <Money
        value={r.total[figure]}
        headline
        {...(figure === 'margin' && negative(r.total.margin) ? { className: 'text-bad' } : {})}
      />
    ),
    note: note(r.total[figure], r.previous[figure]),
  })
  return (
    <div>
      <Strip
        items={[
          one(t('salesOf', { period: writePeriod(r.from, r.to) }), 'sales'),
          one(t('minusVat'), 'vat'),
          one(t('minusCost'), 'provider_cost'),
          one(t('isMargin'), 'margin'),
          {
            label: t('onCost'),
            value: onCost(r.total),
            note: t('inDollars', {
              amount: money(r.total.provider_cost_dollars, { exact: true, sign: false }),
            }),
          },
        ]}
      />
      {r.total.refunded !== '0' && (
        <p className="pt-3 text-small text-ink2">
          {t('refunded', { amount: money(r.total.refunded), vat: money(r.total.refunded_vat) })}
        </p>
      )}
      {r.total.unknown_cost_calls > 0 && (
        <p className="pt-3 text-small text-ink2">
          {t('unknown', {
            n: r.total.unknown_cost_calls,
            amount: money(r.total.unknown_cost_sales),
          })}
        </p>
      )}
      {r.total.losing_calls > 0 && (
        <div className="pt-3">
          <Notice tone="warn">{t('losing', { n: r.total.losing_calls, amount: money(r.total.lost) })}</Notice>
        </div>
      )}
    </div>
  )
}

function Days({ report: r, onZoom }: { report: Report; onZoom: (from: string, to: string) => void }) {
  const t = useT('adminsales')
  const series = (
    [
      ['provider_cost', 'cost', 1],
      ['margin', 'margin', 2],
      ['vat', 'vat', 3],
    ] as const
  ).map(([figure, label, color]) => ({
    key: figure,
    label: t(label),
    color,
    values: r.days.map((d) => drawn(d[figure])),
    exact: r.days.map((d) => d[figure]),
    texts: r.days.map((d) => money(d[figure], { exact: true })),
  }))
  const best = r.days.reduce((a, b) => (drawn(b.sales) > drawn(a.sales) ? b : a))
  const text = (ms: number) => dayText(ms, 'UTC')
  return (
    <Panel>
      <Chart
        main
        kind="bars"
        title={t('days')}
        unit={t('unit')}
        summary={t('highest', { day: day(best.day, { short: true }), amount: money(best.sales) })}
        height={220}
        times={r.days.map((d) => Date.parse(d.day))}
        series={series}
        unfinished={r.to === text(Date.now())}
        format={drawnMoney}
        bucket="day"
        onZoom={(from, to) => onZoom(text(from), text(to))}
      />
    </Panel>
  )
}

function Rows({
  report,
  rows,
  whole,
  view,
  onWithin,
}: {
  report: Report
  rows: readonly Row[]
  whole: boolean
  view: View
  onWithin: (key: string) => void
}) {
  const t = useT('adminsales')
  const go = useGo()
  const title = (r: Row) => (r.key === '' ? t('none') : report.by === 'day' ? day(r.key) : (r.name ?? r.key))
  const name = (r: Row) => (
    <span className="block min-w-0 py-1">
      <Link
        to="/admin/calls"
        search={callsOf(view, report, r.key)}
        aria-label={t('showCalls', { name: title(r) })}
        className="text-ink no-underline hover:underline"
      >
        <span translate="no" className="font-medium">
          {title(r)}
        </span>
      </Link>
      {r.name && r.name !== r.key && (
        <code translate="no" className="block max-w-[40ch] truncate text-label text-ink3">
          {r.key}
        </code>
      )}
      <Loss r={r} />
    </span>
  )
  const amount = (
    key: string,
    head: string,
    figure: keyof Figures & keyof Row,
    from?: 'md' | 'lg' | 'xl',
  ): Column<Row> => ({
    key,
    head,
    align: 'end',
    ...(from ? { from } : {}),
    sort: { value: (r) => decimal(r[figure] as string), down: true },
    cell: (r) => <Money value={r[figure] as string} sign={false} />,
  })
  const columns: Column<Row>[] = [
    {
      key: 'name',
      head: t(`one_${view.by}`),
      sort: { value: (r) => (report.by === 'day' ? r.key : title(r)) },
      cell: name,
    },
    {
      key: 'calls',
      head: t('calls'),
      align: 'end',
      sort: { value: (r) => r.calls, down: true },
      cell: (r) => integer(r.calls),
    },
    amount('sales', t('salesRub'), 'sales'),
    amount('vat', t('vatRub'), 'vat', 'md'),
    amount('cost', t('costRub'), 'provider_cost'),
    amount('dollars', t('costUsd'), 'provider_cost_dollars', 'xl'),
    {
      key: 'margin',
      head: t('marginRub'),
      align: 'end',
      sort: { value: (r) => decimal(r.margin) },
      cell: (r) => (
        <Money value={r.margin} sign={false} className={negative(r.margin) ? 'font-semibold text-bad' : ''} />
      ),
    },
    { key: 'on', head: t('onCost'), align: 'end', cell: (r) => onCost(r) },
    amount('refunded', t('refundedRub'), 'refunded', 'xl'),
  ]
  const total: Row = { ...report.total, key: '\u0000all', name: null, loss: null }
  return (
    <Panel title={t('tableHead')} note={t('tableNote')} flush>
      <Sorted<Row>
        main
        whole={whole}
        name="sales"
        caption={t('tableHead')}
        rows={rows}
        rowKey={(r) => r.key}
        columns={[
          ...columns,
          {
            key: 'within',
            head: '',
            name: t('within'),
            align: 'end',
            cell: (r) => (
              <Button
                small
                look="quiet"
                aria-label={t('withinOf', { name: title(r) })}
                onClick={() => onWithin(r.key)}
              >
                {t('within')}
              </Button>
            ),
          },
        ]}
        onOpen={(r) => go('/admin/calls', { search: callsOf(view, report, r.key) })}
        foot={(shown) => (
          <tr className="border-t border-line font-medium">
            {shown.map((c, i) => (
              <td
                key={c.key}
                className={
                  `h-9 px-2.5 first:pl-4 last:pr-4 md:first:pl-5 md:last:pr-5 ` +
                  `${c.align === 'end' ? 'num' : ''} ` +
                  `${c.from === 'md' ? 'max-md:hidden' : c.from === 'lg' ? 'max-lg:hidden' : c.from === 'xl' ? 'max-xl:hidden' : ''}`
                }
              >
                {i === 0 ? t('all') : c.key === 'within' ? '' : c.cell(total)}
              </td>
            ))}
          </tr>
        )}
        phone={(r) => (
          <div>
            <div className="flex gap-3">
              <span className="min-w-0 flex-1">{name(r)}</span>
              <Money value={r.sales} />
            </div>
            <div className="flex flex-wrap gap-x-3 text-small text-ink3">
              <span className="flex-1">
                {t('calls')}: {integer(r.calls)}
              </span>
              <span className={negative(r.margin) ? 'text-bad' : ''}>
                {t('margin')} {money(r.margin)} ({onCost(r)})
              </span>
            </div>
          </div>
        )}
      />
    </Panel>
  )
}

/** Why a row lost money. */
function Loss({ r }: { r: Row }) {
  const t = useT('adminsales')
  if (!r.loss) return null
  return (
    <span className="mt-0.5 block text-small text-bad">
      <Tag tone="bad">{t('loses')}</Tag> {t(`cause_${r.loss.cause}`)}
      {r.loss.since && <> {t('since', { day: date(r.loss.since) })}</>}
    </span>
  )
}
