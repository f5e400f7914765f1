// Videos with OpenRouter's SDK, which validates every member of every answer, and with fetch if the SDK has no method.
import { OpenRouter } from '@openrouter/sdk';
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'node:test';
import { demo, limit, nanos } from './clients.js';

const weir = await demo();
const sdk = new OpenRouter({ apiKey: weir.api_key, serverURL: weir.api, retryConfig: { strategy: 'none' } });
const films = sdk.videoGeneration;
const submit = (request) => films.generate({ videoGenerationRequest: request });
const poll = (job) => films.getGeneration({ jobId: job.id });

async function ended(job) {
  while (job.status === 'pending' || job.status === 'in_progress') {
    await pause(200);
    job = await poll(job);
  }
  return job;
}

const call = (path, init = {}) => weir.fetch(`${weir.api}${path}`, { ...init, headers: { authorization: `Bearer ${weir.api_key}`, ...init.headers } });

test('submit, poll, content', limit, async () => {
  const { data } = await films.listVideosModels();
  const model = data.find((m) => m.id === 'sim/video');
  assert.ok(model.supportedDurations.includes(8) && model.generateAudio, JSON.stringify(model));
  const first = await submit({ model: 'sim/video', prompt: 'A heron.', duration: 8, aspectRatio: '9:16', generateAudio: false });
  assert.equal(first.status, 'pending');
  assert.match(first.id, /^vj_[0-9A-Za-z]{24}$/);
  const done = await ended(first);
  assert.equal(done.status, 'completed', JSON.stringify(done));
  assert.equal(nanos(done.usage.cost), 12_000_000_000n); // 8 s at 1.5 rubles
  assert.equal(nanos(done.usage.cost), await weir.charge(done.generationId));
  assert.equal(done.unsignedUrls.length, 1);

  const pieces = [];
  for await (const piece of await films.getVideoContent({ jobId: done.id })) pieces.push(piece);
  const film = Buffer.concat(pieces);
  assert.equal(film.toString('latin1', 4, 8), 'ftyp');

  const part = await fetch(done.unsignedUrls[0], { headers: { authorization: `Bearer ${weir.api_key}`, range: 'bytes=4-7' } });
  assert.equal(part.status, 206);
  assert.equal(part.headers.get('content-range'), `bytes 4-7/${film.length}`);
  assert.equal(await part.text(), 'ftyp');
});

test('a job that fails', limit, async () => {
  const job = await ended(await submit({ model: 'sim/video-router', prompt: '[[sim job=policy]] A heron.' }));
  assert.equal(job.status, 'failed');
  assert.ok(job.error);
  assert.equal(job.usage, undefined);
  await assert.rejects(films.getVideoContent({ jobId: job.id }), { statusCode: 404 });
});

test('list and delete', limit, async () => {
  const job = await submit({ model: 'sim/video', prompt: '[[sim job=never]] A heron.' });
  let gone;
  do { // while the job is being handed to its provider it cannot be cancelled
    gone = await call(`/videos/${job.id}`, { method: 'DELETE' });
  } while (gone.status === 502 && (await pause(100), true));
  assert.equal((await gone.json()).status, 'cancelled');
  const page = await (await call('/videos?status=cancelled&limit=5')).json();
  assert.ok(page.data.some((one) => one.id === job.id));
});

test('errors', limit, async () => {
  await assert.rejects(submit({ model: 'sim/nothing', prompt: 'A heron.' }), { statusCode: 404 });
  await assert.rejects(submit({ model: 'sim/video', prompt: 'A heron.', duration: 5 }), { statusCode: 400 });
  await assert.rejects(poll({ id: 'vj_nobody' }), { statusCode: 404 });
});
