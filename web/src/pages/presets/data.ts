/** Presets as the API has them, and as forms have them. What a form has no field for is kept as JSON. */
import type { Reply } from '../../api/client'
import { efforts, readSchema, readTools, unset, type Settings } from '../playground/stream'

export type Row = Reply<'/api/presets'>['data'][number]
export type Preset = Reply<'/api/presets/{name}'>['data']
export type Version = Reply<'/api/presets/{name}/versions/{version}'>['data']
export type Said = Pick<
  Version,
  'model' | 'models' | 'system_prompt' | 'parameters' | 'provider' | 'tools' | 'plugins'
>
type Values = { readonly [name: string]: unknown }

/** A name for a preset from what a chat was about; '' where nothing of it can be in one. */
export const nameFrom = (title: string) =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 40)
    .replace(/-+$/, '')
export const goodName = (name: string) => /^[a-z0-9][a-z0-9_-]{0,63}$/.test(name)

export interface Form {
  readonly description: string
  /** '' is whichever the request names */
  readonly model: string
  readonly settings: Settings
  readonly parameters: string
  readonly provider: string
  readonly plugins: string
}
const text = (v: unknown) => (v === undefined || v === null ? '' : String(v))
const list = (v: readonly unknown[] | null | undefined) => (v?.length ? JSON.stringify(v, null, 2) : '')
const json = (v: Values) => (Object.keys(v).length ? JSON.stringify(v, null, 2) : '')

/** What a preset says, for the form. */
export function formOf(p: Said & { readonly description?: string | null }): Form {
  const { temperature, top_p, max_tokens, reasoning, response_format, ...more } = (p.parameters ?? {}) as {
    [name: string]: unknown
  }
  const { sort, data_collection, zdr, allow_fallbacks, ...route } = (p.provider ?? {}) as {
    [name: string]: unknown
  }
  const parameters: { [name: string]: unknown } = { ...more },
    provider: { [name: string]: unknown } = { ...route }
  const effort = reasoning as { effort?: string } | undefined
  const plain = effort && Object.keys(effort).length === 1 && efforts.includes(effort.effort as never)
  if (reasoning !== undefined && !plain) parameters.reasoning = reasoning
  const format = response_format as
    | { type?: string; json_schema?: { name?: string; strict?: boolean; schema?: unknown } }
    | undefined
  const own =
    format?.type === 'json_schema' &&
    format.json_schema?.name === 'answer' &&
    format.json_schema.strict === true
  if (format && format.type !== 'json_object' && !own) parameters.response_format = format
  const sorted = sort === 'price' || sort === 'throughput' || sort === 'latency' ? sort : ''
  if (sort !== undefined && !sorted) provider.sort = sort
  if (data_collection !== undefined && data_collection !== 'deny') provider.data_collection = data_collection
  if (zdr !== undefined && zdr !== true) provider.zdr = zdr
  if (allow_fallbacks !== undefined && allow_fallbacks !== false) provider.allow_fallbacks = allow_fallbacks
  return {
    description: p.description ?? '',
    model: p.model ?? '',
    parameters: json(parameters),
    provider: json(provider),
    plugins: list(p.plugins),
    settings: {
      ...unset,
      tools: list(p.tools),
      system: p.system_prompt ?? '',
      temperature: text(temperature),
      topP: text(top_p),
      longest: text(max_tokens),
      effort: plain ? effort.effort! : '',
      format: format?.type === 'json_object' ? 'json' : own ? 'schema' : '',
      schema: own ? JSON.stringify(format.json_schema!.schema, null, 2) : '',
      sort: sorted,
      noTraining: data_collection === 'deny',
      zeroRetention: zdr === true,
      oneProvider: allow_fallbacks === false,
      fallbacks: p.models ?? [],
    },
  }
}

const figure = (v: string) => (v.trim() === '' ? undefined : Number(v.trim().replace(',', '.')))
/** An object from JSON text; null is none of it. */
export function readObject(source: string): Values | null {
  if (!source.trim()) return {}
  try {
    const v: unknown = JSON.parse(source)
    return typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Values) : null
  } catch {
    return null
  }
}
/** A list of objects from JSON text; null is none of it. */
export function readList(source: string): readonly Values[] | null {
  if (!source.trim()) return []
  try {
    const v: unknown = JSON.parse(source)
    return Array.isArray(v) && v.every((x) => typeof x === 'object' && x !== null && !Array.isArray(x))
      ? (v as Values[])
      : null
  } catch {
    return null
  }
}
/** Functions from JSON text, with all that they say where they are in the form of a chat request already. */
function toolsOf(source: string): readonly Values[] {
  const whole = readList(source)
  return whole?.every((x) => x.type === 'function' && typeof x.function === 'object')
    ? whole
    : readTools(source).tools.map((x) => ({ ...x }))
}
/** What is sent of a form: the whole preset. */
export function saidBy(f: Omit<Form, 'description'>): Said {
  const s = f.settings
  const format =
    s.format === 'json'
      ? { type: 'json_object' }
      : s.format === 'schema'
        ? {
            type: 'json_schema',
            json_schema: { name: 'answer', strict: true, schema: readSchema(s.schema).schema },
          }
        : undefined
  const parameters = {
    ...readObject(f.parameters),
    ...Object.fromEntries(
      Object.entries({
        temperature: figure(s.temperature),
        top_p: figure(s.topP),
        max_tokens: figure(s.longest),
        reasoning: s.effort ? { effort: s.effort } : undefined,
        response_format: format,
      }).filter(([, v]) => v !== undefined),
    ),
  }
  const provider = {
    ...readObject(f.provider),
    ...(s.sort ? { sort: s.sort } : {}),
    ...(s.noTraining ? { data_collection: 'deny' } : {}),
    ...(s.zeroRetention ? { zdr: true } : {}),
    ...(s.oneProvider ? { allow_fallbacks: false } : {}),
  }
  const tools = toolsOf(s.tools),
    plugins = readList(f.plugins) ?? []
  const some = (v: Values) => (Object.keys(v).length ? v : null)
  return {
    model: f.model || null,
    models: s.fallbacks.length ? [...s.fallbacks] : null,
    system_prompt: s.system.trim() ? s.system : null,
    parameters: some(parameters),
    provider: some(provider),
    tools: tools.length ? [...tools] : null,
    plugins: plugins.length ? [...plugins] : null,
  }
}

/** A preset as lines of text, each fact on a line of its own, so that two can be compared. */
export function linesOf(p: Said): readonly string[] {
  const { system_prompt, ...more } = {
    model: p.model,
    models: p.models,
    parameters: p.parameters,
    provider: p.provider,
    tools: p.tools,
    plugins: p.plugins,
    system_prompt: p.system_prompt,
  }
  const facts = Object.fromEntries(Object.entries(more).filter(([, v]) => v !== null))
  return [
    ...JSON.stringify(facts, null, 2).split('\n'),
    ...(system_prompt ? ['system_prompt:', ...system_prompt.split('\n')] : []),
  ]
}
export interface Line {
  readonly kind: 'same' | 'gone' | 'new'
  readonly text: string
}
/** The difference of two texts by lines: the longest common lines stay. */
export function difference(a: readonly string[], b: readonly string[]): readonly Line[] {
  // Beyond a size nobody reads line by line, the texts are shown one after the other.
  if (a.length * b.length > 4_000_000)
    return [
      ...a.map((text) => ({ kind: 'gone' as const, text })),
      ...b.map((text) => ({ kind: 'new' as const, text })),
    ]
  const width = b.length + 1
  const common = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!)
  const out: Line[] = []
  let i = 0,
    j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ kind: 'same', text: a[i]! })
      i++
      j++
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
      out.push({ kind: 'gone', text: a[i++]! })
    else out.push({ kind: 'new', text: b[j++]! })
  }
  return out
}
