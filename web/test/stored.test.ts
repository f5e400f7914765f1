import { expect, test } from 'vitest'
import { begunFrom, type StoredText } from '../src/pages/playground/stored'
import { readTools, request, unset, wrong, type Settings } from '../src/pages/playground/stream'

const stored = (s: Partial<StoredText>): StoredText => ({
  id: 'gen-1-a',
  response_id: 'resp_1',
  instructions: null,
  tools: null,
  text: null,
  whole: true,
  input: [],
  ...s,
})
const item = (v: object) => ({ id: 'x', type: 'message', ...v })
const begun = (s: Partial<StoredText>) => begunFrom(stored(s), 1000)

test('a text alone is the next message', () => {
  expect(
    begun({
      instructions: 'Be brief.',
      input: [item({ role: 'user', content: [{ type: 'input_text', text: 'Hello' }] })],
    }),
  ).toEqual({ turns: [], prompt: 'Hello', files: [], settings: { system: 'Be brief.' }, left: 0 })
})

test('what is asked next is what the call was asked', () => {
  const b = begun({
    instructions: [item({ role: 'developer', content: 'Be brief.' })],
    tools: [
      { type: 'function', name: 'look', description: 'Looks.', parameters: { type: 'object' }, strict: true },
      { type: 'web_search' },
    ],
    text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } },
    input: [
      item({ role: 'system', content: 'In English.' }),
      item({ role: 'user', content: 'Hello' }),
      item({ role: 'user', content: 'there' }),
      item({ type: 'reasoning', summary: [] }),
      item({ role: 'assistant', content: [{ type: 'output_text', text: 'Hi.' }] }),
      item({
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
          { type: 'input_image', image_url: 'https://example.org/a.png' },
        ],
      }),
      item({ type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' }),
      item({ type: 'function_call_output', call_id: 'c1', output: 'a cat' }),
      item({ role: 'assistant', content: 'A cat.' }),
      item({
        role: 'user',
        content: [
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
          { type: 'input_audio', input_audio: { format: 'wav', data: 'AAAA' } },
          { type: 'input_text', text: 'And now?' },
        ],
      }),
    ],
  })
  const settings: Settings = { ...unset, ...b.settings }
  expect([
    settings.system,
    settings.format,
    b.left,
    b.prompt,
    b.files.map((f) => `${f.kind} ${f.name} ${f.size}`),
  ]).toEqual(['Be brief.\n\nIn English.', 'schema', 2, 'And now?', ['pdf a.pdf 3', 'audio audio 3 3']])
  expect([wrong(settings), readTools(settings.tools).tools.map((t) => t.function.name)]).toEqual([
    [],
    ['look'],
  ])
  expect(new Set(b.turns.map((t) => t.answer.asked)).size).toBe(b.turns.length)
  expect(
    request('a/b', b.turns, { prompt: b.prompt }, settings, { reasoning: false, tools: false }).messages,
  ).toEqual([
    { role: 'system', content: 'Be brief.\n\nIn English.' },
    { role: 'user', content: 'Hello\n\nthere' },
    { role: 'assistant', content: 'Hi.' },
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        { type: 'text', text: 'Look' },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'a cat' },
    { role: 'assistant', content: 'A cat.' },
    { role: 'user', content: 'And now?' },
  ])
})

test('a call that waited for the results of tools waits for them again', () => {
  const b = begun({
    input: [
      item({ role: 'user', content: 'Look' }),
      item({ type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' }),
      item({ type: 'function_call_output', call_id: 'c1', output: 'a cat' }),
    ],
  })
  expect([b.turns.length, b.turns[0]?.answer.calls.length, b.prompt, b.left]).toEqual([1, 1, '', 1])
})

test('whatever is stored, something comes of it', () => {
  for (const input of [
    [],
    [{}],
    [null],
    [{ type: 'message' }],
    [{ type: 1, role: 'user', content: [null, 1, { type: 'input_image' }] }],
    [{ type: 'web_search_call' }],
    [{ role: 'assistant', content: 'First' }],
  ])
    expect(begun({ input: input as never, tools: [1] as never, text: 'x' as never }).prompt).toBe('')
})
