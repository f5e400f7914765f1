import { expect, test } from 'vitest'
import {
  difference,
  formOf,
  goodName,
  linesOf,
  readList,
  readObject,
  saidBy,
  type Said,
} from '../src/pages/presets/data'

const empty: Said = {
  model: null,
  models: null,
  system_prompt: null,
  parameters: null,
  provider: null,
  tools: null,
  plugins: null,
}

test.each<[string, Said]>([
  ['nothing', empty],
  [
    'all that the form has fields for',
    {
      ...empty,
      model: 'acme/large',
      models: ['acme/small', 'acme/tiny'],
      system_prompt: 'Be short.\nBe kind.',
      parameters: {
        temperature: 0,
        top_p: 0.5,
        max_tokens: 400,
        reasoning: { effort: 'low' },
        response_format: { type: 'json_object' },
      },
      provider: { sort: 'price', data_collection: 'deny', zdr: true, allow_fallbacks: false },
    },
  ],
  [
    'what the form has no field for',
    {
      ...empty,
      parameters: {
        top_k: 40,
        stop: ['END'],
        reasoning: { max_tokens: 2000 },
        response_format: { type: 'json_schema', json_schema: { name: 'mine', schema: { type: 'object' } } },
      },
      provider: {
        only: ['acme'],
        sort: { by: 'price', partition: 'none' },
        allow_fallbacks: true,
        data_collection: 'allow',
      },
    },
  ],
  [
    'tools and plugins',
    {
      ...empty,
      tools: [{ type: 'function', function: { name: 'f', strict: true, parameters: { type: 'object' } } }],
      plugins: [{ id: 'web', max_results: 3 }, { id: 'response-healing' }],
    },
  ],
  [
    'a schema of the form',
    {
      ...empty,
      parameters: {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'answer', strict: true, schema: { type: 'object', properties: {} } },
        },
      },
    },
  ],
])('a form loses nothing of a preset: %s', (_, said) => {
  expect(saidBy(formOf(said))).toEqual(said)
})

test('the difference of two versions', () => {
  const a = linesOf({ ...empty, model: 'acme/large', system_prompt: 'one\ntwo\nthree' })
  const b = linesOf({ ...empty, model: 'acme/large', system_prompt: 'one\n2\nthree\nfour' })
  const lines = difference(a, b)
  expect(lines.filter((l) => l.kind !== 'same')).toEqual([
    { kind: 'gone', text: 'two' },
    { kind: 'new', text: '2' },
    { kind: 'new', text: 'four' },
  ])
  expect(lines.filter((l) => l.kind !== 'new').map((l) => l.text)).toEqual(a)
  expect(lines.filter((l) => l.kind !== 'gone').map((l) => l.text)).toEqual(b)
  expect(difference(a, a).every((l) => l.kind === 'same')).toBe(true)
  expect(difference([], b).map((l) => l.text)).toEqual(b)
})

test('functions may be given in other forms, and are shown in the difference', () => {
  const f = { ...formOf(empty), plugins: '' }
  const said = saidBy({
    ...f,
    settings: { ...f.settings, tools: '{"name":"f","input_schema":{"type":"object"}}' },
  })
  expect(said.tools).toEqual([{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }])
  expect([readList(''), readList('[{"id":"web"}]'), readList('{}'), readList('[1]'), readList('[')]).toEqual([
    [],
    [{ id: 'web' }],
    null,
    null,
    null,
  ])
  expect(
    difference(linesOf(empty), linesOf({ ...empty, plugins: [{ id: 'web' }] })).some(
      (l) => l.kind === 'new' && l.text.includes('web'),
    ),
  ).toBe(true)
})

test('names and objects', () => {
  expect(['a', 'email-writer', '0_x'].every(goodName)).toBe(true)
  expect(['', '-a', 'A', 'a b', 'ё', 'a'.repeat(65)].some(goodName)).toBe(false)
  expect([readObject(''), readObject('{"a":1}'), readObject('[1]'), readObject('{')]).toEqual([
    {},
    { a: 1 },
    null,
    null,
  ])
})
