import { render } from '@testing-library/react'
import { expect, test } from 'vitest'
import { formSnippets, requestSnippets } from '../src/code/requests'
import { AnswerText, safe } from '../src/pages/playground/answer'
import { cosine } from '../src/pages/playground/embeddings'
import { costOfVideo } from '../src/pages/playground/video'
import { kindOf, pagesOf, shownName } from '../src/pages/playground/attach'
import { reduced } from '../src/pages/playground/history'
import { Lexer, Pieces, blocks } from '../src/pages/playground/markdown'
import { linkTo, shape } from '../src/pages/playground/share'
import {
  EventReader,
  apply,
  begin,
  bytesOf,
  close,
  costOf,
  readArguments,
  readTools,
  request,
  stop,
  unset,
  wrong,
  type Answer,
  type Attachment,
  type Turn,
} from '../src/pages/playground/stream'

const stream =
  '\ufeff: a comment\r\n\r\ndata: {"a":"одна"}\r\rdata:{"b":\ndata: "😀"}\n\nevent: x\nid: 7\n\ndata\n\ndata: [DONE]\r\n\r\n'
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

const frame = (delta: object, more: object = {}) =>
  JSON.stringify({ id: 'gen-1', provider: 'Simulator', choices: [{ delta, finish_reason: null }], ...more })
const feed = (frames: string[], a: Answer = begin(1000)) =>
  frames.reduce((x, f, i) => apply(x, f, 1010 + i * 10), a)

test('frames become an answer, with the charge in the digits of the gateway', () => {
  const a = feed([
    frame({ role: 'assistant', content: '' }),
    frame({ reasoning: 'Hm', reasoning_content: 'Hm' }),
    frame({ content: 'He' }),
    frame({ content: 'llo' }),
    '{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":62,"cost":0.1234567890123456789,"cost_details":{"upstream_inference_cost":7},"completion_tokens_details":{"reasoning_tokens":3}}}',
    '[DONE]',
  ])
  expect(a).toMatchObject({
    status: 'done',
    text: 'Hello',
    reasoning: 'Hm',
    id: 'gen-1',
    provider: 'Simulator',
    finish: 'stop',
    tokens: { in: 12, out: 62, reasoning: 3 },
    cost: '0.1234567890123456789',
    first: 20,
    firstText: 30,
    end: 60,
  })
  expect(apply(a, frame({ content: 'more' }), 9)).toBe(a)
  expect(costOf('{"choices":[{"delta":{"content":"\\"usage\\":{\\"cost\\":9"}}]}')).toBe(null)
})
test('an error after content keeps the text', () => {
  const a = feed([
    frame({ content: 'Half' }),
    '{"error":{"code":502,"message":"It broke off.","metadata":{"error_type":"provider_unavailable","request_id":"req_1"}}}',
    '[DONE]',
  ])
  expect(a).toMatchObject({
    status: 'failed',
    text: 'Half',
    error: { type: 'provider_unavailable', status: 502, requestId: 'req_1' },
  })
})
test('a connection that ends without a finish is a failure; a stop is none', () => {
  expect(close(feed([frame({ content: 'Half' })]), 2000)).toMatchObject({
    status: 'failed',
    text: 'Half',
    error: { type: 'offline' },
  })
  expect(
    close(
      feed([frame({ content: 'x' }, { choices: [{ delta: { content: 'x' }, finish_reason: 'stop' }] })]),
      2000,
    ).status,
  ).toBe('done')
  expect(close(stop(feed([frame({ content: 'Half' })]), 1500), 2000)).toMatchObject({
    status: 'stopped',
    text: 'Half',
    error: null,
  })
  expect(feed(['{"choices":']).error?.type).toBe('unreadable')
})
const all = { reasoning: true, tools: true }
test('only what is set is sent, and turns without an answer are left out', () => {
  const done = { ...begin(1), status: 'done' as const, text: 'B' }
  expect(
    request(
      'm/x',
      [
        { prompt: 'A', answer: done },
        { prompt: 'lost', answer: begin(2) },
      ],
      { prompt: 'C' },
      unset,
      all,
    ),
  ).toEqual({
    model: 'm/x',
    messages: [
      { role: 'user', content: 'A' },
      { role: 'assistant', content: 'B' },
      { role: 'user', content: 'C' },
    ],
  })
  const s = {
    ...unset,
    system: 'Be brief',
    temperature: '0,5',
    topP: '0.9',
    longest: '100',
    effort: 'low',
    tools: '{"name":"f"}',
    format: 'schema' as const,
    schema: '{"type":"object"}',
    sort: 'price' as const,
    noTraining: true,
    zeroRetention: true,
    oneProvider: true,
    fallbacks: ['m/y', 'm/x'],
  }
  expect(request('m/x', [], { prompt: 'C' }, s, all)).toMatchObject({
    temperature: 0.5,
    top_p: 0.9,
    max_tokens: 100,
    reasoning_effort: 'low',
    messages: [{ role: 'system', content: 'Be brief' }, {}],
    models: ['m/y'],
    tools: [{ type: 'function', function: { name: 'f' } }],
    response_format: { type: 'json_schema', json_schema: { schema: { type: 'object' } } },
    provider: { sort: 'price', data_collection: 'deny', zdr: true, allow_fallbacks: false },
  })
  const weak = request('m/x', [], { prompt: 'C' }, s, { reasoning: false, tools: false })
  expect(weak).not.toHaveProperty('reasoning_effort')
  expect(weak).not.toHaveProperty('tools')
  expect(
    wrong({
      ...unset,
      temperature: '3',
      topP: 'x',
      longest: '1.5',
      tools: '[',
      format: 'schema',
      schema: '[]',
    }),
  ).toEqual(['temperature', 'topP', 'longest', 'tools', 'schema'])
  expect(wrong({ ...unset, temperature: '0', longest: '1' })).toEqual([])
})
test('files are parts of a message: a text is text for every model', () => {
  const file = (kind: Attachment['kind'], name: string, data: string): Attachment => ({
    id: name,
    kind,
    name,
    size: 1,
    data,
  })
  const r = request(
    'm/x',
    [],
    {
      prompt: 'See',
      files: [
        file('image', 'a.png', 'data:image/png;base64,AA'),
        file('pdf', 'b.pdf', 'data:application/pdf;base64,BB'),
        file('audio', 'c.mp3', 'data:audio/mpeg;base64,CC'),
        file('text', 'd.csv', 'x,y'),
        file('image', 'lost.png', ''),
      ],
    },
    unset,
    all,
  )
  expect(r.messages[0]!.content).toEqual([
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
    { type: 'file', file: { filename: 'b.pdf', file_data: 'data:application/pdf;base64,BB' } },
    { type: 'input_audio', input_audio: { data: 'CC', format: 'mp3' } },
    { type: 'text', text: 'd.csv:\n\nx,y' },
    { type: 'text', text: 'See' },
  ])
  expect(
    [
      ['a.svg', 'image/svg+xml'],
      ['a.png', 'image/png'],
      ['a.PDF', ''],
      ['a.go', ''],
      ['a.exe', 'application/x-msdownload'],
      ['a.m4a', ''],
    ].map(([name, type]) => kindOf({ name: name!, type: type! })),
  ).toEqual([null, 'image', 'pdf', 'text', null, 'audio'])
  expect(shownName('a\u202Egnp.exe')).toBe('a\\u202egnp.exe')
  expect(
    pagesOf(new TextEncoder().encode('%PDF-1.4\n<</Type/Pages/Kids[3 0 R]/Count 4>> <</Type /Page>>')),
  ).toBe(4)
  expect(pagesOf(new TextEncoder().encode('%PDF-1.7 compressed'))).toBe(undefined)
})
test('calls of tools come in pieces, go back with their results, and may be no JSON', () => {
  const a = feed([
    frame({ reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'Let ', signature: null }] }),
    frame({ reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'me', signature: 's' }] }),
    frame({
      tool_calls: [
        { index: 0, id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"ci' } },
      ],
    }),
    frame({
      tool_calls: [
        { index: 0, function: { arguments: 'ty":1}' } },
        { index: 1, id: 'c2', function: { name: 'f', arguments: '{"x' } },
      ],
    }),
    frame({ tool_calls: [{ index: 1e9, function: { arguments: 'z' } }, 7, null] }),
    '{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}',
    '[DONE]',
  ])
  expect(a.calls.slice(0, 2)).toEqual([
    { id: 'c1', name: 'get_weather', arguments: '{"city":1}' },
    { id: 'c2', name: 'f', arguments: '{"x' },
  ])
  expect(a.calls.length).toBeLessThan(10)
  expect(a.details).toEqual([{ type: 'reasoning.text', index: 0, text: 'Let me', signature: 's' }])
  expect(readArguments(a.calls[0]!.arguments)).toEqual({ value: { city: 1 }, error: null })
  expect(readArguments(a.calls[1]!.arguments).error).toBeTruthy()
  const turn: Turn = { prompt: 'W', answer: { ...a, calls: a.calls.slice(0, 2) } }
  const results = [
    { id: 'c1', content: '21' },
    { id: 'c2', content: 'no' },
  ]
  expect(request('m/x', [turn], { prompt: '', results }, unset, all).messages).toEqual([
    { role: 'user', content: 'W' },
    {
      role: 'assistant',
      content: null,
      reasoning_details: a.details,
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":1}' } },
        { id: 'c2', type: 'function', function: { name: 'f', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: '21' },
    { role: 'tool', tool_call_id: 'c2', content: 'no' },
  ])
  // Another message instead of results: each call has one all the same.
  expect(request('m/x', [turn], { prompt: 'Never mind' }, unset, all).messages.map((m) => m.role)).toEqual([
    'user',
    'assistant',
    'tool',
    'tool',
    'user',
  ])
  expect(
    readTools(
      '[{"name":"a"},{"type":"function","function":{"name":"b","parameters":{}}},{"name":"c","input_schema":{"type":"object"}}]',
    ).tools.map((x) => x.function.name),
  ).toEqual(['a', 'b', 'c'])
  expect(
    [
      '[{}]',
      '{"name":"a b"}',
      '{"name":"a","parameters":[]}',
      '[{"name":"a"},{"name":"a"}]',
      JSON.stringify(Array.from({ length: 129 }, (_, i) => ({ name: `f${i}` }))),
    ].map((x) => readTools(x).error),
  ).toEqual(['toolName', 'toolName', 'toolParameters', 'toolTwice', 'toolMany'])
})
test('a link has the settings and no text', () => {
  const s = {
    ...unset,
    system: 'secret',
    temperature: '0.5',
    effort: 'low',
    noTraining: true,
    fallbacks: ['a/b'],
  }
  expect(linkTo(['x/y'], s, false)).toEqual({
    models: 'x/y',
    t: '0.5',
    effort: 'low',
    notrain: '1',
    fallbacks: 'a/b',
  })
  expect(shape.read(linkTo(['x/y'], s, true) as never)).toEqual({ models: ['x/y'], settings: s })
  expect(shape.read({ effort: 'huge', sort: 'x', format: 'xml' }).settings).toEqual(unset)
})
test('the history keeps the newest files within its bound', () => {
  const turn = (n: number): Turn => ({
    prompt: String(n),
    files: [{ id: String(n), kind: 'image', name: 'x', size: 1, data: 'd'.repeat(9 << 20) }],
    answer: begin(n),
  })
  const { chat, size } = reduced({
    models: [],
    settings: unset,
    spent: {},
    turns: { m: [turn(1), turn(2), turn(3)] },
  })
  expect(chat.turns.m!.map((t) => t.files![0]!.data.length > 0)).toEqual([false, true, true])
  expect(size).toBeLessThan(25 << 20)
})

test('the bytes of a text', () => {
  for (const s of ['', 'abc', 'плотина', '水', '😀 x', 'é'])
    expect(bytesOf(s), s).toBe(new TextEncoder().encode(s).length)
})

test('a text that grows is read once: only its last line is looked at again', () => {
  const line = 'A grey heron **measures** the level of the `pond`.\n'
  const pieces = Array.from({ length: 100_000 }, (_, i) =>
    line.slice((i * 5) % line.length, ((i * 5) % line.length) + 5),
  )
  const whole = pieces.join('') + '\n```js\n' + 'let a = 1\n'.repeat(20_000)
  const lexer = new Lexer()
  let shown = 0
  for (let at = 0; at < whole.length; at += 97) {
    lexer.read(whole.slice(0, at))
    shown++
  }
  const groups = lexer.read(whole)
  expect(shown).toBeGreaterThan(5000)
  expect(lexer.lexed).toBeLessThan(whole.length * 2.5)
  expect(groups.flat()).toEqual(blocks(whole))
})
const endless = 'A weir **steers** a river, 🦆 by level and flow. '
test.each([
  ['one line', endless.repeat(200)],
  ['one word', '🦆'.repeat(4999)],
  ['a paragraph', `${endless}\n`.repeat(200)],
  ['a fence', '```text\n' + `${endless}\n`.repeat(200)],
  ['a fence of one line', '```text\n' + endless.repeat(200)],
  ['a list', `- ${endless}\n  more\n`.repeat(150)],
  ['numbers', Array.from({ length: 150 }, (_, i) => `${i + 1}. ${endless}\n`).join('')],
  ['an item', '- ' + endless.repeat(150)],
  ['a quote', `> ${endless}\n`.repeat(150)],
  ['a heading', '# ' + endless.repeat(100)],
  ['a table', '| a | b |\n|---|---|\n' + `| ${endless} | x |\n`.repeat(100)],
])('a part that never ends is looked at and drawn in pieces, and nothing of it is lost: %s', (_, text) => {
  const letters = (s: string | null) => (s ?? '').replace(/[^\p{L}🦆]/gu, '')
  const lexer = new Lexer()
  for (let at = 0; at < text.length; at += 999) lexer.read(text.slice(0, at))
  expect(lexer.read(text).flat()).toEqual(blocks(text))
  expect(lexer.lexed).toBeLessThan(text.length * 6)
  const { container, rerender } = render(<AnswerText text={text.slice(0, -1)} />)
  const before = new Set(container.querySelectorAll('span, li, tr'))
  rerender(<AnswerText text={text} />)
  expect(letters(container.textContent)).toBe(letters(text))
  expect([...container.querySelectorAll('span, li, tr')].filter((x) => !before.has(x)).length).toBeLessThan(
    50,
  )
  expect(
    Math.max(
      ...[...container.querySelectorAll('*')]
        .flatMap((e) => [...e.childNodes])
        .map((n) => (n.nodeType === 3 ? n.textContent!.length : 0)),
    ),
  ).toBeLessThanOrEqual(4000)
})
test('pieces that are over stay the same', () => {
  const cut = new Pieces()
  const first = cut.read('a\n'.repeat(3000))
  expect(first.length).toBe(2)
  expect(first.join('\n')).toBe('a\n'.repeat(3000))
  expect(cut.read('a\n'.repeat(3001))[0]).toBe(first[0])
  expect(cut.read('other')).toEqual(['other'])
})
test('however a text grows, its blocks are those of the whole, and blocks that are over stay the same', () => {
  const text =
    '# T\r\n\nText **b**\nmore\n- a\n  deep\n- b\n\n> q\n> r\n---\n| a | b |\n|---|:-:|\n| 1 | `x` |\n| 2 |\n\n```py\n# no heading\n```\n1. one\n2. two\n\n~~~\nopen'
  const lexer = new Lexer()
  for (let i = 0; i <= text.length; i++)
    expect(lexer.read(text.slice(0, i)).flat(), `at ${i}`).toEqual(blocks(text.slice(0, i)))
  const before = lexer.read(text).flat()
  const after = lexer.read(text + '\nmore').flat()
  expect(after.slice(0, -1).every((b, i) => b === before[i])).toBe(true)
  expect(lexer.read('other').flat()).toEqual([{ kind: 'text', text: 'other' }])
  const { container } = render(<AnswerText text={text} />)
  expect([...container.querySelectorAll('th')].map((x) => x.textContent)).toEqual(['a', 'b'])
  expect([...container.querySelectorAll('td')].map((x) => x.textContent)).toEqual(['1', 'x', '2', ''])
})
test('blocks: an open fence is one from its first line', () => {
  expect(blocks('Text\n\n```js\nlet a')).toEqual([
    { kind: 'text', text: 'Text' },
    { kind: 'fence', language: 'js', text: 'let a', over: false },
  ])
  expect(blocks('# T\n- a\n- b\n\n1. c\n---\n> q').map((b) => b.kind)).toEqual([
    'heading',
    'list',
    'list',
    'rule',
    'quote',
  ])
})
test('an answer is text: nothing is loaded, only plain addresses are links', () => {
  const { container } = render(
    <AnswerText
      text={
        '**b** *i* `c` <img src=x onerror=alert(1)> ![pic](https://evil.example/x.png) [bad](javascript:alert(1)) [ok](https://a.example/) https://b.example/x. [m](mailto:a@b.example) 2*3*4\n\n- one\n- two\n\n```html\n<script>alert(1)</script>\n```'
      }
    />,
  )
  expect(container.querySelectorAll('img,script,iframe,style').length).toBe(0)
  expect([...container.querySelectorAll('a')].map((a) => a.getAttribute('href'))).toEqual([
    'https://evil.example/x.png',
    'https://a.example/',
    'https://b.example/x',
    'mailto:a@b.example',
  ])
  expect(container.querySelector('strong')?.textContent).toBe('b')
  expect(container.querySelector('em')?.textContent).toBe('i')
  expect(container.querySelectorAll('li').length).toBe(2)
  expect(container.textContent).toContain('[bad](javascript:alert(1))')
  expect(['javascript:x', 'data:text/html,x', '/models', 'vbscript:x', 'java\nscript:x'].map(safe)).toEqual([
    null,
    null,
    null,
    null,
    null,
  ])
})
test('code has the whole request, quoted for its language', () => {
  const r = request(
    'm/x',
    [],
    { prompt: "it's" },
    { ...unset, temperature: '1', zeroRetention: true, tools: '{"name":"f","parameters":{"type":"object"}}' },
    all,
  )
  const [curl, python, node, go] = requestSnippets('http://h', 'chat', r)
  expect(curl!.code).toContain(`it'\\''s`)
  expect(python!.code).toContain('temperature=1,')
  expect(python!.code).toMatch(/extra_body=\{\s+"provider": \{\s+"zdr": True,/)
  expect(node!.code).toContain('model: "m/x"')
  expect(go!.code).toContain('"zdr": true')
})

test('long data is read from files beside the code', () => {
  const file = (kind: Attachment['kind'], name: string, data: string): Attachment => ({
    id: name,
    kind,
    name,
    size: 1,
    data,
  })
  const long = 'A'.repeat(9999),
    picture = file('image', 'a.png', `data:image/png;base64,${long}`)
  const r = request(
    'm/x',
    [],
    {
      prompt: '$(id) `id` "q" \\ '.repeat(9999),
      files: [
        picture,
        picture,
        file('pdf', 'b c.pdf', `data:application/pdf;base64,${long}`),
        file('pdf', '../d.pdf', `data:application/pdf;base64,${long}B`),
        file('audio', 'c.mp3', `data:audio/mpeg;base64,${long}`),
      ],
    },
    unset,
    all,
  )
  for (const s of requestSnippets('http://h', 'chat', r)) {
    expect(s.code, s.id).not.toContain(long)
    for (const name of s.id === 'json' ? [] : ['image-1.png', 'b c.pdf', 'document-3.pdf', 'audio-4.mp3'])
      expect(s.code, s.id).toContain(name)
  }
  const odd = '\u0001file 7\u0001file '
  expect(
    requestSnippets('http://h', 'chat', request('m/x', [], { prompt: odd, files: [picture] }, unset, all))[0]!
      .code,
  ).toContain('"\\\\u0001file 7\\\\u0001file "')
})
test('marks end near their beginning, or are text', () => {
  for (const open of ['**', '*', '`', '``', '['])
    expect(render(<AnswerText text={`${open}${'a '.repeat(3000)}`} />).container.textContent).toContain(open)
  const { container } = render(
    <AnswerText text={`**${'b'.repeat(900)}** and **${'c'.repeat(1500)}** \`\`d \` e\`\``} />,
  )
  expect([...container.querySelectorAll('strong')].map((x) => x.textContent?.length)).toEqual([900])
  expect([...container.querySelectorAll('code')].map((x) => x.textContent)).toEqual(['d ` e'])
})

test('a video costs what the first rule that fits says, and without one the dearest', () => {
  const skus = {
    'per-video-second-720p': '1.5',
    'per-video-second-720p-with-audio': '2',
    'per-video-second': '3',
    'per-video-second-with-audio': '4',
  }
  expect(
    [
      ['720p', false],
      ['720p', true],
      ['1K', false],
      ['1K', true],
    ].map(([r, a]) => costOfVideo(skus, 4, r as string, a as boolean)),
  ).toEqual(['6', '8', '12', '16'])
  expect(
    costOfVideo(
      { 'per-video': '0.1', 'per-video-second-480p': '0.000000001', 'per-video-second-1080p': '7' },
      3,
      '720p',
      true,
    ),
  ).toBe('21.1')
  expect(costOfVideo({ 'per-video': '5' }, 3, '720p', true)).toBe('5')
  expect(costOfVideo({}, 3, '720p', true)).toBe(null)
})
test('the cosine of vectors', () => {
  expect(cosine([1, 2], [2, 4])).toBeCloseTo(1)
  expect(cosine([1, 0], [0, 1])).toBe(0)
  expect(cosine([1, 0], [-1, 0])).toBe(-1)
  expect(cosine([0, 0], [1, 1])).toBe(0)
  expect(cosine([], [])).toBe(0)
})
test('code of the other kinds is quoted for its language', () => {
  const video = requestSnippets('http://h', 'video', {
    model: 'm/v',
    prompt: "it's `x`",
    generate_audio: false,
  })
  expect(video.map((s) => s.id)).toEqual(['curl', 'python', 'node', 'go', 'php', 'json'])
  expect(video[0]!.code).toContain(`it'\\''s`)
  expect(video[1]!.code).toContain('"generate_audio": False')
  expect(video[3]!.code).toContain('\\"generate_audio\\": false')
  expect(video[4]!.code).toContain('"generate_audio" => false')
  const php = (v: unknown) => requestSnippets('http://h', 'video', { model: 'm', prompt: v })[4]!.code
  expect(php('$a {$b} \b\u0001 "\\ \ud800')).toContain('"\\$a {\\$b} \\x08\\u{0001} \\"\\\\ \\u{fffd}"')
  expect(php({ 0: {}, 1: [] })).toMatch(/\(object\) \[\s+"0" => \(object\) \[\],\s+"1" => \[\],/)
  const form = formSnippets(
    'http://h',
    { model: 'm/t', response_format: 'srt', prompt: "a'b" },
    'my file.mp3',
  )
  expect(form[0]!.code).toContain(`--form-string 'prompt=a'\\''b'`)
  expect(form[0]!.code).toContain("-F 'file=@my file.mp3'")
  expect(form[2]!.code).toContain('console.log(r);')
  expect(formSnippets('http://h', { model: 'm/t' }, 'a;type=text/html.mp3')[0]!.code).toContain(
    "'file=@speech.mp3'",
  )
  expect(
    requestSnippets('http://h', 'image', { model: 'm/i', prompt: 'p', resolution: '1K' })[1]!.code,
  ).toMatch(/extra_body=\{\s+"resolution": "1K"/)
})
