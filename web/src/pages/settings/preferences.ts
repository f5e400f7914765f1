/** The form of an account's preferences: as texts while they are edited, as the API's object when they are sent; and what in it is at odds. Pure. */
import type { components } from '../../api/schema'
import { decimal, plain, type Decimal } from '../../format'

export type Preferences = Partial<NonNullable<components['schemas']['ProviderPreferences']>>

export const sorts = ['', 'price', 'throughput', 'latency'] as const
export const levels = [
  'int4',
  'int8',
  'fp4',
  'mxfp4',
  'nvfp4',
  'fp6',
  'fp8',
  'mxfp8',
  'fp16',
  'bf16',
  'fp32',
  'unknown',
] as const
export const ceilings = ['prompt', 'completion', 'request', 'image', 'audio'] as const
export const percentiles = ['p50', 'p75', 'p90', 'p99'] as const
export type Ceiling = (typeof ceilings)[number]
export type Percentile = (typeof percentiles)[number]
export type Cutoffs = Readonly<Record<Percentile, string>>

export interface Form {
  readonly sort: (typeof sorts)[number] | 'exacto'
  readonly together: boolean
  readonly order: readonly string[]
  readonly only: readonly string[]
  readonly ignore: readonly string[]
  readonly fallbacks: boolean
  readonly parameters: boolean
  readonly deny: boolean
  readonly zero: boolean
  readonly quantizations: readonly string[]
  /** As people see prices: rubles for a million tokens, or for one request or image */
  readonly price: Readonly<Record<Ceiling, string>>
  readonly speed: Cutoffs
  readonly first: Cutoffs
  /** Who answers batches: the form has no field for it, and keeps it */
  readonly batch: NonNullable<Preferences['batch']> | ''
}
const none: Cutoffs = { p50: '', p75: '', p90: '', p99: '' }
export const empty: Form = {
  sort: '',
  together: false,
  order: [],
  only: [],
  ignore: [],
  fallbacks: true,
  parameters: false,
  deny: false,
  zero: false,
  quantizations: [],
  price: { prompt: '', completion: '', request: '', image: '', audio: '' },
  speed: none,
  first: none,
  batch: '',
}

/** How many powers of ten lie between the API's unit and a million tokens. */
const places: Readonly<Record<Ceiling, number>> = { prompt: 3, completion: 3, request: 0, image: 0, audio: 6 }
const moved = (d: Decimal, by: number) =>
  plain(
    by > 0
      ? { digits: d.digits * 10n ** BigInt(by), scale: d.scale }
      : { digits: d.digits, scale: d.scale - by },
  )
/** A decimal as people type it: with a comma, with spaces. */
const typed = (text: string): Decimal | null => {
  const s = text.replace(/[\s\u00A0\u202F]/g, '').replace(',', '.')
  return /^\d{1,12}(\.\d{1,20})?$/.test(s) ? decimal(s) : null
}
const trimmed = (text: string) => (text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text)

export function formOf(p: Preferences | null | undefined): Form {
  if (!p) return empty
  const by = typeof p.sort === 'object' && p.sort !== null ? p.sort.by : p.sort
  const texts = (list: readonly (string | null)[] | null | undefined) =>
    (list ?? []).filter((x): x is string => typeof x === 'string')
  const price = (c: Ceiling) => {
    const d = decimal(p.max_price?.[c] ?? null)
    return d ? trimmed(moved(d, places[c])) : ''
  }
  const cutoffs = (c: Preferences['preferred_max_latency']): Cutoffs =>
    typeof c === 'number'
      ? { ...none, p50: String(c) }
      : (Object.fromEntries(percentiles.map((k) => [k, c?.[k] ? String(c[k]) : ''])) as Cutoffs)
  return {
    sort: by ?? '',
    together: typeof p.sort === 'object' && p.sort?.partition === 'none',
    order: texts(p.order),
    only: texts(p.only),
    ignore: texts(p.ignore),
    fallbacks: p.allow_fallbacks !== false,
    parameters: p.require_parameters === true,
    deny: p.data_collection === 'deny',
    zero: p.zdr === true,
    quantizations: texts(p.quantizations),
    price: {
      prompt: price('prompt'),
      completion: price('completion'),
      request: price('request'),
      image: price('image'),
      audio: price('audio'),
    },
    speed: cutoffs(p.preferred_min_throughput),
    first: cutoffs(p.preferred_max_latency),
    batch: p.batch ?? '',
  }
}

/** What is sent; null when nothing is preferred. Call it only when `problems` finds no figure that cannot be read. */
export function preferencesOf(f: Form): Preferences | null {
  const p: { -readonly [K in keyof Preferences]: Preferences[K] } = {}
  if (f.order.length > 0) p.order = [...f.order]
  if (f.only.length > 0) p.only = [...f.only]
  if (f.ignore.length > 0) p.ignore = [...f.ignore]
  if (!f.fallbacks) p.allow_fallbacks = false
  if (f.parameters) p.require_parameters = true
  if (f.deny) p.data_collection = 'deny'
  if (f.zero) p.zdr = true
  if (f.quantizations.length > 0) p.quantizations = levels.filter((l) => f.quantizations.includes(l))
  if (f.sort) p.sort = f.together ? { by: f.sort, partition: 'none' } : f.sort
  const most: Partial<Record<Ceiling, string>> = {}
  for (const c of ceilings) {
    const d = typed(f.price[c])
    if (d) most[c] = trimmed(moved(d, -places[c]))
  }
  if (Object.keys(most).length > 0) p.max_price = most
  const cutoffs = (c: Cutoffs) => {
    const set = percentiles.flatMap((k) => {
      const d = typed(c[k])
      return d && d.digits > 0n ? [[k, Number(plain(d))] as const] : []
    })
    return set.length > 0 ? Object.fromEntries(set) : null
  }
  const speed = cutoffs(f.speed),
    first = cutoffs(f.first)
  if (speed) p.preferred_min_throughput = speed
  if (first) p.preferred_max_latency = first
  if (f.batch) p.batch = f.batch
  return Object.keys(p).length > 0 ? p : null
}

export type FieldName =
  | 'sort'
  | 'order'
  | 'only'
  | 'ignore'
  | 'quantizations'
  | 'fallbacks'
  | 'zero'
  | `price.${Ceiling}`
  | `speed.${Percentile}`
  | `first.${Percentile}`
export type Kind =
  | 'number'
  | 'ignoredAll'
  | 'ignoredSome'
  | 'orderIgnored'
  | 'orderNotAllowed'
  | 'unknown'
  | 'sortAfterOrder'
  | 'oneOfOrder'
  | 'free'
  | 'includesTraining'
export interface Problem {
  readonly field: FieldName
  readonly kind: Kind
  readonly names: readonly string[] /** It cannot be saved so */
  readonly bad: boolean
}

/** What does not go together, or cannot be read. `known` are the providers of the catalog, in lower case; null while it is not there. */
export function problems(f: Form, known: ReadonlySet<string> | null): Problem[] {
  const out: Problem[] = []
  const say = (field: FieldName, kind: Kind, names: readonly string[] = [], bad = false) =>
    out.push({ field, kind, names, bad })
  const lower = (list: readonly string[]) => new Set(list.map((s) => s.toLowerCase()))
  const ignored = lower(f.ignore),
    only = lower(f.only)
  const base = (s: string) => s.toLowerCase().split('/')[0]!
  const isIgnored = (s: string) => ignored.has(s.toLowerCase()) || ignored.has(base(s))
  const lost = f.only.filter(isIgnored)
  if (lost.length > 0 && lost.length === f.only.length) say('ignore', 'ignoredAll')
  else if (lost.length > 0) say('ignore', 'ignoredSome', lost)
  const never = f.order.filter(isIgnored)
  if (never.length > 0) say('order', 'orderIgnored', never)
  const outside =
    only.size > 0
      ? f.order.filter(
          (s) =>
            !isIgnored(s) &&
            !only.has(s.toLowerCase()) &&
            !only.has(base(s)) &&
            ![...only].some((o) => base(o) === s.toLowerCase()),
        )
      : []
  if (outside.length > 0) say('order', 'orderNotAllowed', outside)
  for (const field of ['order', 'only', 'ignore'] as const) {
    const strange = known ? f[field].filter((s) => !known.has(base(s))) : []
    if (strange.length > 0) say(field, 'unknown', strange)
  }
  if (f.order.length > 0 && f.sort && f.sort !== 'exacto') say('sort', 'sortAfterOrder')
  if (!f.fallbacks && f.order.length > 0) say('fallbacks', 'oneOfOrder')
  if (f.zero && f.deny) say('zero', 'includesTraining')
  for (const c of ceilings) {
    if (f.price[c].trim() === '') continue
    const d = typed(f.price[c])
    if (!d || d.digits * 1n > 10n ** BigInt(d.scale + 6 + places[c])) say(`price.${c}`, 'number', [], true)
    else if (d.digits === 0n) say(`price.${c}`, 'free')
  }
  for (const field of ['speed', 'first'] as const)
    for (const k of percentiles)
      if (f[field][k].trim() !== '' && !typed(f[field][k])) say(`${field}.${k}`, 'number', [], true)
  return out
}

/** The field of the form that an error of the API is about. */
export function fieldOf(param: string | null | undefined): FieldName | null {
  const parts = /^provider\.([a-z_]+)(?:\.([a-z0-9]+))?/.exec(param ?? '')
  if (!parts) return null
  const inner = parts[2] ?? ''
  switch (parts[1]) {
    case 'sort':
    case 'order':
    case 'only':
    case 'ignore':
    case 'quantizations':
      return parts[1]
    case 'allow_fallbacks':
      return 'fallbacks'
    case 'zdr':
    case 'data_collection':
      return 'zero'
    case 'max_price':
      return ceilings.some((c) => c === inner) ? `price.${inner as Ceiling}` : 'price.prompt'
    case 'preferred_min_throughput':
      return percentiles.some((p) => p === inner) ? `speed.${inner as Percentile}` : 'speed.p50'
    case 'preferred_max_latency':
      return percentiles.some((p) => p === inner) ? `first.${inner as Percentile}` : 'first.p50'
  }
  return null
}
