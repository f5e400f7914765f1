import { expect, test } from 'vitest'
import { bodyOf, draftOf, emptyDraft, wrongIn, type Draft } from '../src/pages/account/key-form'
import type { Key } from '../src/pages/account/key-form'

const now = Date.parse('2026-11-24T13:00:00Z')
const nothing = {
  name: 'a',
  limit: null,
  limit_reset: null,
  allowed_models: null,
  allowed_ips: null,
  schema: 'lenient',
}

test.each<[Partial<Draft>, object]>([
  [{}, {}],
  [{ name: ' a ' }, {}],
  [{ limit: '99,90' }, { limit: '99.9', limit_reset: 'monthly' }],
  [{ limit: '5 000 ₽', reset: 'never' }, { limit: '5000' }],
  [
    { limit: '\u202f1\u202f500.000000001', reset: 'daily' },
    { limit: '1500.000000001', limit_reset: 'daily' },
  ],
  [{ reset: 'weekly' }, {}],
  [{ expires: '30' }, { expires_at: '2026-12-24T23:59:59Z' }],
  [{ expires: 'day', day: '2027-01-02' }, { expires_at: '2027-01-02T23:59:59Z' }],
  [{ models: 'sim/*\n\n acme/chat , x/y' }, { allowed_models: ['sim/*', 'acme/chat', 'x/y'] }],
  [{ addresses: '127.0.0.0/8\n::1' }, { allowed_ips: ['127.0.0.0/8', '::1'] }],
  [{ schema: 'strict' }, { schema: 'strict' }],
])('a new key with %j is asked for as %j', (change, want) => {
  const draft = { ...emptyDraft, name: 'a', ...change }
  expect(wrongIn(draft, emptyDraft, now)).toEqual({})
  expect(bodyOf(draft, emptyDraft, now)).toEqual({ ...nothing, ...want })
})

test.each<[Partial<Draft>, object]>([
  [{ limit: '0' }, { limit: 'limitWrong' }],
  [{ limit: '-5' }, { limit: 'limitWrong' }],
  [{ limit: 'much' }, { limit: 'limitWrong' }],
  [{ expires: 'day' }, { day: 'expiryNone' }],
  [{ expires: 'day', day: '2026-11-23' }, { day: 'expiryPast' }],
])('%j is refused before it is sent', (change, want) =>
  expect(wrongIn({ ...emptyDraft, name: 'a', ...change }, emptyDraft, now)).toEqual(want),
)

test('a key that is changed keeps an end that nobody touched, and can lose each bound', () => {
  const key = {
    name: 'a',
    limit: '5',
    limit_reset: null,
    expires_at: '2026-11-20T08:30:00Z',
    allowed_models: ['sim/*'],
    allowed_ips: null,
    schema: 'strict',
  } as unknown as Key
  const before = draftOf(key)
  expect(wrongIn(before, before, now)).toEqual({})
  expect(bodyOf(before, before, now)).toEqual({
    name: 'a',
    limit: '5',
    limit_reset: null,
    allowed_models: ['sim/*'],
    allowed_ips: null,
    schema: 'strict',
  })
  expect(
    bodyOf({ ...before, limit: '', expires: 'never', models: '', schema: 'lenient' }, before, now),
  ).toEqual({ ...nothing, expires_at: null })
})
