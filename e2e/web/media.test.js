// The playground beside chat: images, videos, sound and vectors.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { accessible, becomes, browser, choose, demo, englishWords, fitsWidth, open } from './weir.js';

const weir = await demo();
const b = await browser();
const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==', 'base64');
const folder = await mkdtemp(join(tmpdir(), 'weir-e2e-media-'));
after(() => rm(folder, { recursive: true, force: true }));
/** Runs what a tab of the code says, in a folder of its own. */
async function runs(page, tab, command) {
  await page.getByRole('tab', { name: tab, exact: true }).click();
  const code = await page.getByRole('tabpanel', { name: tab, exact: true }).locator('code').innerText();
  const [program, ...args] = command(code);
  const child = spawn(program, args, { cwd: folder, env: { PATH: process.env.PATH, WEIR_API_KEY: weir.api_key } });
  let out = '', err = '';
  child.stdout.on('data', (d) => { out += d; });
  child.stderr.on('data', (d) => { err += d; });
  await new Promise((resolve) => child.once('close', resolve));
  assert.ok(out, err);
  return out;
}
const shell = (code) => ['bash', '-c', code.replace('curl ', 'curl -sS ')];
const node = (code) => ['node', '--input-type=module', '-e', code];
const digits = (s) => s.replace(/[^\d.,]/g, '').replace(',', '.');
/** A tone, one channel of 16 bits. */
function wav(hz = 8000, length = 24_000) {
  const d = Buffer.alloc(44 + length * 2);
  d.write('RIFF'); d.writeUInt32LE(36 + length * 2, 4); d.write('WAVEfmt ', 8); d.writeUInt32LE(16, 16); d.writeUInt16LE(1, 20); d.writeUInt16LE(1, 22);
  d.writeUInt32LE(hz, 24); d.writeUInt32LE(hz * 2, 28); d.writeUInt16LE(2, 32); d.writeUInt16LE(16, 34); d.write('data', 36); d.writeUInt32LE(length * 2, 40);
  for (let i = 0; i < length; i++) d.writeInt16LE(Math.round(8000 * Math.sin(i / 3)), 44 + i * 2);
  return d;
}
/** What the page says a call cost is what its record says. */
async function sameCost(page, article) {
  const shown = digits(await article.locator('[title$="₽"]').first().getAttribute('title'));
  const id = (await article.getByRole('link', { name: 'Open the call' }).getAttribute('href')).split('/').pop();
  const call = (await (await page.request.get(`${weir.url}/api/calls/${id}`)).json()).data;
  assert.equal(shown, call.cost);
}
const form = (page) => page.locator('[data-composer] textarea');
const make = async (page, text) => { await form(page).fill(text); await page.getByRole('button', { name: 'Make', exact: true }).click(); };

test('images: previews, several, the price before and after, and one that is changed', async () => {
  const page = await open(b, weir, { path: '/playground/image', signedIn: true });
  const sent = [];
  page.on('request', (r) => { if (/\/images\//.test(r.url())) sent.push([new URL(r.url()).pathname, r.postDataJSON()]); });
  await choose(page, 'Model', 'sim/picture');
  await page.getByLabel('Size').selectOption('1536x1024');
  await make(page, 'A weir in spring <img src=x onerror=alert(1)>');
  const first = page.getByRole('article').first();
  await first.getByText('settled').waitFor();
  assert.deepEqual(sent[0], ['/api/v1/images/generations', { model: 'sim/picture', prompt: 'A weir in spring <img src=x onerror=alert(1)>', size: '1536x1024', stream: true, partial_images: 2 }]);
  assert.equal(await first.locator('img').evaluate((i) => i.naturalWidth), 1536);
  await sameCost(page, first);
  await accessible(page);
  await choose(page, 'Model', 'sim/picture-queue');
  await page.getByLabel('Size').selectOption('');
  await page.getByLabel('How many').fill('11');
  await page.getByText('A whole number from 1 to 10.').waitFor();
  await page.getByLabel('How many').fill('3');
  await page.getByText(/from ≈\s?7\.50?\s?₽/).waitFor();
  await make(page, 'Three herons');
  await first.getByText('Three herons').waitFor();
  await first.getByText('settled').waitFor();
  await becomes(() => first.locator('img').count(), 3);
  await sameCost(page, first);
  const download = page.waitForEvent('download');
  await first.getByRole('button', { name: 'Download' }).first().click();
  assert.match((await download).suggestedFilename(), /^weir-1\.(jpg|png)$/);
  await first.getByRole('button', { name: 'Edit this image' }).first().click();
  await page.locator('input[data-attach]').setInputFiles([{ name: 'notes.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-') }]);
  await page.getByText('notes.pdf is of a kind that cannot be used here.').waitFor();
  await page.getByLabel('How many').fill('');
  await make(page, 'With a boat');
  await first.getByText('With a boat').waitFor();
  await first.getByText('settled').waitFor();
  assert.equal(sent.at(-1)[0], '/api/v1/images/edits');
  assert.equal(sent.at(-1)[1].images.length, 1);
  await page.getByRole('button', { name: 'Show as code' }).click();
  await page.getByRole('dialog').getByText('/v1/images/generations').first().waitFor();
  await page.keyboard.press('Escape');
  await make(page, '[[sim fault=u15 status=502]] broken');
  await page.getByText('The answer failed').waitFor();
  await page.done();
});

test('videos: options of the model, the price by the rules, two at a time, the player', async () => {
  const page = await open(b, weir, { path: '/playground/video', signedIn: true });
  await choose(page, 'Model', 'sim/video');
  const options = async (label) => page.getByLabel(label, { exact: true }).locator('option').allTextContents();
  await becomes(() => options('Resolution'), ['720p', '1K']);
  assert.deepEqual(await options('Aspect ratio'), ['16:9', '9:16']);
  assert.equal((await options('Length')).length, 3);
  await page.getByText('costs 6 ₽').waitFor();
  await page.getByText('With sound').click();
  await page.getByText('costs 8 ₽').waitFor();
  await page.getByLabel('Resolution').selectOption('1K');
  await page.getByText('costs 16 ₽').waitFor();
  await page.getByLabel('Length', { exact: true }).selectOption('8');
  await page.getByText('costs 32 ₽').waitFor();
  await page.getByLabel('Length', { exact: true }).selectOption('4');
  await page.getByLabel('Resolution').selectOption('720p');
  await make(page, '[[sim takes=6s]] A weir in spring');
  const first = page.getByRole('article').first();
  await first.getByText('on hold').waitFor();
  assert.equal(digits(await first.locator('[title$="₽"]').first().getAttribute('title')), '8');
  await make(page, '[[sim takes=6s]] A weir in autumn');
  await page.getByText('2 videos are under way.').or(page.getByText('The next one can start when one is done.')).first().waitFor();
  await form(page).fill('A third');
  assert.ok(await page.getByRole('button', { name: 'Make', exact: true }).isDisabled());
  const third = await page.request.post(`${weir.url}/api/v1/videos`, { headers: { origin: weir.url, 'x-weir': '1' }, data: { model: 'sim/video', prompt: 'A third' } });
  assert.equal(third.status(), 429);
  await accessible(page);
  await first.getByText('done', { exact: true }).waitFor({ timeout: 60_000 });
  await first.getByText('settled').waitFor();
  await sameCost(page, first);
  await first.getByRole('button', { name: 'Show the video' }).click();
  await first.locator('video').waitFor();
  await page.waitForFunction(() => document.querySelector('video')?.readyState >= 1 || document.querySelector('video')?.error);
  assert.equal(await first.locator('video').evaluate((v) => v.error?.message ?? null), null);
  const download = page.waitForEvent('download');
  await first.getByRole('button', { name: 'Download' }).click();
  assert.match((await download).suggestedFilename(), /^weir-vj_\w+-1\.mp4$/);
  await first.getByText(/kept until/).waitFor();
  await page.getByRole('button', { name: 'Show as code' }).click();
  assert.match(await runs(page, 'Node', node), /vj_/);
  await page.done();
});

test('sound to text: time stamps that play from there, speakers, a format that the model does not have', async () => {
  const page = await open(b, weir, { path: '/playground/audio', signedIn: true });
  const give = (file) => page.locator('input[data-sound]').setInputFiles(file);
  const sound = { name: 'tone.wav', mimeType: 'audio/wav', buffer: wav() };
  await give({ name: 'x.exe', mimeType: 'application/x-msdownload', buffer: Buffer.from('MZ') });
  await page.getByText('x.exe is not an audio file.').waitFor();
  await choose(page, 'Model', 'sim/whisper');
  await page.getByLabel('Format', { exact: true }).selectOption('verbose_json');
  await give(sound);
  await page.getByRole('button', { name: 'Transcribe' }).click();
  const first = page.getByRole('article').first();
  await first.getByRole('button', { name: 'Play from 0:00.0' }).click();
  await first.getByText('settled').waitFor();
  await sameCost(page, first);
  await accessible(page);
  await choose(page, 'Model', 'sim/diarize');
  await page.getByLabel('Format', { exact: true }).selectOption('diarized_json');
  await give(sound);
  await page.getByRole('button', { name: 'Transcribe' }).click();
  await first.getByText('A', { exact: true }).first().waitFor();
  await choose(page, 'Model', 'sim/transcribe');
  await give(sound);
  await page.getByRole('button', { name: 'Transcribe' }).click();
  await page.getByText('The answer failed').waitFor();
  await page.getByLabel('Format', { exact: true }).selectOption('json');
  await page.getByRole('button', { name: 'Try again' }).first().click();
  await first.getByText('settled').waitFor();
  await page.getByRole('button', { name: 'Show as code' }).click();
  await writeFile(join(folder, 'speech.wav'), wav());
  const transcript = await runs(page, 'curl', (code) => shell(code.replace('speech.mp3', 'speech.wav')));
  assert.equal(typeof JSON.parse(transcript).text, 'string', transcript);
  await page.done();
});

test('text to speech: a player and a download', async () => {
  const page = await open(b, weir, { path: '/playground/audio', signedIn: true });
  await page.getByText('Text to speech').click();
  await choose(page, 'Model', 'sim/speech');
  await page.getByLabel('Speed').fill('9');
  await page.getByText('A number from 0.25 to 4.').waitFor();
  await page.getByLabel('Speed').fill('');
  await page.getByPlaceholder('Text to speak…').fill('A weir steers a river.');
  await page.getByRole('button', { name: 'Speak' }).click();
  const first = page.getByRole('article').first();
  await first.locator('audio').waitFor();
  await first.getByText('settled').waitFor();
  await sameCost(page, first);
  await accessible(page);
  const download = page.waitForEvent('download');
  await first.getByRole('button', { name: 'Download' }).click();
  assert.equal((await download).suggestedFilename(), 'speech.mp3');
  await page.done();
});

test('vectors: how near texts are to each other', async () => {
  const page = await open(b, weir, { path: '/playground/embeddings', signedIn: true });
  await choose(page, 'Model', 'sim/embed');
  await page.getByRole('textbox', { name: 'Text 1' }).fill('A weir steers a river.');
  await page.getByRole('textbox', { name: 'Text 2' }).fill('A weir steers a river.');
  await page.getByRole('button', { name: 'Add a text' }).click();
  await page.getByRole('textbox', { name: 'Text 3' }).fill('Bread is baked in an oven.');
  await page.getByLabel('Length of the vectors').fill('0');
  await page.getByText('A whole number from 1 to').waitFor();
  await page.getByLabel('Length of the vectors').fill('256');
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.getByText('256 numbers a text').waitFor();
  const cells = await page.getByRole('table').locator('td').allTextContents();
  assert.equal(cells.length, 10);
  assert.equal(Number(cells[2]), 1);
  assert.ok(Number(cells[3].replace('−', '-')) < 1, cells.join());
  await sameCost(page, page.getByRole('region', { name: 'Similarity' }).locator('xpath=ancestor::section[1]'));
  await accessible(page);
  await page.getByRole('button', { name: 'Show as code' }).click();
  assert.equal(JSON.parse(await runs(page, 'curl', shell)).data.length, 3);
  await page.keyboard.press('Escape');
  for (let i = 3; i < 10; i++) await page.getByRole('button', { name: 'Add a text' }).click();
  assert.ok(await page.getByRole('button', { name: 'Add a text' }).isDisabled());
  await page.done();
});

for (const [mode, size] of [['image', 'small'], ['video', 'small'], ['audio', 'desk'], ['embeddings', 'small'], ['video', 'desk']]) {
  test(`Russian, dark: ${mode}, ${size}`, async () => {
    const page = await open(b, weir, { path: `/playground/${mode}`, signedIn: true, language: 'ru', theme: 'dark', size });
    await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' });
    await fitsWidth(page);
    await accessible(page);
    assert.deepEqual(await englishWords(page, /^(Sim|Simulator|Weir|MP3|OPUS|AAC|FLAC|WAV|PNG|JPEG|WEBP|SVG|UTC)/), []);
    if (size === 'small') { await page.getByRole('button', { name: 'Настройки чата' }).or(page.getByRole('button', { name: 'Настройки' })).first().click(); await page.getByRole('dialog').waitFor(); await accessible(page); }
    await page.done();
  });
}
test('visitors are asked to sign in', async () => {
  const page = await open(b, weir, { path: '/playground/video' });
  await page.getByText('Sign in to ask models').waitFor();
  await page.done();
});
