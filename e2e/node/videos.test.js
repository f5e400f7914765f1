import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { deflateSync } from 'node:zlib';
import { toFile } from 'openai';
import { demo, nanos } from './weir.js';

const weir = await demo();
const { videos } = weir.client();

/** A black picture as a PNG file. */
function picture(width, height) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length);
    body.copy(out, 4);
    out.writeUInt32BE(crc32(body), body.length + 4);
    return out;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  head[8] = 8; // bits of grey
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', head), chunk('IDAT', deflateSync(Buffer.alloc((width + 1) * height))), chunk('IEND', Buffer.alloc(0))]);
}

function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

async function finished(id) {
  for (;;) {
    const video = await videos.retrieve(id);
    if (video.status !== 'queued' && video.status !== 'in_progress') return video;
    await pause(200);
  }
}

test('a video from an image', async () => {
  const file = await toFile(picture(1280, 720), 'weir.png', { type: 'image/png' });
  const made = await videos.create({ model: 'sim/video', prompt: 'The water rises', seconds: '4', size: '1280x720', input_reference: file });
  assert.equal(made.object, 'video');
  assert.equal(made.status, 'queued');
  assert.equal(made.seconds, '4');
  assert.equal(made.size, '1280x720');
  assert.equal(made.error, null);
  const done = await finished(made.id);
  assert.equal(done.status, 'completed');
  assert.equal(done.progress, 100);
  assert.ok(done.completed_at >= done.created_at && done.expires_at > done.completed_at);
  assert.ok(nanos(done.usage.cost) > 0n);

  const content = await videos.downloadContent(made.id);
  assert.equal(content.headers.get('x-video-content-type'), 'video/mp4');
  assert.ok((await content.arrayBuffer()).byteLength > 0);
  await assert.rejects(videos.downloadContent(made.id, { variant: 'thumbnail' }), (error) => error.status === 400 && /variant/.test(error.message));

  const listed = [];
  for await (const one of videos.list({ limit: 1 })) listed.push(one.id);
  assert.deepEqual(listed, [made.id]);

  assert.deepEqual(await videos.delete(made.id), { id: made.id, object: 'video.deleted', deleted: true });
  await assert.rejects(videos.downloadContent(made.id), (error) => error.status === 404);
});

test('a cancelled video has failed', async () => {
  const made = await videos.create({ model: 'sim/video', prompt: 'A weir in winter' });
  await videos.delete(made.id, { maxRetries: 3 }); // while the job is being handed to its provider it cannot be cancelled
  const done = await videos.retrieve(made.id);
  assert.equal(done.status, 'failed');
  assert.equal(done.error.code, 'cancelled');
});

test('what the model does not take is refused', async () => {
  await assert.rejects(videos.create({ model: 'sim/video', prompt: 'A weir', seconds: '7' }), (error) => error.status === 400);
});
