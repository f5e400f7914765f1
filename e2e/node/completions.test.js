// OpenAI's legacy style with the unmodified SDK.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo, nanos, sendingWrong, wires } from './weir.js';

const weir = await demo();
const { completions } = weir.client();

/** Reads a stream: its text, ids and usage. */
async function read(request) {
  const seen = { text: '', ids: new Set(), usage: undefined };
  for await (const piece of await completions.create({ ...request, stream: true, stream_options: { include_usage: true } })) {
    seen.text += piece.choices[0]?.text ?? '';
    seen.ids.add(piece.id);
    seen.usage = piece.usage ?? seen.usage;
  }
  return seen;
}

for (const model of wires(weir, 'chat')) {
  test(`a text from ${model}, whole and streamed`, async () => {
    const request = { model, prompt: 'Tell me of weirs.', max_tokens: 1000 };
    const whole = await completions.create(request);
    assert.equal(whole.object, 'text_completion');
    assert.ok(whole.choices[0].text.length > 10);
    assert.equal(whole.choices[0].finish_reason, 'stop');
    assert.ok(nanos(whole.usage.cost) > 0n);
    const seen = await read(request);
    assert.ok(seen.text.length > 10);
    assert.equal(seen.ids.size, 1);
    assert.ok(seen.usage.completion_tokens > 0);
  });
}

test('the prompt before the text', async () => {
  const request = { model: 'sim/echo', prompt: 'Over the weir', echo: true, max_tokens: 100 };
  assert.equal((await completions.create(request)).choices[0].text, 'Over the weirOver the weir');
  assert.equal((await read(request)).text, 'Over the weirOver the weir');
});

test('several answers with probabilities, and what is refused', async () => {
  const is = await completions.create({ model: 'sim/chat', prompt: 'Tell me.', n: 2, best_of: 2, logprobs: 3, max_tokens: 8 });
  assert.equal(is.choices.length, 2);
  for (const { logprobs, text } of is.choices) {
    assert.equal(logprobs.tokens.join(''), text);
    assert.equal(logprobs.text_offset[0], 0);
    assert.ok(logprobs.token_logprobs.every((n) => n <= 0));
  }
  for (const wrong of [{ prompt: ['a', 'b'] }, { prompt: [1212, 318] }, { suffix: 'end' }, { best_of: 3 }]) {
    await assert.rejects(sendingWrong(weir).completions.create({ model: 'sim/chat', prompt: 'a', ...wrong }), { status: 400 });
  }
});
