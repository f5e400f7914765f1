// A preset is a model's name for the official SDKs of every style.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { demo, user } from './weir.js';

const weir = await demo();
const root = weir.api.replace(/\/v1$/, '');
const openai = new OpenAI({ baseURL: weir.api, apiKey: weir.api_key, maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: root, apiKey: weir.api_key, authToken: null, maxRetries: 0 });
const google = new GoogleGenAI({ apiKey: weir.api_key, httpOptions: { baseUrl: root } });
const manage = (method, path, body) => fetch(root + path, { method, headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, body: body && JSON.stringify(body) });

const made = await manage('POST', '/api/presets', { name: 'sdk', model: 'sim/chat', system_prompt: 'Be kind.', parameters: { max_tokens: 3 } });
assert.equal(made.status, 201, await made.text());

const asks = {
  'openai chat': async (model) => { const r = await openai.chat.completions.create({ model, messages: user('What is a weir?') }); return [r.model, r.choices[0].finish_reason === 'length', r.usage.completion_tokens]; },
  'openai responses': async (model) => { const r = await openai.responses.create({ model, input: 'What is a weir?', store: false }); return [r.model, r.status === 'incomplete', r.usage.output_tokens]; },
  'google': async (model) => { const r = await google.models.generateContent({ model, contents: 'What is a weir?' }); return [r.modelVersion, r.candidates[0].finishReason === 'MAX_TOKENS', r.usageMetadata.candidatesTokenCount]; },
};
for (const [name, ask] of Object.entries(asks)) {
  test(`${name}: the preset's model and limit hold`, async () => {
    const [model, cut, tokens] = await ask('@preset/sdk');
    assert.equal(model, 'sim/chat');
    assert.ok(cut, 'the limit of the preset did not end the answer');
    assert.ok(tokens <= 3, `${tokens} tokens`);
    await assert.rejects(ask('@preset/none'), (e) => e.status === 404 && /There is no preset/.test(e.message));
  });
}

test('anthropic: the preset gives the model, the request its limit', async () => {
  const r = await anthropic.messages.create({ model: '@preset/sdk', max_tokens: 500, messages: user('What is a weir?') });
  assert.equal(r.model, 'sim/chat');
  assert.equal(r.stop_reason, 'end_turn');
  const stream = anthropic.messages.stream({ model: 'sim/echo@preset/sdk', max_tokens: 500, messages: user('Hello') });
  assert.equal((await stream.finalMessage()).model, 'sim/echo');
  await assert.rejects(anthropic.messages.create({ model: '@preset/none', max_tokens: 5, messages: user('x') }), (e) => e.status === 404);
});

test('embeddings have the model of a preset', async () => {
  assert.equal((await manage('POST', '/api/presets', { name: 'vectors', model: 'sim/embed' })).status, 201);
  const r = await openai.embeddings.create({ model: '@preset/vectors', input: 'Hello' });
  assert.equal(r.model, 'sim/embed');
});

test('a batch uses the version that is current when its line is called', async () => {
  const line = JSON.stringify({ custom_id: 'one', method: 'POST', url: '/v1/chat/completions', body: { model: '@preset/sdk', messages: user('Hello') } });
  const file = await openai.files.create({ file: new File([line], 'lines.jsonl'), purpose: 'batch' });
  let batch = await openai.batches.create({ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' });
  while (!['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) { await new Promise((r) => setTimeout(r, 200)); batch = await openai.batches.retrieve(batch.id); }
  assert.equal(batch.request_counts.completed, 1, JSON.stringify(batch));
  const answer = JSON.parse((await (await openai.files.content(batch.output_file_id)).text()).trim());
  assert.equal(answer.response.body.model, 'sim/chat');
  assert.equal(answer.response.body.choices[0].finish_reason, 'length');
});

test('the functions of a preset are called through every SDK, and those of the request take their place', async () => {
  const declare = (name) => ({ type: 'function', function: { name, description: 'The level of a river', parameters: { type: 'object', properties: { gauge: { type: 'string' } } } } });
  const saved = await manage('POST', '/api/presets', { name: 'able', model: 'sim/tools', tools: [declare('river_level')], plugins: [{ id: 'response-healing' }] });
  assert.equal(saved.status, 201, await saved.text());
  const model = '@preset/able', ask = 'What is the level of the river?';
  const chat = await openai.chat.completions.create({ model, messages: user(ask) });
  assert.equal(chat.choices[0].message.tool_calls?.[0].function.name, 'river_level');
  const responses = await openai.responses.create({ model, input: ask, store: false });
  assert.equal(responses.output.find((o) => o.type === 'function_call')?.name, 'river_level');
  const messages = await anthropic.messages.create({ model, max_tokens: 500, messages: user(ask) });
  assert.equal(messages.content.find((b) => b.type === 'tool_use')?.name, 'river_level');
  const contents = await google.models.generateContent({ model, contents: ask });
  assert.equal(contents.functionCalls?.[0].name, 'river_level');
  const own = await openai.chat.completions.create({ model, messages: user(ask), tools: [declare('own_tool')] });
  assert.equal(own.choices[0].message.tool_calls?.[0].function.name, 'own_tool');
});
