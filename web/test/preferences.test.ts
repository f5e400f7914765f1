import { expect, test } from 'vitest'
import {
  empty,
  fieldOf,
  formOf,
  preferencesOf,
  problems,
  type Form,
  type Preferences,
} from '../src/pages/settings/preferences'

test.each<[string, Preferences | null]>([
  ['nothing', null],
  [
    'everything',
    {
      order: ['a', 'b/fp8'],
      only: ['a', 'b'],
      ignore: ['c'],
      allow_fallbacks: false,
      require_parameters: true,
      data_collection: 'deny',
      zdr: true,
      quantizations: ['fp8', 'unknown'],
      sort: { by: 'price', partition: 'none' },
      max_price: { prompt: '0.05', completion: '2.5', request: '1', image: '3.25', audio: '0.00000001' },
      preferred_min_throughput: { p50: 20 },
      preferred_max_latency: { p90: 1.5, p99: 4 },
      batch: 'native',
    },
  ],
  ['a plain sort', { sort: 'throughput' }],
  ['exacto', { sort: 'exacto' }],
  ['a price that binary fractions do not have', { max_price: { prompt: '0.1234567890123' } }],
])('%s survives the form', (_, p) => {
  expect(preferencesOf(formOf(p))).toEqual(p)
})

test('what says nothing is dropped, and numbers are read as they are', () => {
  expect(
    preferencesOf(
      formOf({
        allow_fallbacks: true,
        zdr: false,
        only: [],
        max_price: {},
        preferred_max_latency: 2,
        data_collection: 'allow',
      }),
    ),
  ).toEqual({ preferred_max_latency: { p50: 2 } })
  expect(formOf({ max_price: { prompt: 0.05, completion: '0.5' } }).price).toEqual({
    prompt: '50',
    completion: '500',
    request: '',
    image: '',
    audio: '',
  })
  expect(preferencesOf({ ...empty, price: { ...empty.price, prompt: '1 234,5' } })).toEqual({
    max_price: { prompt: '1.2345' },
  })
})

const known = new Set(['a', 'b', 'c'])
test.each<[string, Partial<Form>, string[]]>([
  ['nothing', {}, []],
  ['allowed and ignored', { only: ['a', 'b'], ignore: ['A'] }, ['ignore ignoredSome a']],
  ['nobody left', { only: ['a', 'b/fp8'], ignore: ['a', 'b'] }, ['ignore ignoredAll ']],
  ['first, and ignored', { order: ['a', 'b/fp8'], ignore: ['b'] }, ['order orderIgnored b/fp8']],
  ['first, and not allowed', { order: ['a', 'b', 'c/x'], only: ['b/fp8', 'c'] }, ['order orderNotAllowed a']],
  ['nobody of that name', { ignore: ['acme', 'b'] }, ['ignore unknown acme']],
  [
    'sort after order',
    { order: ['a'], sort: 'price', fallbacks: false },
    ['sort sortAfterOrder ', 'fallbacks oneOfOrder '],
  ],
  ['retention includes training', { zero: true, deny: true }, ['zero includesTraining ']],
  [
    'figures',
    {
      price: { ...empty.price, prompt: 'x', completion: '0', image: '-1', audio: '9999999999999' },
      speed: { ...empty.speed, p90: '1e9' },
    },
    [
      'price.prompt number! ',
      'price.completion free ',
      'price.image number! ',
      'price.audio number! ',
      'speed.p90 number! ',
    ],
  ],
])('at odds: %s', (_, f, want) => {
  expect(
    problems({ ...empty, ...f }, known).map(
      (p) => `${p.field} ${p.kind}${p.bad ? '!' : ''} ${p.names.join()}`,
    ),
  ).toEqual(want)
})

test.each([
  ['provider.max_price.audio', 'price.audio'],
  ['provider.preferred_max_latency.p75', 'first.p75'],
  ['provider.only[3]', 'only'],
  ['provider.sort.by', 'sort'],
  ['provider.data_collection', 'zero'],
  ['provider', null],
  ['model', null],
  [undefined, null],
])('an error at %s', (param, field) => {
  expect(fieldOf(param)).toBe(field)
})
