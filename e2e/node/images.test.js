import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toFile } from 'openai';
import { demo, nanos } from './weir.js';

const weir = await demo();
const { images } = weir.client();

const isPNG = (encoded) => Buffer.from(encoded, 'base64').subarray(1, 4).toString() === 'PNG';

test('pictures', async () => {
  const made = await images.generate({ model: 'sim/picture', prompt: 'A weir in spring', n: 2, size: '1024x1024', quality: 'low' });
  assert.equal(made.data.length, 2);
  assert.ok(made.data.every((one) => isPNG(one.b64_json)));
  assert.equal(made.size, '1024x1024');
  assert.equal(made.quality, 'low');
  assert.equal(made.usage.total_tokens, made.usage.input_tokens + made.usage.output_tokens);
  assert.ok(nanos(made.usage.cost) > 0n);
});

test('a stream with previews', async () => {
  const seen = [];
  for await (const event of await images.generate({ model: 'sim/picture', prompt: 'A weir in autumn', stream: true, partial_images: 2 })) seen.push(event);
  assert.deepEqual(seen.map((event) => event.type), ['image_generation.partial_image', 'image_generation.partial_image', 'image_generation.completed']);
  assert.deepEqual(seen.slice(0, 2).map((event) => event.partial_image_index), [0, 1]);
  assert.ok(seen.every((event) => isPNG(event.b64_json)));
  assert.ok(seen.at(-1).usage.output_tokens > 0);
});

test('a stream from a queue', async () => {
  const seen = [];
  for await (const event of await images.generate({ model: 'sim/picture-queue', prompt: 'A weir in winter', n: 2, stream: true })) seen.push(event);
  assert.deepEqual(seen.map((event) => event.type), ['image_generation.completed', 'image_generation.completed']);
  assert.equal(seen[0].usage, undefined);
  assert.ok(nanos(seen[1].usage.cost) > 0n);
});

test('an edit', async () => {
  const { data } = await images.generate({ model: 'sim/picture', prompt: 'A weir' });
  const file = await toFile(Buffer.from(data[0].b64_json, 'base64'), 'weir.png', { type: 'image/png' });
  const edited = await images.edit({ model: 'sim/picture', image: [file, file], prompt: 'Higher water' });
  assert.ok(isPNG(edited.data[0].b64_json));
  assert.ok(edited.usage.input_tokens_details.image_tokens > 0);
});

test('a variation', async () => {
  const made = await images.generate({ model: 'sim/picture', prompt: 'A weir in winter' });
  const image = await toFile(Buffer.from(made.data[0].b64_json, 'base64'), 'weir.png', { type: 'image/png' });
  const varied = await images.createVariation({ model: 'sim/picture', image, n: 2 });
  assert.equal(varied.data.length, 2);
  assert.ok(varied.data.every((one) => isPNG(one.b64_json)));
});
