import { expect, test } from 'vitest'
import { innFits, innProblem, isSole, kppFits } from '../src/pages/money/inn'

test('an INN is checked by its last digits', () => {
  for (const inn of ['0012345673', '0076543215', '001234567887', '0002003007'])
    expect(innFits(inn), inn).toBe(true)
  for (const inn of [
    '',
    '0012345674',
    '001234567',
    '0000000000',
    '500100732250',
    '00123456731',
    'abcdefghij',
    '７７０７０８３８９３',
  ])
    expect(innFits(inn), inn).toBe(false)
})
test('while it is typed nothing is wrong until all digits are there', () => {
  expect([...'0012345673'].map((_, i) => innProblem('0012345673'.slice(0, i + 1)))).toEqual(
    Array(10).fill(null),
  )
  expect(innProblem('0012345674')).toBe('check')
  expect(innProblem('50010073225')).toBe(null)
  expect(innProblem('500100732258')).toBe('check')
  expect(innProblem('77070a')).toBe('digits')
  expect(innProblem('0012345678871')).toBe('digits')
})
test('a KPP has its form, and a sole trader none', () => {
  expect([
    kppFits('001201001'),
    kppFits('0012AB001'),
    kppFits('0012ab001'),
    kppFits('77070100'),
    kppFits('7707АБ001'),
    kppFits(''),
  ]).toEqual([true, true, true, false, false, false])
  expect([isSole('001234567887'), isSole('0012345673')]).toEqual([true, false])
})
