import { beforeEach, describe, expect, test } from 'vitest'
import * as f from '../src/format'

/** Narrow spaces are written _ here. */
const seen = (s: string) => s.replaceAll('\u202f', '_')
const both = (run: () => string) =>
  (['en', 'ru'] as const).map((l) => {
    f.setFormatLanguage(l)
    return seen(run())
  })
beforeEach(() => f.setFormatLanguage('en'))

describe('money', () => {
  test.each([
    ['12480.35', '12_480.35_₽', '12_480,35_₽'],
    ['12480.354999999', '12_480.35_₽', '12_480,35_₽'],
    ['0.86934916', '0.8693_₽', '0,8693_₽'],
    ['0.000184', '0.000184_₽', '0,000184_₽'],
    ['0.000000001', '0.000000001_₽', '0,000000001_₽'],
    ['0.99995', '1.00_₽', '1,00_₽'],
    ['0.99994', '0.9999_₽', '0,9999_₽'],
    ['0.5', '0.5_₽', '0,5_₽'],
    ['1', '1.00_₽', '1,00_₽'],
    ['0', '0_₽', '0_₽'],
    ['-0', '0_₽', '0_₽'],
    ['-412.08', '\u2212412.08_₽', '\u2212412,08_₽'],
    ['1e-7', '0.0000001_₽', '0,0000001_₽'],
    ['123456789012345.123456789', '123_456_789_012_345.12_₽', '123_456_789_012_345,12_₽'],
    ['nonsense', '—', '—'],
    ['1.2.3', '—', '—'],
  ])('%s in lists', (value, en, ru) => expect(both(() => f.money(value))).toEqual([en, ru]))
  test('every digit in detail, on copy and in CSV', () => {
    expect(both(() => f.money('1234.869349160', { exact: true }))).toEqual([
      '1_234.86934916_₽',
      '1_234,86934916_₽',
    ])
    expect(f.plain(f.decimal('1234.869349160')!)).toBe('1234.86934916')
  })
  test.each([
    ['12480.354999999', '12_480.35_₽', '12_480,35_₽'],
    ['0.869349161', '0.87_₽', '0,87_₽'],
    ['4887.5', '4_887.50_₽', '4_887,50_₽'],
    ['0.01', '0.01_₽', '0,01_₽'],
    ['0.009999999', '<_0.01_₽', '<_0,01_₽'],
    ['0.000000001', '<_0.01_₽', '<_0,01_₽'],
    ['-0.000000001', '>_\u22120.01_₽', '>_\u22120,01_₽'],
    ['-0.01', '\u22120.01_₽', '\u22120,01_₽'],
    ['-412.085', '\u2212412.09_₽', '\u2212412,09_₽'],
    ['0', '0_₽', '0_₽'],
    ['-0.00', '0_₽', '0_₽'],
  ])('%s above a page', (value, en, ru) => expect(both(() => f.headline(value))).toEqual([en, ru]))
  test('unknown above a page, and without its unit', () =>
    expect([f.headline(null), f.headline('1.234', { sign: false })]).toEqual(['—', '1.23']))
  test('null is unknown, not nought', () => expect(f.money(null)).toBe('—'))
  test('an estimate says so', () =>
    expect(both(() => f.money('1.03', { about: true }))).toEqual(['≈_1.03_₽', '≈_1,03_₽']))
  test('plus of a credit', () => expect(seen(f.money('5', { plus: true, sign: false }))).toBe('+5.00'))
})

describe('price', () => {
  test.each([
    ['0.00025578', '1M', '255.78_₽ / 1M', '255,78_₽ за 1 млн'],
    ['0.00025578', '1k', '0.2558_₽ / 1k', '0,2558_₽ за 1 тыс.'],
    ['0', '1M', 'free', 'бесплатно'],
    [null, '1M', '—', '—'],
  ] as const)('%s for %s', (value, unit, en, ru) =>
    expect(both(() => f.price(value, unit))).toEqual([en, ru]),
  )
  test('bare', () => expect(seen(f.price('0.0012789', '1M', { bare: true }))).toBe('1_278.90'))
})

test.each([
  [3812, '3_812', '3_812'],
  [99_999, '99_999', '99_999'],
  [100_000, '100k', '100_тыс.'],
  [1_200_000, '1.2M', '1,2_млн'],
  [12_340_000, '12M', '12_млн'],
  [2_500_000_000, '2.5B', '2,5_млрд'],
  [0, '0', '0'],
])('%d tokens', (n, en, ru) => expect(both(() => f.tokens(n))).toEqual([en, ru]))
test.each([
  [128_000, '128k', '128_тыс.'],
  [131_072, '131k', '131_тыс.'],
  [1_000_000, '1M', '1_млн'],
  [1_048_576, '1M', '1_млн'],
  [2_097_152, '2.1M', '2,1_млн'],
  [512, '512', '512'],
  [null, '—', '—'],
])('context %s', (n, en, ru) => expect(both(() => f.context(n))).toEqual([en, ru]))
test.each([
  [640, '640_ms', '640_мс'],
  [0, '0_ms', '0_мс'],
  [4212, '4.21_s', '4,21_с'],
  [12_000, '12.0_s', '12,0_с'],
  [999.6, '1.00_s', '1,00_с'],
  [74_000, '1_min 14_s', '1_мин 14_с'],
  [60_000, '1_min', '1_мин'],
  [7_500_000, '2_h 5_min', '2_ч 5_мин'],
  [90_000_000, '1_d 1_h', '1_дн. 1_ч'],
])('%d ms', (n, en, ru) => expect(both(() => f.duration(n))).toEqual([en, ru]))
test.each([
  [99.98, '99.98_%', '99,98_%'],
  [100, '100_%', '100_%'],
  [99.999, '99.99_%', '99,99_%'],
  [0, '0_%', '0_%'],
  [0.0001, '0.01_%', '0,01_%'],
  [92, '92_%', '92_%'],
  [null, '—', '—'],
])('%s per cent', (n, en, ru) => expect(both(() => f.percent(n))).toEqual([en, ru]))
test.each([
  [100.001, '100.01_%', '100,01_%'],
  [-0.001, '\u22120.01_%', '\u22120,01_%'],
  [-99.999, '\u221299.99_%', '\u221299,99_%'],
  [-100, '\u2212100_%', '\u2212100_%'],
  [250, '250_%', '250_%'],
])('a change of %s per cent', (n, en, ru) => expect(both(() => f.percent(n))).toEqual([en, ru]))
test.each([
  [0, '0:00.0', '0:00,0'],
  [62.54, '1:02.5', '1:02,5'],
  [59.96, '1:00.0', '1:00,0'],
  [3600, '60:00.0', '60:00,0'],
])('place %d in a recording', (s, en, ru) => expect(both(() => f.clock(s))).toEqual([en, ru]))
test('seconds of a column', () => expect(both(() => f.seconds(640))).toEqual(['0.64_s', '0,64_с']))
test('bytes', () => expect(both(() => f.bytes(1_500_000))).toEqual(['1.50_MB', '1,50_МБ']))

const at = '2026-11-20T14:02:11.734Z'
test('dates', () => {
  expect(both(() => f.date(at))).toEqual(['20 Nov 2026', '20 ноября 2026'])
  expect(both(() => f.day(at))).toEqual(['20 Nov', '20 ноября'])
  expect(both(() => f.month(at))).toEqual(['November 2026', 'ноябрь 2026'])
  expect(both(() => f.inUtc(at))).toEqual(['20 Nov 2026, 14:02:11 UTC', '20 ноября 2026, 14:02:11 UTC'])
  expect(both(() => f.period('2026-11-01', '2026-11-20'))).toEqual(['1–20 Nov 2026', '1–20 ноября 2026'])
  expect(both(() => f.period('2026-10-28', '2026-11-03'))).toEqual([
    '28 Oct – 3 Nov 2026',
    '28 октября – 3 ноября 2026',
  ])
  expect(f.date('rubbish')).toBe('—')
})
test.each([
  [10_000, 'now', 'только что'],
  [120_000, '2_min ago', '2_мин назад'],
  [3_540_000, '59_min ago', '59_мин назад'],
  [3_600_000, '13:02', '13:02'],
  [90_000_000, '19 Nov', '19 ноября'],
  [40_000_000_000, '14 Aug 2025', '14 августа 2025'],
])('%d ms ago', (ms, en, ru) => {
  const now = Date.parse(at)
  expect(both(() => f.when(now - ms, now))).toEqual([en, ru])
})

describe('decimals are exact', () => {
  const d = (s: string) => f.decimal(s)!
  test('sum that floats get wrong', () => expect(f.plain(f.add(d('0.1'), d('0.2')))).toBe('0.3'))
  test('tokens times price', () => expect(f.plain(f.times(d('0.00025578'), 3812))).toBe('0.97503336'))
  test('product', () =>
    expect(f.plain(f.multiply(d('1.000000001'), d('0.000000001')))).toBe('0.000000001000000001'))
  test('order', () => {
    expect(f.compare(d('9.9'), d('10'))).toBe(-1)
    expect(f.compare(d('1.10'), d('1.1'))).toBe(0)
    expect(f.compare(d('-1'), d('-2'))).toBe(1)
  })
  test('division', () => {
    expect(f.plain(f.divide(d('1'), d('3'), 6)!)).toBe('0.333333')
    expect(f.plain(f.divide(d('2'), d('3'), 6)!)).toBe('0.666667')
    expect(f.divide(d('1'), d('0'))).toBeNull()
  })
  test('round half away from zero', () => {
    expect(f.plain(f.round(d('0.125'), 2))).toBe('0.13')
    expect(f.plain(f.round(d('-0.125'), 2))).toBe('-0.13')
  })
  test('adding and taking away any two gives the first', () => {
    let seed = 7n
    const next = () => (seed = (seed * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n))
    for (let i = 0; i < 500; i++) {
      const a = { digits: next() - (1n << 63n), scale: Number(next() % 12n) },
        b = { digits: next() - (1n << 63n), scale: Number(next() % 12n) }
      expect(f.compare(f.subtract(f.add(a, b), b), a)).toBe(0)
      expect(f.compare(d(f.plain(a)), a)).toBe(0)
    }
  })
})

describe('each kind of value once, as a page has it', () => {
  const now = Date.parse('2026-11-20T14:30:00Z'),
    at = '2026-11-20T14:02:11Z'
  test.each<[string, () => string, string, string]>([
    ['money in lists', () => f.money('12480.35'), '12_480.35_₽', '12_480,35_₽'],
    [
      'money in lists, below one: four significant digits',
      () => f.money('0.86934916'),
      '0.8693_₽',
      '0,8693_₽',
    ],
    ['money in lists, far below one', () => f.money('0.000184'), '0.000184_₽', '0,000184_₽'],
    ['no money', () => f.money('0.000'), '0_₽', '0_₽'],
    ['money is never rounded to nothing', () => f.money('0.000000001'), '0.000000001_₽', '0,000000001_₽'],
    [
      'money in detail: every digit',
      () => f.money('0.86934916', { exact: true }),
      '0.86934916_₽',
      '0,86934916_₽',
    ],
    [
      'money in detail: groups, too',
      () => f.money('-1234567.000000001', { exact: true }),
      '\u22121_234_567.000000001_₽',
      '\u22121_234_567,000000001_₽',
    ],
    [
      'money in a file: a dot, no groups, a hyphen',
      () => f.plain(f.decimal('-12480.350000000')!),
      '-12480.35',
      '-12480.35',
    ],
    ['a debit', () => f.money('-412.08', { sign: false }), '\u2212412.08', '\u2212412,08'],
    ['a price', () => f.price('0.00025578'), '255.78_₽ / 1M', '255,78_₽ за 1 млн'],
    ['a price for a thousand', () => f.price('0.00025578', '1k'), '0.2558_₽ / 1k', '0,2558_₽ за 1 тыс.'],
    ['the unit of a price alone', () => f.priceUnit(), '₽ / 1M', '₽ за 1 млн'],
    ['no price', () => f.price('0'), 'free', 'бесплатно'],
    ['tokens', () => f.tokens(3812), '3_812', '3_812'],
    ['tokens, the most that is exact', () => f.tokens(99_999), '99_999', '99_999'],
    ['many tokens', () => f.tokens(1_200_000), '1.2M', '1,2_млн'],
    ['a context', () => f.context(128_000), '128k', '128_тыс.'],
    ['a long context', () => f.context(1_000_000), '1M', '1_млн'],
    ['a day', () => f.date(at), '20 Nov 2026', '20 ноября 2026'],
    ['a moment within the hour', () => f.when(at, now), '27_min ago', '27_мин назад'],
    ['a moment of today', () => f.when('2026-11-20T13:29:59Z', now), '13:29', '13:29'],
    [
      'the whole moment, in titles',
      () => f.inUtc(at),
      '20 Nov 2026, 14:02:11 UTC',
      '20 ноября 2026, 14:02:11 UTC',
    ],
    ['a duration below a second', () => f.duration(640), '640_ms', '640_мс'],
    ['a duration of three significant digits', () => f.duration(4212), '4.21_s', '4,21_с'],
    ['a duration of seconds', () => f.duration(42_149), '42.1_s', '42,1_с'],
    ['a duration of minutes', () => f.duration(74_000), '1_min 14_s', '1_мин 14_с'],
    ['a share', () => f.percent(99.98), '99.98_%', '99,98_%'],
    ['nearly all is not all', () => f.percent(99.9999), '99.99_%', '99,99_%'],
    ['all', () => f.percent(100), '100_%', '100_%'],
    ['an estimate while it runs', () => f.money('1.03', { about: true }), '≈_1.03_₽', '≈_1,03_₽'],
    [
      'what is not known',
      () => f.money(null) + f.tokens(undefined) + f.percent(null) + f.duration(null) + f.date(''),
      '—————',
      '—————',
    ],
  ])('%s', (_, run, en, ru) => expect(both(run)).toEqual([en, ru]))
})

describe('nothing else writes numbers', () => {
  const sources = import.meta.glob<string>(
    ['../src/**/*.{ts,tsx}', '!../src/format.ts', '!../src/api/schema.d.ts'],
    { eager: true, query: '?raw', import: 'default' },
  )
  test('no other module formats them', () => {
    expect(Object.keys(sources).length).toBeGreaterThan(150)
    expect(
      Object.entries(sources)
        .filter(([, text]) =>
          /\.toFixed\(|\.toPrecision\(|\.toLocale(Date|Time)?String\(|Intl\.(NumberFormat|DateTimeFormat|RelativeTimeFormat)/.test(
            text,
          ),
        )
        .map(([path]) => path),
    ).toEqual([])
  })
  test('messages have a narrow space before the sign of per cent, and prices have their unit in Russian', () => {
    const lines = Object.entries(sources)
      .filter(([path]) => path.includes('/messages/'))
      .flatMap(([path, text]) => text.split('\n').map((line) => `${path}: ${line}`))
    expect(lines.filter((l) => /[\d}][ \u00a0]?%/.test(l))).toEqual([])
    expect(lines.filter((l) => l.includes('.ru.ts') && /₽ ?\/|\/ ?1[Mk]\b/.test(l))).toEqual([])
  })
})
