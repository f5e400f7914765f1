import { cleanup, fireEvent, render, screen, within } from '@testing-library/react'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { add, decimal, plain, ZERO } from '../src/format'
import { loadMessages, translator } from '../src/i18n'
import { asked, shape } from '../src/pages/calls/filter'
import { CostTable, addUp, unitPrice, type CostLine } from '../src/ui/cost-table'
import { RouteFlow, lanesOf, sentence, type FlowAttempt, type FlowCandidate } from '../src/ui/route-flow'
import { Waterfall, spansOf } from '../src/ui/waterfall'

beforeAll(() => loadMessages(['common', 'calls', 'route'], 'en'))
afterEach(cleanup)
const candidate = (endpoint: string, order: number, dropped_by: string | null = null): FlowCandidate => ({
  endpoint,
  order,
  dropped_by,
  detail: dropped_by && 'In English.',
  score: dropped_by ? null : { value: 0.1, by: 'price' },
  price: { prompt_per_1k: '0.25578', completion_per_1k: '1.2789' },
})
const attempt = (
  endpoint: string,
  status: number,
  started_ms: number,
  first_token_ms: number | null,
  ended_ms: number,
  reason: string | null = null,
): FlowAttempt & { provider: string } => ({
  endpoint,
  provider: endpoint.split('/')[0]!,
  status,
  reason,
  started_ms,
  first_token_ms,
  ended_ms,
})
const candidates = [
  candidate('reseller/a/m', 0, 'data_collection'),
  candidate('vertex/a/m', 3),
  candidate('anthropic/a/m', 2),
  candidate('bedrock/a/m', 1),
  candidate('azure/a/m', 0, 'ejected'),
]
const attempts = [
  attempt('bedrock/a/m', 503, 0, null, 412, 'provider_overloaded'),
  attempt('anthropic/a/m', 200, 412, 1052, 4620),
]

test('lanes: tried in their order, then spare, then dropped; gates in the order of the pipeline', () => {
  const { lanes, gates } = lanesOf(candidates, attempts)
  expect(lanes.map((l) => [l.provider, l.kind, l.place])).toEqual([
    ['bedrock', 'failed', 1],
    ['anthropic', 'answered', 2],
    ['vertex', 'spare', 3],
    ['azure', 'dropped', 0],
    ['reseller', 'dropped', 0],
  ])
  expect(gates).toEqual(['data_collection', 'ejected'])
})
test('a repeated attempt has a lane of its own, an attempt without candidate is shown', () => {
  const { lanes } = lanesOf([], [attempts[0]!, attempts[0]!, attempts[1]!])
  expect(lanes.map((l) => l.kind)).toEqual(['failed', 'failed', 'answered'])
  expect(new Set(lanes.map((l) => l.key)).size).toBe(3)
})
test('the sentence says what the picture shows', () => {
  const { lanes } = lanesOf(candidates, attempts)
  expect(sentence(translator('route'), lanes, (p) => p)).toMatch(
    /Attempt 1: bedrock, 503 overloaded after 412\sms\. Attempt 2: anthropic, answered, first token 640\sms\. Not needed: vertex\. azure was left out: resting after errors\. reseller was left out/,
  )
})
test('picture and table carry every candidate; many dropped ones fold', () => {
  const many = Array.from({ length: 20 }, (_, i) => candidate(`p${i}/a/m`, 0, i % 2 ? 'max_price' : 'zdr'))
  render(
    <RouteFlow
      title="Why"
      asked="<b>m</b>"
      candidates={[...candidates, ...many]}
      attempts={attempts}
      answer="286 tokens"
    />,
  )
  const picture = screen.getByRole('img')
  expect(picture.textContent).toContain('and 15 more')
  expect(picture.textContent).toContain('<b>m</b>')
  fireEvent.click(screen.getByText('Table'))
  const rows = within(screen.getByRole('table')).getAllByRole('row')
  expect(rows).toHaveLength(26)
  expect(screen.getByRole('table').textContent).toContain('255.78')
})
test('spans follow each other without a gap', () => {
  const spans = spansOf(attempts, 4621, {
    before: 'before',
    after: 'after',
    failed: () => 'failed',
    first: () => 'first',
    answer: () => 'answer',
  })
  expect(spans.map((s) => [s.label, s.from, s.to])).toEqual([
    ['before', 0, 0],
    ['failed', 0, 412],
    ['first', 412, 1052],
    ['answer', 1052, 4620],
    ['after', 4620, 4621],
  ])
  render(<Waterfall spans={spans} total={4621} label="Time" under="under 1 ms" />)
  expect(screen.getAllByText('under 1 ms')).toHaveLength(1)
  expect(
    spansOf([], 3, { before: 'b', after: 'a', failed: () => '', first: () => '', answer: () => '' }),
  ).toHaveLength(1)
})
test('lanesOf: a dry run says who is asked first and who after it', () => {
  const { lanes } = lanesOf(candidates, [], true)
  expect(lanes.map((l) => [l.provider, l.kind, l.place])).toEqual([
    ['bedrock', 'first', 1],
    ['anthropic', 'then', 2],
    ['vertex', 'then', 3],
    ['azure', 'dropped', 0],
    ['reseller', 'dropped', 0],
  ])
  expect(sentence(translator('route'), lanes, (p) => p)).toMatch(
    /^Asked first: bedrock\. After it, in this order: anthropic → vertex\. azure was left out/,
  )
})
test('spansOf: the time of a job that was accepted is its provider’s, not the gateway’s', () => {
  const words = {
    before: 'before',
    after: 'after',
    failed: () => 'failed',
    first: () => 'first',
    answer: () => 'accepted',
    job: () => 'job',
  }
  const times = (all: FlowAttempt & { provider: string }) =>
    spansOf([all], 74_000, words).map((s) => [s.label, s.from, s.to, s.tone])
  expect(times(attempt('openai/sora', 200, 3, null, 260))).toEqual([
    ['before', 0, 3, 'own'],
    ['accepted', 3, 260, 'answer'],
    ['job', 260, 74_000, 'answer'],
  ])
  // A job that was not taken has no time of a provider.
  expect(times(attempt('openai/sora', 503, 3, null, 260, 'provider_overloaded')).at(-1)).toEqual([
    'after',
    260,
    74_000,
    'own',
  ])
})
const line = (kind: string, quantity: number, price: string, cost: string): CostLine => ({
  kind,
  quantity,
  measure: `${quantity} tokens`,
  unit: '1k_tokens',
  price,
  cost,
})
test('the parts add up to the last digit, with the one rounding shown', () => {
  const parts = [
    line('prompt', 1764, '0.25578', '0.45119592'),
    line('cache_read', 2048, '0.02558', '0.05238784'),
    line('completion', 286, '1.2789', '0.3657654'),
  ]
  expect(addUp(parts, '0.86934916')).toEqual({ sum: '0.86934916', rounding: '0' })
  const odd = [line('prompt', 1, '0.000000001', '0.000000000001')]
  expect(addUp(odd, '0.000000001')).toEqual({ sum: '0.000000000001', rounding: '0.000000000999' })
  expect(unitPrice(parts[0]!)).toBe('255.78')
  render(<CostTable parts={odd} cost="0.000000001" settled caption="Cost" />)
  const shown = [...screen.getByRole('table').querySelectorAll('td:last-child')].map(
    (e) => decimal(e.textContent) ?? ZERO,
  )
  expect(plain(add(shown[0]!, shown[1]!))).toBe(plain(shown[2]!))
})
test('filters go into the address and out of it, and to the API', () => {
  const f = shape.read({ days: '7', model: 'a/b', min: '1,50', result: 'failed' })
  expect(shape.write(f)).toEqual({ days: '7', model: 'a/b', min: '1.5', result: 'failed' })
  expect(shape.read(shape.write(f) as Record<string, string>)).toEqual(f)
  expect(asked(f, Date.UTC(2026, 10, 24, 12))).toEqual({
    from: '2026-11-18',
    model: 'a/b',
    min_cost: '1.5',
    result: 'failed',
  })
  expect(shape.write(shape.read({ days: 'x', from: 'never', min: 'a lot' }))).toEqual({})
  expect(asked(shape.read({ from: '2026-11-01', to: '2026-11-02' }))).toEqual({
    from: '2026-11-01',
    to: '2026-11-02',
  })
})
