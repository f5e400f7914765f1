import { afterEach, beforeEach, expect, test, vi } from 'vitest'

/** Streams as the browser would open them. */
class Source extends EventTarget {
  static all: Source[] = []
  readyState = 1
  onerror: (() => void) | null = null
  constructor(readonly url: string) {
    super()
    Source.all.push(this)
  }
  close() {
    this.readyState = 2
  }
  say(type: string, data: unknown, id: string) {
    this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data), lastEventId: id }))
  }
  refuse() {
    this.readyState = 2
    this.onerror?.()
  }
}
const last = () => Source.all.at(-1)!
let live: typeof import('../src/api/live')
let hidden = false
const stops: (() => void)[] = []
const follow: typeof live.follow = (topics, f) => {
  const stop = live.follow(topics, f)
  stops.push(stop)
  return stop
}
const hide = (h: boolean) => {
  hidden = h
  document.dispatchEvent(new Event('visibilitychange'))
}

beforeEach(async () => {
  vi.useFakeTimers()
  vi.resetModules()
  vi.stubGlobal('EventSource', Source)
  Object.defineProperty(document, 'visibilityState', {
    configurable: true,
    get: () => (hidden ? 'hidden' : 'visible'),
  })
  Source.all = []
  hidden = false
  live = await import('../src/api/live')
})
afterEach(() => {
  stops.splice(0).forEach((stop) => stop())
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('a tab has one stream, and each follower its topics', () => {
  const calls = vi.fn(),
    jobs = vi.fn()
  const a = follow(['calls'], calls),
    b = follow(['jobs', 'money'], jobs)
  expect(Source.all).toHaveLength(1)
  last().say('calls', { calls: 2 }, '1')
  last().say('jobs', { jobs: [] }, '2')
  expect(calls.mock.calls).toEqual([['calls', { calls: 2 }]])
  expect(jobs.mock.calls).toEqual([['jobs', { jobs: [] }]])
  a()
  b()
  expect(last().readyState).toBe(2)
})
test('money that comes by event is what the bar shows', async () => {
  const { availableQuery, queries } = await import('../src/api/query')
  follow(['money'], () => undefined)
  last().say('ready', { money: { available: '99.5' } }, '1')
  expect(queries.getQueryData(availableQuery.queryKey)).toBe('99.5')
  last().say('money', { available: '98.25' }, '2')
  expect(queries.getQueryData(availableQuery.queryKey)).toBe('98.25')
})
test('when the stream opens, each follower looks at what it had read before', () => {
  const calls = vi.fn(),
    money = vi.fn()
  follow(['calls', 'jobs'], calls)
  follow(['money'], money)
  last().say('ready', { money: { available: '7' } }, 'calls:5')
  expect(calls.mock.calls).toEqual([
    ['calls', undefined],
    ['jobs', undefined],
  ])
  expect(money.mock.calls).toEqual([['money', { available: '7' }]])
})
test('another topic opens the stream anew, where the last one had come to', () => {
  follow(['calls'], () => undefined)
  last().say('calls', {}, 'calls:1')
  follow(['status'], () => undefined)
  expect(Source.all).toHaveLength(2)
  expect(Source.all[0]!.readyState).toBe(2)
  expect(last().url).toContain('status')
  expect(last().url).toContain('after=calls%3A1')
})
test('without a stream it is time to look every 15 seconds, and a stream is tried again', () => {
  const f = vi.fn()
  follow(['calls'], f)
  last().refuse()
  vi.advanceTimersByTime(live.POLL)
  expect(f.mock.calls).toEqual([['calls', undefined]])
  vi.advanceTimersByTime(live.POLL * 3)
  expect(Source.all).toHaveLength(2)
  f.mockClear()
  vi.advanceTimersByTime(live.POLL * 3)
  expect(f).not.toHaveBeenCalled() // the stream is there again
})
test('a hidden tab neither listens nor asks, and goes on where it was', () => {
  const f = vi.fn()
  follow(['calls'], f)
  last().say('ready', {}, 'calls:5')
  hide(true)
  f.mockClear()
  expect(last().readyState).toBe(2)
  vi.advanceTimersByTime(10 * live.POLL)
  expect(f).not.toHaveBeenCalled()
  hide(false)
  expect(Source.all).toHaveLength(2)
  expect(last().url).toContain('after=calls%3A5')
  last().refuse()
  hide(true)
  vi.advanceTimersByTime(10 * live.POLL)
  expect(f).not.toHaveBeenCalled()
})
test('a session that is over is asked about at once, and its stream is not resumed', () => {
  const f = vi.fn()
  follow(['calls'], f)
  last().say('ready', {}, 'calls:5')
  last().say('end', { reason: 'signed_out' }, '')
  expect(f).toHaveBeenCalledWith('calls', undefined)
  vi.advanceTimersByTime(61_000)
  expect(last().url).not.toContain('after')
})
