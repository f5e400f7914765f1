import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
// @ts-expect-error: a script, without types
import { operations } from '../scripts/operations.mjs'

test('the queries are those of the OpenAPI document (npm run types)', () => {
  const document = readFileSync('../internal/httpapi/openapi.yaml', 'utf8')
  expect(readFileSync('src/api/operations.ts', 'utf8')).toBe(operations(document))
})
