import { expect, test } from 'vitest'
import {
  asked,
  askedForValues,
  beyond,
  callsOf,
  change,
  moved,
  narrowed,
  reported,
  shape,
  span,
} from '../src/pages/activity/view'
import { zoomed } from '../src/pages/activity/zoom'

const now = Date.parse('2026-11-24T13:00:00Z')

test('the address keeps the view, and what it does not know becomes the usual', () => {
  const raw = { days: '90', by: 'key', show: 'first_token', rows: 'all', model: 'sim/a', result: 'failed' }
  expect(shape.write(shape.read(raw))).toEqual(raw)
  expect(shape.write(shape.read({ from: '2026-11-01', to: '2026-11-03' }))).toEqual({
    from: '2026-11-01',
    to: '2026-11-03',
  })
  expect(
    shape.write(shape.read({ days: '5', by: 'nonsense', show: 'x', from: 'yesterday', to: '' })),
  ).toEqual({})
})

test.each([
  [{ days: 30 }, { from: '2026-10-26', group: 'model' }],
  [{ days: 7 }, { from: '2026-11-18', group: 'model' }],
  [
    { from: '2026-01-01', to: '2026-11-01' },
    { from: '2026-01-01', to: '2026-11-01', group: 'model' },
  ],
  [
    { from: '2024-01-15', to: '2026-11-01' },
    { from: '2024-01-15', to: '2026-11-01', group: 'model', bucket: 'month' },
  ],
] as const)('%j asks for %j', (period, want) =>
  expect(asked({ ...shape.read({}), period }, now)).toEqual(want),
)

test.each([
  [{ days: 7 }, -1, { from: '2026-11-11', to: '2026-11-17' }],
  [{ days: 7 }, 1, null],
  [{ from: '2026-11-11', to: '2026-11-17' }, 1, { from: '2026-11-18', to: '2026-11-24' }],
  [
    { from: '2026-11-11T10:00:00.000Z', to: '2026-11-11T12:00:00.000Z' },
    -1,
    { from: '2026-11-11T08:00:00.000Z', to: '2026-11-11T10:00:00.000Z' },
  ],
] as const)('%j moved by %i is %j', (period, by, want) => expect(moved(period, by, now)).toEqual(want))

test('what is chosen in the chart is whole buckets', () => {
  const at = (s: string) => Date.parse(s)
  expect(zoomed(at('2026-11-03T10:20:00Z'), at('2026-11-05T01:00:00Z'), 'day')).toEqual({
    from: '2026-11-03',
    to: '2026-11-05',
  })
  expect(zoomed(at('2026-11-03T10:20:00Z'), at('2026-11-03T12:59:00Z'), 'hour')).toEqual({
    from: '2026-11-03T10:00:00.000Z',
    to: '2026-11-03T13:00:00.000Z',
  })
  expect(zoomed(at('2026-01-03T10:20:00Z'), at('2026-02-05T01:00:00Z'), 'month')).toEqual({
    from: '2026-01-01',
    to: '2026-02-28',
  })
})

test('calls of a report by month are those of its whole months', () => {
  const view = { ...shape.read({}), period: { from: '2024-01-15', to: '2026-11-01' } }
  expect(
    reported(view, { bucket: 'month', from: '2024-01-01T00:00:00Z', to: '2026-12-01T00:00:00Z' }),
  ).toEqual({ from: '2024-01-01', to: '2026-11-30' })
  expect(reported(view, { bucket: 'day', from: '2024-01-01T00:00:00Z', to: '2026-12-01T00:00:00Z' })).toEqual(
    view.period,
  )
})

test('a change needs something to compare with', () => {
  expect(change(150, 100)).toBe(50)
  expect(change(0, 100)).toBe(-100)
  expect(change(5, 0)).toBeNull()
  expect(change(null, 5)).toBeNull()
  expect(span({ days: 1 }, now)).toEqual({ from: Date.parse('2026-11-24'), to: Date.parse('2026-11-25') })
})

test('a group without a key and the sum have addresses of their calls', () => {
  const view = shape.read({ days: '7', by: 'provider', member: 'usr_1', provider: 'x' }),
    u = { bucket: 'day', from: '', to: '', group: 'provider' }
  expect(callsOf(view, u, 'acme')).toEqual({ days: '7', member: 'usr_1', provider: 'acme' })
  expect(callsOf(view, u, '')).toEqual({ days: '7', member: 'usr_1', provider: '(none)' })
  expect(callsOf(view, u)).toEqual({ days: '7', member: 'usr_1', provider: 'x' })
})

test('a group by a tag is in the address, and its rows lead to their calls', () => {
  const raw = { by: 'tag:project', tag: 'env=prod', session: 's-1', client_user: 'u' }
  const v = shape.read(raw)
  expect(shape.write(v)).toEqual(raw)
  const u = { bucket: 'day', from: '', to: '', group: 'tag:project' }
  const of = { ...v, only: { ...v.only, tag: '', session: '', client_user: '' } }
  expect(callsOf(of, u, 'project=atlas')).toEqual({ tag: 'project=atlas' })
  expect(callsOf(of, u, '')).toEqual({ tag: 'project=(none)' })
  expect(callsOf(of, { ...u, group: 'user' }, 'u-1')).toEqual({ client_user: 'u-1' })
  expect(['project=(other)', '(other)', 'project=x', 'other'].map(beyond)).toEqual([true, true, false, false])
})

test('one filter more keeps the others, but for those of which the API takes one at a time', () => {
  const view = shape.read({ model: 'sim/a', tag: 'env=prod', by: 'session', show: 'calls' })
  const next = narrowed(view, { session: 's1' })
  expect(shape.write(next)).toEqual({ model: 'sim/a', session: 's1', show: 'calls' })
  expect(shape.write(narrowed(view, { key: 'k1' }))).toEqual({
    model: 'sim/a',
    tag: 'env=prod',
    key: 'k1',
    by: 'session',
    show: 'calls',
  })
})
test('values of a property are those of the other filters', () => {
  const view = shape.read({ model: 'sim/a', result: 'failed', tag: 'env=prod' })
  expect(askedForValues(view, 'model', now)).toEqual({
    from: '2026-10-26',
    group: 'model',
    result: 'failed',
    tag: 'env=prod',
  })
  const rest = { from: '2026-10-26', model: 'sim/a', result: 'failed' }
  expect(askedForValues(view, 'tag:env', now)).toEqual({ ...rest, group: 'tag:env' })
  expect(askedForValues(view, 'user', now)).toEqual({ ...rest, group: 'user' })
})
