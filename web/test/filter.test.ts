import { describe, expect, test } from 'vitest'
import {
  active,
  helpful,
  monthAt,
  nothing,
  prepare,
  search,
  shape,
  without,
  type Filter,
  type Model,
} from '../src/pages/catalog/filter'

const model = (id: string, o: Partial<Model> = {}): Model => ({
  id,
  name: id.split('/')[1]!,
  vendor: id.split('/')[0]!,
  type: 'chat',
  in: '0.25578',
  out: '1.2789',
  cached: null,
  ctx: 128_000,
  caps: ['tools'],
  ins: ['text'],
  outs: ['text'],
  policy: 'transient',
  providers: ['p1'],
  live: true,
  p50: null,
  tps: null,
  uptime: null,
  rank: null,
  created: '2026-01-01',
  ...o,
})
const models = [
  model('anthropic/claude-sonnet-5', {
    caps: ['tools', 'json', 'reasoning'],
    ins: ['text', 'image'],
    ctx: 1_000_000,
    p50: 640,
    tps: 78,
    aliases: ['anthropic/sonnet'],
  }),
  model('openai/gpt-5.4', {
    in: '0.21315',
    caps: ['tools', 'json'],
    policy: 'zero',
    p50: 300,
    created: '2026-03-01',
    providers: ['p1', 'p2'],
  }),
  model('deepseek/deepseek-v3', { in: '0.02387', out: '0.03581', policy: 'unknown', tps: 200, live: false }),
  model('acme/free', { in: '0', out: '0', policy: 'training', caps: [] }),
  model('openai/sora', {
    type: 'video',
    in: null,
    out: null,
    unit: 'second',
    each: '10',
    outs: ['video'],
    caps: [],
    ctx: null,
  }),
]
const all = prepare(
  models,
  new Map([
    ['openai', 'OpenAI'],
    ['acme', 'Акме'],
  ]),
)
const values = {
  can: ['tools', 'json', 'image-in'],
  makes: ['text', 'video'],
  policy: ['notrain', 'zero'],
  provider: ['p1', 'p2'],
  vendor: ['openai', 'anthropic', 'acme', 'deepseek'],
}
const find = (f: Partial<Filter>) =>
  search(all, { ...nothing, ...f }, values, { клод: 'claude' }).rows.map((m) => m.id)

describe('what is left', () => {
  test.each<[string, Partial<Filter>, string[]]>([
    ['nothing chosen', {}, models.map((m) => m.id)],
    ['can is AND', { can: ['tools', 'json'] }, ['anthropic/claude-sonnet-5', 'openai/gpt-5.4']],
    ['input is a part of can', { can: ['image-in'] }, ['anthropic/claude-sonnet-5']],
    [
      'vendors are OR',
      { vendor: ['anthropic', 'deepseek'] },
      ['anthropic/claude-sonnet-5', 'deepseek/deepseek-v3'],
    ],
    ['facets are AND', { vendor: ['openai'], makes: ['text'] }, ['openai/gpt-5.4']],
    [
      'a price limit leaves models without such a price out',
      { priceIn: 30 },
      ['deepseek/deepseek-v3', 'acme/free'],
    ],
    [
      'a price limit includes itself, exactly',
      { priceIn: 256 },
      ['anthropic/claude-sonnet-5', 'openai/gpt-5.4', 'deepseek/deepseek-v3', 'acme/free'],
    ],
    ['one below', { priceIn: 255 }, ['openai/gpt-5.4', 'deepseek/deepseek-v3', 'acme/free']],
    ['context', { context: 200_000 }, ['anthropic/claude-sonnet-5']],
    [
      'not for training',
      { policy: ['notrain'] },
      ['anthropic/claude-sonnet-5', 'openai/gpt-5.4', 'openai/sora'],
    ],
    ['zero retention', { policy: ['zero'] }, ['openai/gpt-5.4']],
    [
      'served now',
      { live: true, makes: ['text'] },
      ['anthropic/claude-sonnet-5', 'openai/gpt-5.4', 'acme/free'],
    ],
    ['words are AND in any order', { q: 'sonnet claude' }, ['anthropic/claude-sonnet-5']],
    ['the shorter name of two that fit alike', { q: 'openai' }, ['openai/sora', 'openai/gpt-5.4']],
    ['a vendor by its name', { q: 'акме' }, ['acme/free']],
    ['an alias', { q: 'anthropic/sonnet' }, ['anthropic/claude-sonnet-5']],
    ['the other keyboard layout', { q: 'сдфгву' }, ['anthropic/claude-sonnet-5']],
    ['nothing', { q: 'no such thing' }, []],
    ['other separators', { q: 'gpt54' }, ['openai/gpt-5.4']],
    ['a name by ear', { q: 'клод' }, ['anthropic/claude-sonnet-5']],
    ['a slip', { q: 'cluade' }, ['anthropic/claude-sonnet-5']],
    ['two slips', { q: 'clxxde' }, []],
    ['the wrong version', { q: 'gpt-5.6' }, []],
    [
      'cheapest',
      { sort: 'cheap' },
      ['acme/free', 'deepseek/deepseek-v3', 'openai/gpt-5.4', 'anthropic/claude-sonnet-5', 'openai/sora'],
    ],
    ['newest', { sort: 'new', vendor: ['openai'] }, ['openai/gpt-5.4', 'openai/sora']],
    [
      'first token, unknown last',
      { sort: 'first', makes: ['text'], can: ['json'] },
      ['openai/gpt-5.4', 'anthropic/claude-sonnet-5'],
    ],
    [
      'speed, unknown last',
      { sort: 'speed', vendor: ['deepseek', 'anthropic', 'acme'] },
      ['deepseek/deepseek-v3', 'anthropic/claude-sonnet-5', 'acme/free'],
    ],
  ])('%s', (_what, f, ids) => expect(find(f)).toEqual(ids))
  test('what the other layout meant is said', () =>
    expect(search(all, { ...nothing, q: 'сдфгву' }, values).meant).toBe('claude'))
})
test('numbers beside choices do not count their own facet', () => {
  const { counts } = search(all, { ...nothing, vendor: ['anthropic'], can: ['tools'] }, values)
  expect([...counts.vendor]).toEqual(
    expect.arrayContaining([
      ['openai', 1],
      ['anthropic', 1],
      ['deepseek', 1],
    ]),
  )
  expect(counts.can.get('json')).toBe(1)
  expect(counts.provider.get('p1')).toBe(1)
})
test('the one condition that helps most', () => {
  const f = { ...nothing, policy: ['zero'], vendor: ['acme'], can: ['tools'] }
  expect(helpful(all, f, values)).toMatchObject({ what: { facet: 'vendor' }, count: 1 })
  expect(helpful(all, { ...f, priceIn: 1, q: 'nowhere' }, values)).toBeNull() // several conditions are in the way
  expect(helpful(all, { ...nothing, q: 'sora', policy: ['zero'], makes: ['video'] }, values)).toEqual({
    what: { facet: 'policy', value: 'zero' },
    count: 1,
  })
})
test('the address carries everything and comes back', () => {
  const f: Filter = {
    q: 'a b',
    priceIn: 900,
    priceOut: 5,
    context: 128_000,
    can: ['tools', 'json'],
    makes: ['text'],
    policy: ['notrain'],
    provider: ['p1'],
    vendor: ['openai'],
    live: true,
    all: true,
    sort: 'cheap',
    unit: '1k',
    chosen: ['a/b', 'c/d'],
  }
  const written = shape.write(f)
  expect(written).toMatchObject({ can: 'tools,json', in: '900', policy: 'notrain', sort: 'cheap' })
  expect(shape.read(written as Record<string, string>)).toEqual(f)
  expect(Object.values(shape.write(nothing)).filter(Boolean)).toEqual([])
})
test('rubbish in the address is nothing', () =>
  expect(
    shape.read({ in: '-5', ctx: 'x', sort: '<script>', live: 'yes', m: 'a/b,a/b,c/d,e/f,g/h,i/j' }),
  ).toEqual({ ...nothing, chosen: ['a/b', 'c/d', 'e/f', 'g/h'] }))
test('taking conditions away one by one ends with nothing', () => {
  let f: Filter = {
    ...nothing,
    can: ['tools', 'json'],
    vendor: ['openai'],
    priceIn: 9,
    priceOut: 9,
    context: 1,
    live: true,
  }
  for (let n = active(f).length; n > 0; n--) {
    expect(active(f)).toHaveLength(n)
    f = without(f, active(f)[0]!)
  }
  expect(f).toEqual(nothing)
})
test('a thousand models', () => {
  const many = prepare(
    Array.from({ length: 1000 }, (_, i) =>
      model(`v${i % 40}/m${i}`, {
        name: `Model number ${i}`,
        about: 'What is declared of it, in a sentence of usual length for a model.',
      }),
    ),
    new Map(),
  )
  const counted = search(many, { ...nothing, q: 'number 9', can: ['tools'] }, values)
  expect(counted.rows.length).toBeGreaterThan(100)
})
describe('what a month would have cost at the prices of a model', () => {
  const u = { tokens_in: 1_500_000, tokens_cached: 500_000, tokens_out: 2_000 }
  test.each([
    ['cached tokens have their price', { in: '0.5', out: '2', cached: '0.05' }, '529'],
    ['without one they cost as the others', { in: '0.5', out: '2', cached: null }, '754'],
    ['to the last digit', { in: '0.000001', out: '0.0000000001', cached: '0' }, '0.0010000002'],
    ['nothing without prices of tokens', { in: null, out: '2', cached: null }, null],
  ])('%s', (_, m, want) => expect(monthAt(m, u)).toBe(want))
  test('more cached than sent is as much as was sent', () =>
    expect(
      monthAt({ in: '1', out: '1', cached: '0.1' }, { tokens_in: 1000, tokens_cached: 5000, tokens_out: 0 }),
    ).toBe('0.1'))
})
