import { expect, test } from 'vitest'
import { add, decimal, plain, ZERO } from '../src/format'
import { shape, spentOf, topAndOthers } from '../src/pages/overview/spending'

test('the address keeps period and group, and nothing else', () => {
  expect(shape.write(shape.read({ days: '7', by: 'key' }))).toEqual({ days: '7', by: 'key' })
  expect(shape.write(shape.read({ days: '5', by: 'nonsense' }))).toEqual({})
})

test('whatever was spent: the largest and the others are the sums, each day and in all', () => {
  let seed = 1
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below
  const sum = (all: readonly (string | number | null | undefined)[]) =>
    plain(all.reduce((s, x) => add(s, decimal(x) ?? ZERO), ZERO))
  for (let round = 0; round < 60; round++) {
    const days = 1 + random(31)
    const series = Array.from({ length: random(7) }, (_, i) => {
      const values = Array.from(
        { length: days },
        () => `${random(5)}.${String(random(1e9)).padStart(9, '0')}`,
      )
      return { key: `m/${i}`, label: null, values, total: sum(values) }
    })
    const unnamed = Array.from({ length: days }, () =>
      random(2) ? '0' : `0.${String(random(1e9)).padStart(9, '0')}`,
    )
    const sums = unnamed.map((x, i) => sum([x, ...series.map((s) => s.values[i])]))
    const most = random(5)
    const got = topAndOthers(series, sums, sum(sums), most)
    expect(got.series).toEqual(series.slice(0, most))
    expect(sum([...got.series.map((s) => s.total), got.other_total])).toBe(sum(sums))
    sums.forEach((x, i) => expect(sum([...got.series.map((s) => s.values[i]), got.other?.[i]])).toBe(x))
  }
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
