import { render } from '@testing-library/react'
import { expect, test } from 'vitest'
import { AnswerText, blocks, safe } from '../src/pages/playground/answer'
import { code } from '../src/pages/playground/code'
import { EventReader, apply, begin, close, costOf, request, stop, unset, wrong, type Answer } from '../src/pages/playground/stream'

const stream = '\ufeff: a comment\r\n\r\ndata: {"a":"одна"}\r\rdata:{"b":\ndata: "😀"}\n\nevent: x\nid: 7\n\ndata\n\ndata: [DONE]\r\n\r\n'
const expected = ['{"a":"одна"}', '{"b":\n"😀"}', '', '[DONE]']

test('an event stream is the same wherever it is cut', () => {
  const bytes = new TextEncoder().encode(stream)
  for (let at = 0; at <= bytes.length; at++) {
    const r = new EventReader()
    expect([...r.push(bytes.slice(0, at)), ...r.push(bytes.slice(at))], `cut at ${at}`).toEqual(expected)
  }
  const r = new EventReader()
  expect([...bytes].flatMap((b) => r.push(Uint8Array.of(b)))).toEqual(expected)
})

const frame = (delta: object, more: object = {}) => JSON.stringify({ id: 'gen-1', provider: 'Simulator', choices: [{ delta, finish_reason: null }], ...more })
const feed = (frames: string[], a: Answer = begin(1000)) => frames.reduce((x, f, i) => apply(x, f, 1010 + i * 10), a)

test('frames become an answer, with the charge in the digits of the gateway', () => {
  const a = feed([frame({ role: 'assistant', content: '' }), frame({ reasoning: 'Hm', reasoning_content: 'Hm' }), frame({ content: 'He' }), frame({ content: 'llo' }),
    '{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":62,"cost":0.1234567890123456789,"cost_details":{"upstream_inference_cost":7},"completion_tokens_details":{"reasoning_tokens":3}}}', '[DONE]'])
  expect(a).toMatchObject({ status: 'done', text: 'Hello', reasoning: 'Hm', id: 'gen-1', provider: 'Simulator', finish: 'stop', tokens: { in: 12, out: 62, reasoning: 3 }, cost: '0.1234567890123456789', first: 20, firstText: 30, end: 60 })
  expect(apply(a, frame({ content: 'more' }), 9)).toBe(a)
  expect(costOf('{"choices":[{"delta":{"content":"\\"usage\\":{\\"cost\\":9"}}]}')).toBe(null)
})
test('an error after content keeps the text', () => {
  const a = feed([frame({ content: 'Half' }), '{"error":{"code":502,"message":"It broke off.","metadata":{"error_type":"provider_unavailable","request_id":"req_1"}}}', '[DONE]'])
  expect(a).toMatchObject({ status: 'failed', text: 'Half', error: { type: 'provider_unavailable', status: 502, requestId: 'req_1' } })
})
test('a connection that ends without a finish is a failure; a stop is none', () => {
  expect(close(feed([frame({ content: 'Half' })]), 2000)).toMatchObject({ status: 'failed', text: 'Half', error: { type: 'offline' } })
  expect(close(feed([frame({ content: 'x' }, { choices: [{ delta: { content: 'x' }, finish_reason: 'stop' }] })]), 2000).status).toBe('done')
  expect(close(stop(feed([frame({ content: 'Half' })]), 1500), 2000)).toMatchObject({ status: 'stopped', text: 'Half', error: null })
  expect(feed(['{"choices":']).error?.type).toBe('unreadable')
})
test('only what is set is sent, and turns without an answer are left out', () => {
  const done = { ...begin(1), status: 'done' as const, text: 'B' }
  expect(request('m/x', [{ prompt: 'A', answer: done }, { prompt: 'lost', answer: begin(2) }], 'C', unset, true)).toEqual({ model: 'm/x', messages: [{ role: 'user', content: 'A' }, { role: 'assistant', content: 'B' }, { role: 'user', content: 'C' }] })
  const s = { system: 'Be brief', temperature: '0,5', topP: '0.9', longest: '100', effort: 'low' }
  expect(request('m/x', [], 'C', s, true)).toMatchObject({ temperature: 0.5, top_p: 0.9, max_tokens: 100, reasoning_effort: 'low', messages: [{ role: 'system', content: 'Be brief' }, {}] })
  expect(request('m/x', [], 'C', s, false)).not.toHaveProperty('reasoning_effort')
  expect(wrong({ ...unset, temperature: '3', topP: 'x', longest: '1.5' })).toEqual(['temperature', 'topP', 'longest'])
  expect(wrong({ ...unset, temperature: '0', longest: '1' })).toEqual([])
})
test('blocks: an open fence is one from its first line', () => {
  expect(blocks('Text\n\n```js\nlet a')).toEqual([{ kind: 'text', text: 'Text' }, { kind: 'fence', language: 'js', text: 'let a' }])
  expect(blocks('# T\n- a\n- b\n\n1. c\n---\n> q').map((b) => b.kind)).toEqual(['heading', 'list', 'list', 'rule', 'quote'])
})
test('an answer is text: nothing is loaded, only plain addresses are links', () => {
  const { container } = render(<AnswerText text={'**b** *i* `c` <img src=x onerror=alert(1)> ![pic](https://evil.example/x.png) [bad](javascript:alert(1)) [ok](https://a.example/) https://b.example/x. [m](mailto:a@b.example) 2*3*4\n\n- one\n- two\n\n```html\n<script>alert(1)</script>\n```'} />)
  expect(container.querySelectorAll('img,script,iframe,style').length).toBe(0)
  expect([...container.querySelectorAll('a')].map((a) => a.getAttribute('href'))).toEqual(['https://evil.example/x.png', 'https://a.example/', 'https://b.example/x', 'mailto:a@b.example'])
  expect(container.querySelector('strong')?.textContent).toBe('b')
  expect(container.querySelector('em')?.textContent).toBe('i')
  expect(container.querySelectorAll('li').length).toBe(2)
  expect(container.textContent).toContain('[bad](javascript:alert(1))')
  expect(['javascript:x', 'data:text/html,x', '/models', 'vbscript:x', 'java\nscript:x'].map(safe)).toEqual([null, null, null, null, null])
})
test('code has the whole request, quoted for its language', () => {
  const [curl, python, node] = code('http://h', request('m/x', [], "it's", { ...unset, temperature: '1' }, false))
  expect(curl!.code).toContain(`it'\\''s`)
  expect(python!.code).toContain('temperature=1,')
  expect(node!.code).toContain('model: "m/x"')
})

test('marks end near their beginning, or are text', () => {
  for (const open of ['**', '*', '`', '``', '['])
    expect(render(<AnswerText text={`${open}${'a '.repeat(3000)}`} />).container.textContent).toContain(open)
  const { container } = render(<AnswerText text={`**${'b'.repeat(900)}** and **${'c'.repeat(1500)}** \`\`d \` e\`\``} />)
  expect([...container.querySelectorAll('strong')].map((x) => x.textContent?.length)).toEqual([900])
  expect([...container.querySelectorAll('code')].map((x) => x.textContent)).toEqual(['d ` e'])
})
