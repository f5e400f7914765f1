/** What the parts of the page of alerts share. */
import type { Reply } from '../../api/client'

export type Setup = Reply<'/api/admin/alerts'>
export type Rule = Setup['rules'][number]
export type Channel = Setup['channels'][number]

/** All kinds of alerts, in the order of pages. */
export const kinds = [
  'provider',
  'endpoint',
  'ejected',
  'money',
  'prices',
  'rate',
  'certificate',
  'disk',
  'journal',
  'nodes',
] as const satisfies readonly Rule['kind'][]
