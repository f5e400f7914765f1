/** The filters of the list as they are in the address, and as the API takes them. */
import { dayText, decimal, plain } from '../../format'
import type { Period } from '../../ui/filters'
import type { SearchShape } from '../../ui/link'
import type { CallRow } from './data'

export interface Filter {
  readonly period: Period
  readonly model: string
  readonly provider: string
  readonly key: string
  readonly member: string
  readonly kind: string
  readonly result: string
  readonly tag: string
  readonly team: string
  readonly session: string
  readonly client_user: string
  readonly min: string
  readonly id: string
  /** The call in the drawer */
  readonly open: string
}
export const DAYS = [1, 7, 30, 90] as const
export const names = [
  'model',
  'provider',
  'key',
  'member',
  'team',
  'tag',
  'session',
  'client_user',
  'kind',
  'result',
  'min',
  'id',
] as const
export type Name = (typeof names)[number]
/** The value of a filter for calls without one: that nobody answered, for instance. */
export const NOTHING = '(none)'
const moment = (s: string | undefined) => (s && !Number.isNaN(Date.parse(s)) ? s : '')
/** An amount with a dot or a comma, or nothing. */
export function amount(text: string): string {
  const d = decimal(text.replace(/[\s\u202f]/g, '').replace(',', '.'))
  return d && d.digits > 0n ? plain(d) : ''
}

export const shape: SearchShape<Filter> = {
  read(raw) {
    const from = moment(raw.from),
      to = moment(raw.to),
      days = Number(raw.days)
    const text = (v: unknown) => (v === undefined || v === null ? '' : String(v))
    return {
      period: from && to ? { from, to } : { days: DAYS.includes(days as 7) ? days : 30 },
      model: text(raw.model),
      provider: text(raw.provider),
      key: text(raw.key),
      member: text(raw.member),
      kind: text(raw.kind),
      result: text(raw.result),
      tag: text(raw.tag),
      team: text(raw.team),
      session: text(raw.session),
      client_user: text(raw.client_user),
      min: amount(text(raw.min)),
      id: text(raw.id).trim(),
      open: text(raw.open),
    }
  },
  write(f) {
    const out: Record<string, string | undefined> =
      'from' in f.period
        ? { from: f.period.from, to: f.period.to }
        : f.period.days === 30
          ? {}
          : { days: String(f.period.days) }
    for (const n of [...names, 'open'] as const) if (f[n]) out[n] = f[n]
    return out
  },
}

/** What the API is asked. `now` decides what the last days are. */
export function asked(f: Filter, now = Date.now()): { readonly [name: string]: string } {
  const period: { readonly [name: string]: string } =
    'from' in f.period
      ? { from: f.period.from, to: f.period.to }
      : { from: dayText(now - (f.period.days - 1) * 86_400_000, 'UTC') }
  const out: Record<string, string> = { ...period }
  for (const n of names) if (f[n]) out[n === 'min' ? 'min_cost' : n] = f[n]
  return out
}

/** How many of the newest calls are not among those that are shown. Calls are listed by their beginning, and a long one comes late: all are compared. */
export function fresh(newest: readonly CallRow[], shown: readonly CallRow[]): number {
  const known = new Set(shown.map((r) => r.id))
  const end = shown.at(-1)?.created_at ?? ''
  return newest.filter((r) => !known.has(r.id) && (r.created_at > end || shown.length < 50)).length
}
/** The filter for what a cell of a row says. */
export function byCell(r: CallRow, column: string): Partial<Filter> | null {
  switch (column) {
    case 'model':
      return r.model ? { model: r.model } : null
    case 'provider':
      return r.provider ? { provider: r.provider } : null
    case 'key':
      return r.key ? { key: r.key.hash ?? r.key.id } : null
    case 'result':
      return { result: r.result }
    case 'cost':
      return amount(r.cost) ? { min: amount(r.cost) } : null
    default:
      return null
  }
}
