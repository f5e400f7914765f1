import { expect, test } from 'vitest'
import { chatFrom, sent, titleOf, withFiles } from '../src/pages/playground/account'
import { none } from '../src/pages/playground/chat'
import type { Chat } from '../src/pages/playground/stream'
import { begin, unset, type Turn } from '../src/pages/playground/stream'

const file = { id: '1', kind: 'text' as const, name: 'a.txt', size: 3, data: 'abc' }
const turn: Turn = {
  prompt: 'Hi',
  files: [file],
  answer: {
    ...begin(5),
    status: 'done',
    text: 'Hello',
    images: ['data:image/png;base64,AA'],
    id: 'gen-1-a',
    cost: '0.01',
    end: 9,
    tokens: { in: 1, out: 2, reasoning: 0 },
  },
}
const chat: Chat = {
  ...none,
  models: ['a/b'],
  turns: { 'a/b': [turn] },
  settings: { ...unset, temperature: '0.5', fallbacks: ['a/c'] },
  spent: { 'gen-1-a': '0.01' },
}

test('what is sent has no files and images, and comes back whole otherwise', () => {
  const there = JSON.stringify(sent(chat))
  expect(there).not.toContain('abc')
  expect(there).not.toContain('data:image')
  const back = chatFrom(JSON.parse(there))
  expect(back).toEqual({
    ...chat,
    turns: { 'a/b': [{ ...turn, files: [{ ...file, data: '' }], answer: { ...turn.answer, images: [] } }] },
  })
  expect(withFiles(back, chat)).toEqual(chat)
  expect(withFiles(back, null)).toEqual(back)
})

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a list', []],
  ['a text', 'x'],
  ['wrong members', { models: 'x', turns: [1], settings: 3, spent: { a: 1, b: '<img>' } }],
  [
    'wrong turns',
    {
      turns: {
        'a/b': [
          null,
          1,
          {
            prompt: 5,
            files: [{ kind: 'exe' }, 7],
            results: 'x',
            answer: {
              status: 'hacked',
              text: {},
              id: 'javascript:alert(1)',
              cost: '1<',
              tokens: 'x',
              error: 'e',
              calls: [null],
              details: [1],
              images: ['https://evil.example/x.png'],
            },
          },
        ],
      },
    },
  ],
])('whatever else is there does no harm: %s', (_, v) => {
  const c = chatFrom(v)
  expect(c.models).toEqual([])
  expect(c.settings).toEqual(unset)
  expect(c.spent).toEqual({})
  for (const t of Object.values(c.turns).flat()) {
    expect(t.prompt).toBe('')
    expect(t.answer).toMatchObject({ status: 'stopped', text: '', id: null, cost: null, images: [] })
    expect(t.files).toBeUndefined()
  }
})

test('a title is one line', () => {
  expect(titleOf(' One\n two\t\u202ethree\u0000 ')).toBe('One two three')
  expect(titleOf('\n')).toBe('…')
  expect([...titleOf('я'.repeat(300))].length).toBe(120)
})
