import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { demo, sendingWrong, user } from './weir.js';

const weir = await demo();
const unhurt = await demo(); // a gateway of its own: it leaves a provider alone that fails too often
const hello = { model: 'sim/chat', messages: user('Hello.') };

/** The promise must fail with the SDK's class for the status, and with the gateway's body. */
async function refused(promise, kind, status, errorType) {
  const error = await promise.then(() => assert.fail('it succeeded'), (e) => e);
  assert.ok(error instanceof kind, `${error.constructor.name}: ${error.message}`);
  assert.equal(error.status, status);
  assert.equal(error.error.code, status);
  assert.equal(error.error.metadata.error_type, errorType);
  assert.notEqual(error.error.message, '');
  return error;
}

test('401: wrong key', () => refused(weir.client({ apiKey: `sk-weir-v1-${'A'.repeat(49)}` }).chat.completions.create(hello), OpenAI.AuthenticationError, 401, 'authentication'));

test('403: management key', () => refused(weir.client({ apiKey: weir.management_key }).chat.completions.create(hello), OpenAI.PermissionDeniedError, 403, 'permission_denied'));

test('404: unknown model', () => refused(weir.client().chat.completions.create({ ...hello, model: 'sim/nobody' }), OpenAI.NotFoundError, 404, 'model_not_found'));

test('400: no messages', async () => {
  const error = await refused(sendingWrong(weir).chat.completions.create({ model: 'sim/chat', messages: [] }), OpenAI.BadRequestError, 400, 'invalid_prompt');
  assert.equal(error.error.metadata.param, 'messages');
});

test('402: a key with nothing left', async () => {
  const made = await weir.client({ apiKey: weir.management_key }).post('/keys', { body: { name: 'empty', limit: 0 } });
  const error = await refused(weir.client({ apiKey: made.key }).chat.completions.create(hello), OpenAI.APIError, 402, 'payment_required');
  assert.equal(typeof error.error.metadata.required, 'string');
});

test('429: the provider asks to wait, and the SDK\'s own retry is served', async () => {
  const prompt = (id) => user(`Hello. [[sim fault=u9 retry-after=2 times=1 id=${id}]]`);
  const error = await refused(weir.client().chat.completions.create({ model: 'sim/chat', messages: prompt('node-once') }), OpenAI.RateLimitError, 429, 'rate_limit_exceeded');
  assert.equal(error.headers.get('retry-after'), '2');
  const answer = await weir.client({ maxRetries: 2 }).chat.completions.create({ model: 'sim/chat', messages: prompt('node-twice') });
  assert.ok(answer.choices[0].message.content.length > 0);
});

test('502: broken provider', () => refused(weir.client().chat.completions.create({ model: 'sim/chat', messages: user('Hello. [[sim fault=u15]]') }), OpenAI.InternalServerError, 502, 'provider_unavailable'));

test('502 before the first word of a stream', () => refused(weir.client().chat.completions.create({ model: 'sim/chat', messages: user('Hello. [[sim fault=u18]]'), stream: true }), OpenAI.InternalServerError, 502, 'provider_unavailable'));

for (const [name, marker] of Object.entries({ 'ends early': 'u7', resets: 'u6', 'sends broken JSON': 'u27' })) {
  test(`a provider that ${name} mid-stream raises`, async () => {
    const own = await weir.client().chat.completions.create({ model: 'sim/chat', messages: user(`A story. [[sim fault=${marker} after=3 frames=10]]`), stream: true });
    let content = '';
    await assert.rejects(async () => {
      for await (const chunk of own) content += chunk.choices[0]?.delta?.content ?? '';
    }, (error) => error instanceof OpenAI.APIError);
    assert.notEqual(content, '', 'what came before the break was lost');
  });
}

test('the stream helper raises too', async () => {
  const stream = weir.client().chat.completions.stream({ model: 'sim/chat', messages: user('A story. [[sim fault=u7 after=3 frames=10]]') });
  await assert.rejects(stream.finalContent(), (error) => error instanceof OpenAI.OpenAIError);
});

test('fallback to the next model', async () => {
  const messages = user('Hello. [[sim fault=u15 times=1 id=node-fallback]]');
  const answer = await unhurt.client().chat.completions.create({ model: 'sim/chat', models: ['sim/echo'], messages });
  assert.equal(answer.model, 'sim/echo');
});
