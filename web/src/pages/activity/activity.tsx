/** /activity: questions about usage. The table is the data of the chart, and each row of it opens its calls. */
import { useQuery } from '@tanstack/react-query'
import { useMemo, type ReactNode } from 'react'
import { address, type Reply } from '../../api/client'
import { useRenewed } from '../../api/live'
import { getLedger, getTimezone, getUsage } from '../../api/operations'
import {
  add,
  approximately,
  bucket as bucketOf,
  compare,
  date,
  dayText,
  decimal,
  drawnMoney,
  duration,
  integer,
  money,
  percent,
  period as writePeriod,
  tokens,
  ZERO,
} from '../../format'
import { useT } from '../../i18n'
import { Button, buttonClass, IconButton } from '../../ui/button'
import { Chart, colorsOf, swatch } from '../../ui/chart'
import type { Series } from '../../ui/chart-props'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { FilterBar, PeriodPicker } from '../../ui/filters'
import { Link, LinkButton, useGo, usePageSearch } from '../../ui/link'
import { Level } from '../../ui/marks'
import { Page, PageHead, Panel, Strip } from '../../ui/page'
import { useShortcuts } from '../../ui/shortcuts'
import type { Column } from '../../ui/columns'
import { Money, Tokens, Zone } from '../../ui/values'
import { Views } from '../views/views'
import { Narrow } from './narrow'
import { zoomed } from './zoom'
import { useGroupWord } from './words'
import {
  asked,
  BARS,
  beyond,
  callsOf,
  change,
  filters,
  groups,
  metrics,
  moved,
  ROWS,
  shape,
  span,
  tagOf,
  type Metric,
  type View,
} from './view'
import { Sorted } from '../../ui/sorted'

type Report = Reply<'/api/usage'>['data']
type Figure = string | number | null
type Figures = NonNullable<Report['figures']>
interface Row {
  readonly key: string | null
  readonly label: string
  readonly total: Figure
  readonly figures: Figures
  readonly color: number
}
const OTHERS = '\u0000others',
  ALL = '\u0000all'

export default function Activity() {
  const t = useT('activity')
  const c = useT('common')
  const [view, set] = usePageSearch(shape)
  const query = asked(view)
  const figures = (limit: number) =>
    getUsage({ query: { ...query, metric: view.metric, figures: true, limit } })
  const q = useQuery(figures(BARS))
  const rows = useQuery({ ...figures(ROWS), enabled: view.all })
  useRenewed(['calls'], [getUsage], { every: 10_000 })
  const u = q.data?.data
  const earlier = moved(view.period, -1),
    later = moved(view.period, 1)
  useShortcuts({
    ArrowLeft: () => {
      if (earlier) set({ period: earlier })
    },
    ArrowRight: () => {
      if (later) set({ period: later })
    },
  })
  // A day of the account: without its zone, as before it is known, days are those of UTC.
  const zone = useQuery({ ...getTimezone(), enabled: u?.figures?.calls === 0 }).data?.data.timezone
  const dayOf = (at: string) => dayText(at, zone ?? 'UTC')
  const word = useGroupWord()
  const { from, to, bucket } = query
  const named = useQuery(
    getUsage({
      query: {
        ...(from ? { from } : {}),
        ...(to ? { to } : {}),
        ...(bucket ? { bucket } : {}),
        group: 'tag',
        metric: 'calls',
        limit: ROWS,
      },
    }),
  )
  const tags = (named.data?.data.series ?? []).map((s) => s.key).filter((k) => !beyond(k))
  const chosen = tagOf(view.group)
  if (chosen !== null && !tags.includes(chosen)) tags.push(chosen)
  const active = filters.filter((f) => view.only[f] !== '')
  const clear = () =>
    set((v) => ({ ...v, only: Object.fromEntries(filters.map((n) => [n, ''])) as View['only'] }))
  return (
    <Page>
      <PageHead title={t('title')} note={u?.bucket === 'hour' ? <Zone /> : t('note')}>
        <Views page="activity" search={shape.write(view)} />
        <a
          href={address('/api/usage.csv', { query })}
          download
          className={`${buttonClass('plain')} no-underline`}
        >
          {t('csv')}
        </a>
      </PageHead>
      <FilterBar
        active={active.length}
        onClear={clear}
        end={
          <span className="inline-flex items-center gap-1">
            <span className="inline-flex max-sm:hidden">
              <IconButton
                icon="left"
                label={t('earlier')}
                onClick={() => {
                  if (earlier) set({ period: earlier })
                }}
                disabled={!earlier}
              />
              <IconButton
                icon="right"
                label={t('later')}
                onClick={() => {
                  if (later) set({ period: later })
                }}
                disabled={!later}
              />
            </span>
            <PeriodPicker value={view.period} onChange={(period) => set({ period })} />
          </span>
        }
      >
        <Field label={t('measure')} className="md:[&>div]:sr-only">
          <Select
            value={view.metric}
            onChange={(e) => set({ metric: e.target.value as Metric })}
            options={metrics.map((m) => ({ value: m, label: t(`m_${m}`) }))}
          />
        </Field>
        <Field label={t('group')} className="md:flex md:items-center md:gap-2 md:[&>div]:pb-0">
          <Select
            value={view.group}
            onChange={(e) => set({ group: e.target.value as View['group'] })}
            options={[
              ...groups.map((g) => ({ value: g as string, label: t(`by_${g}`) })),
              ...tags.map((name) => ({ value: `tag:${name}`, label: t('by_tag', { name }) })),
            ]}
          />
        </Field>
      </FilterBar>
      <Narrow view={view} tags={tags} onChange={(v) => set(() => v, { push: true })} />
      {q.error && !u ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !u || !u.figures ? (
        <SkeletonRows rows={10} />
      ) : u.figures.calls === 0 ? (
        <Panel>
          <Empty
            icon="chart"
            title={t('empty')}
            action={
              u.last_call_at ? (
                <Button
                  onClick={() =>
                    set(
                      { period: { from: dayOf(u.last_call_at!), to: dayOf(u.last_call_at!) } },
                      { push: true },
                    )
                  }
                >
                  {t('emptyGo', { day: date(dayOf(u.last_call_at)) })}
                </Button>
              ) : (
                <LinkButton to="/playground">{c('playground')}</LinkButton>
              )
            }
          >
            {u.last_call_at ? t('emptyLast', { day: date(dayOf(u.last_call_at)) }) : t('emptyText')}
          </Empty>
        </Panel>
      ) : (
        <Content
          u={u}
          view={view}
          table={view.all ? rows.data?.data : u}
          onAll={() => set({ all: !view.all })}
          word={word}
          stale={q.isPlaceholderData}
          onZoom={(period) => set({ period }, { push: true })}
        />
      )}
    </Page>
  )
}

/** A figure as people read it: exact for money, short for counts in the picture. */
function write(metric: Metric, v: Figure, exact = false): string {
  if (v === null) return '—'
  if (metric === 'cost') return money(v, exact ? { exact: true } : {})
  if (metric === 'first_token') return duration(Number(v))
  return metric === 'calls' || metric === 'errors' || exact ? integer(Number(v)) : tokens(Number(v))
}
/** For drawing alone: amounts are written from their own digits. */
const drawn = (v: Figure): number | null =>
  v === null ? null : typeof v === 'number' ? v : approximately(decimal(v) ?? { digits: 0n, scale: 0 })
const larger = (a: Figure, b: Figure): boolean => {
  const x = decimal(a),
    y = decimal(b)
  return x !== null && (y === null || compare(x, y) > 0)
}

/** Whether all calls of the period together cost what the statement of the same days says; false also where it has no such days. */
function useEqual(view: View, cost: string): boolean {
  const { from, to } = asked(view)
  const days = [from, to ?? from].every((d) => /^\d{4}-\d\d-\d\d$/.test(d ?? ''))
  const whole =
    days &&
    filters.every((f) => view.only[f] === '') &&
    span(view.period, Date.now()).to - span(view.period, Date.now()).from < 366 * 86_400_000
  const q = useQuery({ ...getLedger({ query: { from: from!, ...(to ? { to } : {}) } }), enabled: whole })
  const charged = (q.data?.data.vat ?? []).reduce((sum, v) => add(sum, decimal(v.charged) ?? ZERO), ZERO)
  const all = decimal(cost)
  return whole && q.data !== undefined && all !== null && compare(all, charged) === 0
}

function Content({
  u,
  table,
  view,
  onAll,
  word,
  stale,
  onZoom,
}: {
  u: Report
  table: Report | undefined
  view: View
  onAll: () => void
  word: (group: string, value: string, label: string | null) => string
  stale: boolean
  onZoom: (p: View['period']) => void
}) {
  const t = useT('activity')
  const go = useGo()
  const metric = u.metric as Metric
  const sums = u.figures!
  const lines = metric === 'first_token'
  const colors = useMemo(() => colorsOf(u.series.map((s) => s.key)), [u.series])
  const rows = table?.series.map(
    (s): Row => ({
      key: beyond(s.key) ? null : s.key,
      label: word(u.group, s.key, s.label),
      total: s.total,
      figures: s.figures!,
      color: colors.get(s.key) ?? 0,
    }),
  )
  if (rows && table && table.other_count > 0)
    rows.push({
      key: null,
      label: t('others', { n: table.other_count }),
      total: table.other_total,
      figures: table.other_figures!,
      color: 0,
    })
  const times = useMemo(() => u.t.map((x) => Date.parse(x)), [u.t])
  const series = useMemo<Series[]>(() => {
    const one = (key: string, label: string, color: number, values: readonly Figure[]): Series => ({
      key,
      label,
      color,
      values: values.map(drawn),
      exact: values,
      texts: values.map((v) => write(metric, v, true)),
    })
    const all = u.series
      .slice(0, lines ? 6 : BARS)
      .map((s) => one(s.key, word(u.group, s.key, s.label), colors.get(s.key) ?? 0, s.values))
    if (u.other && !lines) all.push(one(OTHERS, t('others', { n: u.other_count }), 0, u.other))
    return all
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [u, colors, lines, t])
  const bucket = t.or(u.bucket, u.bucket)
  const at = (ms: number) => bucketOf(ms, u.bucket)
  let best = -1
  u.sums.forEach((v, i) => {
    if (best < 0 ? v !== null : larger(v, u.sums[best] ?? null)) best = i
  })
  const most = {
    at: best < 0 ? '' : at(times[best]!),
    most: best < 0 ? '' : write(metric, u.sums[best] ?? null),
    total: write(metric, u.total, true),
  }
  const equal = useEqual(view, sums.cost)
  const all = drawn(u.total)
  const moved = change(all, drawn(u.previous.total))
  const link = (r: Row) => callsOf(view, u, r.key === ALL ? undefined : r.key!)
  const shareOf = (r: Row) => {
    const v = drawn(r.total)
    return lines || !all || v === null ? null : (v / all) * 100
  }
  const name = (r: Row) => (
    <span className="flex min-w-0 items-center gap-2">
      <span
        data-mark
        aria-hidden
        className={`size-2.5 flex-none rounded-[2px] ${swatch[r.color] ?? 'bg-sx'}`}
      />
      {r.key !== null ? (
        <Link
          to="/calls"
          search={link(r)}
          aria-label={t('showCallsOf', { name: r.label })}
          className="min-w-0 truncate text-ink no-underline hover:underline"
        >
          <span translate="no">{r.label}</span>
        </Link>
      ) : u.other_count > 0 && !view.all && r.label !== t('beyond') ? (
        <button
          type="button"
          onClick={onAll}
          aria-label={t('showOthers')}
          className="truncate text-ink2 hover:underline"
        >
          {r.label}
        </button>
      ) : (
        <span className="truncate text-ink2">{r.label}</span>
      )}
    </span>
  )
  // Each figure opens the calls it is the sum of. The keyboard has the name's link, and Enter on the row.
  const opens = (cell: (r: Row) => ReactNode) =>
    function Opens(r: Row) {
      return r.key === null ? (
        cell(r)
      ) : (
        <Link
          to="/calls"
          search={link(r)}
          tabIndex={-1}
          className="text-inherit no-underline hover:underline"
        >
          {cell(r)}
        </Link>
      )
    }
  const figures: Column<Row>[] = [
    {
      key: 'cost',
      head: t('cost'),
      align: 'end',
      sort: { value: (r) => decimal(r.figures.cost), down: true },
      cell: (r) => <Money value={r.figures.cost} exact sign={false} />,
    },
    {
      key: 'share',
      head: t('share'),
      align: 'end',
      width: '130px',
      from: 'md',
      cell: (r) => {
        const s = shareOf(r)
        return s === null ? (
          '—'
        ) : (
          <span className="flex items-center justify-end gap-2">
            <span className="w-16">
              <Level
                total={100}
                label={percent(s, 1)}
                parts={[{ key: 'part', value: s, className: swatch[r.color] ?? 'bg-sx' }]}
              />
            </span>
            <span className="w-12">{percent(s, 1)}</span>
          </span>
        )
      },
    },
    {
      key: 'calls',
      head: t('calls'),
      align: 'end',
      sort: { value: (r) => r.figures.calls, down: true },
      cell: (r) => integer(r.figures.calls),
    },
    {
      key: 'failed',
      head: t('failed'),
      align: 'end',
      sort: { value: (r) => r.figures.errors, down: true },
      cell: (r) =>
        r.figures.errors === 0 ? (
          <span className="text-ink3">0</span>
        ) : r.key === null ? (
          integer(r.figures.errors)
        ) : (
          <Link
            to="/calls"
            search={
              (view.group === 'result' && r.key !== ALL) || view.only.result
                ? link(r)
                : { ...link(r), result: 'failed' }
            }
            aria-label={`${integer(r.figures.errors)}. ${t('showFailedOf', { name: r.label })}`}
            className="text-ink"
          >
            {integer(r.figures.errors)}
          </Link>
        ),
    },
    {
      key: 'in',
      head: t('tokensIn'),
      align: 'end',
      sort: { value: (r) => r.figures.tokens_in, down: true },
      from: 'lg',
      cell: (r) => <Tokens value={r.figures.tokens_in} />,
    },
    {
      key: 'cached',
      head: t('tokensCached'),
      align: 'end',
      sort: { value: (r) => r.figures.tokens_cached, down: true },
      from: 'xl',
      cell: (r) => <Tokens value={r.figures.tokens_cached} />,
    },
    {
      key: 'out',
      head: t('tokensOut'),
      align: 'end',
      sort: { value: (r) => r.figures.tokens_out, down: true },
      from: 'lg',
      cell: (r) => <Tokens value={r.figures.tokens_out} />,
    },
    {
      key: 'first',
      head: t('first'),
      align: 'end',
      sort: { value: (r) => r.figures.first_token, down: true },
      from: 'lg',
      cell: (r) => duration(r.figures.first_token),
    },
  ]
  const columns: Column<Row>[] = [
    {
      key: 'name',
      head: tagOf(view.group) ?? t(`one_${view.group as (typeof groups)[number]}`),
      sort: { value: (r) => r.label },
      cell: name,
    },
    ...figures.map((c) => (c.key === 'failed' ? c : { ...c, cell: opens(c.cell) })),
  ]
  const foot = (columns: readonly Column<Row>[]) => (
    <tr className="border-t border-line font-medium">
      {columns.map((c, i) => {
        const row: Row = { key: ALL, label: t('total'), total: u.total, figures: sums, color: 0 }
        return (
          <td
            key={c.key}
            className={
              `h-9 px-2.5 first:pl-4 last:pr-4 md:first:pl-5 md:last:pr-5 ` +
              `${c.align === 'end' ? 'num' : ''} ` +
              `${c.from === 'md' ? 'max-md:hidden' : c.from === 'lg' ? 'max-lg:hidden' : c.from === 'xl' ? 'max-xl:hidden' : ''}`
            }
          >
            {i === 0 ? (
              <Link
                to="/calls"
                search={link(row)}
                aria-label={t('showCallsOf', { name: t('total') })}
                className="text-ink no-underline hover:underline"
              >
                {t('total')}
              </Link>
            ) : c.key === 'share' ? (
              ''
            ) : (
              c.cell(row)
            )}
          </td>
        )
      })}
    </tr>
  )
  const figure = (v: Figure) =>
    metric === 'cost' && v !== null ? <Money value={v} headline /> : write(metric, v, true)
  return (
    <div
      className={`flex flex-col gap-5 transition-opacity delay-200 ${stale ? 'opacity-60' : ''}`}
      aria-busy={stale || undefined}
    >
      <Strip
        items={[
          { label: lines ? t('average') : t('total'), value: figure(u.total) },
          { label: t('before'), value: figure(u.previous.total) },
          {
            label: t('change'),
            value:
              moved === null
                ? '—'
                : moved === 0
                  ? t('noChange')
                  : `${moved > 0 ? '+' : '−'}${percent(Math.abs(moved), 1)}`,
          },
          ...(metric === 'calls' ? [] : [{ label: t('m_calls'), value: integer(sums.calls) }]),
          ...(metric === 'cost' ? [] : [{ label: t('m_cost'), value: <Money value={sums.cost} headline /> }]),
        ]}
      />
      <Panel>
        <Chart
          main
          kind={lines ? 'lines' : 'bars'}
          title={t(`m_${metric}`)}
          unit={t(
            metric === 'cost'
              ? 'u_cost'
              : lines
                ? 'u_first'
                : metric.startsWith('tokens')
                  ? 'u_tokens'
                  : 'u_calls',
            { bucket },
          )}
          summary={best < 0 ? t('summaryNone') : t(lines ? 'summaryFirst' : 'summary', most)}
          height={260}
          times={times}
          series={series}
          unfinished={span(view.period, Date.now()).to > Date.now()}
          format={(n) => (metric === 'cost' ? drawnMoney(n) : write(metric, n))}
          bucket={u.bucket}
          onZoom={(from, to) => onZoom(zoomed(from, to, u.bucket))}
        />
      </Panel>
      <Panel
        title={t('tableHead')}
        note={
          u.bucket === 'month'
            ? t('wholeMonths', { period: writePeriod(u.from, Date.parse(u.to) - 1) })
            : equal
              ? t('equal')
              : t('tableNote')
        }
        flush
        actions={
          (view.all || u.other_count > 0) && (
            <Button small look="quiet" aria-pressed={view.all} onClick={onAll}>
              {t('allRows')}
            </Button>
          )
        }
      >
        <Sorted<Row>
          main
          whole={(table?.other_count ?? 0) === 0}
          last={(r) => r.key === null}
          dense
          name="activity"
          caption={t('tableHead')}
          rows={rows}
          rowKey={(r) => r.key ?? OTHERS + r.label}
          columns={columns}
          onOpen={(r) => {
            if (r.key !== null) go('/calls', { search: link(r) })
            else if (!view.all) onAll()
          }}
          foot={foot}
          phone={(r) => (
            <div>
              <div className="flex gap-3">
                {name(r)}
                <span className="flex-1" />
                <Money value={r.figures.cost} exact />
              </div>
              <div className="flex gap-3 pt-1 text-small text-ink3">
                <span className="flex-1">
                  {t('m_calls')} {integer(r.figures.calls)}, {t('failed').toLowerCase()}{' '}
                  {integer(r.figures.errors)}
                </span>
                <span>
                  {tokens(r.figures.tokens_in)} → {tokens(r.figures.tokens_out)}
                </span>
              </div>
            </div>
          )}
        />
      </Panel>
    </div>
  )
}
