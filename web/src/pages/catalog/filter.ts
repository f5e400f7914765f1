/** The filter of the catalog: its state in the address, what it leaves, the numbers beside each choice. Pure, and quick enough for each key press. */
import type { components } from '../../api/schema'
import { add, compare, decimal, plain, times, type Decimal, type PriceUnit } from '../../format'
import { fold, slips, squeeze, unswap } from '../../ui/search'
import type { Search, SearchShape } from '../../ui/link'

export type Catalog = components['schemas']['CompactCatalog']
export type Model = components['schemas']['CompactModel']

export const sorts = ['popular', 'cheap', 'new', 'context', 'first', 'speed', 'name'] as const
export type Sort = (typeof sorts)[number]
export const cans = [
  'tools',
  'reasoning',
  'json',
  'image-in',
  'audio-in',
  'file-in',
  'video-in',
  'cache',
] as const
export const makes = [
  'text',
  'image',
  'video',
  'embedding',
  'transcript',
  'speech',
  'rank',
  'moderation',
] as const
export const policies = ['notrain', 'zero'] as const
export const facets = ['can', 'makes', 'policy', 'provider', 'vendor'] as const
export type Facet = (typeof facets)[number]

export interface Filter {
  q: string
  /** Rubles for a million tokens; null: any */
  priceIn: number | null
  priceOut: number | null
  context: number | null
  can: readonly string[]
  makes: readonly string[]
  policy: readonly string[]
  provider: readonly string[]
  vendor: readonly string[]
  live: boolean
  /** Models that one's calls would be refused are shown, too */
  all: boolean
  sort: Sort
  unit: PriceUnit | null
  /** Models chosen to be compared */
  chosen: readonly string[]
}
export const nothing: Filter = {
  q: '',
  priceIn: null,
  priceOut: null,
  context: null,
  can: [],
  makes: [],
  policy: [],
  provider: [],
  vendor: [],
  live: false,
  all: false,
  sort: 'popular',
  unit: null,
  chosen: [],
}

const set = (text: string | undefined) => [...new Set((text ?? '').split(',').filter(Boolean))].slice(0, 50)
const positive = (text: string | undefined) => {
  const n = Number(text)
  return text && Number.isInteger(n) && n > 0 ? n : null
}
/** Short names, so that an address can be read and typed: ?can=tools,json&in=900&policy=notrain&sort=cheap */
export const shape: SearchShape<Filter> = {
  read: (raw) => ({
    q: (raw.q ?? '').slice(0, 200),
    priceIn: positive(raw.in),
    priceOut: positive(raw.out),
    context: positive(raw.ctx),
    can: set(raw.can),
    makes: set(raw.makes),
    policy: set(raw.policy),
    provider: set(raw.provider),
    vendor: set(raw.vendor),
    live: raw.live === '1',
    all: raw.all === '1',
    sort: sorts.find((s) => s === raw.sort) ?? 'popular',
    unit: raw.unit === '1k' ? '1k' : raw.unit === '1M' ? '1M' : null,
    chosen: set(raw.m).slice(0, 4),
  }),
  write: (f): Search => ({
    q: f.q || undefined,
    in: f.priceIn?.toString(),
    out: f.priceOut?.toString(),
    ctx: f.context?.toString(),
    can: f.can.join(),
    makes: f.makes.join(),
    policy: f.policy.join(),
    provider: f.provider.join(),
    vendor: f.vendor.join(),
    live: f.live ? '1' : undefined,
    all: f.all ? '1' : undefined,
    sort: f.sort === 'popular' ? undefined : f.sort,
    unit: f.unit ?? undefined,
    m: f.chosen.join(),
  }),
}

/** A model with what is asked of it at each key press. */
export interface Entry {
  readonly model: Model
  readonly texts: readonly string[]
  /** Names, squeezed */
  readonly names: readonly string[]
  readonly can: readonly string[]
  /** Rubles for a million tokens */
  readonly priceIn: Decimal | null
  readonly priceOut: Decimal | null
}
export function prepare(models: readonly Model[], vendors: ReadonlyMap<string, string>): Entry[] {
  const million = (p: string | null) => {
    const d = decimal(p)
    return d && times(d, 1000)
  }
  return models.map((model) => ({
    model,
    texts: [
      model.id,
      model.name,
      vendors.get(model.vendor) ?? model.vendor,
      ...(model.aliases ?? []),
      model.about ?? '',
    ].map(fold),
    names: [model.id, model.name, vendors.get(model.vendor) ?? model.vendor, ...(model.aliases ?? [])].map(
      (t) => squeeze(fold(t)),
    ),
    can: [...model.caps, ...model.ins.map((i) => `${i}-in`)],
    priceIn: million(model.in),
    priceOut: million(model.out),
  }))
}

const atMost = (price: Decimal | null, limit: number | null) =>
  limit === null || (price !== null && compare(price, { digits: BigInt(limit), scale: 0 }) <= 0)
const keepsData: Record<string, (p: string) => boolean> = {
  zero: (p) => p === 'zero',
  notrain: (p) => p === 'zero' || p === 'transient' || p === 'retained',
}
function has(e: Entry, facet: Facet, value: string): boolean {
  switch (facet) {
    case 'can':
      return e.can.includes(value)
    case 'makes':
      return e.model.outs.includes(value)
    case 'policy':
      return keepsData[value]?.(e.model.policy) ?? false
    case 'provider':
      return e.model.providers.includes(value)
    case 'vendor':
      return e.model.vendor === value
  }
}
/** All of what a model can do, one of each other kind. */
function passes(e: Entry, facet: Facet, values: readonly string[]): boolean {
  return (
    values.length === 0 ||
    (facet === 'can' ? values.every((v) => has(e, facet, v)) : values.some((v) => has(e, facet, v)))
  )
}
function passesRest(e: Entry, f: Filter): boolean {
  return (
    atMost(e.priceIn, f.priceIn) &&
    atMost(e.priceOut, f.priceOut) &&
    (f.context === null || (e.model.ctx ?? 0) >= f.context) &&
    (!f.live || e.model.live)
  )
}

/** How well the words fit: 0 when one is nowhere; a slug that begins with it first. */
function rank(e: Entry, words: readonly string[], spoken: Spoken, near: boolean): number {
  let total = 0
  for (const w of words) {
    let best = 0
    for (let i = 0; i < e.texts.length; i++) {
      const at = e.texts[i]!.indexOf(w)
      if (at < 0) continue
      const edge = at === 0 || /[\s/._:-]/.test(e.texts[i]![at - 1]!)
      best = Math.max(
        best,
        (i === 0 && edge ? 100 : edge ? 40 : 10) - i + w.length / (e.texts[i]!.length + 1),
      )
    }
    if (best === 0) {
      const w2 = squeeze(w),
        heard = spoken[w]
      if (e.names.some((n) => (w2 !== '' && n.includes(w2)) || (heard !== undefined && n.includes(heard))))
        best = 20
      else if (near && e.names.some((n) => slips(n, w2))) best = 1
    }
    if (best === 0) return 0
    total += best
  }
  return total
}
/** Names as Russian speakers write them by ear, and what they stand for. */
export type Spoken = Readonly<Record<string, string>>
const wordsOf = (q: string) => fold(q).split(/\s+/).filter(Boolean)

const last = Number.MAX_SAFE_INTEGER
const byPrice = (a: Decimal | null, b: Decimal | null) => (a && b ? compare(a, b) : a ? -1 : b ? 1 : 0)
const orders: Record<Sort, (a: Entry, b: Entry) => number> = {
  popular: () => 0,
  cheap: (a, b) => byPrice(a.priceIn, b.priceIn) || byPrice(a.priceOut, b.priceOut),
  new: (a, b) => (b.model.created ?? '').localeCompare(a.model.created ?? ''),
  context: (a, b) => (b.model.ctx ?? 0) - (a.model.ctx ?? 0),
  first: (a, b) => (a.model.p50 ?? last) - (b.model.p50 ?? last),
  speed: (a, b) => (b.model.tps ?? -1) - (a.model.tps ?? -1),
  name: (a, b) => a.model.name.localeCompare(b.model.name),
}

export interface Found {
  readonly rows: readonly Model[]
  readonly counts: Readonly<Record<Facet, ReadonlyMap<string, number>>>
  /** The words were typed with the Russian layout on; this is what was meant */
  readonly meant: string | null
}
/** What a filter leaves of the catalog. A facet's numbers do not count its own choices. */
export function search(
  all: readonly Entry[],
  f: Filter,
  values: Readonly<Record<Facet, readonly string[]>>,
  spoken: Spoken = {},
): Found {
  let words = wordsOf(f.q)
  let meant: string | null = null
  const ranked = (w: readonly string[], near: boolean) =>
    w.length === 0
      ? all.map((e) => [e, 1] as const)
      : all.map((e) => [e, rank(e, w, spoken, near)] as const).filter(([, r]) => r > 0)
  let matching = ranked(words, false)
  if (matching.length === 0) {
    const other = wordsOf(unswap(f.q))
    const again = ranked(other, false)
    if (again.length > 0) {
      matching = again
      words = other
      meant = unswap(f.q)
    } else matching = ranked(words, true)
  }
  const counts = Object.fromEntries(facets.map((k) => [k, new Map<string, number>()])) as Record<
    Facet,
    Map<string, number>
  >
  const rows: (readonly [Entry, number])[] = []
  for (const row of matching) {
    const [e] = row
    if (!passesRest(e, f)) continue
    const failed = facets.filter((k) => !passes(e, k, f[k]))
    if (failed.length === 0) rows.push(row)
    if (failed.length > 1) continue
    for (const k of failed.length === 1 ? failed : facets)
      for (const v of values[k]) if (has(e, k, v)) counts[k].set(v, (counts[k].get(v) ?? 0) + 1)
  }
  if (f.sort !== 'popular') rows.sort(([a], [b]) => orders[f.sort](a, b))
  else if (words.length > 0) rows.sort(([, a], [, b]) => b - a)
  return { rows: rows.map(([e]) => e.model), counts, meant }
}

export type Active =
  | { readonly facet: Facet; readonly value: string }
  | { readonly facet: 'q' | 'priceIn' | 'priceOut' | 'context' | 'live'; readonly value: string }
/** What is switched on, in the order in which the page shows it. */
export function active(f: Filter): Active[] {
  return [
    ...facets.flatMap((facet) => f[facet].map((value) => ({ facet, value }))),
    ...(f.priceIn === null ? [] : [{ facet: 'priceIn' as const, value: String(f.priceIn) }]),
    ...(f.priceOut === null ? [] : [{ facet: 'priceOut' as const, value: String(f.priceOut) }]),
    ...(f.context === null ? [] : [{ facet: 'context' as const, value: String(f.context) }]),
    ...(f.live ? [{ facet: 'live' as const, value: '1' }] : []),
  ]
}
/** The filter without one of its conditions. */
export function without(f: Filter, a: Active): Filter {
  switch (a.facet) {
    case 'q':
      return { ...f, q: '' }
    case 'priceIn':
    case 'priceOut':
    case 'context':
      return { ...f, [a.facet]: null }
    case 'live':
      return { ...f, live: false }
    default:
      return { ...f, [a.facet]: f[a.facet].filter((v) => v !== a.value) }
  }
}
/** The one condition whose removal shows most, when nothing is left. */
export function helpful(
  all: readonly Entry[],
  f: Filter,
  values: Readonly<Record<Facet, readonly string[]>>,
  spoken: Spoken = {},
): { what: Active; count: number } | null {
  const options: Active[] = [...active(f), ...(f.q.trim() ? [{ facet: 'q' as const, value: f.q }] : [])]
  let best: { what: Active; count: number } | null = null
  for (const what of options) {
    const count = search(all, without(f, what), values, spoken).rows.length
    if (count > 0 && (!best || count > best.count)) best = { what, count }
  }
  return best
}

/** Positions of the price slider: as far from one another as people think of prices. The last is "any". */
export const priceSteps: readonly number[] = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 900, 1000, 1500, 2000, 3000, 5000,
  10_000,
]
export const contexts: readonly number[] = [32_000, 128_000, 200_000, 1_000_000]

/** What the tokens of a month would have cost at the list prices of a model, in rubles; null where tokens have no price. */
export function monthAt(
  m: Pick<Model, 'in' | 'out' | 'cached'>,
  u: { readonly tokens_in: number; readonly tokens_cached: number; readonly tokens_out: number },
): string | null {
  const input = decimal(m.in),
    output = decimal(m.out)
  if (!input || !output) return null
  const cached = Math.min(u.tokens_cached, u.tokens_in)
  const sum = add(
    add(times(input, u.tokens_in - cached), times(decimal(m.cached) ?? input, cached)),
    times(output, u.tokens_out),
  )
  return plain(times({ digits: sum.digits, scale: sum.scale + 3 }, 1)) // prices are for 1,000 tokens
}
