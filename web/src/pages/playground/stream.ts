/** A streamed chat completion: the event stream is cut into frames, and frames become an answer. No browser is needed for it. */

/** Cuts an event stream into the data of its events, however its bytes arrive. */
export class EventReader {
  private rest = ''
  private data: string[] = []
  private start = true
  private readonly decoder = new TextDecoder()

  /** Answers the data of each event that ends in this piece. */
  push(bytes: Uint8Array): string[] {
    let text = this.rest + this.decoder.decode(bytes, { stream: true })
    if (this.start && text) {
      this.start = false
      if (text.startsWith('\ufeff')) text = text.slice(1)
    }
    const events: string[] = []
    const end = /\r\n?|\n/g
    let from = 0
    for (let m = end.exec(text); m; m = end.exec(text)) {
      if (m[0] === '\r' && end.lastIndex === text.length) break // perhaps the first half of CR LF
      this.line(text.slice(from, m.index), events)
      from = end.lastIndex
    }
    this.rest = text.slice(from)
    return events
  }
  private line(line: string, events: string[]): void {
    if (line === '') {
      if (this.data.length) events.push(this.data.join('\n'))
      this.data = []
    } else if (line === 'data' || line.startsWith('data:')) {
      const value = line.slice(5)
      this.data.push(value.startsWith(' ') ? value.slice(1) : value)
    }
  }
}

export type Status = 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed'
export interface Failure {
  readonly type: string
  readonly message: string
  readonly status: number
  readonly requestId: string | null
  readonly retryAfter: number | null
}
/** A call of a tool as the model wrote it: its arguments may be no JSON. */
export interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: string
}
export interface Answer {
  readonly status: Status
  readonly text: string
  readonly reasoning: string
  /** What the gateway wants back of the reasoning when the conversation goes on */
  readonly details: readonly { readonly [name: string]: unknown }[]
  readonly calls: readonly Call[]
  /** Pictures that the model made, as data URLs */
  readonly images: readonly string[]
  readonly error: Failure | null
  /** Generation id: the call's page */
  readonly id: string | null
  readonly provider: string | null
  readonly finish: string | null
  readonly tokens: { readonly in: number; readonly out: number; readonly reasoning: number } | null
  /** Bytes of what has come, for guesses */
  readonly size: number
  /** Rubles as the gateway wrote them; null until the charge is settled */
  readonly cost: string | null
  /** Milliseconds since 1970 */
  readonly asked: number
  /** Milliseconds since it was asked: the first sign of an answer, the first text, the end */
  readonly first: number | null
  readonly firstText: number | null
  readonly end: number | null
}
export function begin(now: number): Answer {
  return {
    status: 'waiting',
    text: '',
    reasoning: '',
    details: [],
    calls: [],
    images: [],
    error: null,
    id: null,
    provider: null,
    finish: null,
    tokens: null,
    size: 0,
    cost: null,
    asked: now,
    first: null,
    firstText: null,
    end: null,
  }
}
export const running = (a: Answer) => a.status === 'waiting' || a.status === 'streaming'

interface Delta {
  content?: unknown
  reasoning?: unknown
  reasoning_content?: unknown
  refusal?: unknown
  reasoning_details?: unknown
  tool_calls?: unknown
  images?: unknown
}
interface Frame {
  id?: unknown
  provider?: unknown
  choices?: { delta?: Delta; finish_reason?: unknown }[]
  usage?: {
    prompt_tokens?: unknown
    completion_tokens?: unknown
    completion_tokens_details?: { reasoning_tokens?: unknown }
  } | null
  error?: {
    code?: unknown
    message?: unknown
    metadata?: { error_type?: unknown; request_id?: unknown; retry_after?: unknown }
  }
}
const count = (v: unknown) => (typeof v === 'number' && Number.isFinite(v) && v >= 0 ? v : 0)
const text = (v: unknown) => (typeof v === 'string' ? v : '')
const objects = (v: unknown) =>
  Array.isArray(v)
    ? v.filter((x): x is { readonly [name: string]: unknown } => typeof x === 'object' && x !== null)
    : []
/** At most so many of what a model may send without end. */
const most = 64

function withCalls(calls: readonly Call[], parts: unknown): readonly Call[] {
  const list = [...calls]
  for (const part of objects(parts)) {
    const at =
      typeof part.index === 'number' && part.index >= 0 && part.index < most ? part.index : list.length
    const f = (typeof part.function === 'object' && part.function !== null ? part.function : {}) as {
      name?: unknown
      arguments?: unknown
    }
    while (list.length <= at && list.length < most) list.push({ id: '', name: '', arguments: '' })
    const now = list[at]
    if (now)
      list[at] = {
        id: now.id || text(part.id),
        name: now.name + text(f.name),
        arguments: now.arguments + text(f.arguments),
      }
  }
  return list
}
/** Pieces of the same part become one: texts are put together, other members are taken as they come. */
function withDetails(details: Answer['details'], parts: unknown): Answer['details'] {
  const list = [...details]
  for (const part of objects(parts)) {
    const at = list.findIndex((d) => d.index === part.index && d.type === part.type)
    const now = list[at]
    if (!now) {
      if (list.length < most) list.push(part)
      continue
    }
    const merged: { [name: string]: unknown } = { ...now }
    for (const [k, v] of Object.entries(part))
      if (v !== null)
        merged[k] =
          (k === 'text' || k === 'summary' || k === 'data') && typeof merged[k] === 'string'
            ? text(merged[k]) + text(v)
            : v
    list[at] = merged
  }
  return list
}
function withImages(images: readonly string[], parts: unknown): readonly string[] {
  return [
    ...images,
    ...objects(parts)
      .map((p) => text((p.image_url as { url?: unknown } | undefined)?.url))
      .filter((u) => u.startsWith('data:image/')),
  ].slice(0, most)
}

/** The answer after one frame. `[DONE]` ends it; an error keeps what had come. */
export function apply(a: Answer, data: string, now: number): Answer {
  if (!running(a)) return a
  if (data === '[DONE]') return { ...a, status: 'done', end: now - a.asked }
  let frame: Frame
  try {
    frame = JSON.parse(data) as Frame
  } catch {
    return fail(
      a,
      {
        type: 'unreadable',
        message: 'A frame of the stream is not readable.',
        status: 200,
        requestId: null,
        retryAfter: null,
      },
      now,
    )
  }
  if (typeof frame !== 'object' || frame === null) return a
  if (frame.error) {
    const m = frame.error.metadata ?? {}
    return fail(
      a,
      {
        type: text(m.error_type) || 'server',
        message: text(frame.error.message),
        status: count(frame.error.code),
        requestId: text(m.request_id) || null,
        retryAfter: count(m.retry_after) || null,
      },
      now,
    )
  }
  const choice = frame.choices?.[0]
  const delta = choice?.delta
  const more = text(delta?.content) || text(delta?.refusal)
  const thought = text(delta?.reasoning) || text(delta?.reasoning_content)
  const said = more || objects(delta?.tool_calls).length > 0 || objects(delta?.images).length > 0
  const passed = now - a.asked
  const usage = frame.usage
  return {
    ...a,
    status: 'streaming',
    text: a.text + more,
    reasoning: a.reasoning + thought,
    details: delta?.reasoning_details ? withDetails(a.details, delta.reasoning_details) : a.details,
    calls: delta?.tool_calls ? withCalls(a.calls, delta.tool_calls) : a.calls,
    images: delta?.images ? withImages(a.images, delta.images) : a.images,
    size: a.size + bytesOf(more) + bytesOf(thought),
    id: a.id ?? (text(frame.id) || null),
    provider: a.provider ?? (text(frame.provider) || null),
    finish: text(choice?.finish_reason) || a.finish,
    first: a.first ?? (said || thought ? passed : null),
    firstText: a.firstText ?? (said ? passed : null),
    tokens: usage
      ? {
          in: count(usage.prompt_tokens),
          out: count(usage.completion_tokens),
          reasoning: count(usage.completion_tokens_details?.reasoning_tokens),
        }
      : a.tokens,
    cost: usage ? (costOf(data) ?? a.cost) : a.cost,
  }
}
/** The charge in the digits that the gateway wrote; JSON.parse would make a float of them. It is read behind the last "usage". */
export function costOf(data: string): string | null {
  const usage = data.lastIndexOf('"usage":')
  return usage < 0 ? null : (/"cost":\s*"?(-?[\d.]+(?:[eE][-+]?\d+)?)/.exec(data.slice(usage))?.[1] ?? null)
}
export function fail(a: Answer, error: Failure, now: number): Answer {
  return running(a) ? { ...a, status: 'failed', error, end: now - a.asked } : a
}
export function stop(a: Answer, now: number): Answer {
  return running(a) ? { ...a, status: 'stopped', end: now - a.asked } : a
}
/** The connection is over: without a finish reason the answer is not whole. */
export function close(a: Answer, now: number): Answer {
  if (!running(a)) return a
  return a.finish
    ? { ...a, status: 'done', end: now - a.asked }
    : fail(
        a,
        {
          type: 'offline',
          message: 'The connection broke off before the end of the answer.',
          status: 0,
          requestId: null,
          retryAfter: null,
        },
        now,
      )
}

export function bytesOf(text: string): number {
  let n = text.length
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c > 0x7f) n += c > 0x7ff && (c < 0xd800 || c > 0xdfff) ? 2 : 1
  }
  return n
}
/** A guess, marked as one wherever it is shown: four bytes are a token. */
export const guess = (bytes: number) => Math.ceil(bytes / 4)

export type FileKind = 'image' | 'audio' | 'pdf' | 'text'
/** What is sent with a message. It stays in this browser until it is sent to the model. */
export interface Attachment {
  readonly id: string
  readonly kind: FileKind
  readonly name: string
  /** Bytes */
  readonly size: number
  /** A data URL; the text itself of a text; empty when the history did not keep it */
  readonly data: string
  readonly width?: number
  readonly height?: number
  readonly pages?: number
}
/** A message and its answer. `results` instead of a prompt: what the called tools gave back. */
export interface Turn {
  readonly prompt: string
  readonly files?: readonly Attachment[]
  readonly results?: readonly { readonly id: string; readonly content: string }[]
  readonly answer: Answer
}
export interface Chat {
  readonly models: readonly string[]
  readonly turns: { readonly [model: string]: readonly Turn[] }
  readonly settings: Settings
  /** Charges of this chat by generation id: answers that were run again or moved to another model count once, and stay counted */
  readonly spent: { readonly [id: string]: string }
}

export interface Settings {
  readonly system: string
  readonly temperature: string
  readonly topP: string
  readonly longest: string
  readonly effort: string
  /** Tools as JSON text */
  readonly tools: string
  readonly format: '' | 'json' | 'schema'
  readonly schema: string
  readonly sort: '' | 'price' | 'throughput' | 'latency'
  readonly noTraining: boolean
  readonly zeroRetention: boolean
  readonly oneProvider: boolean
  /** Models to try when the first one fails */
  readonly fallbacks: readonly string[]
}
export const unset: Settings = {
  system: '',
  temperature: '',
  topP: '',
  longest: '',
  effort: '',
  tools: '',
  format: '',
  schema: '',
  sort: '',
  noTraining: false,
  zeroRetention: false,
  oneProvider: false,
  fallbacks: [],
}
export const efforts = ['none', 'low', 'medium', 'high'] as const

function figure(v: string, max: number, whole = false): number | null {
  const n = Number(v.trim().replace(',', '.'))
  return v.trim() !== '' &&
    Number.isFinite(n) &&
    n >= (whole ? 1 : 0) &&
    n <= max &&
    (!whole || Number.isInteger(n))
    ? n
    : null
}
export interface Tool {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly description?: string; readonly parameters?: unknown }
}
/**
 * Tools from JSON text: a list, or one; each with or without the frame {"type": "function",
 * "function": …}. The error is the browser's own text, or a name from the messages.
 */
export function readTools(source: string): { tools: readonly Tool[]; error: string | null } {
  if (!source.trim()) return { tools: [], error: null }
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch (e) {
    return { tools: [], error: e instanceof Error ? e.message : String(e) }
  }
  const tools: Tool[] = []
  for (const one of Array.isArray(value) ? value : [value]) {
    const o = (typeof one === 'object' && one !== null ? one : {}) as {
      function?: unknown
      input_schema?: unknown
    }
    const f = (typeof o.function === 'object' && o.function !== null ? o.function : o) as {
      name?: unknown
      description?: unknown
      parameters?: unknown
      input_schema?: unknown
    }
    if (typeof f.name !== 'string' || !/^[\w-]{1,64}$/.test(f.name)) return { tools: [], error: 'toolName' }
    const parameters = f.parameters ?? f.input_schema
    if (
      parameters !== undefined &&
      (typeof parameters !== 'object' || parameters === null || Array.isArray(parameters))
    )
      return { tools: [], error: 'toolParameters' }
    tools.push({
      type: 'function',
      function: {
        name: f.name,
        ...(text(f.description) ? { description: text(f.description) } : {}),
        ...(parameters === undefined ? {} : { parameters }),
      },
    })
  }
  if (tools.length > 128) return { tools: [], error: 'toolMany' }
  if (new Set(tools.map((t) => t.function.name)).size < tools.length) return { tools: [], error: 'toolTwice' }
  return { tools, error: null }
}
export function readSchema(source: string): { schema: unknown; error: string | null } {
  try {
    const schema: unknown = JSON.parse(source)
    return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
      ? { schema, error: null }
      : { schema: null, error: 'schemaObject' }
  } catch (e) {
    return { schema: null, error: e instanceof Error ? e.message : String(e) }
  }
}
/** Names of settings that are no values. */
export function wrong(s: Settings): readonly (keyof Settings)[] {
  return [
    ...(s.temperature.trim() && figure(s.temperature, 2) === null ? ['temperature' as const] : []),
    ...(s.topP.trim() && figure(s.topP, 1) === null ? ['topP' as const] : []),
    ...(s.longest.trim() && figure(s.longest, 10_000_000, true) === null ? ['longest' as const] : []),
    ...(readTools(s.tools).error ? ['tools' as const] : []),
    ...(s.format === 'schema' && readSchema(s.schema).error ? ['schema' as const] : []),
  ]
}
/** What the arguments of a call say, or why they are no JSON. */
export function readArguments(source: string): { value: unknown; error: string | null } {
  try {
    return { value: source.trim() ? JSON.parse(source) : {}, error: null }
  } catch (e) {
    return { value: null, error: e instanceof Error ? e.message : String(e) }
  }
}

type Part = { readonly type: string; readonly [name: string]: unknown }
export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | readonly Part[] | null
  readonly [name: string]: unknown
}
export interface Request {
  readonly model: string
  readonly messages: readonly Message[]
  readonly [parameter: string]: unknown
}

function part(f: Attachment): Part {
  switch (f.kind) {
    case 'image':
      return { type: 'image_url', image_url: { url: f.data } }
    case 'pdf':
      return { type: 'file', file: { filename: f.name, file_data: f.data } }
    case 'audio':
      return {
        type: 'input_audio',
        input_audio: {
          data: f.data.slice(f.data.indexOf(',') + 1),
          format: /^data:audio\/(?:mpeg|mp3)/.test(f.data) ? 'mp3' : 'wav',
        },
      }
    case 'text':
      return { type: 'text', text: `${f.name}:\n\n${f.data}` }
  }
}
function user(prompt: string, files: readonly Attachment[] = []): Message {
  const there = files.filter((f) => f.data)
  return {
    role: 'user',
    content:
      there.length === 0
        ? prompt
        : [...there.map(part), ...(prompt.trim() ? [{ type: 'text', text: prompt }] : [])],
  }
}
const asked = (t: Pick<Turn, 'prompt' | 'files' | 'results'>): readonly Message[] =>
  t.results
    ? t.results.map((r) => ({ role: 'tool', tool_call_id: r.id, content: r.content }))
    : [user(t.prompt, t.files)]
/**
 * Messages of a history and what is asked next. A turn without an answer is left out; a call without a
 * result gets one that says so, because models insist on it.
 */
function messages(turns: readonly Turn[], next: Pick<Turn, 'prompt' | 'files' | 'results'>): Message[] {
  const out: Message[] = []
  turns.forEach((t, i) => {
    const a = t.answer
    const following = turns.slice(i + 1).find((x) => x.answer.text || x.answer.calls.length) ?? next
    if (!a.text && a.calls.length === 0) return
    out.push(...asked(t), {
      role: 'assistant',
      content: a.text || null,
      ...(a.details.length && a.calls.length ? { reasoning_details: a.details } : {}),
      ...(a.calls.length
        ? {
            tool_calls: a.calls.map((c) => ({
              id: c.id,
              type: 'function',
              function: {
                name: c.name,
                arguments: readArguments(c.arguments).error ? '{}' : c.arguments || '{}',
              },
            })),
          }
        : {}),
    })
    if (a.calls.length && !following.results)
      out.push(
        ...a.calls.map(
          (c): Message => ({ role: 'tool', tool_call_id: c.id, content: 'No result was given.' }),
        ),
      )
  })
  return [...out, ...asked(next)]
}
/** What is sent: only settings that are set. */
export function request(
  model: string,
  turns: readonly Turn[],
  next: Pick<Turn, 'prompt' | 'files' | 'results'>,
  s: Settings,
  can: { readonly reasoning: boolean; readonly tools: boolean },
): Request {
  const temperature = figure(s.temperature, 2),
    topP = figure(s.topP, 1),
    longest = figure(s.longest, 10_000_000, true)
  const { tools } = readTools(s.tools)
  const provider = {
    ...(s.sort ? { sort: s.sort } : {}),
    ...(s.noTraining ? { data_collection: 'deny' } : {}),
    ...(s.zeroRetention ? { zdr: true } : {}),
    ...(s.oneProvider ? { allow_fallbacks: false } : {}),
  }
  const fallbacks = s.fallbacks.filter((m) => m !== model)
  return {
    model,
    ...(fallbacks.length ? { models: fallbacks } : {}),
    messages: [
      ...(s.system.trim() ? [{ role: 'system' as const, content: s.system }] : []),
      ...messages(turns, next),
    ],
    ...(temperature === null ? {} : { temperature }),
    ...(topP === null ? {} : { top_p: topP }),
    ...(longest === null ? {} : { max_tokens: longest }),
    ...(s.effort && can.reasoning ? { reasoning_effort: s.effort } : {}),
    ...(tools.length && can.tools ? { tools } : {}),
    ...(s.format === 'json'
      ? { response_format: { type: 'json_object' } }
      : s.format === 'schema'
        ? {
            response_format: {
              type: 'json_schema',
              json_schema: { name: 'answer', strict: true, schema: readSchema(s.schema).schema },
            },
          }
        : {}),
    ...(Object.keys(provider).length ? { provider } : {}),
  }
}
