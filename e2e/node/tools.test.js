import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo, user } from './weir.js';

const weir = await demo();
const completions = weir.client().chat.completions;

const tools = [
  { type: 'function', function: { name: 'water_level', parameters: { type: 'object', properties: { river: { type: 'string' } }, required: ['river'] } } },
  { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] } } },
];

function checkCalls(choice, count) {
  assert.equal(choice.finish_reason, 'tool_calls');
  const calls = choice.message.tool_calls;
  assert.equal(calls.length, count);
  assert.equal(new Set(calls.map((call) => call.id)).size, count, 'ids must differ');
  for (const call of calls) {
    assert.equal(call.type, 'function');
    assert.equal(typeof JSON.parse(call.function.arguments)[call.function.name === 'weather' ? 'town' : 'river'], 'string');
  }
}

for (const count of [1, 3]) {
  test(`${count} tool call(s)`, async () => {
    const request = { model: 'sim/tools', messages: user(`How high is it? [[sim calls=${count}]]`), tools, tool_choice: 'required', parallel_tool_calls: true };
    checkCalls((await completions.create(request)).choices[0], count);
    checkCalls((await completions.stream(request).finalChatCompletion()).choices[0], count);
  });
}

test('the tool runner of the SDK', async () => {
  const asked = [];
  const runner = completions.runTools({
    model: 'sim/tools',
    messages: user('How high is the Thames?'),
    tools: [{ type: 'function', function: { ...tools[0].function, parse: JSON.parse, function: (args) => { asked.push(args); return '1.7 m'; } } }],
  }, { maxChatCompletions: 4 });
  const answer = await runner.finalContent();
  assert.ok(asked.length > 0, 'the tool was never called');
  assert.ok(answer.length > 0);
});

test('the tool runner of the SDK, streamed', async () => {
  let calls = 0;
  const runner = completions.runTools({
    model: 'sim/tools',
    stream: true,
    messages: user('How high is the Severn?'),
    tools: [{ type: 'function', function: { ...tools[0].function, parse: JSON.parse, function: () => { calls += 1; return '2.1 m'; } } }],
  }, { maxChatCompletions: 4 });
  assert.ok((await runner.finalContent()).length > 0);
  assert.ok(calls > 0);
});
