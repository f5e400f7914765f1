// OpenRouter's SDK with Weir as its server. It validates every member of every answer.
import { OpenRouter } from '@openrouter/sdk';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo, limit, nanos } from './clients.js';

const weir = await demo();
const failing = await demo(); // a gateway of its own: it leaves a provider alone that fails too often

const sdk = (of, apiKey = of.api_key) => new OpenRouter({ apiKey, serverURL: of.api, retryConfig: { strategy: 'none' } });
const send = (of, request, apiKey) => sdk(of, apiKey).chat.send({ chatRequest: request });
const user = (content) => [{ role: 'user', content }];

async function read(stream, each = () => {}) {
  let [text, usage] = ['', undefined];
  for await (const chunk of await stream) {
    if (chunk.error) throw new Error(chunk.error.message);
    text += chunk.choices[0]?.delta.content ?? '';
    each(text);
    usage = chunk.usage ?? usage;
  }
  return { text, usage };
}

for (const model of weir.models('chat')) {
  test(`whole and streamed, ${model}`, limit, async () => {
    const whole = await send(weir, { model, messages: user('What is a weir?') });
    const streamed = await read(send(weir, { model, messages: user('What is a weir?'), stream: true }));
    assert.equal(streamed.text, whole.choices[0].message.content);
    assert.equal(streamed.usage.completionTokens, whole.usage.completionTokens);
    assert.equal(nanos(whole.usage.cost), await weir.charge(whole.id));
  });
}

for (const model of [...weir.models('tools'), ...weir.models('reason')]) {
  test(`tool loop with reasoning, ${model}`, limit, async () => {
    const tools = [{ type: 'function', function: { name: 'water_level', parameters: { type: 'object', properties: { river: { type: 'string' } }, required: ['river'] } } }];
    const messages = user('How high is the Thames?');
    const request = { model, messages, tools, reasoning: { effort: 'high' } };
    const asked = (await send(weir, request)).choices[0].message;
    assert.equal(asked.toolCalls.length, 1);
    messages.push(asked, { role: 'tool', toolCallId: asked.toolCalls[0].id, content: 'It stands at 1.7 m.' });
    assert.match((await send(weir, request)).choices[0].message.content, /stands at 1\.7 m/);
  });
}

test('account', limit, async () => {
  const before = (await sdk(weir).credits.getCredits()).data.totalUsage;
  const { usage } = await send(weir, { model: 'sim/echo', messages: user('Hello.') });
  const after = (await sdk(weir).credits.getCredits()).data.totalUsage;
  assert.ok(nanos(after) - nanos(before) >= nanos(usage.cost)); // other tests spend too
});

test('errors', limit, async () => {
  const hello = { model: 'sim/chat', messages: user('Hello.') };
  for (const stream of [false, true]) {
    await assert.rejects(send(weir, { ...hello, model: 'sim/nobody', stream }), { statusCode: 404 });
    await assert.rejects(send(weir, { ...hello, stream }, await weir.emptyKey()), { statusCode: 402 });
  }
});

test('a provider that dies mid-stream', limit, async () => {
  for (const model of failing.models('chat')) {
    let said = '';
    await assert.rejects(read(send(failing, { model, messages: user('A story. [[sim fault=u6 after=3 frames=10]]'), stream: true }), (text) => { said = text; }));
    assert.notEqual(said, '', 'what came before the break was lost');
  }
});
