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

/** What a screen makes of a colour in oklch: linear red, green and blue, cut to what it can show. */
function linear(l: number, c: number, hue: number): number[] {
  const a = c * Math.cos((hue * Math.PI) / 180),
    b = c * Math.sin((hue * Math.PI) / 180)
  const [x, y, z] = [
    l + 0.3963377774 * a + 0.2158037573 * b,
    l - 0.1055613458 * a - 0.0638541728 * b,
    l - 0.0894841775 * a - 1.291485548 * b,
  ].map((v) => v ** 3) as [number, number, number]
  return [
    4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z,
    -1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z,
    -0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z,
  ].map((v) => Math.min(1, Math.max(0, v)))
}
test('the mark of a vendor can be read in every hue and both themes', () => {
  const rule = /\.vendor \{[^}]*\}/.exec(css)![0]
  const [text, ground] = ['color', 'background'].map((name) =>
    [
      ...new RegExp(`[{;] ?${name}: light-dark\\((.+?)\\);`)
        .exec(rule)![1]!
        .matchAll(/oklch\(([\d.]+) ([\d.]+) var/g),
    ].map((m) => [Number(m[1]), Number(m[2])] as const),
  )
  for (const theme of [0, 1])
    for (let hue = 0; hue < 360; hue++) {
      const [a, b] = [text![theme]!, ground![theme]!]
        .map(([l, c]) => linear(l, c, hue))
        .map(([r, g, bl]) => 0.2126 * r! + 0.7152 * g! + 0.0722 * bl!)
        .sort((p, q) => q - p) as [number, number]
      expect((a + 0.05) / (b + 0.05), `hue ${hue}, theme ${theme}`).toBeGreaterThanOrEqual(4.5)
    }
})
