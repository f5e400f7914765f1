import { expect, test } from 'vitest'
import { againOf } from '../src/pages/calls/again'
import { shape } from '../src/pages/playground/share'
import { unset } from '../src/pages/playground/stream'
import { together } from '../src/trying'

const call = (kind: string, parameters: object | null, model: string | null = 'acme/large') =>
  againOf({ kind, model, model_asked: 'acme/asked', parameters })

test('a call opens the playground with its model and settings, in every style', () => {
  const chat = call('completions', {
    temperature: 0.2,
    top_p: 0.9,
    max_tokens: 300,
    reasoning_effort: 'low',
    response_format: { type: 'json_object' },
    provider: { sort: 'price', data_collection: 'deny', zdr: true, allow_fallbacks: false },
    models: ['acme/large', 'acme/small'],
  })!
  expect(chat.to).toBe('/playground')
  expect(shape.read(chat.search as Record<string, string>)).toEqual({
    models: ['acme/large'],
    settings: {
      ...unset,
      temperature: '0.2',
      topP: '0.9',
      longest: '300',
      effort: 'low',
      format: 'json',
      sort: 'price',
      noTraining: true,
      zeroRetention: true,
      oneProvider: true,
      fallbacks: ['acme/small'],
    },
  })
  expect(call('responses', { max_output_tokens: 50, reasoning: { effort: 'high' } })?.search).toEqual({
    models: 'acme/large',
    max: '50',
    effort: 'high',
  })
  expect(
    call('gemini', { generationConfig: { temperature: 1, topP: 0.5, maxOutputTokens: 9 } })?.search,
  ).toEqual({ models: 'acme/large', t: '1', p: '0.5', max: '9' })
  expect(call('messages', null, 'acme/large:free')?.search).toEqual({ models: 'acme/large' })
  expect(call('completions', { temperature: [1], provider: 'x', reasoning: null }, null)?.search).toEqual({
    models: 'acme/asked',
  })
  expect(call('image', { size: '1024x1024', n: 2 })).toEqual({
    to: '/playground/image',
    search: { models: 'acme/large', size: '1024x1024', n: '2' },
  })
  expect(call('video', { duration: 8, generate_audio: true })).toEqual({
    to: '/playground/video',
    search: { models: 'acme/large', duration: '8', audio: '1' },
  })
  expect(call('audio.speech', { voice: 'alloy' })?.to).toBe('/playground/audio')
  expect([
    call('rerank', null),
    againOf({ kind: 'completions', model: null, model_asked: '@preset/mine' }),
  ]).toEqual([null, null])
})

test('the text of a call comes along where it is stored, and where there are messages', () => {
  const of = (kind: string, stored_text: boolean) =>
    againOf({
      id: 'gen-1-a',
      kind,
      model: 'acme/large',
      model_asked: 'acme/large',
      parameters: null,
      stored_text,
    })?.search
  expect([of('responses', true), of('responses', false), of('image', true)]).toEqual([
    { models: 'acme/large', again: 'gen-1-a' },
    { models: 'acme/large' },
    { models: 'acme/large' },
  ])
  expect([
    shape.read({ again: 'gen-1-a' }).again,
    shape.read({ again: 'x' }).again,
    shape.read({ again: 'gen-1/../2' }).again,
  ]).toEqual(['gen-1-a', undefined, undefined])
})

test('several models are tried together where they chat', () => {
  expect(
    together([
      { id: 'a/v', type: 'video' },
      { id: 'a/b', type: 'chat' },
      { id: 'a/c', type: 'chat' },
    ]),
  ).toEqual({ to: '/playground', search: { models: 'a/b,a/c' } })
  expect(
    together([
      { id: 'a/r', type: 'rerank' },
      { id: 'a/v', type: 'video' },
    ])?.to,
  ).toBe('/playground/video')
  expect([together([]), together([{ id: 'a/r', type: 'rerank' }])]).toEqual([null, null])
})
