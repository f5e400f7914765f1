/** What the page of the status may say of all providers together. */
import { expect, test } from 'vitest'
import { sayOf } from '../src/pages/status/status'

type Status = Parameters<typeof sayOf>[0]
const of = (state: Status['state'], ...states: Status['providers'][number]['state'][]): Status => ({
  state,
  providers: states.map((s, i) => ({
    id: `p${i}`,
    name: `P${i}`,
    state: s,
    models: 1,
    uptime_24h: null,
    uptime: null,
    p50: null,
  })),
})
test.each([
  ['without a call nothing is known', of('ok', 'idle', 'idle'), 'idle'],
  ['who was not called is not said to work', of('ok', 'ok', 'idle'), 'some'],
  ['all were called', of('ok', 'ok', 'ok'), 'ok'],
  ['trouble is said first', of('degraded', 'degraded', 'idle'), 'degraded'],
  ['nothing works', of('down', 'down', 'idle'), 'down'],
] as const)('sayOf: %s', (_, s, says) => expect(sayOf(s)).toBe(says))
