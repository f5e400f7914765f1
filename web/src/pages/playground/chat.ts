/** The chat of the page: what each model was asked and answered, its running streams, and its copy in this browser tab. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError, get, send } from '../../api/client'
import { availableQuery, queries } from '../../api/query'
import { EventReader, apply, begin, close, fail, request, running, stop, unset, type Answer, type Settings, type Turn } from './stream'

export interface Chat { readonly models: readonly string[]; readonly turns: { readonly [model: string]: readonly Turn[] }; readonly settings: Settings
  /** Charges of this chat by generation id: answers that were run again or moved to another model count once, and stay counted */
  readonly spent: { readonly [id: string]: string } }
const none: Chat = { models: [], turns: {}, settings: unset, spent: {} }
const place = 'weir.playground'

/** A chat belongs to the person who wrote it. */
function restore(person: string): Chat {
  try {
    const kept = JSON.parse(sessionStorage.getItem(place) ?? 'null') as (Chat & { person: string }) | null
    if (!kept || kept.person !== person) return none
    const turns = Object.fromEntries(Object.entries(kept.turns).map(([m, all]) => [m, all.map((t) => ({ ...t, answer: stop(t.answer, t.answer.asked) }))]))
    return { models: kept.models, turns, settings: { ...unset, ...kept.settings }, spent: kept.spent ?? {} }
  } catch { return none }
}
function keep(person: string, chat: Chat): void {
  try { sessionStorage.setItem(place, JSON.stringify({ person, ...chat })) } catch { /* full or switched off: the chat is not kept */ }
}

export function useChat(person: string, onEnd: (model: string, answer: Answer) => void) {
  const [, paint] = useState(0)
  const chat = useRef<Chat>(null as unknown as Chat)
  chat.current ??= restore(person)
  const streams = useRef(new Map<string, AbortController>())
  const ended = useRef(onEnd)
  useEffect(() => { ended.current = onEnd })

  const api = useMemo(() => {
    let frame = 0
    let saving = 0
    const soon = () => {
      frame ||= requestAnimationFrame(() => { frame = 0; paint((n) => n + 1) })
      saving ||= window.setTimeout(() => { saving = 0; keep(person, chat.current) }, 500)
    }
    const change = (f: (c: Chat) => Chat) => { chat.current = f(chat.current); soon() }
    const at = (model: string, asked: number, f: (a: Answer) => Answer) => change((c) => ({ ...c, turns: { ...c.turns, [model]: (c.turns[model] ?? []).map((t) => (t.answer.asked === asked ? { ...t, answer: f(t.answer) } : t)) } }))
    const spend = (id: string, cost: string) => change((c) => ({ ...c, spent: { ...c.spent, [id]: cost } }))
    const find = (model: string, asked: number) => chat.current.turns[model]?.find((t) => t.answer.asked === asked)?.answer

    /** What was charged for an answer that told nothing of it: the call's record has it a moment later. */
    async function settle(model: string, asked: number, id: string) {
      for (let i = 0; i < 8; i++) {
        await new Promise((r) => setTimeout(r, 250 * 2 ** Math.min(i, 3)))
        try {
          const { data } = await get('/api/calls/{id}', { path: { id }, quiet: true })
          if (data.settled) { spend(id, data.cost); at(model, asked, (a) => ({ ...a, cost: data.cost })); break }
        } catch (e) { if (e instanceof ApiError && e.status !== 404 && e.status !== 429) return }
      }
      void queries.invalidateQueries({ queryKey: availableQuery.queryKey })
    }

    async function ask(model: string, prompt: string, reasons: boolean) {
      const before = chat.current.turns[model] ?? []
      const body = { ...request(model, before, prompt, chat.current.settings, reasons), stream: true }
      const asked = Math.max(Date.now(), (before[before.length - 1]?.answer.asked ?? 0) + 1)
      const control = new AbortController()
      streams.current.set(model, control)
      change((c) => ({ ...c, turns: { ...c.turns, [model]: [...before, { prompt, answer: begin(asked) }] } }))
      try {
        const response = await send('post', '/api/v1/chat/completions', { body, signal: control.signal, headers: { Accept: 'text/event-stream' } })
        const id = response.headers.get('x-generation-id')
        at(model, asked, (a) => ({ ...a, id }))
        const reader = response.body!.getReader()
        const events = new EventReader()
        for (;;) {
          const { value, done } = await reader.read()
          if (done) break
          const now = Date.now()
          for (const data of events.push(value)) at(model, asked, (a) => apply(a, data, now))
        }
        at(model, asked, (a) => close(a, Date.now()))
      } catch (e) {
        if (control.signal.aborted) at(model, asked, (a) => stop(a, Date.now()))
        else if (e instanceof ApiError) at(model, asked, (a) => fail(a, { type: e.type, message: e.message, status: e.status, requestId: e.requestId, retryAfter: e.retryAfter }, Date.now()))
        else at(model, asked, (a) => fail(a, { type: 'offline', message: 'The connection broke off before the end of the answer.', status: 0, requestId: null, retryAfter: null }, Date.now()))
      }
      if (streams.current.get(model) === control) streams.current.delete(model)
      const answer = find(model, asked)
      if (!answer) return
      ended.current(model, answer)
      if (answer.cost === null && answer.id) void settle(model, asked, answer.id)
      else {
        if (answer.cost !== null && answer.id) spend(answer.id, answer.cost)
        void queries.invalidateQueries({ queryKey: availableQuery.queryKey })
      }
    }
    return {
      ask,
      again(model: string, reasons: boolean) {
        const all = chat.current.turns[model] ?? []
        const last = all[all.length - 1]
        if (!last || running(last.answer)) return
        change((c) => ({ ...c, turns: { ...c.turns, [model]: all.slice(0, -1) } }))
        void ask(model, last.prompt, reasons)
      },
      stop(model?: string) { for (const [m, c] of streams.current) if (!model || m === model) c.abort() },
      settings(s: Partial<Settings>) { change((c) => ({ ...c, settings: { ...c.settings, ...s } })) },
      models(models: readonly string[]) { change((c) => ({ ...c, models })) },
      /** Another model goes on with the history. */
      exchange(from: string, to: string) {
        if (chat.current.turns[to]?.length) return
        const all = chat.current.turns[from] ?? []
        change((c) => ({ ...c, turns: { ...c.turns, [to]: all.map((t) => ({ ...t, answer: stop(t.answer, Date.now()) })) } }))
        for (const t of all) if (t.answer.id && t.answer.cost === null) void settle(to, t.answer.asked, t.answer.id)
      },
      put(part: Pick<Chat, 'turns' | 'spent'>) { change((c) => ({ ...c, ...part })) },
      save() { keep(person, chat.current) },
      /** Answers of the last visit whose charge is not known yet. */
      resettle() { for (const [m, all] of Object.entries(chat.current.turns)) for (const t of all) if (t.answer.id && t.answer.cost === null && !running(t.answer)) void settle(m, t.answer.asked, t.answer.id) },
    }
  }, [person])

  useEffect(() => {
    const all = streams.current
    window.addEventListener('pagehide', api.save)
    api.resettle()
    return () => { window.removeEventListener('pagehide', api.save); for (const c of all.values()) c.abort(); api.save() }
  }, [api])
  return { chat: chat.current, ...api, draw: useCallback(() => paint((n) => n + 1), []) }
}
