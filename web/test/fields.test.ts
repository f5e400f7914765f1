import { afterEach, expect, test } from 'vitest'
import { failure } from '../src/api/client'
import { said } from '../src/api/explain'
import { inRussian } from '../src/api/fields'
import russian from '../src/api/fields.ru.json'
import { startLanguage } from '../src/i18n'

const refused = (message: string, param: string) => failure(new Response(JSON.stringify({ error: { code: 400, message, param, metadata: { error_type: 'invalid_request' } } }), { status: 400 }))
afterEach(() => startLanguage('en'))

test.each([
  ['password must have at least 10 characters.', 'Нужно не меньше 10 знаков.'],
  ['amount must be from 10 to 100000 rubles.', 'Сумма: от 10 до 100000 ₽.'],
  ['auto.threshold must be from 0 to 500 rubles.', 'Порог: от 0 до 500 ₽.'],
  ['threshold must be from 0 to 500 rubles.', 'Порог: от 0 до 500 ₽.'],
  ['name is missing.', 'Укажите название.'],
  ['email is missing.', 'Заполните это поле.'],
  ['allowed_ips must be addresses or prefixes such as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32; "10.0.0.0/99" is neither.', 'Нужны адреса или подсети, например 192.0.2.7, 192.0.2.0/24 или 2001:db8::/32. «10.0.0.0/99» сюда не подходит.'],
  ['parameters.temperature must be a number from 0 to 2.', 'Нужно число от 0 до 2.'],
])('%s', (sentence, want) => { expect(inRussian(sentence)).toBe(want) })

test('every sentence finds its own Russian, whatever stands in it', () => {
  for (const [english, want] of Object.entries(russian)) {
    let n = 0
    const values = ['field', '7', '8']
    const sentence = english.replace(/%(?:\.\d+)?[sdqv]/g, () => values[n++] ?? '9')
    expect(inRussian(sentence), sentence).toBe(want.replace(/\{(\d)\}/g, (_, i: string) => values[Number(i) - 1] ?? ''))
  }
})

test('what is wrong with a field is said in the person’s language; the English stays for the details', async () => {
  startLanguage('ru')
  const e = await refused('password must have at least 10 characters.', 'password')
  expect([said(e), e.message]).toEqual(['Нужно не меньше 10 знаков.', 'password must have at least 10 characters.'])
  // a sentence that is new to the page is not shown in English
  const unknown = await refused('password must contain a poem.', 'password')
  expect(unknown.said).toBe(null)
  expect(said(unknown)).not.toContain('poem')
  startLanguage('en')
  expect(said(await refused('password must contain a poem.', 'password'))).toBe('password must contain a poem.')
})
