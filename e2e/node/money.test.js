import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect, demo, nanos, user } from './weir.js';

const weir = await demo();
const client = weir.client();

async function purse() {
  const { data: credits } = await client.get('/credits');
  const { data: key } = await client.get('/key');
  assert.equal(nanos(credits.balance), nanos(credits.total_credits) - nanos(credits.total_usage));
  return { balance: nanos(credits.balance), key: nanos(key.usage), daily: nanos(key.usage_daily) };
}

test('every answer is in the balance at once, to the nano-ruble', async () => {
  for (const stream of [false, true, false, true]) {
    const before = await purse();
    const request = { model: 'sim/chat', messages: user('What is a weir?') };
    let id;
    let usage;
    if (stream) {
      const all = await collect(client.chat.completions.create({ ...request, stream: true }));
      [id, usage] = [all.chunks[0].id, all.usage];
    } else {
      ({ id, usage } = await client.chat.completions.create(request));
    }
    const cost = nanos(usage.cost);
    assert.ok(cost > 0n);
    const now = await purse();
    assert.equal(before.balance - now.balance, cost);
    assert.equal(now.key - before.key, cost);
    assert.equal(now.daily - before.daily, cost);
    const { data: generation } = await client.get('/generation', { query: { id } });
    assert.equal(nanos(generation.total_cost), cost);
    assert.equal(generation.streamed, stream);
    assert.equal(generation.native_tokens_completion, usage.completion_tokens);
  }
});

test('a failed answer costs nothing', async () => {
  const before = await purse();
  await assert.rejects(client.chat.completions.create({ model: 'sim/chat', messages: user('Hello. [[sim fault=u15]]') }));
  assert.deepEqual(await purse(), before);
});

test('activity shows whole days', async () => {
  const { data, currency } = await client.get('/activity');
  assert.deepEqual(data, []);
  assert.equal(currency, 'RUB');
});

test('life of a key', async () => {
  const manager = weir.client({ apiKey: weir.management_key });
  const made = await manager.post('/keys', { body: { name: 'laptop', limit: 50, limit_reset: 'monthly' } });
  const { usage } = await weir.client({ apiKey: made.key }).chat.completions.create({ model: 'sim/chat', messages: user('Hello.') });
  const { data: found } = await manager.get(`/keys/${made.data.hash}`);
  assert.equal(nanos(found.usage), nanos(usage.cost));
  assert.equal(nanos(found.limit_remaining), 50_000_000_000n - nanos(usage.cost));
  assert.ok((await manager.get('/keys')).data.some((key) => key.hash === made.data.hash));
  await manager.delete(`/keys/${made.data.hash}`);
  await assert.rejects(weir.client({ apiKey: made.key }).chat.completions.create({ model: 'sim/chat', messages: user('Hello.') }), { status: 401 });
});
