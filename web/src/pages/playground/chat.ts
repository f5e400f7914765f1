/**
 * A chat: what each model was asked and answered, and its running streams. It lives apart from the page, so that an answer goes on while the
 * person looks at another page, and it is kept in this browser.
 */
import { useSyncExternalStore } from 'react'
import { ApiError, send } from '../../api/client'
import { account, keepChat, keeps, readChat } from './history'
import { picturesOf } from './attach'
import { keepMade, noteCost } from './made'
import { settled, spent } from './settle'
import {
  EventReader,
  apply,
  begin,
  close,
  fail,
  request,
  running,
  stop,
  unset,
  type Answer,
  type Attachment,
  type Chat,
  type Settings,
  type Turn,
} from './stream'

export const none: Chat = { models: [], turns: {}, settings: unset, spent: {} }
export type Ask = Pick<Turn, 'prompt' | 'files' | 'results'>
export interface Can {
  readonly reasoning: boolean
  readonly tools: boolean
}
/** `call`: whose stored text it is; `missing` of it is not there, `left` parts of it cannot be sent from here. */
export interface Beginning {
  readonly call: string
  readonly prompt: string
  readonly files: readonly Attachment[]
  readonly left: number
  readonly missing: 'nothing' | 'beginning' | 'gone' | 'large'
}
export interface RawFrame {
  readonly at: number
  readonly data: string
}

/** Raw frames of an answer: for looking at, not kept, at most so many characters. */
const mostRaw = 2_000_000

export class Room {
  chat: Chat = none
  /** undefined: not read yet; false: this browser keeps nothing */
  kept: boolean | undefined = undefined
  ready = false
  readonly raw = new Map<number, { frames: RawFrame[]; size: number }>()
  /** Told when an answer is over. */
  onEnd: ((model: string, answer: Answer) => void) | null = null
  private readonly streams = new Map<string, AbortController>()
  private readonly listeners = new Set<() => void>()
  private frame = 0
  private saving = 0
  private version = 0
  private last = 0
  /** What the account has of it */
  private there: Chat | null = null
  /** Something was asked, or is there, since the account keeps chats: one from before stays in this browser. */
  private wanted = false

  /** The next message of a chat that begins with the text of a call, and what is to be said of it; not kept */
  begun: Beginning | null = null

  constructor(
    readonly person: string,
    readonly id: string,
    start: Chat | null,
  ) {
    if (start) {
      this.chat = start
      this.ready = true
      return
    }
    void readChat(person, id).then((found) => {
      if (found) {
        const { chat } = found
        const turns = Object.fromEntries(
          Object.entries(chat.turns).map(([m, all]) => [
            m,
            all.map((t) => ({
              ...t,
              answer: stop({ ...begin(t.answer.asked), ...t.answer }, t.answer.asked),
            })),
          ]),
        )
        this.chat = {
          models: chat.models,
          turns,
          settings: { ...unset, ...chat.settings },
          spent: chat.spent,
        }
        this.kept = true
        this.there = this.chat
        this.wanted = found.there
      }
      this.ready = true
      this.soon()
      this.resettle()
    })
  }
  subscribe = (f: () => void) => {
    this.listeners.add(f)
    return () => {
      this.listeners.delete(f)
    }
  }
  snapshot = () => this.version
  /** Paints at most once in a frame of the screen. */
  private soon(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0
      this.version++
      for (const f of this.listeners) f()
    })
  }
  private change(f: (c: Chat) => Chat, save = true): void {
    this.chat = f(this.chat)
    this.soon()
    if (save)
      this.saving ||= window.setTimeout(
        () => {
          this.saving = 0
          void this.save()
        },
        this.busy ? 3000 : 300,
      )
  }
  async save(): Promise<void> {
    const first = Object.values(this.chat.turns).flat()[0]
    if (!first || gone.has(this.id)) return
    const title = first.prompt.trim().slice(0, 120) || first.files?.[0]?.name || '…'
    const ok = await keepChat(this.person, this.id, title, this.chat)
    if (ok !== this.kept) {
      this.kept = ok
      this.soon()
    }
    // The account gets it when an answer is over, and not again when nothing has changed.
    const now = this.chat
    if (!this.wanted || !keeps() || this.busy || now === this.there || gone.has(this.id)) return
    this.there = now
    if (!(await (await account()).keepThere(this.id, title, now)) && this.there === now) this.there = null
  }
  get busy(): boolean {
    return this.streams.size > 0
  }
  turns(model: string): readonly Turn[] {
    return this.chat.turns[model] ?? []
  }
  private at(model: string, asked: number, f: (a: Answer) => Answer): void {
    this.change((c) => ({
      ...c,
      turns: {
        ...c.turns,
        [model]: (c.turns[model] ?? []).map((t) =>
          t.answer.asked === asked ? { ...t, answer: f(t.answer) } : t,
        ),
      },
    }))
  }
  private find(model: string, asked: number): Answer | undefined {
    return this.turns(model).find((t) => t.answer.asked === asked)?.answer
  }
  private spend(id: string, cost: string): void {
    this.change((c) => ({ ...c, spent: { ...c.spent, [id]: cost } }))
  }
  private async settle(model: string, asked: number, id: string): Promise<void> {
    const cost = await settled(id)
    if (cost !== null) {
      this.spend(id, cost)
      if (this.find(model, asked)?.images.length) void noteCost(id, cost)
      this.at(model, asked, (a) => ({ ...a, cost }))
    }
  }
  /** Answers of an earlier visit whose charge is not known yet. */
  private resettle(): void {
    for (const [m, all] of Object.entries(this.chat.turns))
      for (const t of all)
        if (t.answer.id && t.answer.cost === null && !running(t.answer))
          void this.settle(m, t.answer.asked, t.answer.id)
  }

  async ask(model: string, next: Ask, can: Can): Promise<void> {
    const before = this.turns(model)
    const body = { ...request(model, before, next, this.chat.settings, can), stream: true }
    const asked = (this.last = Math.max(
      Date.now(),
      this.last + 1,
      (before[before.length - 1]?.answer.asked ?? 0) + 1,
    ))
    const control = new AbortController()
    this.streams.set(model, control)
    this.wanted ||= keeps()
    this.change((c) => ({
      ...c,
      turns: { ...c.turns, [model]: [...before, { ...next, answer: begin(asked) }] },
    }))
    const raw: { frames: RawFrame[]; size: number } = { frames: [], size: 0 }
    this.raw.set(asked, raw)
    try {
      const response = await send('post', '/api/v1/chat/completions', {
        body,
        signal: control.signal,
        headers: { Accept: 'text/event-stream' },
      })
      const id = response.headers.get('x-generation-id')
      this.at(model, asked, (a) => ({ ...a, id }))
      const reader = response.body!.getReader()
      const events = new EventReader()
      let since = performance.now()
      for (;;) {
        const { value, done } = await reader.read()
        if (done) break
        const now = Date.now()
        for (let from = 0; from < value.length; from += bite) {
          const frames = events.push(value.subarray(from, from + bite))
          for (const data of frames)
            if ((raw.size += data.length) < mostRaw) raw.frames.push({ at: now - asked, data })
          if (frames.length) this.at(model, asked, (a) => frames.reduce((x, data) => apply(x, data, now), a))
          if (performance.now() - since < turn) continue
          await breath()
          since = performance.now()
          control.signal.throwIfAborted()
        }
      }
      this.at(model, asked, (a) => close(a, Date.now()))
    } catch (e) {
      if (control.signal.aborted) this.at(model, asked, (a) => stop(a, Date.now()))
      else if (e instanceof ApiError)
        this.at(model, asked, (a) =>
          fail(
            a,
            {
              type: e.type,
              message: e.message,
              status: e.status,
              requestId: e.requestId,
              retryAfter: e.retryAfter,
            },
            Date.now(),
          ),
        )
      else
        this.at(model, asked, (a) =>
          fail(
            a,
            {
              type: 'offline',
              message: 'The connection broke off before the end of the answer.',
              status: 0,
              requestId: null,
              retryAfter: null,
            },
            Date.now(),
          ),
        )
    }
    if (this.streams.get(model) === control) this.streams.delete(model)
    const answer = this.find(model, asked)
    if (answer?.id && answer.cost !== null) this.spend(answer.id, answer.cost) // kept with the answer, or the sum would lack it after a reload
    clearTimeout(this.saving)
    this.saving = 0
    this.change((c) => c, false)
    void this.save()
    if (!answer) return
    this.onEnd?.(model, answer)
    if (answer.images.length > 0 && !this.chat.settings.zeroRetention)
      void keepMade(`${this.id} ${model} ${asked}`, picturesOf(answer.images), {
        kind: 'image',
        model,
        prompt: next.prompt,
        call: answer.id,
        cost: answer.cost,
        from: next.files?.length ?? 0,
        settings: {},
        chat: this.id,
      })
    if (answer.cost === null && answer.id) {
      void this.settle(model, asked, answer.id)
      return
    }
    spent()
  }
  /** The last message once more. */
  again(model: string, can: Can): void {
    const all = this.turns(model)
    const last = all[all.length - 1]
    if (!last || running(last.answer)) return
    this.change((c) => ({ ...c, turns: { ...c.turns, [model]: all.slice(0, -1) } }))
    void this.ask(model, ask(last), can)
  }
  stop(model?: string): void {
    for (const [m, c] of this.streams) if (!model || m === model) c.abort()
  }
  settings = (s: Partial<Settings>): void => {
    this.change((c) => ({ ...c, settings: { ...c.settings, ...s } }))
  }
  models(models: readonly string[]): void {
    if (models.join() !== this.chat.models.join()) this.change((c) => ({ ...c, models }))
  }
  /** Another model goes on with the history, or with its beginning. */
  exchange(from: string, to: string): void {
    if (this.turns(to).length) return
    const all = this.turns(from)
    this.change((c) => ({
      ...c,
      turns: { ...c.turns, [to]: all.map((t) => ({ ...t, answer: stop(t.answer, Date.now()) })) },
    }))
    for (const t of all)
      if (t.answer.id && t.answer.cost === null) void this.settle(to, t.answer.asked, t.answer.id)
  }
  /** Another model begins where a turn was asked; what it had before is left. */
  restart(from: string, upTo: number, to: string): void {
    this.stop(to)
    this.change((c) => ({ ...c, turns: { ...c.turns, [to]: (c.turns[from] ?? []).slice(0, upTo) } }))
  }
  /** A new chat with the beginning of this one, for each column that asked the same there. */
  branch(model: string, at: number): { room: Room; models: readonly string[] } {
    const prompt = this.turns(model)[at]?.prompt
    const models = this.chat.models.filter((m) => m === model || this.turns(m)[at]?.prompt === prompt)
    const turns = Object.fromEntries(models.map((m) => [m, this.turns(m).slice(0, at)]))
    return {
      room: start(this.person, newChat(), { ...none, models, turns, settings: this.chat.settings }),
      models,
    }
  }
}
export const ask = (t: Turn): Ask => ({
  prompt: t.prompt,
  ...(t.files ? { files: t.files } : {}),
  ...(t.results ? { results: t.results } : {}),
})

/** Bytes of an answer that are read at a time, and for how many milliseconds until the page has its turn. */
const bite = 8192
const turn = 8
/** Lets the page do what waits. What came is there at once otherwise: promises of it would all be kept before the next frame. */
const breath = () =>
  new Promise<void>((done) => {
    const { port1, port2 } = new MessageChannel() // not slowed down in a tab that is not seen, as timers are
    port1.onmessage = () => {
      port1.close()
      done()
    }
    port2.postMessage(null)
  })

/** Chats that are open in this tab; those in which an answer runs are never let go. */
const rooms = new Map<string, Room>()
const gone = new Set<string>()
export const newChat = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => (b % 36).toString(36)).join('')
function start(person: string, id: string, chat: Chat | null): Room {
  const key = `${person} ${id}`
  for (const [k, r] of rooms) if (rooms.size > 8 && k !== key && !r.busy) rooms.delete(k)
  const room = rooms.get(key) ?? new Room(person, id, chat)
  rooms.delete(key)
  rooms.set(key, room)
  return room
}
/** The chat of an address; `fresh` begins an empty one with these settings. */
export const roomOf = (person: string, id: string): Room => start(person, id, null)
export function beginRoom(
  person: string,
  settings: Settings,
  turns: Chat['turns'] = {},
  begun: Beginning | null = null,
): Room {
  const room = start(person, newChat(), { ...none, turns, settings })
  room.begun = begun
  return room
}
/** Forgets chats in this tab too: what still runs in them is stopped. */
export function forget(person: string, ids: readonly string[]): void {
  for (const id of ids) {
    gone.add(id)
    rooms.get(`${person} ${id}`)?.stop()
    rooms.delete(`${person} ${id}`)
  }
}
export function useRoom(room: Room): void {
  useSyncExternalStore(room.subscribe, room.snapshot)
}

window.addEventListener('pagehide', () => {
  for (const r of rooms.values()) void r.save()
})
