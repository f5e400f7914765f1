// Pages say a fact in the words of mails, and choose the same form of them: internal/mail/testdata has what mails say of the same facts.
import { readFileSync } from 'node:fs'
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import type { ReactNode } from 'react'
import { expect, test } from 'vitest'
import { setFormatLanguage } from '../src/format'
import { startLanguage, translator } from '../src/i18n'
import { sayFact, type Fact } from '../src/ui/fact'

const noon = '2026-12-03T12:00:00Z'
const key = { ref: 'a1b2', name: 'prod', page: '/keys/a1b2' }
const agent = { ref: 'a1b2', page: '/agents/a1b2' }
/** By the names of the files: the facts of internal/mail/golden_test.go as the API shows them. */
const facts: { [file: string]: Partial<Fact> & Pick<Fact, 'kind' | 'detail'> } = {
  money_gone: { kind: 'money_gone', detail: { available: '-0.4' } },
  money_low_days: { kind: 'money_low', detail: { available: '12.4', days: 2 } },
  money_low: { kind: 'money_low', detail: { available: '1234.000000567', days: null } },
  money_low_today: { kind: 'money_low', detail: { available: '0.0000041', days: 0 } },
  key_limit: {
    kind: 'key_limit',
    ...key,
    detail: { limit: '500', spent: '405', percent: 81, resets: 'monthly' },
  },
  key_limit_reached: {
    kind: 'key_limit_reached',
    ...key,
    detail: { limit: '500', spent: '501', percent: 100, resets: null },
  },
  budget_alarm: {
    kind: 'budget_alarm',
    name: 'project=atlas',
    page: '/budgets',
    detail: { limit: '100000', spent: '80214', percent: 80, resets: 'monthly' },
  },
  budget_reached: {
    kind: 'budget_reached',
    name: 'ci-agents',
    page: '/budgets',
    detail: { limit: '500', spent: '499', percent: 99, resets: null },
  },
  agent_out_of_money: {
    kind: 'agent_out_of_money',
    ...agent,
    name: 'release-bot / coder-2',
    detail: {
      limit: '1200',
      spent: '1198',
      percent: 99,
      repeated: { tools: 'read_file, edit_file, run_tests', times: 134 },
    },
  },
  agent_out_of_money_at_last: {
    kind: 'agent_out_of_money',
    ...agent,
    name: 'planner',
    detail: { limit: '5', spent: '5', percent: 100 },
  },
  key_expiring: { kind: 'key_expiring', ...key, detail: { at: noon } },
  key_expired: { kind: 'key_expired', ...key, name: null, detail: { at: noon } },
  model_retiring: {
    kind: 'model_retiring',
    ref: 'acme/large',
    name: 'Acme Large',
    page: '/models/acme/large',
    detail: { at: noon },
  },
  model_gone: {
    kind: 'model_gone',
    ref: 'acme/small',
    name: 'acme/small',
    page: '/models/acme/small',
    detail: { at: noon },
  },
  payment_received: {
    kind: 'payment_received',
    ref: 'pay_3dQh4uXc9Rk2mTzB1nV8pLwY',
    detail: { amount: '1500', at: noon },
  },
  payment_refunded: {
    kind: 'payment_refunded',
    ref: 'ref_3dQh4uXc9Rk2mTzB1nV8pLwY',
    detail: { amount: '99.5', at: noon },
  },
  top_up_failed: {
    kind: 'top_up_failed',
    ref: 'pay_3dQh4uXc9Rk2mTzB1nV8pLwY',
    detail: { amount: '500', at: noon },
  },
  unusual_spending: {
    kind: 'unusual_spending',
    page: '/activity',
    detail: { spent: '1250', usual: '80', at: noon },
  },
  cache_rate_fell: { kind: 'cache_rate_fell', page: '/activity', detail: { percent: 12, at: noon } },
}

function textOf(node: ReactNode): string {
  const at = document.createElement('p')
  const root = createRoot(at)
  flushSync(() => root.render(node))
  return at.textContent
}

/** Amounts and times are written for their place: mails have kopecks and UTC, pages the clock of their reader. */
const words = (s: string) =>
  s
    .replace(/[\s\u00a0\u202f]+/g, ' ')
    .replace(/\d{1,2} \p{L}+ \d{4}(, \d\d:\d\d(:\d\d)?( UTC)?)?/gu, 'DATE')
    .replace(/(\d) (?=\d{3})/g, '$1')
    .replace(/[.,](\d)0?(?= ₽)/g, (_, d: string) => (d === '0' ? '' : `.${d}`))
    .replace(/(\d) %/g, '$1%')

for (const l of ['en', 'ru'] as const)
  test.each(Object.entries(facts))(`%s, ${l}`, (file, fact) => {
    startLanguage(l)
    setFormatLanguage(l)
    const mail = readFileSync(`../internal/mail/testdata/${file}.${l}.txt`, 'utf8')
    const [subject, text, link] = mail.split('\n\n')
    const said = sayFact(translator('facts'), { ref: null, name: null, page: '/money', ...fact } as Fact)
    expect(words(`Subject: ${textOf(said.title)}`)).toBe(words(subject!))
    expect(words(textOf(said.text))).toBe(words(text!))
    const [name, address] = link!.split('\n')
    expect(`${said.toName}:`).toBe(name)
    expect(address).toBe(`https://weir.example.org${said.to}`)
  })
