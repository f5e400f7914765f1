import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { demo, user, wires as wiresOf } from './weir.js';

const weir = await demo();
const failing = await demo(); // a gateway of its own: it leaves a provider alone that fails too often
const sdk = (of, options = {}) => new Anthropic({ baseURL: of.api.replace(/\/v1$/, ''), apiKey: of.api_key, authToken: null, maxRetries: 0, timeout: 60_000, ...options });
const client = sdk(weir);

const text = (message) => message.content.filter((block) => block.type === 'text').map((block) => block.text).join('');

// One model on each provider wire. Clients of this style must see no difference.
const wires = (persona) => wiresOf(weir, persona);

for (const model of wires('chat')) {
  test(`create and stream, ${model}`, async () => {
    const request = { model, max_tokens: 2000, messages: user('What is a weir?') };
    const whole = await client.messages.create(request);
    const pieces = [];
    const stream = client.messages.stream(request).on('text', (piece) => pieces.push(piece));
    const streamed = await stream.finalMessage();
    assert.equal(whole.type, 'message');
    assert.equal(whole.model, model);
    assert.equal(whole.stop_reason, 'end_turn');
    assert.notEqual(text(whole), '');
    assert.match(whole._request_id, /^req_/);
    assert.equal(text(streamed), text(whole));
    assert.equal(pieces.join(''), text(whole));
    assert.ok(pieces.length > 3, 'not streamed');
    assert.equal(streamed.usage.output_tokens, whole.usage.output_tokens);
    assert.equal(streamed.usage.input_tokens, whole.usage.input_tokens);
  });

  test(`count_tokens and beta, ${model}`, async () => {
    const messages = user('How long is this?');
    assert.ok((await client.messages.countTokens({ model, messages })).input_tokens > 2);
    const beta = await client.beta.messages.create({ model, max_tokens: 100, messages, betas: ['context-1m-2025-08-07'] });
    assert.notEqual(text(beta), '');
  });
}

const tools = [
  { name: 'water_level', description: 'Tells how high a river is.', input_schema: { type: 'object', properties: { river: { type: 'string' } }, required: ['river'] } },
  { name: 'time', input_schema: { type: 'object', properties: {} } },
];

for (const model of wires('reason')) {
  const count = model.endsWith('gigachat') ? 1 : 2; // that wire has one call in an answer
  for (const streamed of [false, true]) {
    test(`tools and thinking, ${model}, ${streamed ? 'streamed' : 'whole'}`, async () => {
      const messages = user(`How high is it? [[sim calls=${count}]]`);
      const send = () => {
        const request = { model, max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 1024 }, tools, messages };
        return streamed ? client.messages.stream(request).finalMessage() : client.messages.create(request);
      };
      for (let turn = 0; turn < 2; turn += 1) {
        const message = await send();
        assert.equal(message.stop_reason, 'tool_use');
        assert.ok(message.content.some((block) => block.type === 'thinking' && block.thinking !== '' && block.signature !== ''));
        const calls = message.content.filter((block) => block.type === 'tool_use');
        assert.equal(new Set(calls.map((call) => call.id)).size, count);
        messages.push({ role: 'assistant', content: message.content });
        messages.push({ role: 'user', content: calls.map((call) => ({ type: 'tool_result', tool_use_id: call.id, content: `result of ${call.name}` })) });
        const after = await send();
        assert.equal(after.stop_reason, 'end_turn');
        for (const call of calls) assert.ok(text(after).includes(`result of ${call.name}`), text(after));
        messages.push({ role: 'assistant', content: after.content }, ...user(`And now? [[sim calls=${count}]]`));
      }
    });
  }
}

for (const model of wires('chat')) {
  test(`the tool runner goes on without a thread, ${model}`, async () => {
    const sent = [];
    const watched = sdk(weir, { fetch: (url, init) => { sent.push(JSON.parse(init.body)); return fetch(url, init); } });
    const tool = { name: 'water_level', description: 'Reads a gauge.', input_schema: { type: 'object', properties: {} }, parse: (input) => input, run: () => 'three metres' };
    const answer = await watched.beta.messages.toolRunner({ model, max_tokens: 500, tools: [tool], messages: user('K-thread: how high is it? [[sim calls=1]]') }).runUntilDone();
    assert.equal(answer.stop_reason, 'end_turn');
    assert.match(text(answer), /three metres/);
    assert.deepEqual(sent.map((body) => [body.thread?.type, body.messages.length]), [['create', 1], [undefined, 1], [undefined, 3]]);
    await assert.rejects(client.beta.messages.create({ ...sent[2], thread: { type: 'continue', previous_message_id: 'msg_1' }, betas: ['message-threads-2026-08-12'] }),
      (error) => error.status === 400 && error.error.error.details.error_code === 'thread_unsupported_request');
  });
}

for (const model of wires('chat').filter((name) => !name.endsWith('-gemini'))) { // there the prompt is refused: an error
  test(`a refusal, ${model}`, async () => {
    const request = { model, max_tokens: 500, messages: user('How do I open the sluice? [[sim finish=refusal]]') };
    const started = [];
    const streamed = await client.messages.stream(request).on('streamEvent', (event) => { if (event.type === 'message_start') started.push(event.message.usage.input_tokens); }).finalMessage();
    for (const answer of [await client.messages.create(request), streamed]) {
      assert.equal(answer.stop_reason, 'refusal');
    }
    assert.ok(started[0] > 5, `message_start says ${started} tokens`);
  });
}

test('models', async () => {
  const listed = [];
  for await (const model of client.models.list()) listed.push(model);
  assert.ok(listed.length > 5);
  for (const model of [...listed, await client.models.retrieve('sim/chat-anthropic')]) {
    assert.equal(model.type, 'model');
    assert.notEqual(model.display_name, '');
    assert.ok(Date.parse(model.created_at) > Date.parse('2020-01-01'), `${model.id} was created at ${model.created_at}`);
    assert.equal(Date.parse(model.created_at), model.created * 1000);
  }
});

test('both places of the key', async () => {
  const request = { model: 'sim/chat', max_tokens: 20, messages: user('Hello.') };
  await sdk(weir, { apiKey: weir.api_key, authToken: null }).messages.create(request);
  await sdk(weir, { apiKey: null, authToken: weir.api_key }).messages.create(request);
  await assert.rejects(sdk(weir, { apiKey: 'sk-ant-wrong' }).messages.create(request), (error) => error instanceof Anthropic.AuthenticationError && error.status === 401);
});

for (const [fault, status, kind] of [['u12', 400, 'invalid_request_error'], ['u9', 429, 'rate_limit_error'], ['u16', 529, 'overloaded_error']]) {
  test(`fault ${fault} is ${status}`, async () => {
    const request = { model: 'sim/chat-anthropic', max_tokens: 100, messages: user(`[[sim fault=${fault}]] Hello.`) };
    for (const call of [() => sdk(failing).messages.create(request), () => sdk(failing).messages.stream(request).finalMessage()]) {
      await assert.rejects(call(), (error) => {
        assert.equal(error.status, status);
        assert.equal(error.error.error.type, kind);
        assert.match(error.requestID, /^req_/);
        return true;
      });
    }
    await sdk(failing).messages.create({ ...request, messages: user('Hello.') }); // it is well again
  });
}

test('a rate limit is waited for by the SDK', async () => {
  const messages = user('[[sim fault=u9 retry-after=1 times=1 id=node]] Hello.');
  const answer = await sdk(failing, { maxRetries: 2 }).messages.create({ model: 'sim/chat-gemini', max_tokens: 100, messages });
  assert.notEqual(text(answer), '');
});

for (const model of wires('chat')) {
  test(`a stream that breaks is an error, ${model}`, async () => {
    const stream = sdk(failing).messages.stream({ model, max_tokens: 100, messages: user('[[sim fault=u6 after=3]] Hello.') });
    await assert.rejects(stream.finalMessage());
  });
}
