import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import { toFile } from 'openai';
import { demo, nanos, user } from './weir.js';

const weir = await demo();
const client = weir.client();

const upload = (lines) => toFile(Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n')), 'requests.jsonl', { type: 'application/jsonl' });

async function ended(id) {
  for (;;) {
    const batch = await client.batches.retrieve(id);
    if (['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) return batch;
    await pause(100);
  }
}

test('a batch of embeddings', async () => {
  const lines = Array.from({ length: 12 }, (_, i) => ({ custom_id: `n${i}`, method: 'POST', url: '/v1/embeddings', body: { model: i === 3 ? 'sim/none' : 'sim/embed', input: `text ${i}` } }));
  const file = await client.files.create({ file: await upload(lines), purpose: 'batch' });
  assert.equal(file.object, 'file');
  const batch = await ended((await client.batches.create({ input_file_id: file.id, endpoint: '/v1/embeddings', completion_window: '24h' })).id);
  assert.equal(batch.status, 'completed');
  assert.deepEqual(batch.request_counts, { total: 12, completed: 11, failed: 1 });
  const read = async (id) => (await (await client.files.content(id)).text()).trim().split('\n').map(JSON.parse);
  const answers = await read(batch.output_file_id);
  assert.equal(answers.length, 11);
  assert.ok(answers.every((one) => one.response.body.data[0].embedding.length > 0));
  const sum = answers.reduce((total, one) => total + nanos(one.response.body.usage.cost), 0n);
  assert.equal(nanos(batch.usage.cost), sum);
  const [failed] = await read(batch.error_file_id);
  assert.equal(failed.custom_id, 'n3');
  assert.equal(failed.response.status_code, 404);

  const listed = [];
  for await (const one of client.files.list({ limit: 2 })) listed.push(one.purpose);
  assert.deepEqual(listed.sort(), ['batch', 'batch_output', 'batch_output']);
});

test('wrong lines', async () => {
  const file = await client.files.create({ file: await upload([{ custom_id: 'a', method: 'GET', url: '/v1/embeddings', body: {} }]), purpose: 'batch' });
  const batch = await ended((await client.batches.create({ input_file_id: file.id, endpoint: '/v1/embeddings', completion_window: '24h' })).id);
  assert.equal(batch.status, 'failed');
  assert.equal(batch.errors.data[0].line, 1);
  await assert.rejects(client.files.create({ file: await upload([{}]), purpose: 'fine-tune' }), (error) => error.status === 400 && /purpose/.test(error.message));
});

test('a batch of messages', async () => {
  const { messages } = new Anthropic({ apiKey: weir.api_key, baseURL: weir.api.replace(/\/v1$/, ''), maxRetries: 0, fetch: weir.contract.fetch });
  const requests = Array.from({ length: 4 }, (_, i) => ({ custom_id: `m${i}`, params: { model: 'sim/chat', max_tokens: 40, messages: user('Hello') } }));
  let batch = await messages.batches.create({ requests });
  assert.equal(batch.type, 'message_batch');
  while (batch.processing_status !== 'ended') {
    await pause(100);
    batch = await messages.batches.retrieve(batch.id);
  }
  assert.deepEqual(batch.request_counts, { processing: 0, succeeded: 4, errored: 0, canceled: 0, expired: 0 });
  const seen = [];
  for await (const one of await messages.batches.results(batch.id)) {
    assert.equal(one.result.type, 'succeeded');
    assert.ok(one.result.message.content[0].text);
    seen.push(one.custom_id);
  }
  assert.deepEqual(seen.sort(), ['m0', 'm1', 'm2', 'm3']);
  const ids = [];
  for await (const one of messages.batches.list({ limit: 1 })) ids.push(one.id);
  assert.deepEqual(ids, [batch.id]);
  assert.equal((await messages.batches.delete(batch.id)).type, 'message_batch_deleted');
});
