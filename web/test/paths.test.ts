import { expect, test } from 'vitest'
import { accountPages } from '../src/routes/account'
import { adminPages } from '../src/routes/admin'
import { hasPage, paths } from '../src/routes/paths'
import { playgroundPages } from '../src/routes/playground'
import { publicPages } from '../src/routes/public'

test('the list of paths names every page that is registered, and no other', () => {
  const registered = [...publicPages, ...accountPages, ...playgroundPages, ...adminPages].map((p) => p.path)
  expect([...registered].sort()).toEqual([...paths].sort())
  expect(hasPage('/calls/$id')).toBe(true)
  expect(hasPage('/calls/x')).toBe(false)
})
