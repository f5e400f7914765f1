import { afterEach, expect, test, vi } from 'vitest'
import { ApiError, address, get, post, send, setGate } from '../src/api/client'
import { explain } from '../src/api/explain'
import { allowedHTML } from '../src/trusted'
import { destination } from '../src/signin/sign-in'
import { score, unswap } from '../src/ui/search'

const answer = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(body === undefined ? null : JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  })
const refused = (status: number, error_type: string, metadata: object = {}) =>
  answer(
    status,
    { error: { code: status, message: 'In English.', metadata: { error_type, ...metadata } } },
    { 'x-request-id': 'req_1' },
  )
afterEach(() => {
  vi.unstubAllGlobals()
  setGate(null)
})

test('changes carry X-Weir, reading does not', async () => {
  const fetch = vi.fn(() => Promise.resolve(answer(200, {})))
  vi.stubGlobal('fetch', fetch)
  await get('/api/me')
  await post('/api/auth/demo')
  const headers = fetch.mock.calls.map(
    (c) => ((c as unknown[])[1] as { headers: Record<string, string> }).headers['X-Weir'],
  )
  expect(headers).toEqual([undefined, '1'])
})
test('addresses are filled and encoded', () => {
  expect(address('/api/calls/{id}', { path: { id: 'a/b?c' } })).toBe('/api/calls/a%2Fb%3Fc')
  expect(address('/x', { query: { a: 'ü', b: undefined, c: null, d: '', e: 0 } })).toBe('/x?a=%C3%BC&e=0')
})
test('an error has its kind, field, request id and words in the person’s language', async () => {
  vi.stubGlobal('fetch', () => Promise.resolve(refused(400, 'invalid_request', { param: 'email' })))
  const e = (await get('/api/me').catch((x: unknown) => x)) as ApiError
  expect([e.type, e.field, e.requestId, e.message, e.status]).toEqual([
    'invalid_request',
    'email',
    'req_1',
    'In English.',
    400,
  ])
  expect(explain(e)).toMatch(/did not accept/)
})
test('a proxy’s page and a broken line are errors too', async () => {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('<html>', { status: 502 })))
  expect(((await get('/api/me').catch((x: unknown) => x)) as ApiError).type).toBe('unreadable')
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('no line')))
  expect(((await get('/api/me').catch((x: unknown) => x)) as ApiError).type).toBe('offline')
})
test('a session that is over asks, and the same request goes again', async () => {
  const replies = [
    refused(401, 'authentication'),
    refused(403, 'permission_denied', { sign_in: 'again' }),
    answer(200, { ok: true }),
  ]
  const fetch = vi.fn((_a: string, _o: RequestInit) => Promise.resolve(replies.shift()!))
  vi.stubGlobal('fetch', fetch)
  const asked: string[] = []
  setGate((why) => {
    asked.push(why)
    return Promise.resolve(true)
  })
  await send('post', '/api/keys', { body: { name: 'kept' } })
  expect(asked).toEqual(['expired', 'prove'])
  expect(fetch.mock.calls.map((c) => c[1].body)).toEqual(Array(3).fill('{"name":"kept"}'))
})
test('who does not sign in gets the error', async () => {
  vi.stubGlobal('fetch', () => Promise.resolve(refused(401, 'authentication')))
  setGate(() => Promise.resolve(false))
  await expect(send('post', '/api/keys')).rejects.toMatchObject({ status: 401 })
})

test.each([
  ['?to=/calls?x=1', '/calls?x=1'],
  ['', '/'],
  ['?to=https://evil.example', '/'],
  ['?to=//evil.example', '/'],
  ['?to=/\\evil.example', '/'],
  ['?to=javascript:alert(1)', '/'],
  ['?to=/%0a/evil', '/'],
  ['?to=/a\\b', '/'],
])('after sign-in %s leads to %s', (search, to) => expect(destination(search)).toBe(to))

test('the policy makes no HTML but radix’ two styles', () => {
  expect(allowedHTML('[data-radix-select-viewport]{scrollbar-width:none}')).toBeTruthy()
  for (const bad of [
    '<img src=x onerror=alert(1)>',
    '[data-radix-select-viewport]<script>',
    '',
    'x[data-radix-select-viewport]',
  ])
    expect(() => allowedHTML(bad)).toThrow(TypeError)
})

test('search: layout, order, prefixes', () => {
  expect(unswap('сдфгву')).toBe('claude')
  const models = [
    ['anthropic/claude-sonnet-5', 'Claude Sonnet 5'],
    ['openai/gpt-5.4', 'GPT-5.4'],
    ['google/gemini-3-flash', 'Gemini 3 Flash'],
  ]
  const best = (q: string) =>
    models
      .map((m) => [score(q, m), m[0]] as const)
      .filter(([s]) => s > 0)
      .sort((a, b) => b[0] - a[0])
      .map(([, id]) => id)
  expect(best('сдфгву')).toEqual(['anthropic/claude-sonnet-5'])
  expect(best('sonnet claude')).toEqual(['anthropic/claude-sonnet-5'])
  expect(best('gpt')).toEqual(['openai/gpt-5.4'])
  expect(best('5 nothing')).toEqual([])
})
