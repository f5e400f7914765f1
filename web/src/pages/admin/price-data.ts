/** What the parts of the page of prices share. */
import type { Body, Reply } from '../../api/client'
import {
  getAdminCatalog,
  getPriceDraft,
  getPriceImport,
  listAdminEndpoints,
  listAdminPrices,
  listPricePublications,
} from '../../api/operations'
import { renew } from '../../api/query'
import { add, compare, decimal, multiply, plain, times } from '../../format'

export type Row = Reply<'/api/admin/prices'>['data'][number]
export type Line = Row['prices'][number]
export type Draft = NonNullable<Reply<'/api/admin/prices/draft'>['draft']>
export type Publication = Reply<'/api/admin/prices/publications'>['data'][number]
export type Imported = Reply<'/api/admin/prices/import'>
export type ImportChange = Imported['data'][number]

/** What a change of the draft, or its publication, makes old. */
export const renewPrices = () =>
  renew(
    listAdminPrices,
    getPriceDraft,
    getPriceImport,
    listPricePublications,
    listAdminEndpoints,
    getAdminCatalog,
  )

const perTokens = '1000 tokens'
/** Prices of tokens are shown for a million, as everywhere on these pages; the API has them for a thousand. */
export function shown(line: Line, price: string | null): string | null {
  const d = decimal(price)
  if (!d || line.per !== perTokens) return price
  return plain(times(d, 1000))
}
export const ofTokens = (line: Line) => line.per === perTokens

const hundred = decimal('100')!
/** 15 of "0.15". */
export const percents = (fraction: string) => plain(multiply(decimal(fraction)!, hundred))
/** "0.15" of "15"; what is no number stays, for the API to refuse. */
export function fraction(text: string): string {
  const d = decimal(text)
  return d ? plain(multiply(d, decimal('0.01')!)) : text
}

export const sum = (a: string, b: string) => plain(add(decimal(a)!, decimal(b)!))

/** Above this margin a person is asked whether it is meant: 15 is more often 15 % than 1500 %. */
export const doubtful = (percents: string) => {
  const d = decimal(percents)
  return d !== null && compare(d, decimal('50')!) > 0
}

/** Who did it, by name where there is one. */
export const whoOf = (by: { actor: string; actor_name: string | null }) => by.actor_name ?? by.actor

/** What limits a price: a number of tokens, or hours. The name of a price says it after a space. */
export interface Limit {
  readonly name: string
  readonly above: string | null
  readonly hours: { days: string; from: string; to: string; zone: string } | null
}
/** The parts of the name of a price; null for a price that is limited in another way, such as by the size of an image. */
export function limitOf(name: string): Limit | null {
  const [, base, rest] = /^(\S+)(?: (.+))?$/.exec(name) ?? []
  if (base === undefined) return null
  if (rest === undefined) return { name: base, above: null, hours: null }
  const above = /^above (\d+)$/.exec(rest)?.[1]
  if (above !== undefined) return { name: base, above, hours: null }
  const h = /^(?:([a-z,]+) )?(\d\d:\d\d)-(\d\d:\d\d) (\S+)$/.exec(rest)
  return h && { name: base, above: null, hours: { days: h[1] ?? '', from: h[2]!, to: h[3]!, zone: h[4]! } }
}

type Given = Record<string, string>
interface Group {
  prices?: Given
  price_usd?: Given
}
type Threshold = Group & { above: number }
type Day = 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun'
type Hours = Group & { from: string; to: string; zone: string; days?: Day[] }
type EndpointBody = NonNullable<Body<'/api/admin/prices/draft/{id}', 'patch'>>
export type ImageLine = NonNullable<EndpointBody['images']>[number]
export type VideoLine = NonNullable<EndpointBody['video']>[number]
/** What is given of a line, as the API takes it. */
export const given = <T extends object>(line: T) =>
  Object.fromEntries(Object.entries(line).filter(([, v]) => v !== null)) as {
    [K in keyof T]: NonNullable<T[K]>
  }
/** Prices as the API takes them: those without a limit, and a list for each kind of limit. */
export function pricesBody(lines: readonly { line: Line; value: string }[]) {
  const base: Group = {}
  const thresholds = new Map<string, Threshold>()
  const hours = new Map<string, Hours>()
  const at = <G>(map: Map<string, G>, key: string, made: G) => {
    const found = map.get(key) ?? made
    map.set(key, found)
    return found
  }
  const images: ImageLine[] = []
  const video: VideoLine[] = []
  for (const { line, value } of lines) {
    if (line.image) {
      images.push({ ...given(line.image), ...(line.usd === null ? { price: value } : { price_usd: value }) })
      continue
    }
    if (line.video) {
      const per = line.usd === null ? { per_second: value } : { per_second_usd: value }
      video.push({ ...given(line.video), ...per })
      continue
    }
    const limit = limitOf(line.name)
    if (!limit) continue
    const h = limit.hours
    const group: Group =
      limit.above !== null
        ? at(thresholds, limit.above, { above: Number(limit.above) })
        : h
          ? at(hours, line.name.slice(limit.name.length), {
              from: h.from,
              to: h.to,
              zone: h.zone,
              ...(h.days ? { days: h.days.split(',') as Day[] } : {}),
            })
          : base
    const kind = line.usd === null ? 'prices' : 'price_usd'
    group[kind] = { ...group[kind], [limit.name]: value }
  }
  return {
    ...base,
    ...(thresholds.size > 0 ? { thresholds: [...thresholds.values()] } : {}),
    ...(hours.size > 0 ? { hours: [...hours.values()] } : {}),
    ...(images.length > 0 ? { images } : {}),
    ...(video.length > 0 ? { video } : {}),
  }
}
