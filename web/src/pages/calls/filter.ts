/** The filters of the list as they are in the address, and as the API takes them. */
import { decimal, plain } from '../../format'
import type { Period } from '../../ui/filters'
import type { SearchShape } from '../../ui/link'

export interface Filter {
  readonly period: Period
  readonly model: string
  readonly provider: string
  readonly key: string
  readonly member: string
  readonly kind: string
  readonly result: string
  readonly min: string
  readonly id: string
  /** The call in the drawer */
  readonly open: string
}
export const DAYS = [1, 7, 30, 90] as const
export const names = ['model', 'provider', 'key', 'member', 'kind', 'result', 'min', 'id'] as const
export type Name = (typeof names)[number]
const moment = (s: string | undefined) => (s && !Number.isNaN(Date.parse(s)) ? s : '')
/** An amount with a dot or a comma, or nothing. */
export function amount(text: string): string {
  const d = decimal(text.replace(/[\s\u202f]/g, '').replace(',', '.'))
  return d && d.digits > 0n ? plain(d) : ''
}

export const shape: SearchShape<Filter> = {
  read(raw) {
    const from = moment(raw.from), to = moment(raw.to), days = Number(raw.days)
    const text = (v: unknown) => (v === undefined || v === null ? '' : String(v))
    return {
      period: from && to ? { from, to } : { days: DAYS.includes(days as 7) ? days : 30 },
      model: text(raw.model), provider: text(raw.provider), key: text(raw.key), member: text(raw.member), kind: text(raw.kind), result: text(raw.result), min: amount(text(raw.min)), id: text(raw.id).trim(), open: text(raw.open),
    }
  },
  write(f) {
    const out: Record<string, string | undefined> = 'from' in f.period ? { from: f.period.from, to: f.period.to } : f.period.days === 30 ? {} : { days: String(f.period.days) }
    for (const n of [...names, 'open'] as const) if (f[n]) out[n] = f[n]
    return out
  },
}

/** What the API is asked. `now` decides what the last days are. */
export function asked(f: Filter, now = Date.now()): { readonly [name: string]: string } {
  const period: { readonly [name: string]: string } = 'from' in f.period ? { from: f.period.from, to: f.period.to } : { from: new Date(now - (f.period.days - 1) * 86_400_000).toISOString().slice(0, 10) }
  const out: Record<string, string> = { ...period }
  for (const n of names) if (f[n]) out[n === 'min' ? 'min_cost' : n] = f[n]
  return out
}
