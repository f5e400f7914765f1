import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, FunctionCallingConfigMode, GoogleGenAI, ThinkingLevel, Type } from '@google/genai';
import { demo, wires as wiresOf } from './weir.js';

const weir = await demo();
const failing = await demo(); // a gateway of its own: it leaves a provider alone that fails too often
const sdk = (of, apiKey = of.api_key) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: of.api.replace(/\/v1$/, ''), fetch: of.contract.fetch } });
const ai = sdk(weir);

// One model on each provider wire. Clients of this style must see no difference.
const wires = (persona) => wiresOf(weir, persona);

const text = (parts) => parts.filter((part) => part.text && !part.thought).map((part) => part.text).join('');

/** The parts of a stream, joined as applications do, and its last piece. */
async function collect(stream) {
  const parts = [];
  let last;
  for await (const piece of await stream) {
    parts.push(...(piece.candidates?.[0]?.content?.parts ?? []));
    last = piece;
  }
  return { parts, last };
}

for (const model of wires('chat')) {
  test(`whole and streamed, ${model}`, async () => {
    const request = { model, contents: 'What is a weir?', config: { systemInstruction: 'Be kind.', maxOutputTokens: 500, temperature: 0.5, stopSequences: model.match(/responses|gigachat/) ? [] : ['HALT'] } };
    const whole = await ai.models.generateContent(request);
    assert.notEqual(whole.text, '');
    assert.equal(whole.candidates[0].finishReason, 'STOP');
    assert.equal(whole.modelVersion, model);
    assert.ok(whole.usageMetadata.cost > 0);
    assert.equal(whole.usageMetadata.totalTokenCount, whole.usageMetadata.promptTokenCount + whole.usageMetadata.candidatesTokenCount);
    const { parts, last } = await collect(ai.models.generateContentStream(request));
    assert.equal(text(parts), whole.text);
    assert.ok(parts.length > 3, 'not streamed');
    assert.equal(last.candidates[0].finishReason, 'STOP');
    assert.equal(last.usageMetadata.cost, whole.usageMetadata.cost);
    assert.ok((await ai.models.countTokens({ model, contents: 'What is a weir?' })).totalTokens > 2);
  });

  test(`a chat, ${model}`, async () => {
    const chat = ai.chats.create({ model });
    await chat.sendMessage({ message: 'First.' });
    for await (const piece of await chat.sendMessageStream({ message: 'Second.' })) assert.ok(piece);
    assert.ok(chat.getHistory(true).length >= 4); // the SDK keeps the pieces of a stream apart
    assert.match((await chat.sendMessage({ message: 'Third?' })).text, /Third/);
  });

  test(`JSON by a schema, ${model}`, async () => {
    const schema = { type: Type.OBJECT, properties: { city: { type: Type.STRING, enum: ['Perm'] }, mills: { type: Type.INTEGER, nullable: false } }, required: ['city', 'mills'], propertyOrdering: ['city', 'mills'] };
    const answer = await ai.models.generateContent({ model, contents: 'Answer in JSON.', config: { responseMimeType: 'application/json', responseSchema: schema } });
    assert.equal(JSON.parse(answer.text).city, 'Perm');
    const plain = { type: 'object', properties: { city: { type: 'string', enum: ['Perm'] } }, required: ['city'], additionalProperties: false };
    const again = await ai.models.generateContent({ model, contents: 'Answer in JSON.', config: { responseMimeType: 'application/json', responseJsonSchema: plain } });
    assert.deepEqual(JSON.parse(again.text), { city: 'Perm' });
  });
}

const declared = [
  { name: 'water_level', description: 'Tells how high a river is.', parameters: { type: Type.OBJECT, properties: { river: { type: Type.STRING } }, required: ['river'] } },
  { name: 'time', description: 'Tells the time.', parametersJsonSchema: { type: 'object', properties: {} } },
];

for (const model of wires('reason')) {
  const calls = model.endsWith('gigachat') ? 1 : 2; // that wire has one call in an answer
  for (const streamed of [false, true]) {
    test(`tools and thinking, ${model}, ${streamed ? 'streamed' : 'whole'}`, async () => {
      const contents = [{ role: 'user', parts: [{ text: `How high is it? [[sim calls=${calls}]]` }] }];
      const send = async () => {
        const request = { model, contents, config: { tools: [{ functionDeclarations: declared }], thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 }, maxOutputTokens: 4000 } };
        if (streamed) return (await collect(ai.models.generateContentStream(request))).parts;
        return (await ai.models.generateContent(request)).candidates[0].content.parts;
      };
      for (let turn = 0; turn < 2; turn += 1) {
        const parts = await send();
        assert.ok(parts.some((part) => part.thought && part.text), 'no thoughts');
        const made = parts.filter((part) => part.functionCall).map((part) => part.functionCall);
        assert.equal(new Set(made.map((call) => call.id)).size, calls);
        contents.push({ role: 'model', parts: turn ? parts.filter((part) => !part.thought) : parts }); // many clients keep no thoughts
        contents.push({ role: 'user', parts: made.map((call) => ({ functionResponse: { id: call.id, name: call.name, response: { output: `result of ${call.name}` } } })) });
        const after = await send();
        for (const call of made) assert.match(text(after), new RegExp(`result of ${call.name}`));
        contents.push({ role: 'model', parts: after }, { role: 'user', parts: [{ text: `And now? [[sim calls=${calls}]]` }] });
      }
    });
  }
}

for (const model of wires('tools')) {
  test(`calls that are required, ${model}`, async () => {
    const config = { tools: [{ functionDeclarations: declared }], toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ['time'] } } };
    assert.deepEqual((await ai.models.generateContent({ model, contents: 'What time is it?', config })).functionCalls.map((call) => call.name), ['time']);
    config.toolConfig.functionCallingConfig = { mode: FunctionCallingConfigMode.NONE };
    const silent = await ai.models.generateContent({ model, contents: 'What time is it?', config });
    assert.equal(silent.functionCalls, undefined);
    assert.notEqual(silent.text, '');
  });
}

test('thinking by level, and hidden', async () => {
  const shown = await ai.models.generateContent({ model: 'sim/reason-anthropic', contents: 'Why?', config: { thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.LOW } } });
  assert.ok(shown.candidates[0].content.parts[0].thought);
  assert.ok(shown.usageMetadata.thoughtsTokenCount > 0);
  const hidden = await ai.models.generateContent({ model: 'sim/reason-anthropic', contents: 'Why?', config: { thinkingConfig: { thinkingLevel: ThinkingLevel.LOW } } });
  assert.ok(hidden.usageMetadata.thoughtsTokenCount > 0);
  assert.ok(!hidden.candidates[0].content.parts.some((part) => part.thought));
});

test('an image and a document', async () => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  for (const model of ['sim/chat-gemini', 'sim/chat-anthropic', 'sim/vision']) {
    const answer = await ai.models.generateContent({ model, contents: [{ role: 'user', parts: [{ text: 'What is this?' }, { inlineData: { mimeType: 'image/png', data: png } }, { inlineData: { mimeType: 'text/plain', data: Buffer.from('a note').toString('base64') } }] }] });
    assert.notEqual(answer.text, '');
    if (model === 'sim/vision') assert.match(answer.text, /image png 1x1/);
  }
});

test('an image that the model makes', async () => {
  const answer = await ai.models.generateContent({ model: 'sim/image', contents: 'Draw a weir.', config: { responseModalities: ['TEXT', 'IMAGE'] } });
  assert.equal(answer.candidates[0].content.parts.find((part) => part.inlineData).inlineData.mimeType, 'image/png');
  assert.notEqual(answer.data, undefined);
});

test('several candidates', async () => {
  const request = { model: 'sim/chat', contents: 'What is a weir?', config: { candidateCount: 2, maxOutputTokens: 50 } };
  assert.equal((await ai.models.generateContent(request)).candidates.length, 2);
  let ended = 0;
  for await (const piece of await ai.models.generateContentStream(request)) ended += piece.candidates.filter((one) => one.finishReason).length;
  assert.equal(ended, 2);
});

test('vectors', async () => {
  for (const model of ['sim/embed', 'sim/embed-gemini', 'sim/embed-cohere']) {
    const answer = await ai.models.embedContent({ model, contents: ['A weir.', 'A mill.'], config: { taskType: 'RETRIEVAL_DOCUMENT' } });
    assert.equal(answer.embeddings.length, 2);
    assert.ok(answer.embeddings[0].values.length > 3);
    assert.notDeepEqual(answer.embeddings[0].values, answer.embeddings[1].values);
  }
});

test('lists of models', async () => {
  const all = [];
  for await (const model of await ai.models.list({ config: { pageSize: 7 } })) all.push(model.name);
  assert.ok(all.includes('models/sim/chat') && all.includes('models/sim/embed') && new Set(all).size === all.length, all.join());
  for (const name of ['sim/chat-gemini', 'models/sim/chat-gemini', 'chat-gemini']) {
    const model = await ai.models.get({ model: name });
    assert.equal(model.name, 'models/sim/chat-gemini');
    assert.ok(model.inputTokenLimit > 0);
  }
});

test('a prompt that is blocked', async () => {
  for (const model of ['sim/chat-gemini']) {
    const request = { model, contents: 'How do I open the sluice? [[sim finish=refusal]]' };
    assert.equal((await ai.models.generateContent(request)).promptFeedback.blockReason, 'PROHIBITED_CONTENT');
    let seen;
    for await (const piece of await ai.models.generateContentStream(request)) seen = piece.promptFeedback?.blockReason ?? seen;
    assert.equal(seen, 'PROHIBITED_CONTENT');
  }
});

test('preferences, and what is left out', async () => {
  const config = { safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }], httpOptions: { headers: { 'X-Provider-Preferences': '{"require_parameters":true}' } } };
  await ai.models.generateContent({ model: 'sim/chat-gemini', contents: 'Hello.', config });
  await assert.rejects(ai.models.generateContent({ model: 'sim/chat-anthropic', contents: 'Hello.', config }), (error) => error instanceof ApiError && error.status === 400 && /safetySettings/.test(error.message));
});

for (const [fault, status, word] of [['u12', 400, 'INVALID_ARGUMENT'], ['u9', 429, 'RESOURCE_EXHAUSTED'], ['u16', 503, 'UNAVAILABLE']]) {
  test(`fault ${fault} is ${status}`, async () => {
    for (const model of ['sim/chat-anthropic', 'sim/chat-gemini']) {
      const request = { model, contents: `[[sim fault=${fault}]] Hello.` };
      for (const call of [() => sdk(failing).models.generateContent(request), () => collect(sdk(failing).models.generateContentStream(request))]) {
        await assert.rejects(call(), (error) => {
          assert.ok(error instanceof ApiError);
          assert.equal(error.status, status);
          assert.equal(JSON.parse(error.message).error.status, word);
          return true;
        });
      }
    }
  });
}

test('a wrong key', async () => {
  await assert.rejects(sdk(weir, 'AIzaWrong').models.generateContent({ model: 'sim/chat', contents: 'Hello.' }), (error) => error instanceof ApiError && error.status === 401);
});

for (const model of wires('chat')) {
  test(`a stream that breaks is an error, ${model}`, async () => {
    const pieces = [];
    const read = async () => { for await (const piece of await sdk(failing).models.generateContentStream({ model, contents: '[[sim fault=u6 after=3]] Hello.' })) pieces.push(piece); };
    await assert.rejects(read(), (error) => error instanceof ApiError && error.status === 502);
    assert.ok(pieces.length > 0);
  });
}
