/** What providers offer of a model, in the order and with the shares of a default call. Pure. */
import type { components } from '../../api/schema'
import { add, approximately, compare, decimal, multiply, times, ZERO, type Decimal } from '../../format'

export type Provider = components['schemas']['ModelProvider']
export type Offer = components['schemas']['EndpointOffer']
export interface Row {
  readonly provider: Provider
  readonly offer: Offer
  /** Of default calls, 0 to 100; null for offers that must be asked for */
  readonly share: number | null
}

const base = (o: Offer, part: string) => decimal((o.pricing.base as Record<string, string | undefined>)[part])
/** What 1000 prompt and 1000 completion tokens cost: by this the first endpoint of a call is drawn. */
function weighed(o: Offer): Decimal | null {
  const a = base(o, 'prompt_per_1k'),
    b = base(o, 'completion_per_1k')
  return a || b ? add(a ?? ZERO, b ?? ZERO) : null
}
const plainOffer = (o: Offer) => o.service_tier === 'default' && o.variant === 'standard'

/** Each offer with its share of default calls: the draw is by 1/price², a free one has 100 times the weight of the cheapest other. */
export function rows(providers: readonly Provider[]): Row[] {
  const all = providers.flatMap((provider) => provider.endpoints.map((offer) => ({ provider, offer })))
  const drawn = all.filter((r) => plainOffer(r.offer))
  const prices = drawn.map((r) => {
    const w = weighed(r.offer)
    return w === null ? null : approximately(w)
  })
  const paid = prices.filter((p): p is number => p !== null && p > 0)
  const free = paid.length ? 100 / Math.min(...paid) ** 2 : 1
  const weights = prices.map((p) => (p === null ? 0 : p === 0 ? free : 1 / p ** 2))
  const sum = weights.reduce((a, b) => a + b, 0)
  const share = new Map(
    drawn.map((r, i) => [r.offer, drawn.length === 1 ? 100 : sum > 0 ? (weights[i]! / sum) * 100 : null]),
  )
  return all
    .map((r) => ({ ...r, share: share.get(r.offer) ?? null }))
    .sort((a, b) => (b.share ?? -1) - (a.share ?? -1))
}

/** What a call costs at an offer: uncached, cached and written tokens at their prices, those of long prompts where they apply. Exact. */
export function costOf(o: Offer, tokensIn: number, cached: number, tokensOut: number): Decimal | null {
  const prices: Record<string, string | undefined> = { ...(o.pricing.base as Record<string, string>) }
  const long = [...o.pricing.variable_pricings]
    .filter((v) => tokensIn > v.threshold)
    .sort((a, b) => b.threshold - a.threshold)[0]
  if (long) Object.assign(prices, long.pricing)
  const prompt = decimal(prices.prompt_per_1k),
    completion = decimal(prices.completion_per_1k)
  if (!prompt && !completion) return null
  const read = decimal(prices.cache_read_per_1k) ?? prompt
  const used = Math.min(cached, tokensIn)
  const thousand = (p: Decimal | null, n: number) =>
    p ? multiply(times(p, n), { digits: 1n, scale: 3 }) : ZERO
  return add(
    add(thousand(prompt, tokensIn - used), thousand(read, used)),
    add(thousand(completion, tokensOut), decimal(o.pricing.per_request.request_rub) ?? ZERO),
  )
}

/** The smallest and the largest of some amounts. */
export function range(amounts: readonly (Decimal | null)[]): { from: Decimal; to: Decimal } | null {
  const known = amounts.filter((a): a is Decimal => a !== null)
  if (known.length === 0) return null
  return {
    from: known.reduce((a, b) => (compare(b, a) < 0 ? b : a)),
    to: known.reduce((a, b) => (compare(b, a) > 0 ? b : a)),
  }
}
/** The models most like one: of its kind, with as much of what it can do and near its price. */
export function similar<
  M extends {
    id: string
    type: string
    caps: readonly string[]
    ins: readonly string[]
    in: string | null
    live: boolean
  },
>(of: M, all: readonly M[], n: number): M[] {
  const price = (m: M) => {
    const d = decimal(m.in)
    return d ? Math.log10(approximately(d) + 1e-6) : 0
  }
  const far = (m: M) =>
    of.caps.filter((c) => !m.caps.includes(c)).length * 2 +
    of.ins.filter((i) => !m.ins.includes(i)).length +
    Math.abs(price(of) - price(m))
  return all
    .filter((m) => m.id !== of.id && m.type === of.type && m.live)
    .sort((a, b) => far(a) - far(b))
    .slice(0, n)
}
