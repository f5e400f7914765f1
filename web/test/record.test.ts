import { afterEach, expect, test, vi } from 'vitest'
import { record, whyNot } from '../src/pages/playground/record'

class Recorder {
  static made: Recorder[] = []
  state = 'inactive'
  mimeType = 'audio/webm;codecs=opus'
  ondataavailable: ((e: { data: Blob }) => void) | null = null
  onstop: (() => void) | null = null
  constructor() {
    Recorder.made.push(this)
  }
  start() {
    this.state = 'recording'
  }
  stop() {
    this.state = 'inactive'
    this.give(1)
    this.onstop?.()
  }
  give(bytes: number) {
    this.ondataavailable?.({ data: new Blob(['x'.repeat(bytes)]) })
  }
}
function microphone() {
  const track = { stop: vi.fn() }
  vi.stubGlobal('MediaRecorder', Recorder)
  vi.stubGlobal('navigator', {
    mediaDevices: { getUserMedia: () => Promise.resolve({ getTracks: () => [track] }) },
  })
  return { track, last: () => Recorder.made[Recorder.made.length - 1]! }
}
afterEach(() => vi.unstubAllGlobals())

test('a recording is what came until it was stopped, and lets the microphone go', async () => {
  const { track, last } = microphone(),
    full = vi.fn()
  const r = await record({ longest: 10_000, largest: 1000 }, full)
  last().give(100)
  last().give(100)
  const file = await r.stop()
  expect([file.name, file.type, file.size]).toEqual(['recording.webm', 'audio/webm', 201])
  expect(await r.stop()).toBe(file)
  expect(track.stop).toHaveBeenCalled()
  expect(full).not.toHaveBeenCalled()
})
test.each([
  ['longer', { longest: 3000, largest: 1e9 }, [9, 9, 9, 9, 9], 28],
  ['larger', { longest: 1e9, largest: 250 }, [100, 100, 100], 201],
  ['larger at once', { longest: 1e9, largest: 250 }, [900], 1],
])('it ends by itself before it is %s than it may be', async (_, limits, pieces, size) => {
  const { track, last } = microphone(),
    full = vi.fn()
  const r = await record(limits, full)
  for (const n of pieces) if (last().state === 'recording') last().give(n)
  expect(last().state).toBe('inactive')
  expect(full).toHaveBeenCalledTimes(1)
  expect((await r.stop()).size).toBe(size)
  expect(track.stop).toHaveBeenCalled()
})
test('what is thrown away lets the microphone go and keeps nothing', async () => {
  const { track, last } = microphone(),
    full = vi.fn()
  const r = await record({ longest: 1, largest: 1 }, full)
  r.cancel()
  last().give(100)
  expect(track.stop).toHaveBeenCalled()
  expect(full).not.toHaveBeenCalled()
})
test('a refusal has its reason', () => {
  expect(
    ['NotAllowedError', 'NotFoundError', 'NotReadableError', 'TypeError'].map((n) =>
      whyNot(new DOMException('', n)),
    ),
  ).toEqual(['microphoneRefused', 'microphoneNone', 'microphoneBusy', 'microphoneNever'])
  expect(whyNot(new TypeError('mediaDevices is undefined'))).toBe('microphoneNever')
})
