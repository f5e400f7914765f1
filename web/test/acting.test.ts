import { readFileSync } from 'node:fs'
// @ts-expect-error: without types
import yaml from 'js-yaml'
import { afterEach, expect, test, vi } from 'vitest'
import { takesAccount } from '../src/api/client'
import { placeIn } from '../src/shell/accounts'

afterEach(() => {
  vi.resetModules()
  history.replaceState(null, '', '/')
})

test('takesAccount: what the OpenAPI document opens to roles of organizations, and nothing that belongs to a person or to everybody', () => {
  const document = yaml.load(readFileSync('../internal/httpapi/openapi.yaml', 'utf8')) as {
    paths: { [path: string]: { [method: string]: { 'x-organization-roles'?: string[] } } }
  }
  // Their own packages say who may use these.
  const elsewhere = /^\/api\/(budgets|spendable|agents)/
  const wrong = Object.entries(document.paths)
    .filter(([path]) => path.startsWith('/api/') && !elsewhere.test(path))
    .filter(
      ([path, methods]) =>
        Object.values(methods).some((o) => o['x-organization-roles']) !==
        takesAccount(path.replace(/\{\w+\}/g, 'x')),
    )
  expect(wrong.map(([path]) => path)).toEqual([])
  expect(takesAccount('/api/v1/chat/completions')).toBe(true)
  expect(takesAccount('/api/budgets')).toBe(true)
  expect(takesAccount('/docs/pages.json')).toBe(false)
})

test('address: requests carry the account of the document, those of a person do not', async () => {
  history.replaceState(null, '', '/calls?account=org_x')
  vi.resetModules()
  const { address } = await import('../src/api/client')
  expect(address('/api/calls', { query: { limit: 5 } })).toBe('/api/calls?limit=5&account=org_x')
  expect(address('/api/v1/videos/v/content?index=1')).toBe('/api/v1/videos/v/content?index=1&account=org_x')
  expect(address('/api/me')).toBe('/api/me')
  expect(address('/api/admin/users')).toBe('/api/admin/users')
})

test('placeIn: a list stays, what has an id leads to its list, members are of organizations', () => {
  const org = { id: 'org_x', kind: 'organization' } as const
  const me = { id: 'usr_x', kind: 'person' } as const
  expect(placeIn(org, '/money/top-up')).toBe('/money/top-up?account=org_x')
  expect(placeIn(org, '/calls/gen-1')).toBe('/calls?account=org_x')
  expect(placeIn(me, '/keys')).toBe('/keys')
  expect(placeIn(me, '/org/members')).toBe('/')
  expect(placeIn(org, '/nowhere/1')).toBe('/?account=org_x')
})
