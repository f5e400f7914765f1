import { afterEach, expect, test } from 'vitest'
import { failure } from '../src/api/client'
import { said } from '../src/api/explain'
import { startLanguage } from '../src/i18n'

type Values = { [name: string]: unknown }
const refused = (message: string, code?: string, params: Values = {}) =>
  failure(
    new Response(
      JSON.stringify({
        error: {
          code: 400,
          message,
          metadata: { error_type: 'invalid_request', param: 'field', ...(code ? { code, params } : {}) },
        },
      }),
      { status: 400 },
    ),
  )
afterEach(() => startLanguage('en'))

test.each<[string, Values, string]>([
  ['least_characters', { least: 10 }, 'Нужно не меньше 10 знаков.'],
  ['rubles_range', { least: '10', most: '100000' }, 'Сумма: от 10 до 100000 ₽.'],
  ['missing', {}, 'Заполните это поле.'],
  [
    'address_pattern',
    { value: '10.0.0.0/99' },
    'Нужны адреса или подсети, например 192.0.2.7, 192.0.2.0/24 или 2001:db8::/32. «10.0.0.0/99» сюда не подходит.',
  ],
  ['number_range', { least: 0, most: 2 }, 'Нужно число от 0 до 2.'],
])('%s', async (code, params, want) => {
  startLanguage('ru')
  expect((await refused('whatever the English sentence is', code, params)).said).toBe(want)
})

test('what is wrong with a field is said in the person’s language; the English stays for the details', async () => {
  startLanguage('ru')
  const e = await refused('password must have at least 10 characters.', 'least_characters', { least: 10 })
  expect([said(e), e.message]).toEqual([
    'Нужно не меньше 10 знаков.',
    'password must have at least 10 characters.',
  ])
  // a code that is new to the page, or none: the sentence is not shown in English
  for (const code of ['poem', undefined]) {
    const unknown = await refused('password must contain a poem.', code)
    expect(unknown.said).toBe(null)
    expect(said(unknown)).not.toContain('poem')
  }
  startLanguage('en')
  expect(said(await refused('password must contain a poem.'))).toBe('password must contain a poem.')
})
