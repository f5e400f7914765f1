import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { demo, nanos, sendingWrong } from './weir.js';

const weir = await demo();
const { responses } = weir.client();

const tools = [
  { type: 'function', name: 'water_level', strict: false, parameters: { type: 'object', properties: { river: { type: 'string' } }, required: ['river'] } },
  { type: 'function', name: 'weather', strict: false, parameters: { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] } },
];

const calls = (response) => response.output.filter((item) => item.type === 'function_call');

/** Reads a stream with the SDK's helper, which refuses events that are unknown or out of order. */
async function helped(request) {
  const events = [];
  const stream = responses.stream(request);
  stream.on('event', (event) => events.push(event));
  return { final: await stream.finalResponse(), events };
}

test('whole and with the stream helper', async () => {
  const request = { model: 'sim/chat', input: 'What is a weir?', instructions: 'Be brief.' };
  const whole = await responses.create(request);
  assert.equal(whole.status, 'completed');
  assert.ok(whole.output_text.length > 0);
  assert.ok(nanos(whole.usage.cost) > 0n);
  const { final, events } = await helped(request);
  assert.equal(final.output_text, whole.output_text);
  assert.equal(events.filter((event) => event.type === 'response.output_text.delta').map((event) => event.delta).join(''), whole.output_text);
  assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, at) => at));
});

test('two calls with the stream helper', async () => {
  const { final } = await helped({ model: 'sim/tools', input: 'How high are they? [[sim calls=2]]', tools, tool_choice: 'required' });
  assert.equal(calls(final).length, 2);
  for (const call of calls(final)) assert.equal(typeof JSON.parse(call.arguments), 'object');
});

test('reasoning with the stream helper, and back', async () => {
  const request = { model: 'sim/reason', input: 'Why?', reasoning: { effort: 'high', summary: 'auto' }, store: false, include: ['reasoning.encrypted_content'] };
  const { final } = await helped(request);
  assert.equal(final.output[0].type, 'reasoning');
  assert.ok(final.usage.output_tokens_details.reasoning_tokens > 0);
  const next = await responses.create({ ...request, input: [{ role: 'user', content: 'Why?' }, ...final.output, { role: 'user', content: 'And why that?' }] });
  assert.equal(next.status, 'completed');
});

test('an answer that is cut, and one that breaks, with the stream helper', async () => {
  const { final } = await helped({ model: 'sim/chat', input: 'What is a weir?', max_output_tokens: 3 });
  assert.equal(final.status, 'incomplete');
  assert.equal(final.incomplete_details.reason, 'max_output_tokens');
  const { final: failed, events } = await helped({ model: 'sim/chat', input: '[[sim fault=u6]] What is a weir?' });
  assert.equal(failed.status, 'failed');
  assert.equal(events.at(-1).type, 'response.failed');
  assert.equal(failed.error.code, 'server_error');
});

test('structured output with the parse helper', async () => {
  const format = { type: 'json_schema', name: 'river', strict: true, schema: { type: 'object', properties: { name: { type: 'string' }, km: { type: 'integer' } }, required: ['name', 'km'], additionalProperties: false } };
  const parsed = await responses.parse({ model: 'sim/json', input: 'Describe a river.', text: { format: { ...format, $brand: 'auto-parseable-response-format', $parseRaw: JSON.parse } } });
  assert.equal(typeof parsed.output_parsed.name, 'string');
  assert.ok(Number.isInteger(parsed.output_parsed.km));
});

test('three turns by the id of the last response, one with the result of a tool', async () => {
  const first = await responses.create({ model: 'sim/tools', input: 'How high is the Thames?', tools: tools.slice(0, 1), tool_choice: 'required' });
  const [call] = calls(first);
  const second = await responses.create({ model: 'sim/tools', previous_response_id: first.id, input: [{ type: 'function_call_output', call_id: call.call_id, output: '1.7 m' }] });
  assert.match(second.output_text, /1\.7 m/);
  const { final: third } = await helped({ model: 'sim/echo', previous_response_id: second.id, input: 'Thank you.' });
  assert.equal(third.output_text, 'Thank you.');

  const read = await responses.retrieve(third.id);
  assert.equal(read.output_text, third.output_text);
  const items = [];
  for await (const item of responses.inputItems.list(third.id, { order: 'asc', limit: 2 })) items.push(item.type);
  assert.deepEqual(items, ['message', 'function_call', 'function_call_output', 'message', 'message']);
  await responses.delete(third.id);
  await assert.rejects(responses.retrieve(third.id), OpenAI.NotFoundError);
  await assert.rejects(responses.create({ model: 'sim/echo', previous_response_id: third.id, input: 'x' }), OpenAI.BadRequestError);
});

test('in the background', async () => {
  let response = await responses.create({ model: 'sim/echo', input: 'Hello.', background: true });
  assert.equal(response.status, 'queued');
  while (['queued', 'in_progress'].includes(response.status)) response = await responses.retrieve(response.id);
  assert.equal(response.output_text, 'Hello.');
  const slow = await responses.create({ model: 'sim/echo', input: '[[sim delay=30s]] Never.', background: true });
  assert.equal((await responses.cancel(slow.id)).status, 'cancelled');
  assert.equal((await responses.cancel(slow.id)).status, 'cancelled');
  await assert.rejects(responses.cancel((await responses.create({ model: 'sim/echo', input: 'x' })).id), OpenAI.BadRequestError);
});

test('tokens are counted', async () => {
  const count = await responses.inputTokens.count({ model: 'sim/chat', input: 'What is a weir?' });
  assert.ok(count.input_tokens >= 3);
});

// The two tests of the public compliance suite of Open Responses, and the way back.
test('a compacted conversation', async () => {
  const input = [{ type: 'message', role: 'user', content: 'We agreed to launch on Tuesday and notify support first.' }, { type: 'message', role: 'assistant', content: 'Understood. The launch is Tuesday, with support notified beforehand.' }];
  const compacted = await responses.compact({ model: 'sim/chat', prompt_cache_key: 'compact-test', input });
  assert.equal(compacted.object, 'response.compaction');
  assert.deepEqual(compacted.output.map((item) => item.type), ['message', 'compaction']);
  assert.ok(compacted.usage.total_tokens > 0 && nanos(compacted.usage.cost) > 0n);
  const next = await responses.create({ model: 'sim/echo', store: false, input: [...compacted.output, { role: 'user', content: 'And on which day?' }] });
  assert.match(next.output_text, /And on which day\?$/);
  const other = await responses.create({ model: 'sim/chat-anthropic', store: false, input: [...compacted.output, { role: 'user', content: 'And on which day?' }] });
  assert.equal(other.status, 'completed');
  await assert.rejects(sendingWrong(weir).responses.compact({ input }), { status: 400 });
});
