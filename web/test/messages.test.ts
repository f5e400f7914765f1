import { expect, test } from 'vitest'

type Message = string | Record<string, string>
const files = import.meta.glob<{ default: Record<string, Message> }>('../src/messages/*.ts', { eager: true })
const areas = [...new Set(Object.keys(files).map((p) => /([\w-]+)\.(?:en|ru)\.ts$/.exec(p)![1]!))]
const of = (area: string, l: string) => files[`../src/messages/${area}.${l}.ts`]?.default
const texts = (m: Message) => (typeof m === 'string' ? [m] : Object.values(m))
const places = (s: string) =>
  [...s.matchAll(/\{(\w+)\}/g)]
    .map((m) => m[1])
    .sort()
    .join()

/** The same in both languages on purpose: names, units, code. */
const same = new Set([
  'Weir',
  'CSV',
  'JSON',
  'curl',
  'Python',
  'Node',
  'Go',
  'ID',
  'API',
  'UTC',
  'PDF',
  'SMTP',
  'Claude Code',
  'Codex',
  'Cursor',
  'Continue',
  'Cline',
  'Slack',
  'URL',
  'vendor/model',
  'Telegram',
])
const sameShape = (s: string) => same.has(s) || !/\p{L}{2}/u.test(s.replace(/\{\w+\}/g, ''))

/** Words of the glossary's last column: another word is used for the thing. */
const refused =
  /(?<![а-яё])(сч[её]т(?!чик)[а-яё]{0,3}|кредит[а-яё]{0,3}|холд[а-яё]{0,2}|заморо[зж][а-яё]*|депозит[а-яё]*|поставщик[а-яё]*|эндпоинт[а-яё]*|роутинг[а-яё]*|ретра[йия][а-яё]*|фолб[эе]к[а-яё]*|(за)?бан(ить|а|ы)?|комплишн[а-яё]*|ризонинг[а-яё]*|жетон[а-яё]*|квот[а-яё]{1,3}|таск[а-яё]*|гардрейл[а-яё]*|плейграунд[а-яё]*|производител[а-яё]*|успешно|пожалуйста)(?![а-яё])/iu
/** Documents of bookkeeping have this name; elsewhere the word stands for an account. */
const documents = new Set(['invoices', 'adminaudit', 'admin', 'adminbank', 'reconciliation'])
const invoiced = /(?<![а-яё])сч[её]т(а|у|ом|е|ов|ам|ами|ах)?(?![а-яё])/giu
const refusedEn = /\b(please|successfully|oops|TTFT|ZDR)\b/i

test.each(areas)('%s', (area) => {
  const en = of(area, 'en'),
    ru = of(area, 'ru')
  expect(en && ru, 'both files').toBeTruthy()
  expect(Object.keys(ru!).sort()).toEqual(Object.keys(en!).sort())
  for (const key of Object.keys(en!)) {
    const a = en![key]!,
      b = ru![key]!
    expect(typeof b, key).toBe(typeof a)
    if (typeof a === 'object') {
      expect(Object.keys(a).sort(), key).toEqual(['one', 'other'])
      expect(Object.keys(b).sort(), key).toEqual(['few', 'many', 'one', 'other'])
    }
    for (const text of texts(a)) expect(text, key).not.toMatch(refusedEn)
    for (const text of texts(b)) {
      expect(documents.has(area) ? text.replace(invoiced, '') : text, key).not.toMatch(refused)
      expect(places(text), key).toBe(places(texts(a).at(-1)!))
    }
    for (const text of [...texts(a), ...texts(b)]) {
      expect(text, key).not.toMatch(/!/)
      expect(text.trim(), key).toBe(text)
    }
    if (typeof a === 'string' && a === b) expect(sameShape(a), `${key} is the same in both: ${a}`).toBe(true)
  }
})
