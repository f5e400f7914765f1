// The cost of a prompt must not depend on the client style.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo, limit, nanos } from './clients.js';

const weir = await demo();

const prompt = 'Почём вода в этой реке? How much is it, to the drop?';

const styles = {
  chat: ['/chat/completions', { messages: [{ role: 'user', content: prompt }], max_tokens: 300 }],
  messages: ['/messages', { messages: [{ role: 'user', content: prompt }], max_tokens: 300 }],
  responses: ['/responses', { input: prompt, max_output_tokens: 300 }],
};

/** Sends a request and reads what it cost: from the generation, and from what is left in the wallet. */
async function cost(path, body) {
  const before = await weir.spent();
  const answer = await weir.fetch(weir.api + path, {
    method: 'POST', headers: { authorization: `Bearer ${weir.api_key}`, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }, body: JSON.stringify(body),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  const charge = await weir.charge(answer.headers.get('x-generation-id'));
  assert.ok(charge > 0n);
  assert.equal(await weir.spent() - before, charge);
  if (!body.stream && path !== '/messages') assert.equal(nanos(JSON.parse(text).usage.cost), charge);
  return charge;
}

for (const model of [...weir.models('chat'), ...weir.models('tools')]) {
  test(`one price in three styles, ${model}`, limit, async () => {
    const costs = new Set();
    for (const [path, body] of Object.values(styles)) {
      for (const stream of [false, true]) costs.add(await cost(path, { model, stream, ...body }));
    }
    assert.equal(costs.size, 1, `it costs ${[...costs]} nano-rubles`);
  });
}
