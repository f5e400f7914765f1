import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toFile } from 'openai';
import { demo, nanos } from './weir.js';

const weir = await demo();
const { audio } = weir.client();

/** A WAV file of silence, 8 kHz and 8 bits. */
function recording(seconds) {
  const head = Buffer.from('RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\0\0\0\0', 'latin1');
  head.writeUInt32LE(36 + seconds * 8000, 4);
  head.writeUInt32LE(seconds * 8000, 40);
  return Buffer.concat([head, Buffer.alloc(seconds * 8000, 0x80)]);
}

const file = () => toFile(recording(10), 'speech.wav', { type: 'audio/wav' });
const hear = async (options) => audio.transcriptions.create({ file: await file(), ...options });

for (const model of ['sim/whisper', 'sim/transcribe', 'sim/diarize', 'sim/listen', 'sim/scribe', 'sim/speechkit']) {
  test(`a transcript from ${model}`, async () => {
    const is = await hear({ model });
    assert.ok(is.text.length > 10);
    assert.ok(nanos(is.usage.cost) > 0n);
  });
}

test('every format', async () => {
  const is = await hear({ model: 'sim/whisper', response_format: 'verbose_json', timestamp_granularities: ['word', 'segment'] });
  assert.equal(is.duration, 10);
  assert.equal(is.segments[0].id, 0);
  assert.ok(is.words.length > 5);
  assert.equal(is.usage.type, 'duration');
  const text = await hear({ model: 'sim/whisper', response_format: 'text' });
  assert.equal(text, `${is.text}\n`);
  assert.match(await hear({ model: 'sim/whisper', response_format: 'srt' }), /^1\n00:00:00,000 --> 00:00:\d\d,\d{3}\n/);
  assert.match(await hear({ model: 'sim/whisper', response_format: 'vtt' }), /^WEBVTT\n\n00:00:00\.000 --> /);
  const reference = `data:audio/wav;base64,${recording(3).toString('base64')}`;
  const voices = await hear({ model: 'sim/diarize', response_format: 'diarized_json', known_speaker_names: ['Ann'], known_speaker_references: [reference] });
  assert.deepEqual(voices.segments.slice(0, 2).map((one) => [one.id, one.speaker]), [['seg_001', 'Ann'], ['seg_002', 'A']]);
});

test('a stream', async () => {
  let said = '';
  let end;
  for await (const event of await hear({ model: 'sim/transcribe', stream: true })) {
    if (event.type === 'transcript.text.delta') said += event.delta;
    else end = event;
  }
  assert.equal(end.type, 'transcript.text.done');
  assert.equal(said, end.text);
  assert.ok(end.usage.total_tokens > 0);
});

test('a format that a model does not have', async () => {
  await assert.rejects(hear({ model: 'openai/gpt-4o-transcribe', response_format: 'srt' }), (e) => e.status === 400 && /json, text/.test(e.message));
});

test('speech', async () => {
  const res = await audio.speech.create({ model: 'sim/speech', input: 'A weir steers a river.', voice: 'alloy', response_format: 'wav' });
  assert.equal(res.headers.get('content-type'), 'audio/wav');
  assert.equal(Buffer.from(await res.arrayBuffer()).subarray(0, 4).toString(), 'RIFF');
  const events = await audio.speech.create({ model: 'sim/speech', input: 'A weir steers a river.', voice: 'alloy', stream_format: 'sse' });
  assert.match(await events.text(), /"type":"speech\.audio\.done","usage":\{"input_tokens":/);
});

test('a translation', async () => {
  const translate = async (options) => audio.translations.create({ file: await file(), model: 'sim/whisper', ...options });
  const is = await translate({});
  assert.ok(is.text.length > 10);
  const verbose = await translate({ response_format: 'verbose_json' });
  assert.equal(verbose.language, 'english');
  assert.equal(verbose.text, is.text);
  assert.ok(verbose.segments.length > 0);
  await assert.rejects(translate({ model: 'sim/listen' }), { status: 400 });
});
