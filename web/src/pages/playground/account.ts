/** Chats that the account keeps on the gateway, where somebody has switched that on: what is sent of one, and what is read of what comes back. */
import { ApiError, get, put, remove } from '../../api/client'
import {
  begin,
  stop,
  unset,
  type Answer,
  type Attachment,
  type Chat,
  type Settings,
  type Turn,
} from './stream'

/** Bytes of a chat that the gateway takes, with room for its title. */
const most = 1 << 20
const ours = (id: string) => /^[a-z0-9]{8,40}$/.test(id)

/** A title of one line, without characters that turn the direction of others. */
export const titleOf = (text: string) =>
  text
    .replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 120) || '…'
/** Files, images and running answers are not sent: their names and what had come are. */
export function sent(chat: Chat): Chat {
  return {
    ...chat,
    turns: Object.fromEntries(
      Object.entries(chat.turns).map(([m, all]) => [
        m,
        all.map((t) => ({
          ...t,
          ...(t.files ? { files: t.files.map((f) => ({ ...f, data: '' })) } : {}),
          answer: { ...t.answer, images: [] },
        })),
      ]),
    ),
  }
}

type Values = { readonly [name: string]: unknown }
const object = (v: unknown): Values =>
  typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Values) : {}
const list = (v: unknown, n: number): readonly unknown[] => (Array.isArray(v) ? v.slice(0, n) : [])
const text = (v: unknown) => (typeof v === 'string' ? v : '')
const orNull = (v: unknown) => (typeof v === 'string' && v ? v : null)
const figure = (v: unknown) => (typeof v === 'number' && Number.isFinite(v) ? v : null)
function answer(v: unknown): Answer {
  const a = object(v),
    tokens = object(a.tokens),
    error = object(a.error)
  const asked = figure(a.asked) ?? 0
  const status =
    (['waiting', 'streaming', 'done', 'stopped', 'failed'] as const).find((s) => s === a.status) ?? 'stopped'
  return stop(
    {
      ...begin(asked),
      status,
      text: text(a.text),
      reasoning: text(a.reasoning),
      details: list(a.details, 64).map(object),
      size: figure(a.size) ?? 0,
      calls: list(a.calls, 64)
        .map(object)
        .map((c) => ({ id: text(c.id), name: text(c.name), arguments: text(c.arguments) })),
      error: a.error
        ? {
            type: text(error.type) || 'server',
            message: text(error.message),
            status: figure(error.status) ?? 0,
            requestId: orNull(error.requestId),
            retryAfter: figure(error.retryAfter),
          }
        : null,
      id: /^gen-[\w-]+$/.test(text(a.id)) ? text(a.id) : null,
      provider: orNull(a.provider),
      finish: orNull(a.finish),
      cost: /^-?[\d.]+(?:[eE][-+]?\d+)?$/.test(text(a.cost)) ? text(a.cost) : null,
      tokens: a.tokens
        ? {
            in: figure(tokens.in) ?? 0,
            out: figure(tokens.out) ?? 0,
            reasoning: figure(tokens.reasoning) ?? 0,
          }
        : null,
      first: figure(a.first),
      firstText: figure(a.firstText),
      end: figure(a.end),
    },
    asked,
  )
}
function turn(v: unknown): Turn {
  const t = object(v)
  const files = list(t.files, 64)
    .map(object)
    .flatMap((f): Attachment[] => {
      const kind = (['image', 'audio', 'pdf', 'text'] as const).find((k) => k === f.kind)
      return kind
        ? [{ id: text(f.id), kind, name: text(f.name).slice(0, 200), size: figure(f.size) ?? 0, data: '' }]
        : []
    })
  const results = Array.isArray(t.results)
    ? list(t.results, 64)
        .map(object)
        .map((r) => ({ id: text(r.id), content: text(r.content) }))
    : null
  return {
    prompt: text(t.prompt),
    ...(files.length ? { files } : {}),
    ...(results ? { results } : {}),
    answer: answer(t.answer),
  }
}
/** A chat from JSON that anything with the account's management key may have written. */
export function chatFrom(v: unknown): Chat {
  const c = object(v),
    s = object(c.settings)
  const settings = Object.fromEntries(
    Object.entries(unset).map(([k, d]) => [
      k,
      Array.isArray(d)
        ? list(s[k], 8).filter((x) => typeof x === 'string')
        : typeof s[k] === typeof d
          ? s[k]
          : d,
    ]),
  ) as unknown as Settings
  return {
    models: list(c.models, 4).filter((m): m is string => typeof m === 'string'),
    turns: Object.fromEntries(
      Object.entries(object(c.turns))
        .slice(0, 100)
        .map(([m, all]) => [m, list(all, 10_000).map(turn)]),
    ),
    settings,
    spent: Object.fromEntries(
      Object.entries(object(c.spent)).filter(
        (e): e is [string, string] => typeof e[1] === 'string' && /^-?[\d.]+(?:[eE][-+]?\d+)?$/.test(e[1]),
      ),
    ),
  }
}
/** What the account has, with the files and images that this browser has of the same turns. */
export function withFiles(theirs: Chat, mine: Chat | null): Chat {
  const known = new Map(
    Object.entries(mine?.turns ?? {}).flatMap(([m, all]) =>
      all.map((t) => [`${m} ${t.answer.asked}`, t] as const),
    ),
  )
  return {
    ...theirs,
    turns: Object.fromEntries(
      Object.entries(theirs.turns).map(([m, all]) => [
        m,
        all.map((t) => {
          const k = known.get(`${m} ${t.answer.asked}`)
          return k
            ? {
                ...t,
                ...(k.files ? { files: k.files } : {}),
                answer: { ...t.answer, images: k.answer.images },
              }
            : t
        }),
      ]),
    ),
  }
}

/** Answers whether it was kept. */
export async function keepThere(id: string, title: string, chat: Chat): Promise<boolean> {
  const body = { title: titleOf(title), content: sent(chat) as never }
  if (!ours(id) || new Blob([JSON.stringify(body.content)]).size > most) return false
  try {
    await put('/api/chats/{id}', { path: { id }, body, quiet: true })
    return true
  } catch {
    return false
  }
}
export async function readThere(id: string): Promise<{ chat: Chat; at: number } | null> {
  if (!ours(id)) return null
  try {
    const { data } = await get('/api/chats/{id}', { path: { id }, quiet: true })
    return { chat: chatFrom(data.content), at: Date.parse(data.updated_at) }
  } catch {
    return null
  }
}
export async function listThere(): Promise<
  readonly { id: string; title: string; at: number; size: number }[]
> {
  try {
    return (await get('/api/chats', { quiet: true })).data.map((c) => ({
      id: c.id,
      title: c.title,
      at: Date.parse(c.updated_at),
      size: c.size,
    }))
  } catch {
    return []
  }
}
/** Fails when one is still there. */
export async function deleteThere(ids: readonly string[]): Promise<void> {
  for (const id of ids)
    if (ours(id))
      try {
        await remove('/api/chats/{id}', { path: { id }, quiet: true })
      } catch (e) {
        if (!(e instanceof ApiError && e.status === 404)) throw e
      }
}
export async function deleteAllThere(): Promise<void> {
  await remove('/api/chats')
} // it may need a proof of who is there
