/** What the parts of the page of prices share. */
import type { Reply } from '../../api/client'
import {
  getAdminCatalog,
  getPriceDraft,
  listAdminEndpoints,
  listAdminPrices,
  listPricePublications,
} from '../../api/operations'
import { renew } from '../../api/query'
import { add, decimal, multiply, plain, times } from '../../format'

export type Row = Reply<'/api/admin/prices'>['data'][number]
export type Line = Row['prices'][number]
export type Draft = NonNullable<Reply<'/api/admin/prices/draft'>['draft']>
export type Publication = Reply<'/api/admin/prices/publications'>['data'][number]

/** What a change of the draft, or its publication, makes old. */
export const renewPrices = () =>
  renew(listAdminPrices, getPriceDraft, listPricePublications, listAdminEndpoints, getAdminCatalog)

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
