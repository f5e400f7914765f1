import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect, demo, nanos, user } from './weir.js';

const weir = await demo();
const client = weir.client();
const spent = async () => nanos((await client.get('/credits')).data.total_usage);

test('a request that is named and sent twice is paid for once', async () => {
  const request = { model: 'sim/chat', messages: user('What is a weir?') };
  const send = (name) => client.chat.completions.create(request, { headers: { 'Idempotency-Key': name } }).withResponse();
  const first = await send('whole');
  const once = await spent();
  const again = await send('whole');
  assert.deepEqual(again.data, first.data);
  assert.equal(again.response.headers.get('idempotent-replayed'), 'true');
  assert.equal(await spent(), once);
});

test('so is a stream, which comes as a stream again', async () => {
  const request = { model: 'sim/chat', messages: user('What is a weir?'), stream: true };
  const send = () => collect(client.chat.completions.create(request, { headers: { 'Idempotency-Key': 'stream' } }));
  const first = await send();
  const once = await spent();
  const again = await send();
  assert.deepEqual(again.chunks, first.chunks);
  assert.equal(await spent(), once);
});

test('the same name for something else is refused', async () => {
  const send = (text) => client.chat.completions.create({ model: 'sim/chat', messages: user(text) }, { headers: { 'Idempotency-Key': 'other' } });
  await send('one');
  await assert.rejects(send('two'), (error) => error.status === 422 && error.error.metadata.error_type === 'idempotency_mismatch');
});
