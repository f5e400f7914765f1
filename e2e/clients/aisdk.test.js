// The Vercel AI SDK with each of its providers that works with Weir.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import { APICallError, generateObject, generateText, isStepCount, Output, streamText, tool } from 'ai';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { demo, limit } from './clients.js';

globalThis.AI_SDK_LOG_WARNINGS = false;

const weir = await demo();
const failing = await demo(); // a gateway of its own: it leaves a provider alone that fails too often

const settings = (of, more) => ({ baseURL: of.api, apiKey: of.api_key, fetch: of.fetch, ...more });

/** By name: how a model is made, and what makes it think. */
const providers = {
  'openai, chat': [(model, of = weir, more = {}) => createOpenAI(settings(of, more)).chat(model), { openai: { reasoningEffort: 'high', forceReasoning: true } }],
  'openai, responses': [(model, of = weir, more = {}) => createOpenAI(settings(of, more)).responses(model), { openai: { reasoningEffort: 'high', reasoningSummary: 'auto', forceReasoning: true } }],
  'openai-compatible': [
    (model, of = weir, more = {}) => createOpenAICompatible({ name: 'weir', includeUsage: true, supportsStructuredOutputs: true, ...settings(of, more) })(model),
    { weir: { reasoningEffort: 'high' } },
  ],
  anthropic: [(model, of = weir, more = {}) => createAnthropic(settings(of, more))(model), { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } }],
  openrouter: [(model, of = weir, more = {}) => createOpenRouter({ compatibility: 'strict', ...settings(of, more) })(model), { openrouter: { reasoning: { effort: 'high' } } }],
};

/** What every request sets: Anthropic's provider writes 4096 tokens for models that it does not know. */
const common = { maxRetries: 0, maxOutputTokens: 6000 };

const river = z.object({ name: z.string(), km: z.number().int() });
const tools = {
  water_level: tool({ description: 'Tells how high a river is.', inputSchema: z.object({ river: z.string() }), execute: ({ river: name }) => `The ${name} stands at 1.7 m.` }),
};

for (const [name, [make, thinking]] of Object.entries(providers)) {
  describe(`AI SDK, ${name}`, { concurrency: true }, () => {
    for (const model of weir.models('chat')) {
      test(`text, ${model}`, limit, async () => {
        const request = { ...common, model: make(model), prompt: 'What is a weir?' };
        const whole = await generateText(request);
        assert.ok(whole.text.length > 0);
        assert.equal(whole.finishReason, 'stop');
        assert.deepEqual(whole.warnings, []);
        assert.ok(whole.usage.inputTokens > 0 && whole.usage.outputTokens > 0);
        const streamed = streamText(request);
        const pieces = [];
        for await (const piece of streamed.textStream) pieces.push(piece);
        assert.equal(pieces.join(''), whole.text);
        assert.ok(pieces.length > 3, 'not streamed');
        const usage = await streamed.usage;
        assert.deepEqual([usage.inputTokens, usage.outputTokens], [whole.usage.inputTokens, whole.usage.outputTokens]);
      });

      test(`object, ${model}`, limit, async () => {
        const request = { ...common, model: make(model), prompt: 'Describe a river.' };
        const { object } = await generateObject({ ...request, schema: river });
        assert.ok(Number.isInteger(object.km));
        const streamed = streamText({ ...request, output: Output.object({ schema: river }) });
        await streamed.consumeStream();
        assert.deepEqual(await streamed.output, object);
      });
    }

    for (const model of weir.models('tools')) {
      test(`tool loop, ${model}`, limit, async () => {
        const request = { ...common, model: make(model), prompt: 'How high is the Thames?', tools, stopWhen: isStepCount(4) };
        const whole = await generateText(request);
        assert.deepEqual(whole.steps.map((step) => step.finishReason), ['tool-calls', 'stop']);
        assert.match(whole.text, /stands at 1\.7 m/);
        const streamed = streamText(request);
        await streamed.consumeStream();
        assert.equal(await streamed.text, whole.text);
      });
    }

    for (const model of [...weir.models('reason'), 'sim/anywhere']) {
      for (const stream of [false, true]) test(`thinks, calls and goes on, ${model}, ${stream ? 'streamed' : 'whole'}`, limit, () => converse(name, make(model), thinking, stream));
    }

    test('errors', limit, () => errors(make));
    test('a provider that dies mid-stream', limit, () => dies(name, make));
  });
}

/** Two turns with a call each. The simulator refuses thinking that came back altered, and the dialects that need it refuse its lack. */
async function converse(name, model, providerOptions, stream) {
  const messages = [{ role: 'user', content: 'How high is the Thames?' }];
  for (const place of ['Thames', 'Severn']) {
    const request = { ...common, model, messages, providerOptions, tools, stopWhen: isStepCount(4) };
    const result = stream ? streamText(request) : await generateText(request);
    if (stream) await result.consumeStream();
    const steps = await result.steps;
    assert.deepEqual(steps.map((step) => step.finishReason), ['tool-calls', 'stop']);
    assert.match(await result.text, new RegExp(`${place}.*stands at 1\\.7 m`));
    if (!hides(model, '-bedrock', '-gigachat')) { // whose wires count thinking with the rest
      assert.ok((await result.totalUsage).outputTokenDetails.reasoningTokens > 0, 'it did not think');
    }
    if (['anthropic', 'openrouter'].includes(name)) { // those that keep signed thinking
      assert.ok(steps.every((step) => step.reasoning.length > 0), 'thinking was lost on the way');
    }
    messages.push(...(await result.response).messages, { role: 'user', content: 'And the Severn?' });
  }
}

/** Whether a model is, or may be, served by one of the wires with those endings. */
const hides = (model, ...wires) => wires.some((wire) => model.modelId.endsWith(wire)) || model.modelId === 'sim/anywhere';

async function errors(make) {
  const refused = async (model, status) => {
    for (const call of [() => generateText({ ...common, model, prompt: 'Hello.' }), () => streamedText(model, 'Hello.')]) {
      await assert.rejects(call, (error) => {
        assert.ok(APICallError.isInstance(error), String(error));
        assert.equal(error.statusCode, status);
        assert.ok(error.message.length > 0);
        return true;
      });
    }
  };
  await refused(make('sim/nobody'), 404);
  await refused(make('sim/chat', weir, { apiKey: `sk-weir-v1-${'A'.repeat(49)}` }), 401);
  await refused(make('sim/chat', weir, { apiKey: await weir.emptyKey() }), 402);
}

async function dies(name, make) {
  for (const model of failing.models('chat')) {
    let text = '';
    const reading = streamedText(make(model, failing), 'A story. [[sim fault=u6 after=3 frames=10]]', (piece) => { text += piece; });
    await assert.rejects(reading, undefined, `${model}: a broken answer looks whole`);
    assert.notEqual(text, '', 'what came before the break was lost');
  }
}

/** Reads a stream, and throws the error that the SDK hands over as a part of it. */
async function streamedText(model, prompt, each = () => {}) {
  const result = streamText({ ...common, model, prompt, onError: () => {} });
  for await (const part of result.fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') each(part.text);
  }
  return { finishReason: await result.finishReason, rawFinishReason: await result.rawFinishReason };
}
