import { expect, test } from 'vitest'
import { innFits, innProblem, isSole, kppFits } from '../src/pages/money/inn'

test('an INN is checked by its last digits', () => {
  for (const inn of ['7707083893', '5024002119', '500100732259', '7830002293']) expect(innFits(inn), inn).toBe(true)
  for (const inn of ['', '7707083894', '770708389', '0000000000', '500100732250', '77070838931', 'abcdefghij', '７７０７０８３８９３']) expect(innFits(inn), inn).toBe(false)
})
test('while it is typed nothing is wrong until all digits are there', () => {
  expect([...'7707083893'].map((_, i) => innProblem('7707083893'.slice(0, i + 1)))).toEqual(Array(10).fill(null))
  expect(innProblem('7707083894')).toBe('check')
  expect(innProblem('50010073225')).toBe(null)
  expect(innProblem('500100732258')).toBe('check')
  expect(innProblem('77070a')).toBe('digits')
  expect(innProblem('5001007322591')).toBe('digits')
})
test('a KPP has its form, and a sole trader none', () => {
  expect([kppFits('770701001'), kppFits('7707AB001'), kppFits('7707ab001'), kppFits('77070100'), kppFits('7707АБ001'), kppFits('')]).toEqual([true, true, true, false, false, false])
  expect([isSole('500100732259'), isSole('7707083893')]).toEqual([true, false])
})
