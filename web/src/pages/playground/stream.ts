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
    if (this.start && text) { this.start = false; if (text.startsWith('\ufeff')) text = text.slice(1) }
    const events: string[] = []
    let from = 0
    for (;;) {
      let to = from
      while (to < text.length && text[to] !== '\n' && text[to] !== '\r') to++
      if (to === text.length) break
      if (text[to] === '\r' && to + 1 === text.length) break // perhaps the first half of CR LF
      this.line(text.slice(from, to), events)
      from = text[to] === '\r' && text[to + 1] === '\n' ? to + 2 : to + 1
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
export interface Failure { readonly type: string; readonly message: string; readonly status: number; readonly requestId: string | null; readonly retryAfter: number | null }
export interface Answer {
  readonly status: Status
  readonly text: string
  readonly reasoning: string
  readonly error: Failure | null
  /** Generation id: the call's page */
  readonly id: string | null
  readonly provider: string | null
  readonly finish: string | null
  readonly tokens: { readonly in: number; readonly out: number; readonly reasoning: number } | null
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
  return { status: 'waiting', text: '', reasoning: '', error: null, id: null, provider: null, finish: null, tokens: null, cost: null, asked: now, first: null, firstText: null, end: null }
}
export const running = (a: Answer) => a.status === 'waiting' || a.status === 'streaming'

interface Frame {
  id?: unknown
  provider?: unknown
  choices?: { delta?: { content?: unknown; reasoning?: unknown; reasoning_content?: unknown; refusal?: unknown }; finish_reason?: unknown }[]
  usage?: { prompt_tokens?: unknown; completion_tokens?: unknown; completion_tokens_details?: { reasoning_tokens?: unknown } } | null
  error?: { code?: unknown; message?: unknown; metadata?: { error_type?: unknown; request_id?: unknown; retry_after?: unknown } }
}
const count = (v: unknown) => (typeof v === 'number' && Number.isFinite(v) && v >= 0 ? v : 0)
const text = (v: unknown) => (typeof v === 'string' ? v : '')

/** The answer after one frame. `[DONE]` ends it; an error keeps what had come. */
export function apply(a: Answer, data: string, now: number): Answer {
  if (!running(a)) return a
  if (data === '[DONE]') return { ...a, status: 'done', end: now - a.asked }
  let frame: Frame
  try { frame = JSON.parse(data) as Frame } catch { return fail(a, { type: 'unreadable', message: 'A frame of the stream is not readable.', status: 200, requestId: null, retryAfter: null }, now) }
  if (typeof frame !== 'object' || frame === null) return a
  if (frame.error) {
    const m = frame.error.metadata ?? {}
    return fail(a, { type: text(m.error_type) || 'server', message: text(frame.error.message), status: count(frame.error.code), requestId: text(m.request_id) || null, retryAfter: count(m.retry_after) || null }, now)
  }
  const choice = frame.choices?.[0]
  const more = text(choice?.delta?.content) || text(choice?.delta?.refusal)
  const thought = text(choice?.delta?.reasoning) || text(choice?.delta?.reasoning_content)
  const passed = now - a.asked
  const usage = frame.usage
  return {
    ...a,
    status: 'streaming',
    text: a.text + more,
    reasoning: a.reasoning + thought,
    id: a.id ?? (text(frame.id) || null),
    provider: a.provider ?? (text(frame.provider) || null),
    finish: text(choice?.finish_reason) || a.finish,
    first: a.first ?? (more || thought ? passed : null),
    firstText: a.firstText ?? (more ? passed : null),
    tokens: usage ? { in: count(usage.prompt_tokens), out: count(usage.completion_tokens), reasoning: count(usage.completion_tokens_details?.reasoning_tokens) } : a.tokens,
    cost: usage ? costOf(data) ?? a.cost : a.cost,
  }
}
/** The charge in the digits that the gateway wrote; JSON.parse would make a float of them. It is read behind the last "usage". */
export function costOf(data: string): string | null {
  const usage = data.lastIndexOf('"usage":')
  return usage < 0 ? null : /"cost":\s*"?(-?[\d.]+(?:[eE][-+]?\d+)?)/.exec(data.slice(usage))?.[1] ?? null
}
export function fail(a: Answer, error: Failure, now: number): Answer { return running(a) ? { ...a, status: 'failed', error, end: now - a.asked } : a }
export function stop(a: Answer, now: number): Answer { return running(a) ? { ...a, status: 'stopped', end: now - a.asked } : a }
/** The connection is over: without a finish reason the answer is not whole. */
export function close(a: Answer, now: number): Answer {
  if (!running(a)) return a
  return a.finish ? { ...a, status: 'done', end: now - a.asked } : fail(a, { type: 'offline', message: 'The connection broke off before the end of the answer.', status: 0, requestId: null, retryAfter: null }, now)
}

/** A guess, marked as one wherever it is shown: four bytes are a token. */
export function guess(text: string): number { return Math.ceil(new TextEncoder().encode(text).length / 4) }

export interface Turn { readonly prompt: string; readonly answer: Answer }
export interface Settings { readonly system: string; readonly temperature: string; readonly topP: string; readonly longest: string; readonly effort: string }
export const unset: Settings = { system: '', temperature: '', topP: '', longest: '', effort: '' }
export const efforts = ['none', 'low', 'medium', 'high'] as const

function figure(v: string, max: number, whole = false): number | null {
  const n = Number(v.trim().replace(',', '.'))
  return v.trim() !== '' && Number.isFinite(n) && n >= (whole ? 1 : 0) && n <= max && (!whole || Number.isInteger(n)) ? n : null
}
/** Names of settings that are no values. */
export function wrong(s: Settings): readonly (keyof Settings)[] {
  return [
    ...(s.temperature.trim() && figure(s.temperature, 2) === null ? ['temperature' as const] : []),
    ...(s.topP.trim() && figure(s.topP, 1) === null ? ['topP' as const] : []),
    ...(s.longest.trim() && figure(s.longest, 10_000_000, true) === null ? ['longest' as const] : []),
  ]
}
export interface Message { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }
export interface Request { readonly model: string; readonly messages: readonly Message[]; readonly [parameter: string]: unknown }
/** What is sent: only settings that are set, and turns that have an answer. */
export function request(model: string, turns: readonly Turn[], prompt: string, s: Settings, reasons: boolean): Request {
  const temperature = figure(s.temperature, 2), topP = figure(s.topP, 1), longest = figure(s.longest, 10_000_000, true)
  return {
    model,
    messages: [
      ...(s.system.trim() ? [{ role: 'system' as const, content: s.system }] : []),
      ...turns.filter((t) => t.answer.text).flatMap((t): Message[] => [{ role: 'user', content: t.prompt }, { role: 'assistant', content: t.answer.text }]),
      { role: 'user', content: prompt },
    ],
    ...(temperature === null ? {} : { temperature }),
    ...(topP === null ? {} : { top_p: topP }),
    ...(longest === null ? {} : { max_tokens: longest }),
    ...(s.effort && reasons ? { reasoning_effort: s.effort } : {}),
  }
}
