/** Each kind of error that a call can end with has its own words and its own advice on the page of the call. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import en from '../src/messages/failures.en'

/** Errors of pages, files and sockets, which end no call. */
const none = new Set([
  'method_not_allowed',
  'request_timeout',
  'unsupported_media_type',
  'range_not_satisfiable',
  'upgrade_refused',
  'response_in_progress',
  'websocket_connection_limit_reached',
  'unprocessable',
  'header_too_large',
  'conflict',
  'idempotency_in_flight',
  'idempotency_mismatch',
  'idempotency_not_kept',
  'storage_unavailable',
  'error_type',
  'canceled',
  'video_not_ready',
  'video_expired',
  'video_not_available',
])

test('the documented errors of calls have words and advice', () => {
  const page = readFileSync('../docs/errors.md', 'utf8')
  const types = [...page.matchAll(/^\| `([a-z_]+)` \|/gm)].map((m) => m[1]!)
  expect(types.length).toBeGreaterThan(30)
  const missing = types.filter((t) => !none.has(t) && !(`why_${t}` in en && `do_${t}` in en))
  expect(missing).toEqual([])
})
