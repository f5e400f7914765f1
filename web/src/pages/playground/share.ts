/** What a link to the playground says: models and settings under short names, never a message. */
import type { Search, SearchShape } from '../../ui/link'
import { efforts, unset, type Settings } from './stream'

export interface Address {
  readonly models: readonly string[]
  readonly settings: Settings
  /** A call whose stored text a new chat begins with */
  readonly again?: string | undefined
}
const ids = (s: string | undefined, most: number) =>
  [...new Set((s ?? '').split(',').filter(Boolean))].slice(0, most)
const one = <V extends string>(s: string | undefined, of: readonly V[]): V | '' =>
  of.includes(s as V) ? (s as V) : ''

export const shape: SearchShape<Address> = {
  read: (raw) => ({
    models: ids(raw.models, 4),
    again: /^gen-[\w-]{1,60}$/.exec(raw.again ?? '')?.[0],
    settings: {
      ...unset,
      system: (raw.system ?? '').slice(0, 8000),
      temperature: (raw.t ?? '').slice(0, 20),
      topP: (raw.p ?? '').slice(0, 20),
      longest: (raw.max ?? '').slice(0, 20),
      effort: one(raw.effort, efforts),
      format: one(raw.format, ['json', 'schema'] as const),
      schema: (raw.schema ?? '').slice(0, 8000),
      tools: (raw.tools ?? '').slice(0, 8000),
      sort: one(raw.sort, ['price', 'throughput', 'latency'] as const),
      noTraining: raw.notrain === '1',
      zeroRetention: raw.zero === '1',
      oneProvider: raw.one === '1',
      fallbacks: ids(raw.fallbacks, 8),
    },
  }),
  write: (v) => ({ models: v.models.join() || undefined }),
}
/** All settings; `text`: the instructions too. */
export function linkTo(models: readonly string[], s: Settings, text: boolean): Search {
  const is = (on: boolean) => (on ? '1' : undefined)
  const named: { readonly [name: string]: string | undefined } = {
    models: models.join(),
    t: s.temperature.trim(),
    p: s.topP.trim(),
    max: s.longest.trim(),
    effort: s.effort,
    format: s.format,
    schema: s.format === 'schema' ? s.schema : '',
    tools: s.tools,
    sort: s.sort,
    notrain: is(s.noTraining),
    zero: is(s.zeroRetention),
    one: is(s.oneProvider),
    fallbacks: s.fallbacks.join(),
    system: text ? s.system : '',
  }
  return Object.fromEntries(Object.entries(named).filter(([, v]) => v)) as Search
}
