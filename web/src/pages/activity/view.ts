/** What the page asks for, as it is in the address and as the API takes it. */
import { dayText as textOf } from '../../format'
import type { Period } from '../../ui/filters'
import type { SearchShape } from '../../ui/link'
import { NOTHING } from '../calls/filter'

export const groups = [
  'model',
  'key',
  'member',
  'team',
  'session',
  'user',
  'provider',
  'kind',
  'result',
] as const
/** What the table is parted by; tag:NAME by the values of the tag with that name. */
export type Group = (typeof groups)[number] | `tag:${string}`
/** The name of the tag that a group or a tag has; null for other groups. */
export const tagOf = (group: string): string | null => (group.startsWith('tag:') ? group.slice(4) : null)
export const metrics = [
  'cost',
  'calls',
  'errors',
  'tokens_in',
  'tokens_out',
  'tokens_cached',
  'tokens_reasoning',
  'first_token',
] as const
export type Metric = (typeof metrics)[number]
export const DAYS = [7, 30, 90] as const
export const filters = [
  'model',
  'key',
  'member',
  'team',
  'tag',
  'session',
  'client_user',
  'provider',
  'kind',
  'result',
] as const
export type Filter = (typeof filters)[number]
export interface View {
  readonly period: Period
  readonly group: Group
  readonly metric: Metric
  readonly only: { readonly [name in Filter]: string }
  /** The table has a row for each group, not only for those of the chart */
  readonly all: boolean
}
export const BARS = 8
/** As many groups as the API answers with at once. */
export const ROWS = 50
const DAY = 86_400_000
const moment = (s: string | undefined) => (s && !Number.isNaN(Date.parse(s)) ? s : '')
/** The day that a midnight in UTC stands for */
const dayText = (ms: number) => textOf(ms, 'UTC')
const isDay = (s: string) => /^\d{4}-\d\d-\d\d$/.test(s)

export const shape: SearchShape<View> = {
  read(raw) {
    const from = moment(raw.from),
      to = moment(raw.to),
      days = Number(raw.days)
    const text = (v: unknown) => (v === undefined || v === null ? '' : String(v))
    return {
      period: from && to ? { from, to } : { days: DAYS.includes(days as 7) ? days : 30 },
      group: text(raw.by).startsWith('tag:')
        ? (text(raw.by) as Group)
        : (groups.find((g) => g === raw.by) ?? 'model'),
      metric: metrics.find((m) => m === raw.show) ?? 'cost',
      all: raw.rows === 'all',
      only: {
        model: text(raw.model),
        key: text(raw.key),
        member: text(raw.member),
        team: text(raw.team),
        tag: text(raw.tag),
        session: text(raw.session),
        client_user: text(raw.client_user),
        provider: text(raw.provider),
        kind: text(raw.kind),
        result: text(raw.result),
      },
    }
  },
  write(v) {
    const out: Record<string, string | undefined> = { ...periodSearch(v.period) }
    if (v.group !== 'model') out.by = v.group
    if (v.metric !== 'cost') out.show = v.metric
    if (v.all) out.rows = 'all'
    for (const n of filters) if (v.only[n]) out[n] = v.only[n]
    return out
  },
}
/** A period as the address of any page has it. */
export const periodSearch = (p: Period): Record<string, string> =>
  'from' in p ? { from: p.from, to: p.to } : p.days === 30 ? {} : { days: String(p.days) }

/** The beginning, and the end that is not included, in milliseconds. */
export function span(p: Period, now: number): { from: number; to: number } {
  if (!('from' in p)) {
    const today = Math.floor(now / DAY) * DAY
    return { from: today - (p.days - 1) * DAY, to: today + DAY }
  }
  return { from: Date.parse(p.from), to: Date.parse(p.to) + (isDay(p.to) ? DAY : 0) }
}
/** Longer periods are whole months: the API has no more days at once. */
const MONTHS_FROM = 400 * DAY

/** What the API is asked; the file is asked the same. */
export function asked(v: View, now = Date.now()): { readonly [name: string]: string } {
  const { from, to } = span(v.period, now)
  const out: Record<string, string> = {
    ...('from' in v.period ? { from: v.period.from, to: v.period.to } : { from: dayText(from) }),
    group: v.group,
  }
  if (to - from > MONTHS_FROM) out.bucket = 'month'
  for (const n of filters) if (v.only[n]) out[n] = v.only[n]
  return out
}
/** The period of the same length before or after; null beyond today. */
export function moved(p: Period, by: 1 | -1, now = Date.now()): Period | null {
  const { from, to } = span(p, now)
  const start = from + by * (to - from),
    end = to + by * (to - from)
  if (start > now) return null
  const whole = start % DAY === 0 && end % DAY === 0
  return whole
    ? { from: dayText(start), to: dayText(end - DAY) }
    : { from: new Date(start).toISOString(), to: new Date(end).toISOString() }
}
/** The period that a report is about, for links to its calls: whole months may be more than what was chosen. */
export const reported = (v: View, u: { bucket: string; from: string; to: string }): Period =>
  u.bucket === 'month' ? { from: u.from.slice(0, 10), to: dayText(Date.parse(u.to) - DAY) } : v.period
/** The address of the calls of a group of the report, and of all of them without one. */
export const callsOf = (
  v: View,
  u: { bucket: string; from: string; to: string; group: string },
  key?: string,
): Record<string, string> => ({
  ...periodSearch(reported(v, u)),
  ...Object.fromEntries(filters.filter((f) => v.only[f]).map((f) => [f, v.only[f]])),
  ...(key === undefined ? {} : only(u.group, key)),
})
/** The filter for the calls of a group. */
export function only(group: string, key: string): Record<string, string> {
  const tag = tagOf(group)
  if (tag !== null) return { tag: key || `${tag}=${NOTHING}` }
  return { [group === 'user' ? 'client_user' : group]: key || NOTHING }
}
/** Filters of which the API takes one at a time, with the groups of the same. */
const alone: readonly string[] = ['tag', 'session', 'client_user']
const isAlone = (group: string) =>
  tagOf(group) !== null ||
  group === 'tag' ||
  group === 'session' ||
  group === 'user' ||
  group === 'client_user'
/** The view with one filter more. Where the API cannot answer both, it is instead of the other one. */
export function narrowed(v: View, by: Record<string, string>): View {
  const one = Object.keys(by).some((f) => alone.includes(f))
  const cleared = one ? Object.fromEntries(alone.map((f) => [f, ''])) : {}
  return {
    ...v,
    group: one && isAlone(v.group) ? 'model' : v.group,
    only: { ...v.only, ...cleared, ...by } as View['only'],
  }
}
/** What the API is asked for the values that calls of the view have of a property: its own filter does not count. */
export function askedForValues(
  v: View,
  group: string,
  now = Date.now(),
): { readonly [name: string]: string } {
  const own = group === 'user' ? 'client_user' : tagOf(group) === null ? group : 'tag'
  const out = Object.fromEntries(
    filters.filter((f) => f === own || (isAlone(group) && alone.includes(f))).map((f) => [f, '']),
  )
  const named = (group === 'client_user' ? 'user' : group) as Group
  return asked({ ...v, group: named, only: { ...v.only, ...out } as View['only'] }, now)
}
/** Whether a group is of all values that are beyond the bound of a day: its calls have no filter. */
export const beyond = (key: string): boolean => /(^|=)\(other\)$/.test(key)
/** The change in per cent, null when there is nothing to compare with. */
export function change(now: number | null, before: number | null): number | null {
  return now === null || before === null || before === 0 ? null : ((now - before) / before) * 100
}
