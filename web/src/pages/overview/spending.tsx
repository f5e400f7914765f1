/** What was spent by day and by what: 30 days by model come with the page, other periods and groups are asked for. */
import { useQuery } from '@tanstack/react-query'
import type { Reply } from '../../api/client'
import { useRenewed } from '../../api/live'
import { getUsage } from '../../api/operations'
import {
  headline,
  approximately,
  compare,
  day,
  decimal,
  drawnMoney,
  money,
  plain,
  subtract,
  ZERO,
  type Decimal,
} from '../../format'
import { useT } from '../../i18n'
import { Chart, colorsOf, swatch } from '../../ui/chart'
import { Days } from '../../ui/days'
import { ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Select } from '../../ui/field'
import { Link, usePageSearch, type SearchShape } from '../../ui/link'
import { Level } from '../../ui/marks'
import { Panel } from '../../ui/page'
import { Money } from '../../ui/values'
import { asked, callsOf, DAYS, groups, shape as activity, type Group } from '../activity/view'
import { useGroupWord } from '../activity/words'

type Overview = Reply<'/api/overview'>['data']
type Amounts = readonly (string | number | null)[]
/** What chart and list show: exact amounts, the largest groups first. */
export interface Spent {
  readonly t: readonly string[]
  readonly sums: Amounts
  readonly total: string | number | null
  readonly series: readonly {
    readonly key: string
    readonly label: string | null
    readonly total: string | number | null
    readonly values: Amounts
  }[]
  readonly other: Amounts | null
  readonly other_total: string | number | null
  readonly other_count: number
}
const BARS = 3
export interface View {
  readonly days: number
  readonly group: Group
}
export const shape: SearchShape<View> = {
  read: (raw) => ({
    days: DAYS.find((d) => d === Number(raw.days)) ?? 30,
    group: groups.find((g) => g === raw.by) ?? 'model',
  }),
  write: (v) => ({
    ...(v.days === 30 ? {} : { days: String(v.days) }),
    ...(v.group === 'model' ? {} : { by: v.group }),
  }),
}
const exact = (v: string | number | null | undefined): Decimal => decimal(v) ?? ZERO

/** The largest `most` series and the others, which are what is missing to the sums: chart, list and tooltip add up to the last digit. */
export function topAndOthers(
  series: Spent['series'],
  sums: Amounts,
  total: Spent['total'],
  most: number,
): Pick<Spent, 'series' | 'other' | 'other_total'> {
  const shown = series.slice(0, most)
  const rest = (sum: string | number | null, parts: Amounts) =>
    plain(parts.reduce<Decimal>((left, x) => subtract(left, exact(x)), exact(sum)))
  const other_total = rest(
    total,
    shown.map((x) => x.total),
  )
  const other = sums.map((sum, i) =>
    rest(
      sum,
      shown.map((x) => x.values[i] ?? null),
    ),
  )
  const none = [other_total, ...other].every((x) => compare(exact(x), ZERO) === 0)
  return { series: shown, other: none ? null : other, other_total }
}

/** The 30 days by model that the overview itself has. */
export function spentOf(v: Pick<Overview, 'days' | 'top' | 'spent_30_days'>): Spent {
  const named = v.top.filter((x): x is typeof x & { model: string } => x.model !== null)
  const cost = (d: Overview['days'][number], model: string) =>
    d.parts.find((p) => p.model === model)?.cost ?? '0'
  const sums = v.days.map((d) => d.cost)
  const series = named.map((x) => ({
    key: x.model,
    label: x.model,
    total: x.cost,
    values: v.days.map((d) => cost(d, x.model)),
  }))
  return {
    t: v.days.map((d) => d.date),
    sums,
    total: v.spent_30_days,
    ...topAndOthers(series, sums, v.spent_30_days, BARS),
    other_count: 0,
  }
}

export function Spending({ v }: { v: Overview }) {
  const t = useT('overview'),
    a = useT('activity'),
    c = useT('common')
  const word = useGroupWord()
  const [view, set] = usePageSearch(shape)
  const own = view.days !== 30 || view.group !== 'model'
  const of = { ...activity.read({}), period: { days: view.days }, group: view.group }
  const query = asked(of)
  const q = useQuery({
    ...getUsage({ query: { ...query, bucket: 'day', limit: BARS } }),
    enabled: own,
  })
  useRenewed(['calls'], [getUsage], { every: 10_000 })
  const s: Spent | undefined = own ? q.data?.data : spentOf(v)
  const label = (x: Spent['series'][number]) =>
    view.group === 'model' ? x.key || a('nameless') : word(view.group, x.key, x.label)
  const others = s && (s.other_count > 0 ? a('others', { n: s.other_count }) : t('others'))
  const colors = colorsOf(s?.series.map((x) => x.key) ?? [])
  const most = s
    ? s.sums.reduce<number>((best, x, i) => (compare(exact(x), exact(s.sums[best])) > 0 ? i : best), 0)
    : 0
  const total = approximately(exact(s?.total))
  const stale = own && q.isPlaceholderData ? 'opacity-60' : ''
  const series = (key: string, name: string, color: number, values: Amounts) => ({
    key,
    label: name,
    color,
    values: values.map((x) => approximately(exact(x))),
    exact: values,
    texts: values.map((x) => money(x, { exact: true })),
  })
  const row = (
    key: string,
    name: React.ReactNode,
    plainName: string,
    color: number,
    cost: string | number | null,
  ) => (
    <li key={key}>
      <div className="flex items-center gap-2 pb-1.5 text-small">
        <span aria-hidden className={`size-2.5 flex-none rounded-[2px] ${swatch[color] ?? 'bg-sx'}`} />
        {name}
        <Money value={cost} />
      </div>
      <Level
        total={total}
        label={`${plainName}: ${plain(exact(cost))}`}
        parts={[{ key: 'part', value: approximately(exact(cost)), className: swatch[color] ?? 'bg-sx' }]}
      />
    </li>
  )
  const failed = q.error && !s ? <ErrorBox error={q.error} onRetry={() => void q.refetch()} /> : undefined
  return (
    <div className="grid gap-5 lg:grid-cols-[minmax(0,1fr)_340px]">
      <Panel
        title={t('spending')}
        note={t('unit')}
        actions={
          <span className="flex flex-wrap items-center gap-2">
            <span
              role="group"
              aria-label={c('period')}
              className="inline-flex rounded-control border border-line bg-surface"
            >
              <Days days={DAYS} value={view.days} onChange={(days) => set({ days })} />
            </span>
            <Select
              aria-label={t('by')}
              value={view.group}
              onChange={(e) => set({ group: e.target.value as Group })}
              options={groups.map((g) => ({
                value: g,
                label: a('byGroup', { what: a(`by_${g}`).toLowerCase() }),
              }))}
              className="text-small"
            />
          </span>
        }
      >
        {failed ??
          (!s ? (
            <SkeletonRows rows={6} />
          ) : (
            <div className={`transition-opacity delay-200 ${stale}`} aria-busy={stale !== '' || undefined}>
              <Chart
                main
                plainOnPhone
                kind="bars"
                hideHead
                title={t('spending')}
                unit={t('unit')}
                unfinished
                summary={t('summary', {
                  day: s.t[most] ? day(s.t[most], { short: true }) : '',
                  most: headline(s.sums[most] ?? null),
                  n: view.days,
                  total: headline(s.total),
                })}
                times={s.t.map((x) => Date.parse(x))}
                format={(n) => drawnMoney(n)}
                bucket="day"
                series={[
                  ...s.series.map((x) => series(x.key, label(x), colors.get(x.key) ?? 0, x.values)),
                  ...(s.other ? [series('\u0000others', others!, 0, s.other)] : []),
                ]}
              />
            </div>
          ))}
      </Panel>
      <Panel title={t('where')} note={t('lastDays', { n: view.days })}>
        {!s ? (
          !failed && <SkeletonRows rows={4} />
        ) : (
          <div className={`transition-opacity delay-200 ${stale}`}>
            <p className="pb-3 text-title">
              <Money value={s.total} headline />
            </p>
            <ul className="m-0 flex list-none flex-col gap-3 p-0">
              {s.series.map((x) =>
                row(
                  x.key,
                  <Link
                    to="/calls"
                    search={callsOf(of, { bucket: 'day', from: '', to: '', group: view.group }, x.key)}
                    className="min-w-0 flex-1 truncate text-ink no-underline hover:underline"
                  >
                    <span translate="no">{label(x)}</span>
                  </Link>,
                  label(x),
                  colors.get(x.key) ?? 0,
                  x.total,
                ),
              )}
              {s.other &&
                compare(exact(s.other_total), ZERO) > 0 &&
                row(
                  '\u0000others',
                  <Link
                    to="/activity"
                    search={activity.write({ ...of, all: true })}
                    className="min-w-0 flex-1 truncate text-ink no-underline hover:underline"
                  >
                    {others}
                  </Link>,
                  others!,
                  0,
                  s.other_total,
                )}
            </ul>
          </div>
        )}
      </Panel>
    </div>
  )
}
