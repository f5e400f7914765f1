/** What the pages of reconciliation share: sums and days in words. */
import type { Reply } from '../../api/client'
import { add, day, decimal, integer, money, plain, type Decimal } from '../../format'
import type { T } from '../../i18n'

export type Detail = Reply<'/api/admin/reconciliations/{id}'>['data']
export type Difference = Detail['differences'][number]
export type Group = Detail['groups'][number]
export type Sum = Detail['sums'][number]
export type Delta = Detail['delta']
export type Figures = Detail['theirs']

export const columnNames = [
  'date',
  'model',
  'id',
  'key',
  'requests',
  'prompt_tokens',
  'completion_tokens',
  'cost',
] as const

export const dollars = (v: string | null, plus = false): string =>
  v === null ? '' : `${money(v, { sign: false, plus })}\u202f$`

/** What the provider has more: dollars where both sides have them, else tokens. */
export function excess(d: Delta): string {
  if (d.dollars !== null) return dollars(d.dollars, true)
  const n = d.prompt_tokens + d.completion_tokens
  return n > 0 ? `+${integer(n)}` : integer(n)
}

export const wrongOf = (sums: readonly Sum[]): number =>
  sums.reduce((n, s) => n + (s.kind === 'late' ? 0 : s.differences), 0)

const size = (d: Decimal): bigint => (d.digits < 0n ? -d.digits : d.digits)

/** The kinds of differences in words, those that cost the most first: "3 calls doubled, 1 call lost". */
export function kindsOf(t: T<'reconciliation'>, sums: readonly Sum[]): string {
  const weight = (s: Sum) =>
    size(add(decimal(s.delta.dollars) ?? { digits: 0n, scale: 0 }, { digits: 0n, scale: 12 }))
  const words = [...sums]
    .sort((a, b) => (weight(b) > weight(a) ? 1 : weight(b) < weight(a) ? -1 : 0))
    .map((s) => t(`sum_${s.kind}`, { n: s.calls > 0 ? s.calls : s.differences }))
  return words.join(', ')
}

export const spanOf = (k: { first: string; last: string }): string =>
  k.first === k.last ? day(k.first) : `${day(k.first, { short: true })} – ${day(k.last)}`

/** One sentence: by how much, and why. */
export function sentence(t: T<'reconciliation'>, d: Detail): string {
  const kinds = kindsOf(t, d.sums)
  if (kinds === '') return t('allEqual', { n: d.calls })
  const amount = decimal(d.delta.dollars)
  if (amount !== null && d.theirs.dollars !== null) {
    const positive = plain(amount).replace('-', '')
    if (size(amount) === 0n) return t('sameSum', { who: d.provider, kinds })
    return t(amount.digits > 0n ? 'billsMore' : 'billsLess', {
      who: d.provider,
      amount: dollars(positive),
      kinds,
    })
  }
  const n = d.delta.prompt_tokens + d.delta.completion_tokens
  if (n === 0) return t('sameSum', { who: d.provider, kinds })
  return t(n > 0 ? 'countsMore' : 'countsLess', { who: d.provider, amount: integer(Math.abs(n)), kinds })
}

/** Groups, those first whose sides are the furthest apart. */
export function furthest(groups: readonly Group[]): Group[] {
  const apart = (g: Group) =>
    g.delta.dollars === null
      ? Math.abs(g.delta.prompt_tokens + g.delta.completion_tokens)
      : Math.abs(Number(g.delta.dollars))
  return [...groups].sort((a, b) => apart(b) - apart(a))
}

/** The kinds of difference of each day and model, to stand beside its figures. */
export function namesOf(differences: readonly Difference[]): Map<string, Difference['kind'][]> {
  const all = new Map<string, Difference['kind'][]>()
  for (const d of differences) {
    const key = groupKey(d)
    const kinds = all.get(key) ?? []
    if (!kinds.includes(d.kind)) all.set(key, [...kinds, d.kind])
  }
  return all
}
export const groupKey = (g: { day: string; model: string | null; key: string | null }): string =>
  `${g.day} ${g.model ?? ''} ${g.key ?? ''}`

export function figuresOf(t: T<'reconciliation'>, f: Figures): string {
  const parts = []
  if (f.calls !== null) parts.push(t('nCalls', { n: f.calls }))
  if (f.prompt_tokens !== null || f.completion_tokens !== null)
    parts.push(t('inOut', { in: integer(f.prompt_tokens ?? 0), out: integer(f.completion_tokens ?? 0) }))
  if (f.dollars !== null) parts.push(dollars(f.dollars))
  return parts.length > 0 ? parts.join(' · ') : '—'
}
