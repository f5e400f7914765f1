import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo, nanos, sendingWrong } from './weir.js';

const weir = await demo();
const client = weir.client();
const models = ['sim/embed', 'sim/embed-gemini', 'sim/embed-cohere', 'sim/embed-voyage', 'sim/embed-yandex', 'sim/embed-gigachat'];

for (const model of models) {
  test(`${model}: the default encoding, which is base64, gives the numbers that float gives`, async () => {
    const input = ['A weir steers a river.', 'Bread is baked.', 'Река течёт.'];
    const { data: usual, response } = await client.embeddings.create({ model, input }).withResponse();
    const plain = await client.embeddings.create({ model, input, encoding_format: 'float' });
    assert.equal(usual.object, 'list');
    assert.equal(usual.model, model);
    assert.equal(usual.id, response.headers.get('x-generation-id'));
    assert.deepEqual(usual.data.map((v) => v.index), [0, 1, 2]);
    usual.data.forEach((v, i) => assert.deepEqual(Float32Array.from(v.embedding), Float32Array.from(plain.data[i].embedding)));
    assert.ok(usual.data[0].embedding.length >= 256);
    assert.ok(usual.usage.prompt_tokens > 0);
    assert.ok(nanos(usual.usage.cost) > 0n);
  });
}

test('dimensions, tokens', async () => {
  const short = await client.embeddings.create({ model: 'sim/embed', input: 'A weir.', dimensions: 64 });
  assert.equal(short.data[0].embedding.length, 64);
  const tokens = await client.embeddings.create({ model: 'sim/embed', input: [[1, 2, 3], [4]] });
  assert.equal(tokens.data.length, 2);
  assert.equal(tokens.usage.prompt_tokens, 4);
  await assert.rejects(client.embeddings.create({ model: 'sim/embed-gigachat', input: 'A weir.', dimensions: 64 }), { status: 400 });
  await assert.rejects(sendingWrong(weir).embeddings.create({ model: 'sim/embed', input: '' }), { status: 400 });
});

test('moderations', async () => {
  const one = await client.moderations.create({ model: 'sim/moderation', input: 'I will kill you.' });
  assert.match(one.id, /^modr-[0-9A-Za-z]{24}$/);
  assert.equal(one.results[0].flagged, true);
  assert.equal(one.results[0].categories.violence, true);
  assert.ok(one.results[0].category_scores.violence > 0.5);
  assert.deepEqual(one.results[0].category_applied_input_types.violence, ['text']);
  assert.equal(Object.keys(one.results[0].categories).length, 13);
  const both = await client.moderations.create({ model: 'sim/moderation', input: ['A weir.', 'blood'] });
  assert.deepEqual(both.results.map((r) => r.flagged), [false, true]);
  const url = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const seen = await client.moderations.create({ model: 'sim/moderation', input: [{ type: 'text', text: 'A weir.' }, { type: 'image_url', image_url: { url } }] });
  assert.deepEqual(seen.results[0].category_applied_input_types.sexual, ['text', 'image']);
});

test('rerank', async () => {
  for (const model of ['sim/rerank', 'sim/rerank-openai']) {
    const answer = await client.post('/rerank', { body: { model, query: 'What steers a river?', documents: ['Bread is baked.', { text: 'A weir steers a river.' }], top_n: 1 } });
    assert.equal(answer.results.length, 1);
    assert.equal(answer.results[0].index, 1);
    assert.equal(answer.results[0].document.text, 'A weir steers a river.');
    assert.ok(nanos(answer.usage.cost) > 0n);
  }
});
