import { expect, test } from 'vitest'
import type { Model } from '../src/pages/catalog/filter'
import { cheapestVideo } from '../src/pages/jobs/cheapest'
import { goodName, nameFrom } from '../src/pages/presets/data'

const video = (id: string, each: string | undefined, unit: string | undefined, more: object = {}) =>
  ({
    id,
    type: 'video',
    live: true,
    ...(each === undefined ? {} : { each, unit }),
    ...more,
  }) as unknown as Model

test('the cheapest video is found among prices of one unit', () => {
  const id = (...all: Model[]) => cheapestVideo(all)?.id ?? null
  expect(id(video('a', '12.5', 'second'), video('b', '9.75', 'second'), video('c', '100', 'request'))).toBe(
    'b',
  )
  expect(id(video('a', '1', 'request'), video('b', '9', 'second'))).toBe('b')
  expect(id(video('a', '5', 'request'), video('b', '0.5', 'request'))).toBe('b')
  expect(id(video('a', '1', 'second', { live: false }), video('b', '2', 'second'))).toBe('b')
  expect([
    id(),
    id(video('a', undefined, undefined)),
    id(video('a', '1', 'image')),
    id(video('a', '1', 'second', { type: 'image' })),
  ]).toEqual([null, null, null, null])
})

test('a preset gets a name from what a chat was about, where that can be one', () => {
  const names = [
    'What is a Weir?',
    'Что такое плотина?',
    '  --__x',
    'a'.repeat(100),
    'C++ & Rust: 2 ways',
    '…',
  ].map(nameFrom)
  expect(names).toEqual(['what-is-a-weir', '', 'x', 'a'.repeat(40), 'c-rust-2-ways', ''])
  expect(names.every((n) => n === '' || goodName(n))).toBe(true)
})
