/** What the page of sales asks for, as it is in the address and as the API takes it. */
import { dayText as textOf } from '../../format'
import { approximately, compare, decimal, type Decimal } from '../../format'
import type { Period } from '../../ui/filters'
import type { SearchShape } from '../../ui/link'

export const parts = ['model', 'provider', 'account', 'day'] as const
export type Part = (typeof parts)[number]
export const filters = ['model', 'provider', 'account'] as const
export type Filter = (typeof filters)[number]
export interface View {
  readonly period: Period
  readonly by: Part
  readonly only: { readonly [name in Filter]: string }
}
export const DAYS = [1, 7, 30] as const
const isDay = (s: string | undefined): s is string => s !== undefined && /^\d{4}-\d\d-\d\d$/.test(s)
const dayText = (ms: number) => textOf(ms, 'UTC')

export const shape: SearchShape<View> = {
  read(raw) {
    const days = Number(raw.days)
    return {
      period:
        isDay(raw.from) && isDay(raw.to)
          ? { from: raw.from, to: raw.to }
          : { days: DAYS.includes(days as 7) ? days : 7 },
      by: parts.find((p) => p === raw.by) ?? 'model',
      only: { model: raw.model ?? '', provider: raw.provider ?? '', account: raw.account ?? '' },
    }
  },
  write: (v) => ({
    ...('from' in v.period
      ? { from: v.period.from, to: v.period.to }
      : { days: v.period.days === 7 ? undefined : String(v.period.days) }),
    by: v.by === 'model' ? undefined : v.by,
    ...Object.fromEntries(filters.map((f) => [f, v.only[f] || undefined])),
  }),
}

/** What the API is asked; the file is asked the same but for the part. */
export function asked(v: View, now = Date.now()): Record<string, string> {
  const out: Record<string, string> =
    'from' in v.period
      ? { from: v.period.from, to: v.period.to }
      : { from: dayText(now - (v.period.days - 1) * 86_400_000), to: dayText(now) }
  for (const f of filters) if (v.only[f]) out[f] = v.only[f]
  return out
}

/** A row looked at more closely: only its calls, by what it was not parted by. */
export function within(v: View, key: string): View {
  if (v.by === 'day') return { ...v, period: { from: key, to: key }, by: 'model' }
  return { ...v, by: v.by === 'model' ? 'provider' : 'model', only: { ...v.only, [v.by]: key || '(none)' } }
}

/** The address of the calls that a row is the sum of. */
export function callsOf(v: View, report: { from: string; to: string }, key: string): Record<string, string> {
  const only = { ...v.only, ...(v.by === 'day' ? {} : { [v.by]: key || '(none)' }) }
  const out: Record<string, string> =
    v.by === 'day' ? { from: key, to: key } : { from: report.from, to: report.to }
  if (only.model) out.model = only.model
  if (only.provider) out.provider = only.provider
  if (only.account) out.member = only.account
  return out
}

/** By how much an amount has changed, in per cent; null where there is nothing to compare with. */
export function changed(now: string, before: string): number | null {
  const a = decimal(now),
    b = decimal(before)
  if (!a || !b || b.digits === 0n) return null
  const was = approximately(b)
  return ((approximately(a) - was) / Math.abs(was)) * 100
}

const nothing: Decimal = { digits: 0n, scale: 0 }
/** Whether an amount is below zero. */
export const negative = (amount: string): boolean => compare(decimal(amount) ?? nothing, nothing) < 0
/** For drawing: what is below zero has no bar. */
export const drawn = (amount: string): number => Math.max(0, approximately(decimal(amount) ?? nothing))
