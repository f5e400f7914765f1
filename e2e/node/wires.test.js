// The official OpenAI SDK in both of its styles with a model on each wire that providers speak. Its users must see no difference.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { collect, demo, nanos, user, wires } from './weir.js';

const weir = await demo();
const failing = await demo(); // a gateway of its own: it leaves a provider alone that fails too often
const { chat: { completions }, responses } = weir.client();

const parameters = { type: 'object', properties: { river: { type: 'string' } }, required: ['river'], additionalProperties: false };
const schema = { type: 'object', properties: { name: { type: 'string' }, km: { type: 'integer' } }, required: ['name', 'km'], additionalProperties: false };

for (const model of wires(weir, 'chat')) {
  test(`chat: whole and streamed, ${model}`, async () => {
    const request = { model, messages: user('What is a weir?'), max_completion_tokens: 500, temperature: 0.5 };
    const whole = await completions.create(request);
    assert.equal(whole.model, model);
    assert.equal(whole.choices[0].finish_reason, 'stop');
    assert.notEqual(whole.choices[0].message.content, '');
    assert.ok(nanos(whole.usage.cost) > 0n);
    const streamed = await collect(completions.create({ ...request, stream: true }));
    assert.equal(streamed.text, whole.choices[0].message.content);
    assert.ok(streamed.chunks.length > 3, 'not streamed');
    assert.equal(streamed.usage.cost, whole.usage.cost);
  });

  test(`chat: JSON by a schema, ${model}`, async () => {
    const answer = await completions.parse({ model, messages: user('Describe a river in JSON.'), response_format: { type: 'json_schema', json_schema: { name: 'river', strict: true, schema } } });
    assert.ok(Number.isInteger(JSON.parse(answer.choices[0].message.content).km));
  });

  for (const [fault, shown] of [['u6', 'is reset'], ['u7', 'ends early']]) {
    test(`chat: a stream that ${shown} raises, ${model}`, async () => {
      const stream = await failing.client().chat.completions.create({ model, messages: user(`A story. [[sim fault=${fault} after=3 frames=10]]`), stream: true });
      let content = '';
      await assert.rejects(async () => {
        for await (const chunk of stream) content += chunk.choices[0]?.delta?.content ?? '';
      }, (error) => error instanceof OpenAI.APIError);
      assert.notEqual(content, '', 'what came before the break was lost');
    });
  }

  test(`responses: whole and with the stream helper, ${model}`, async () => {
    const request = { model, input: 'What is a weir?', max_output_tokens: 500, store: false };
    const whole = await responses.create(request);
    assert.equal(whole.status, 'completed');
    assert.equal(whole.model, model);
    assert.notEqual(whole.output_text, '');
    const events = [];
    const final = await responses.stream(request).on('event', (event) => events.push(event.type)).finalResponse();
    assert.equal(final.output_text, whole.output_text);
    assert.equal(final.usage.cost, whole.usage.cost);
    assert.ok(events.filter((type) => type === 'response.output_text.delta').length > 3, 'not streamed');
  });

  test(`responses: JSON by a schema, ${model}`, async () => {
    const answer = await responses.create({ model, input: 'Describe a river in JSON.', text: { format: { type: 'json_schema', name: 'river', strict: true, schema } } });
    assert.ok(Number.isInteger(JSON.parse(answer.output_text).km));
  });

  test(`responses: a stream that breaks has failed, ${model}`, async () => {
    const final = await failing.client().responses.stream({ model, input: 'A story. [[sim fault=u6 after=3 frames=10]]' }).finalResponse();
    assert.equal(final.status, 'failed');
    assert.equal(final.error.code, 'server_error');
  });
}

for (const model of wires(weir, 'reason')) {
  const count = model.endsWith('gigachat') ? 1 : 2; // that wire has one call in an answer

  test(`chat: tools and reasoning in two turns, ${model}`, async () => {
    const tools = [{ type: 'function', function: { name: 'water_level', parameters } }];
    for (const streamed of [false, true]) {
      const messages = user(`How high is it? [[sim calls=${count}]]`);
      const request = { model, messages, tools, reasoning_effort: 'high' };
      const send = () => (streamed ? completions.stream(request).finalChatCompletion() : completions.create(request));
      const [asked] = (await send()).choices;
      assert.equal(asked.finish_reason, 'tool_calls');
      assert.equal(new Set(asked.message.tool_calls.map((call) => call.id)).size, count);
      messages.push(asked.message, ...asked.message.tool_calls.map((call) => ({ role: 'tool', tool_call_id: call.id, content: `1.7 m at ${JSON.parse(call.function.arguments).river}` })));
      const after = await send();
      assert.equal(after.choices[0].finish_reason, 'stop');
      assert.match(after.choices[0].message.content, /1\.7 m/);
    }
  });

  test(`responses: tools and reasoning in two turns, ${model}`, async () => {
    const tools = [{ type: 'function', name: 'water_level', parameters, strict: false }];
    for (const streamed of [false, true]) {
      const request = { model, input: [{ role: 'user', content: `How high is it? [[sim calls=${count}]]` }], tools, reasoning: { effort: 'high', summary: 'auto' }, store: false, include: ['reasoning.encrypted_content'] };
      const send = () => (streamed ? responses.stream(request).finalResponse() : responses.create(request));
      const asked = await send();
      const calls = asked.output.filter((item) => item.type === 'function_call');
      assert.equal(new Set(calls.map((call) => call.call_id)).size, count);
      request.input.push(...asked.output, ...calls.map((call) => ({ type: 'function_call_output', call_id: call.call_id, output: `1.7 m at ${JSON.parse(call.arguments).river}` })));
      const after = await send();
      assert.equal(after.status, 'completed');
      assert.match(after.output_text, /1\.7 m/);
    }
  });
}
