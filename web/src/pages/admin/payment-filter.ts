/** The filter of the list of payments, as the address has it. */
import type { SearchShape } from '../../ui/link'

const states = ['hanging', 'pending', 'succeeded', 'canceled'] as const

export interface Filter {
  readonly state: (typeof states)[number] | ''
  readonly user: string
  readonly provider: string
  readonly q: string
  readonly period: { readonly from: string; readonly to: string } | null
}
/** What is shown as chips. */
export const names = ['state', 'user', 'provider', 'q'] as const

const day = /^\d{4}-\d\d-\d\d$/

export const filterShape: SearchShape<Filter> = {
  read: (raw) => ({
    state: states.find((s) => s === raw.state) ?? '',
    user: raw.user ?? '',
    provider: raw.provider ?? '',
    q: raw.q ?? '',
    period: day.test(raw.from ?? '') && day.test(raw.to ?? '') ? { from: raw.from!, to: raw.to! } : null,
  }),
  write: (f) => ({
    state: f.state || undefined,
    user: f.user || undefined,
    provider: f.provider || undefined,
    q: f.q || undefined,
    from: f.period?.from,
    to: f.period?.to,
  }),
}
