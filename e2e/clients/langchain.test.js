// LangChain in JavaScript: its OpenAI models in both styles, and its Anthropic one.
import { ChatAnthropic } from '@langchain/anthropic';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent, HumanMessage, tool, ToolMessage } from 'langchain';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { demo, limit } from './clients.js';

const weir = await demo();
const failing = await demo(); // a gateway of its own: it leaves a provider alone that fails too often

const openai = (useResponsesApi) => (model, of = weir, more = {}) => new ChatOpenAI({
  model, useResponsesApi, apiKey: of.api_key, maxRetries: 0, configuration: { baseURL: of.api, fetch: of.fetch }, ...more,
});

const styles = {
  chat: openai(false),
  responses: openai(true),
  messages: (model, of = weir, more = {}) => new ChatAnthropic({ model, apiKey: of.api_key, maxRetries: 0, maxTokens: 6000, anthropicApiUrl: of.root, clientOptions: { fetch: of.fetch }, ...more }),
};

const level = tool(({ river }) => `The ${river} stands at 1.7 m.`, { name: 'water_level', description: 'Tells how high a river is.', schema: z.object({ river: z.string() }) });
const river = z.object({ name: z.string(), km: z.number() }).describe('A river');

for (const [style, make] of Object.entries(styles)) {
  describe(`LangChain, ${style}`, { concurrency: true }, () => {
    for (const model of weir.models('chat')) {
      test(`invoke and stream, ${model}`, limit, async () => {
        const whole = await make(model).invoke('What is a weir?');
        assert.ok(whole.text.length > 0);
        assert.ok(whole.usage_metadata.input_tokens > 0 && whole.usage_metadata.output_tokens > 0);
        let pieces = 0;
        const all = await read(make(model), 'What is a weir?', () => { pieces += 1; });
        assert.equal(all.text, whole.text);
        assert.ok(pieces > 3, 'not streamed');
        if (style === 'messages') assert.ok(all.usage_metadata.output_tokens > 0); // it adds up what the first event says and what the last one does
        else assert.equal(all.usage_metadata.output_tokens, whole.usage_metadata.output_tokens);
      });

      test(`structured output, ${model}`, limit, async () => {
        for (const method of ['functionCalling', 'jsonSchema']) {
          const answer = await make(model).withStructuredOutput(river, { name: 'river', method }).invoke('Describe a river.');
          assert.equal(typeof answer.km, 'number', method);
        }
      });
    }

    for (const model of [...weir.models('tools'), ...weir.models('reason')]) {
      test(`tools by hand and by an agent, ${model}`, limit, async () => {
        const bound = make(model).bindTools([level]);
        const messages = [new HumanMessage('How high is the Thames?')];
        const asked = await bound.invoke(messages);
        assert.equal(asked.tool_calls.length, 1);
        const [call] = asked.tool_calls;
        assert.equal(call.args.river, 'Thames');
        messages.push(asked, new ToolMessage({ tool_call_id: call.id, content: await level.invoke(call.args) }));
        assert.match((await bound.invoke(messages)).text, /stands at 1\.7 m/);

        const agent = createAgent({ model: make(model), tools: [level] });
        const { messages: turns } = await agent.invoke({ messages: [new HumanMessage('How high is the Thames?')] });
        assert.match(turns.at(-1).text, /Thames stands at 1\.7 m/);
      });
    }

    test('errors', limit, async () => {
      const refused = async (model, status) => {
        for (const call of [() => model.invoke('Hello.'), () => read(model, 'Hello.')]) {
          await assert.rejects(call, (error) => error.status === status && error.message.length > 0);
        }
      };
      await refused(make('sim/nobody'), 404);
      await refused(make('sim/chat', weir, { apiKey: `sk-weir-v1-${'A'.repeat(49)}` }), 401);
      await refused(make('sim/chat', weir, { apiKey: await weir.emptyKey() }), 402);
    });

    test('a provider that dies mid-stream', limit, async () => {
      for (const model of failing.models('chat')) {
        let text = '';
        const reading = read(make(model, failing), 'A story. [[sim fault=u6 after=3 frames=10]]', (piece) => { text += piece; });
        if (style === 'responses') { // here it overlooks the event response.failed, but completed an answer is not
          assert.notEqual((await reading).response_metadata.status, 'completed');
          assert.equal((await read(make(model, failing), 'A story.')).response_metadata.status, 'completed');
        } else {
          await assert.rejects(reading, undefined, `${model}: a broken answer looks whole`);
        }
        assert.notEqual(text, '', 'what came before the break was lost');
      }
    });
  });
}

/** Reads a stream; the whole message comes back. */
async function read(model, prompt, each = () => {}) {
  let all;
  for await (const piece of await model.stream(prompt)) {
    each(piece.text);
    all = all ? all.concat(piece) : piece;
  }
  return all;
}
