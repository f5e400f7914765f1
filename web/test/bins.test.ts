import { expect, test } from 'vitest'
import { padded, placeOf } from '../src/pages/admin/bins'
import { csvOf } from '../src/ui/csv'

const bins = [
  { from: 250, to: 315, calls: 3 },
  { from: 315, to: 397, calls: 1 },
]

test('a histogram has an empty bin on both sides, but none below nought and none after what has no end', () => {
  expect(padded(bins).map((b) => [Math.round(b.from), b.to && Math.round(b.to), b.calls])).toEqual([
    [198, 250, 0],
    [250, 315, 3],
    [315, 397, 1],
    [397, 500, 0],
  ])
  const ends = [
    { from: 0, to: 1, calls: 1 },
    { from: 1, to: null, calls: 1 },
  ]
  expect(padded(ends)).toEqual(ends)
  expect(padded([])).toEqual([])
})

test('a place of the axis is the end of its bin, and nothing between two', () => {
  const place = placeOf([...bins, { from: 397, to: null, calls: 1 }], String)
  expect([0, 500, 1000, 2000, 3000].map(place)).toEqual(['≤ 315', '', '≤ 397', '> 397', ''])
})

test('its file has the ends of the bins in place of times', () => {
  const series = [{ key: 'calls', label: 'Calls', values: [3, 1] }]
  expect(csvOf({ times: [0, 1000], series, head: 'Up to', time: placeOf(bins, String) })).toBe(
    'Up to,Calls\r\n≤ 315,3\r\n≤ 397,1\r\n',
  )
})
