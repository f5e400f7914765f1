// Every English text of the interface is read by somebody before it ships. reviewed.txt says of each when, and which text it was then: a text
// that is new or changed is not in it. Read what the failure shows, mend it, and note it with: REVIEWED=2026-12-31 npx vitest run test/reviewed
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'

type Message = string | Record<string, string>
const files = import.meta.glob<{ default: Record<string, Message> }>('../src/messages/*.en.ts', {
  eager: true,
})
const list = 'test/reviewed.txt' // vitest runs in web/
const hash = (m: Message) => createHash('sha256').update(JSON.stringify(m)).digest('hex').slice(0, 10)

/** What stands in the list after the date, and the text itself. */
function texts(): Map<string, Message> {
  const all = new Map<string, Message>()
  for (const [path, file] of Object.entries(files)) {
    const area = /([\w-]+)\.en\.ts$/.exec(path)![1]!
    for (const [key, message] of Object.entries(file.default))
      all.set(`${area}.${key} ${hash(message)}`, message)
  }
  return all
}

/** The list: the date of each entry. */
function reviewed(): Map<string, string> {
  const lines = readFileSync(list, 'utf8').split('\n').filter(Boolean)
  return new Map(lines.map((line) => [line.slice(11), line.slice(0, 10)]))
}

test('every English text was read, in its present words', () => {
  const now = texts()
  const day = process.env.REVIEWED
  if (day) {
    expect(day).toMatch(/^20\d\d-\d\d-\d\d$/)
    const before = reviewed()
    const lines = [...now.keys()].sort().map((entry) => `${before.get(entry) ?? day} ${entry}\n`)
    writeFileSync(list, lines.join(''))
  }
  const known = reviewed()
  for (const date of known.values()) expect(Date.parse(date)).not.toBeNaN()
  const unread = [...now]
    .filter(([entry]) => !known.has(entry))
    .map(([entry, m]) => `${entry}: ${JSON.stringify(m)}`)
  const gone = [...known.keys()].filter((entry) => !now.has(entry))
  expect({ unread, gone }).toEqual({ unread: [], gone: [] })
})
