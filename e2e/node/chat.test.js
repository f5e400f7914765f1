import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect, demo, nanos, user } from './weir.js';

const weir = await demo();
const client = weir.client();
const completions = client.chat.completions;

test('plain answer', async () => {
  const { data, response } = await completions.create({ model: 'sim/chat', messages: user('What is a weir?') }).withResponse();
  const [choice] = data.choices;
  assert.equal(data.object, 'chat.completion');
  assert.equal(data.model, 'sim/chat');
  assert.match(data.id, /^gen-\d+-[0-9A-Za-z]{20}$/);
  assert.equal(response.headers.get('x-generation-id'), data.id);
  assert.equal(choice.finish_reason, 'stop');
  assert.equal(typeof choice.message.content, 'string');
  assert.notEqual(choice.message.content, '');
  assert.ok(!('tool_calls' in choice.message), 'tool_calls must be absent');
  assert.equal(data.usage.total_tokens, data.usage.prompt_tokens + data.usage.completion_tokens);
  assert.ok(nanos(data.usage.cost) > 0n);
  assert.match(data._request_id, /^req_/);
});

test('streamed answer equals the plain one', async () => {
  const messages = user('Tell me about rivers.');
  const plain = await completions.create({ model: 'sim/chat', messages });
  const streamed = await collect(completions.create({ model: 'sim/chat', messages, stream: true }));
  assert.equal(streamed.text, plain.choices[0].message.content);
  assert.ok(streamed.chunks.length > 3, 'not streamed');
  assert.ok(streamed.chunks.every((chunk) => chunk.choices.length === 1), 'an empty chunk that nobody asked for');
  assert.equal(streamed.chunks.at(-1).choices[0].finish_reason, 'stop');
  assert.deepEqual(streamed.chunks.at(-1).usage.cost, plain.usage.cost);
});

test('include_usage', async () => {
  const { chunks } = await collect(completions.create({ model: 'sim/chat', messages: user('Hello.'), stream: true, stream_options: { include_usage: true } }));
  assert.deepEqual(chunks.at(-1).choices, []);
  assert.ok(chunks.at(-1).usage.total_tokens > 0);
  assert.ok(chunks.slice(0, -1).every((chunk) => !('usage' in chunk)), 'usage must come at the end only');
});

test('stream helper', async () => {
  const stream = completions.stream({ model: 'sim/chat', messages: user('Name a mill.'), n: 2, stream_options: { include_usage: true } });
  const seen = [];
  stream.on('content', (piece) => seen.push(piece));
  const whole = await stream.finalChatCompletion();
  assert.equal(whole.choices.length, 2);
  assert.ok(seen.join('').length > 0);
  assert.ok((await stream.totalUsage()).total_tokens > 0);
});

test('every character arrives', async () => {
  const prompt = 'Плотина «Weir» — 水坝 "quoted" back\\slash\ttab 🌊 e\u0301';
  const plain = await completions.create({ model: 'sim/echo', messages: user(prompt) });
  assert.ok(plain.choices[0].message.content.includes(prompt), plain.choices[0].message.content);
  const streamed = await collect(completions.create({ model: 'sim/echo', messages: user(prompt), stream: true }));
  assert.ok(streamed.text.includes(prompt), streamed.text);
});

test('n answers', async () => {
  const answer = await completions.create({ model: 'sim/chat', messages: user('Name a river.'), n: 3 });
  assert.deepEqual(answer.choices.map((choice) => choice.index), [0, 1, 2]);
});

test('logprobs', async () => {
  const request = { model: 'sim/chat', messages: user('Name a stone.'), logprobs: true, top_logprobs: 2 };
  const plain = await completions.create(request);
  const whole = await completions.stream(request).finalChatCompletion();
  for (const answer of [plain, whole]) {
    const entries = answer.choices[0].logprobs.content;
    assert.equal(entries.map((entry) => entry.token).join(''), answer.choices[0].message.content);
    assert.ok(entries.every((entry) => entry.logprob <= 0 && entry.top_logprobs.length === 2));
  }
});

test('JSON schema', async () => {
  const request = {
    model: 'sim/json',
    messages: user('Describe a river.'),
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: 'river', strict: true,
        schema: {
          type: 'object', additionalProperties: false, required: ['name', 'km', 'tidal'],
          properties: { name: { type: 'string' }, km: { type: 'integer' }, tidal: { type: 'boolean' } },
        },
      },
    },
  };
  const plain = await completions.parse(request);
  const streamed = await collect(completions.create({ ...request, stream: true }));
  for (const river of [JSON.parse(plain.choices[0].message.content), JSON.parse(streamed.text)]) {
    assert.deepEqual(Object.keys(river).sort(), ['km', 'name', 'tidal']);
    assert.ok(typeof river.name === 'string' && Number.isInteger(river.km) && typeof river.tidal === 'boolean');
  }
});

test('reasoning', async () => {
  const request = { model: 'sim/reason', messages: user('Why does a weir hum?'), reasoning_effort: 'high' };
  const plain = await completions.create(request);
  const { reasoning, reasoning_content: also } = plain.choices[0].message;
  assert.ok(reasoning.length > 0);
  assert.equal(also, reasoning);
  assert.ok(plain.usage.completion_tokens_details.reasoning_tokens > 0);
  const streamed = await collect(completions.create({ ...request, stream: true }));
  assert.equal(streamed.reasoning, reasoning);
});

const pixel = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const pdf = `data:application/pdf;base64,${Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64')}`;
const wav = Buffer.concat([Buffer.from('UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=', 'base64')]).toString('base64');

for (const [name, part] of Object.entries({
  image: { type: 'image_url', image_url: { url: pixel, detail: 'low' } },
  audio: { type: 'input_audio', input_audio: { data: wav, format: 'wav' } },
  file: { type: 'file', file: { filename: 'empty.pdf', file_data: pdf } },
})) {
  test(`${name} in the prompt`, async () => {
    const messages = user([{ type: 'text', text: 'What is this?' }, part]);
    const plain = await completions.create({ model: 'sim/chat', messages });
    const streamed = await collect(completions.create({ model: 'sim/chat', messages, stream: true }));
    assert.ok(plain.choices[0].message.content.length > 0);
    assert.equal(streamed.text, plain.choices[0].message.content);
  });
}

test('strict schema mode', async () => {
  const answer = await completions.create({ model: 'sim/chat', messages: user('Hello.') }, { headers: { 'X-Response-Schema': 'strict' } });
  assert.deepEqual(answer.choices[0].message.content.map((part) => part.type), ['text']);
});

test('models', async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  for (const wanted of ['sim/chat', 'sim/echo', 'sim/tools', 'sim/reason', 'sim/json']) assert.ok(ids.includes(wanted), `the list lacks ${wanted}`);
});
