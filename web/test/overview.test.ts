import { expect, test } from 'vitest'
import { shape, spentOf } from '../src/pages/overview/spending'

test('the address keeps period and group, and nothing else', () => {
  expect(shape.write(shape.read({ days: '7', by: 'key' }))).toEqual({ days: '7', by: 'key' })
  expect(shape.write(shape.read({ days: '5', by: 'nonsense' }))).toEqual({})
})

test('what the overview has is three models and the others, to the last digit', () => {
  const day = (date: string, cost: string, parts: [string | null, string][]) => ({
    date,
    cost,
    calls: 1,
    parts: parts.map(([model, cost]) => ({ model, cost })),
  })
  const s = spentOf({
    spent_30_days: '10.000000005',
    days: [
      day('2026-11-23', '4', [
        ['a/a', '3'],
        [null, '1'],
      ]),
      day('2026-11-24', '6.000000005', [['b/b', '6.000000005']]),
    ],
    top: [
      { model: 'b/b', cost: '6.000000005' },
      { model: 'a/a', cost: '3' },
      { model: null, cost: '1' },
    ],
  } as Parameters<typeof spentOf>[0])
  expect(s.series.map((x) => [x.key, x.total, x.values])).toEqual([
    ['b/b', '6.000000005', ['0', '6.000000005']],
    ['a/a', '3', ['3', '0']],
  ])
  expect([s.other, s.other_total, s.total, s.sums]).toEqual([
    ['1', '0'],
    '1',
    '10.000000005',
    ['4', '6.000000005'],
  ])
  expect(spentOf({ spent_30_days: '0', days: [], top: [] }).other).toBeNull()
})
