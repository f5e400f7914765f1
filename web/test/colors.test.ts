/** The colours of series, over many made-up sets of names in the order in which pages may show them. */
import { expect, test } from 'vitest'
import { COLORS, colorsOf } from '../src/ui/chart'

/** Numbers that look random and are the same in each run. */
function numbers(seed: number): () => number {
  let x = seed
  return () => {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0
    return x / 2 ** 32
  }
}
test('colorsOf: no two of a set share a colour while there are enough', () => {
  const next = numbers(7)
  for (let run = 0; run < 2000; run++) {
    const n = 1 + Math.floor(next() * COLORS)
    const set = new Set<string>()
    while (set.size < n) set.add(`vendor/model-${Math.floor(next() * 400)}`)
    const colors = colorsOf([...set])
    expect(new Set(colors.values()).size).toBe(n)
    for (const c of colors.values()) expect(c >= 1 && c <= COLORS).toBe(true)
  }
})
test('colorsOf: a name has the same colour alone, among others and in another order', () => {
  const names = Array.from({ length: COLORS }, (_, i) => `same/model-${i}`)
  const colors = colorsOf(names)
  for (const name of names) expect(colorsOf([name]).get(name)).toBe(colors.get(name))
  const next = numbers(11)
  for (let run = 0; run < 200; run++) {
    const some = names.filter(() => next() < 0.6).sort(() => next() - 0.5)
    for (const [name, color] of colorsOf(some)) expect(color).toBe(colors.get(name))
  }
})
test('colorsOf: more names than colours all get one', () => {
  const names = Array.from({ length: 3 * COLORS }, (_, i) => `many/model-${i}`)
  expect(colorsOf(names).size).toBe(3 * COLORS)
})
