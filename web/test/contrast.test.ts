import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const css = readFileSync('src/styles.css', 'utf8')
const tokens = new Map(
  [...css.matchAll(/^\s*--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/gm)].map((m) => [
    m[1]!,
    [m[2]!, m[3]!] as const,
  ]),
)
const light = (hex: string) => {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
const contrast = (a: string, b: string) => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p) as [number, number]
  return (x + 0.05) / (y + 0.05)
}

describe.each([
  ['light', 0],
  ['dark', 1],
] as const)('%s', (_name, theme) => {
  const c = (name: string) => tokens.get(name)![theme]
  const text: [string, string[]][] = [
    ['ink', ['surface', 'canvas', 'sunken', 'accent-soft']],
    ['ink2', ['surface', 'canvas', 'sunken', 'accent-soft', 'warn-soft', 'bad-soft', 'good-soft']],
    ['ink3', ['surface', 'canvas', 'sunken']],
    ['accent', ['surface', 'canvas']],
    ['accent-ink', ['surface', 'canvas', 'sunken', 'accent-soft']],
    ['on-accent', ['accent', 'accent-ink']],
    ['good', ['surface', 'canvas', 'good-soft']],
    ['warn', ['surface', 'canvas', 'warn-soft']],
    ['bad', ['surface', 'canvas', 'bad-soft']],
    ['hold', ['surface', 'canvas', 'hold-soft']],
    ['surface', ['ink']],
    ['s2', ['surface']],
    ['s3', ['surface']],
    ['s4', ['surface']],
  ]
  test.each(text.flatMap(([a, on]) => on.map((b) => [a, b] as const)))('text %s on %s', (a, b) =>
    expect(contrast(c(a), c(b))).toBeGreaterThanOrEqual(4.5),
  )
  test.each(
    ['line2', 's1', 's2', 's3', 's4', 's5', 's6', 's7', 's8'].flatMap((a) =>
      ['surface', 'canvas'].map((b) => [a, b] as const),
    ),
  )('edge or series %s on %s', (a, b) => expect(contrast(c(a), c(b))).toBeGreaterThanOrEqual(3))
})
test('every token is in both themes', () => expect(tokens.size).toBe(30))
