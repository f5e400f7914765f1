import { expect, test } from 'vitest'
import { beside, itemsOf, videosOf } from '../src/pages/gallery/items'
import { picturesOf } from '../src/pages/playground/attach'
import { endingOf, keepDays, mostBytes, mostMade, tooMany, type Made } from '../src/pages/playground/made'
import type { Me } from '../src/api/query'

const day = 86_400_000
const now = 100 * day
const made = (id: string, at: number, more: Partial<Made> = {}): Made => ({
  id,
  kind: 'image',
  at,
  size: 10,
  type: 'image/png',
  model: 'a/b',
  prompt: 'A heron',
  call: 'gen-1-a',
  cost: '1',
  of: 1,
  from: 0,
  settings: {},
  chat: null,
  ...more,
})
const row = (id: string, at: number, size = 10, account = 'usr_a') => ({ ...made(id, at, { size }), account })
const job = (id: string, at: number, videos = [`/api/v1/videos/${id}/content?index=0`]) => ({
  id,
  model: 'a/film',
  call: `gen-${id}`,
  cost: '8' as never,
  created_at: new Date(at).toISOString(),
  expires_at: new Date(at + day).toISOString(),
  videos,
})

test('tooMany: the oldest go beyond the number and the bytes of a person', () => {
  const many = Array.from({ length: mostMade + 2 }, (_, i) => row(`m${i}`, now - i))
  expect(tooMany(many, 'usr_a', null, now)).toEqual([`m${mostMade}`, `m${mostMade + 1}`])
  const large = [row('a', now), row('b', now - 1, mostBytes - 200), row('c', now - 2, 200), row('d', now - 3)]
  expect(tooMany(large, 'usr_a', null, now)).toEqual(['c', 'd'])
  expect(tooMany([row('a', now, mostBytes + 1)], 'usr_a', null, now)).toEqual(['a'])
})

test('tooMany: the days of an account hold for its own things alone', () => {
  const rows = [
    row('new', now - 6 * day),
    row('other', now - 9 * day, 10, 'org_b'),
    row('old', now - 7 * day - 1),
  ]
  expect(tooMany(rows, 'usr_a', 7, now)).toEqual(['old'])
  expect(tooMany(rows, 'usr_a', null, now)).toEqual([])
  // An account that stores nothing makes nothing new; what is there goes when it is deleted.
  expect(tooMany(rows, 'usr_a', 0, now)).toEqual([])
})

test('keepDays: what the account says; nothing for an account that is not known', () => {
  const me = (keep_days: number | null) =>
    ({ user: { id: 'usr_a' }, accounts: [{ id: 'usr_a', keep_days }] }) as unknown as Me
  expect([null, 0, 7].map((d) => keepDays(me(d)))).toEqual([null, 0, 7])
  expect(keepDays(undefined)).toBe(0)
  expect(keepDays({ user: { id: 'usr_z' }, accounts: [] } as unknown as Me)).toBe(0)
})

test('itemsOf: the newest first, with the prompts of videos that this browser asked for', () => {
  const items = itemsOf(
    [
      made('a', 5),
      made('vj_1', 1, { kind: 'video', prompt: 'It flies', settings: { duration: '4' } }),
      made('b', 3),
      made('vj_gone', 9, { kind: 'video' }),
    ],
    [job('vj_2', 4), job('vj_1', 2)],
    false,
  )
  expect(items.map((x) => x.id)).toEqual(['a', 'vj_2.0', 'b', 'vj_1.0'])
  expect(items[3]).toMatchObject({
    kind: 'video',
    prompt: 'It flies',
    settings: { duration: '4' },
    cost: '8',
  })
  expect(items[1]!.prompt).toBe('')
  expect(itemsOf([], [], false)).toEqual([])
})

test('itemsOf: what is older than the jobs that were read waits for the others', () => {
  const ids = (more: boolean) =>
    itemsOf([made('new', 9), made('old', 1)], [job('vj_1', 5)], more).map((x) => x.id)
  expect(ids(true)).toEqual(['new', 'vj_1.0'])
  expect(ids(false)).toEqual(['new', 'vj_1.0', 'old'])
})

test('videosOf: every video of a job, and none from elsewhere', () => {
  const two = videosOf(
    job('vj_1', 2, ['/api/v1/videos/vj_1/content?index=0', '/api/v1/videos/vj_1/content?index=1']),
    undefined,
  )
  expect(two.map((x) => [x.id, x.of])).toEqual([
    ['vj_1.0', 2],
    ['vj_1.1', 2],
  ])
  for (const address of [
    'https://evil.example/x.mp4',
    '//evil.example/api/v1/videos/x',
    'javascript:alert(1)',
    '',
  ])
    expect(videosOf(job('vj_1', 2, [address]), undefined)).toEqual([])
})

test('beside: the neighbours, and the same at the ends', () => {
  const items = itemsOf([made('a', 3), made('b', 2), made('c', 1)], [], false)
  expect([
    beside(items, 'b', 1),
    beside(items, 'b', -1),
    beside(items, 'c', 1),
    beside(items, 'a', -1),
  ]).toEqual(['c', 'a', 'c', 'a'])
})

test('picturesOf: images alone, and no broken ones', () => {
  const all = picturesOf([
    'data:image/png;base64,AAEC',
    'https://evil.example/x.png',
    'data:text/html;base64,AA',
    'data:image/png;base64,?',
  ])
  expect(all.map((b) => [b.type, b.size])).toEqual([['image/png', 3]])
})

test('endingOf: what browsers and gateways call these types', () => {
  const types = [
    'image/png',
    'IMAGE/JPEG',
    'image/svg+xml',
    'audio/mpeg',
    'audio/ogg; codecs=opus',
    'audio/x-wav',
    'x/y',
    '',
  ]
  expect(types.map(endingOf)).toEqual(['png', 'jpg', 'svg', 'mp3', 'opus', 'wav', 'bin', 'bin'])
})
