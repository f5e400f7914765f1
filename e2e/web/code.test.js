// The code that pages show runs as it is printed: with curl, Python, Node, Go and PHP, for every kind of model and every kind of the playground. Each
// piece of code runs in a folder of its own, which has the files that the code reads. The library for Node and that for Go are the real ones; the
// one for Python is python/openai.py.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { becomes, browser, choose, demo, open } from './weir.js';

const weir = await demo();
const b = await browser();
const folder = await mkdtemp(join(tmpdir(), 'weir-e2e-code-'));
after(() => rm(folder, { recursive: true, force: true }));
const here = (name) => new URL(name, import.meta.url).pathname;

async function run(program, args, dir, env = {}) {
  const child = spawn(program, args, { cwd: dir, env: { PATH: process.env.PATH, HOME: process.env.HOME, WEIR_API_KEY: weir.api_key, ...env } });
  let out = '', err = '';
  child.stdout.on('data', (d) => { out += d; });
  child.stderr.on('data', (d) => { err += d; });
  const code = await new Promise((resolve) => child.once('close', resolve));
  return { code, out, err };
}

/** A tone, one channel of 16 bits. */
function wav(hz = 8000, length = 8000) {
  const d = Buffer.alloc(44 + length * 2);
  d.write('RIFF'); d.writeUInt32LE(36 + length * 2, 4); d.write('WAVEfmt ', 8); d.writeUInt32LE(16, 16); d.writeUInt16LE(1, 20); d.writeUInt16LE(1, 22);
  d.writeUInt32LE(hz, 24); d.writeUInt32LE(hz * 2, 28); d.writeUInt16LE(2, 32); d.writeUInt16LE(16, 34); d.write('data', 36); d.writeUInt32LE(length * 2, 40);
  for (let i = 0; i < length; i++) d.writeInt16LE(Math.round(8000 * Math.sin(i / 3)), 44 + i * 2);
  return d;
}
/** A second of MP3: whole frames of 128 kbit/s at 44.1 kHz, with nothing in them. */
const mp3 = Buffer.concat(Array.from({ length: 38 }, () => { const f = Buffer.alloc(417); f.writeUInt32BE(0xfffb9000); return f; }));
/** A PDF that says Hello, padded to a size that no code would hold. */
const pdf = Buffer.concat([Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n4 0 obj<</Length 33>>stream\nBT /F 9 Tf 9 50 Td (Hello) Tj ET\nendstream endobj\n'), Buffer.from(`% ${'x'.repeat(2000)}\n`), Buffer.from('trailer<</Root 1 0 R>>\n')]);
let png;

/** What pages showed: { what, id, code, check, files, dir }. */
const shown = [];
const languages = ['curl', 'Python', 'Node', 'Go', 'PHP'];
/** Reads the code of every language off the page, as its element has it. */
async function read(page, what, check, files = {}) {
  for (const id of languages) {
    await page.getByRole('tab', { name: id, exact: true }).click();
    const code = await page.getByRole('tabpanel', { name: id, exact: true }).locator('code').textContent();
    const dir = join(folder, `${what.replace(/[^a-z]+/g, '-')}-${id.toLowerCase()}`);
    await mkdir(dir);
    for (const [name, data] of Object.entries(files)) await writeFile(join(dir, name), data);
    shown.push({ what, id, code, dir, check: (said) => check(said, id, dir) });
  }
}
const says = (pattern) => (said) => assert.match(said, pattern);
const makes = (names, least = 20) => async (_, id, dir) => {
  const name = names[id] ?? names.other;
  const size = (await stat(join(dir, name))).size;
  assert.ok(size >= least, `${name} has ${size} bytes`);
  if (name.endsWith('.json')) assert.ok(JSON.parse(await readFile(join(dir, name), 'utf8')).data[0].b64_json.length > 20);
};
const contentOf = (said, id) => (id === 'curl' || id === 'Go' ? JSON.parse(said).choices[0].message.content : said.replace(/\n$/, ''));

for (const [kind, model, check, files] of [
  ['chat', 'sim/echo', says(/Hello/)],
  ['embedding', 'sim/embed', says(/^\d+\s*$|"embedding"/)],
  ['image', 'sim/picture', makes({ curl: 'image.json', other: 'heron.png' })],
  ['video', 'sim/video', async (said, id, dir) => (id === 'curl' ? assert.match(said, /"id":\s*"vj_/) : makes({ other: 'heron.mp4' })(said, id, dir))],
  ['transcription', 'sim/listen', says(/\S/), { 'speech.mp3': mp3 }],
  ['speech', 'sim/speech', makes({ other: 'speech.mp3' })],
  ['rank', 'sim/rerank', says(/relevance_score/)],
  ['moderation', 'sim/moderation', says(/"?flagged|[Ff]alse/)],
]) {
  test(`the page of a model shows code: ${kind}`, async () => {
    const page = await open(b, weir, { path: `/models/${model}` });
    await page.getByRole('tab', { name: 'Go', exact: true }).waitFor();
    await read(page, `model ${kind}`, check, files);
    await page.done();
  });
}

const code = async (page) => { await page.getByRole('button', { name: 'Show as code' }).click(); await page.getByRole('dialog').getByRole('tab').first().waitFor(); };
const draft = (page, text) => page.locator('[data-composer] textarea').fill(text);

test('the playground shows code: a message that quotes could end, and parameters', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo&t=0.5&p=0.9&max=900&sort=price&notrain=1&fallbacks=sim/chat', signedIn: true });
  await page.getByLabel('Instructions').fill('Be "brief"\nand \'kind\'');
  const nasty = 'It\'s "two" `ticks` $HOME $(id) ${x} \\n \\\\ %s <<JSON\nJSON\n\u00a0плотина 🦆 \u2028 </script>';
  await draft(page, nasty);
  await code(page);
  await read(page, 'chat text', (said, id) => assert.equal(contentOf(said, id), nasty));
  await page.done();
});

test('the playground shows code: tools, and a schema', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/tools', signedIn: true });
  await page.getByText('Tools', { exact: true }).click();
  await page.getByRole('button', { name: 'get_weather' }).click();
  await draft(page, 'What is the weather in Samara?');
  await code(page);
  await read(page, 'chat tools', says(/get_weather/));
  await page.keyboard.press('Escape');
  await page.goto(`${weir.url}/playground?models=sim/json&format=schema&schema=${encodeURIComponent('{"type":"object","properties":{"score":{"type":"integer"}},"required":["score"],"additionalProperties":false}')}`);
  await draft(page, 'How good is it?');
  await code(page);
  await read(page, 'chat schema', (said, id) => assert.ok(Number.isInteger(JSON.parse(contentOf(said, id)).score), said));
  await page.done();
});

test('the playground shows code: files, which it reads where they are', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/vision', signedIn: true });
  png = Buffer.from(await page.evaluate(() => { const c = document.createElement('canvas'); c.width = c.height = 64; const x = c.getContext('2d'); for (let i = 0; i < 64; i++) { x.fillStyle = `rgb(${i * 4},${(i * 37) % 255},9)`; x.fillRect(i, 0, 1, 64); } return c.toDataURL('image/png').split(',')[1]; }), 'base64');
  assert.ok(png.length > 300);
  await page.locator('input[data-attach]').setInputFiles([{ name: 'chart.png', mimeType: 'image/png', buffer: png }, { name: 'my sales.pdf', mimeType: 'application/pdf', buffer: pdf }, { name: 'tone.wav', mimeType: 'audio/wav', buffer: wav() }]);
  await page.getByRole('list', { name: 'Files' }).getByText('tone.wav').waitFor();
  await draft(page, 'What is "there"? $HOME');
  await code(page);
  await read(page, 'chat files', (said, id) => { for (const part of ['image', 'sales.pdf', 'audio']) assert.ok(contentOf(said, id).includes(part), said); }, { 'image-1.png': png, 'my sales.pdf': pdf, 'audio-3.wav': wav() });
  await page.done();
});

test('the playground shows code: images, videos, vectors, sound', async () => {
  const page = await open(b, weir, { path: '/playground/image', signedIn: true });
  await choose(page, 'Model', 'sim/picture');
  await page.getByLabel('Size').selectOption('1536x1024');
  await draft(page, "A heron's \"river\"");
  await code(page);
  await read(page, 'image', makes({ curl: 'image.json', Go: 'image.json', other: 'made-0.png' }));
  await page.keyboard.press('Escape');
  await page.locator('input[data-attach]').setInputFiles([{ name: 'heron.png', mimeType: 'image/png', buffer: png }]);
  await page.getByText('heron.png').waitFor();
  await code(page);
  await read(page, 'image edit', async (said, id, dir) => (id === 'curl' || id === 'Go' ? makes({ other: 'image.json' })(said, id, dir) : assert.match(said, /b64_json/)), { 'image-1.png': png });
  await page.goto(`${weir.url}/playground/video`);
  await choose(page, 'Model', 'sim/video');
  await page.getByLabel('Resolution').waitFor();
  await draft(page, '[[sim takes=0s]] A heron');
  await page.locator('input[data-attach]').setInputFiles([{ name: 'first.png', mimeType: 'image/png', buffer: png }]);
  await page.getByText('first.png').waitFor();
  await code(page);
  await read(page, 'video', says(/vj_/), { 'image-1.png': png });
  await page.goto(`${weir.url}/playground/embeddings`);
  await choose(page, 'Model', 'sim/embed');
  await page.getByRole('textbox', { name: 'Text 1' }).fill("A weir's \"river\"");
  await page.getByLabel('Length of the vectors').fill('256');
  await code(page);
  await read(page, 'vectors', (said, id) => assert.equal(id === 'curl' || id === 'Go' ? JSON.parse(said).data[0].embedding.length : JSON.parse(said)[0], 256));
  await page.goto(`${weir.url}/playground/audio`);
  await choose(page, 'Model', 'sim/whisper');
  await page.getByLabel('Format', { exact: true }).selectOption('srt');
  await page.getByLabel('Language', { exact: true }).fill('en');
  await page.getByLabel('Words to expect').fill('@weir; type=text\nand <herons>');
  await page.locator('input[data-sound]').setInputFiles({ name: 'my tone.wav', mimeType: 'audio/wav', buffer: wav() });
  await page.getByText('my tone.wav').waitFor();
  await code(page);
  await read(page, 'transcript', says(/-->/), { 'my tone.wav': wav() });
  await page.keyboard.press('Escape');
  await page.getByText('Text to speech').click();
  await choose(page, 'Model', 'sim/speech');
  await page.getByLabel('Speed').fill('1.25');
  await page.getByPlaceholder('Text to speak…').fill('A weir\'s "river" $HOME');
  await code(page);
  await read(page, 'sound', makes({ other: 'speech.audio' }));
  await page.done();
});

/** Videos that are still being made count among the two that an account may have. */
const idle = () => becomes(async () => (await (await weir.call('/api/jobs?limit=1', undefined, weir.management_key)).json()).active, 0);
async function each(id, runs) {
  const all = shown.filter((s) => s.id === id);
  assert.equal(all.length, 18);
  for (const s of all) {
    await idle();
    const { code, out, err } = await runs(s);
    assert.equal(code, 0, `${s.what}: ${err}\n${out}\n${s.code}`);
    try { await s.check(out); } catch (e) { e.message = `${s.what}, ${id}: ${e.message}\n${err}\n${out}`.slice(0, 4000); throw e; }
  }
}
// An error status ends curl with a failure; its progress is no part of what is looked at.
test('what is shown runs: curl', () => each('curl', async (s) => {
  await writeFile(join(s.dir, '.curlrc'), 'fail-with-body\nsilent\nshow-error\n');
  return run('bash', ['-ec', s.code], s.dir, { CURL_HOME: s.dir });
}));
test('what is shown runs: Python', () => each('Python', async (s) => {
  await writeFile(join(s.dir, 'main.py'), s.code);
  return run('python3', ['-B', '-W', 'error::SyntaxWarning', 'main.py'], s.dir, { PYTHONPATH: here('python'), PYTHONIOENCODING: 'utf-8' });
}));
test('what is shown runs: Node', async () => {
  await symlink(here('node_modules'), join(folder, 'node_modules'));
  await each('Node', async (s) => { await writeFile(join(s.dir, 'main.mjs'), s.code); return run('node', ['main.mjs'], s.dir); });
});
test('what is shown runs: Go', async () => {
  for (const name of ['go.mod', 'go.sum']) await copyFile(here(`../${name}`), join(folder, name));
  const go = { GOFLAGS: process.env.GOFLAGS ?? '', GOPROXY: process.env.GOPROXY ?? '', GOSUMDB: process.env.GOSUMDB ?? '', GOCACHE: process.env.GOCACHE ?? '', GOMODCACHE: process.env.GOMODCACHE ?? '' };
  const env = Object.fromEntries(Object.entries(go).filter(([, v]) => v !== ''));
  const all = shown.filter((x) => x.id === 'Go');
  for (const s of all) await writeFile(join(s.dir, 'main.go'), `${s.code}\n`);
  const formatted = await run('gofmt', ['-d', '.'], folder);
  assert.equal(formatted.out, '', 'gofmt');
  // One program runs them all: each by itself would take a second to compile and a second to link.
  const names = all.map((s) => s.dir.split('/').at(-1));
  await mkdir(join(folder, 'all'));
  for (const [i, s] of all.entries()) {
    let code = s.code; // each function gets a name of its own
    for (const [, name] of s.code.matchAll(/^func (\w+)\(/gm)) code = code.replace(new RegExp(`\\b${name}(?=\\()`, 'g'), `${name}${i}`);
    await writeFile(join(folder, 'all', `${names[i]}.go`), code);
  }
  await writeFile(join(folder, 'all', 'main.go'), `package main

import "os"

func main() {
	map[string]func(){${names.map((name, i) => `"${name}": main${i}`).join(', ')}}[os.Args[1]]()
}
`);
  const built = await run('go', ['build', '-ldflags=-s -w', '-o', 'run', './all'], folder, env);
  assert.equal(built.code, 0, built.err.slice(0, 4000));
  await each('Go', (s) => run(join(folder, 'run'), [s.dir.split('/').at(-1)], s.dir));
});
// A notice or a warning of PHP is a failure, too.
test('what is shown runs: PHP', () => each('PHP', async (s) => {
  await writeFile(join(s.dir, 'main.php'), s.code);
  const shown = await run('php', ['-d', 'error_reporting=-1', '-d', 'display_errors=stderr', '-d', 'html_errors=0', 'main.php'], s.dir);
  return { ...shown, code: shown.code || (shown.err === '' ? 0 : 1) };
}));
