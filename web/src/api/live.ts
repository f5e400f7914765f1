/**
 * What changes of the account while a page is open: one stream of events for the tab, shared by all who follow something. While there is no
 * stream, followers are told to look every 15 seconds. A hidden tab does neither; when it is seen again it is told what it has missed.
 */
import { useEffect, useRef } from 'react'
import { address } from './client'
import { availableQuery, queries, renew } from './query'

export type Topic = 'calls' | 'money' | 'jobs' | 'keys' | 'notices' | 'status'
/** `data` is the event's; undefined when it is only time to look again. */
export type Follower = (topic: Topic, data?: unknown) => void

/** Always in the stream, so that going from page to page does not open another one. */
const usual: readonly Topic[] = ['calls', 'money', 'jobs', 'keys', 'notices']
export const POLL = 15_000
const AGAIN = 60_000

const followers = new Map<Follower, readonly Topic[]>()
let stream: EventSource | null = null
let open: readonly Topic[] = []
let last = ''
let poll: ReturnType<typeof setInterval> | undefined
let again: ReturnType<typeof setTimeout> | undefined

const visible = () => document.visibilityState !== 'hidden'
const wanted = (): Topic[] => [...new Set([...usual, ...[...followers.values()].flat()])]
function tell(topic: Topic, data?: unknown): void {
  if (topic === 'money' && data && typeof (data as { available?: unknown }).available === 'string')
    queries.setQueryData(availableQuery.queryKey, (data as { available: string }).available)
  for (const [f, topics] of [...followers]) if (topics.includes(topic)) f(topic, data)
}
function read(e: MessageEvent<string>): unknown {
  if (e.lastEventId) last = e.lastEventId
  try {
    return JSON.parse(e.data)
  } catch {
    return undefined
  }
}

function close(): void {
  stream?.close()
  stream = null
  clearInterval(poll)
  clearTimeout(again)
  poll = again = undefined
}
/** No stream for now: look again and again, and try it later. */
function without(): void {
  close()
  if (followers.size === 0 || !visible()) return
  poll = setInterval(() => {
    for (const topic of wanted()) tell(topic)
  }, POLL)
  again = setTimeout(connect, AGAIN)
}
function connect(): void {
  close()
  if (followers.size === 0 || !visible()) return
  if (typeof EventSource === 'undefined') {
    without()
    return
  }
  open = wanted()
  const s = new EventSource(address('/api/events', { query: { topics: open.join(','), after: last } }))
  stream = s
  for (const topic of open) s.addEventListener(topic, (e) => tell(topic, read(e as MessageEvent<string>)))
  s.addEventListener('ready', (e) => {
    // What happened between the page's reading and the stream has no event here.
    const now = read(e as MessageEvent<string>) as { money?: unknown } | undefined
    for (const topic of open) tell(topic, topic === 'money' ? now?.money : undefined)
  })
  s.addEventListener('end', (e) => {
    const why = read(e as MessageEvent<string>) as { reason?: string } | undefined
    if (why?.reason === 'signed_out') {
      last = ''
      without()
      for (const topic of open) tell(topic)
    } // asking shows that the session is over
  })
  s.onerror = () => {
    if (stream === s && s.readyState === 2) without()
  } // refused; a broken line it mends itself
}

if (typeof document !== 'undefined') {
  document.addEventListener('visibilitychange', () => {
    if (visible()) connect()
    else close()
  })
  window.addEventListener('pagehide', close)
  window.addEventListener('pageshow', (e) => {
    if (e.persisted) connect()
  })
}

/** Follows topics until the returned function is called. */
export function follow(topics: readonly Topic[], f: Follower): () => void {
  followers.set(f, topics)
  if (!stream && poll === undefined) connect()
  else if (stream && topics.some((t) => !open.includes(t))) connect()
  return () => {
    followers.delete(f)
    if (followers.size === 0) {
      close()
      last = ''
    }
  }
}

/** Calls `f` when one of the topics has changed: at once, and then no sooner than `every` milliseconds after the last time. */
export function useLive(
  topics: readonly Topic[],
  f: (topic: Topic, data?: unknown) => void,
  { every = 0, on = true }: { every?: number; on?: boolean } = {},
): void {
  const latest = useRef(f)
  useEffect(() => {
    latest.current = f
  })
  const key = topics.join()
  useEffect(() => {
    if (!on) return
    let timer: ReturnType<typeof setTimeout> | undefined
    let before = 0
    const stop = follow(key.split(',') as Topic[], (topic, data) => {
      if (timer !== undefined) return
      const wait = before + every - Date.now()
      const run = () => {
        timer = undefined
        before = Date.now()
        latest.current(topic, data)
      }
      if (wait <= 0) run()
      else timer = setTimeout(run, wait)
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [key, every, on])
}
/** Reads operations again when a topic has changed. */
export function useRenewed(
  topics: readonly Topic[],
  read: readonly { readonly operation: string }[],
  o: { every?: number; on?: boolean } = {},
): void {
  useLive(
    topics,
    () => {
      void renew(...read)
    },
    { every: 3_000, ...o },
  )
}
