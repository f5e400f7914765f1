// The programs and commands of the guides do what the guides say: with curl, Python, Node and Go. As in code.test.js, the library for Python is
// python/openai.py, and the others are the real ones.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { becomes, demo } from './weir.js';

const weir = await demo();
const folder = await mkdtemp(join(tmpdir(), 'weir-e2e-guides-'));
after(() => rm(folder, { recursive: true, force: true }));
const here = (name) => new URL(name, import.meta.url).pathname;
const languages = ['sh', 'python', 'js', 'go'];

/** What the programs below a heading must print, in each language. */
const wanted = {
  'streaming.md': { '1. Ask for a stream, and print what arrives': /cost: 0\.\d+ rubles|"cost":0\.\d+/, '2. Notice an answer that broke off': /not whole/, '3. Stop when you have enough': /^enough: /m },
  'tools.md': { '1. Offer a function, run it, and send its result back': /degrees/ },
};
const blocks = [];
for (const file of Object.keys(wanted)) {
  const text = await readFile(here(`../../docs/guides/${file}`), 'utf8');
  let heading = '';
  for (const m of text.matchAll(/^#+ (.+)$|^```(sh|python|js|go)\n([\s\S]*?)^```$|^ {4}(curl [\s\S]*?[^\\])\n(?=\n|$)/gm)) {
    if (m[1]) heading = m[1];
    else if (m[2]) blocks.push({ file, heading, language: m[2], code: m[3], want: wanted[file][heading] });
    else blocks.push({ file, heading, language: 'command', code: m[4], want: /\S/ });
  }
}
blocks.forEach((b, i) => { b.dir = join(folder, `${b.language}-${i}`); });

async function run(program, args, dir, env = {}) {
  const child = spawn(program, args, { cwd: dir, env: { PATH: process.env.PATH, HOME: process.env.HOME, BASE: weir.api.replace(/\/v1$/, ''), KEY: weir.api_key, ...env } });
  let out = '', err = '';
  child.stdout.on('data', (d) => { out += d; });
  child.stderr.on('data', (d) => { err += d; });
  const code = await new Promise((resolve) => child.once('close', resolve));
  return { code, out, err };
}
async function each(language, runs) {
  for (const b of blocks.filter((x) => x.language === language)) {
    await mkdir(b.dir, { recursive: true });
    const { code, out, err } = await runs(b);
    assert.equal(code, 0, `${b.file}, ${b.heading}: ${err}\n${out}`);
    assert.match(out, b.want, `${b.file}, ${b.heading}: ${err}\n${out}`);
  }
}

test('each step with a program has it in every language', () => {
  for (const [file, steps] of Object.entries(wanted)) for (const heading of Object.keys(steps)) assert.deepEqual(blocks.filter((b) => b.file === file && b.heading === heading && b.want && b.language !== 'command').map((b) => b.language), languages, `${file}, ${heading}`);
  assert.deepEqual(blocks.filter((b) => !b.want).map((b) => `${b.file}, ${b.heading}`), [], 'programs of which nothing is wanted');
  assert.ok(blocks.filter((b) => b.language === 'command').length >= 4);
});

const curl = (env) => async (b) => {
  await writeFile(join(b.dir, '.curlrc'), 'fail-with-body\nsilent\nshow-error\n');
  return run('bash', ['-ec', b.code], b.dir, { CURL_HOME: b.dir, ...env });
};
test('commands', async () => {
  const ID = (await (await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] })).json()).id;
  await becomes(async () => (await weir.call(`/v1/generation?id=${ID}`)).status, 200);
  await each('command', curl({ ID }));
});
test('curl', () => each('sh', curl({})));
test('Python', () => each('python', async (b) => {
  await writeFile(join(b.dir, 'main.py'), b.code);
  return run('python3', ['-B', '-W', 'error::SyntaxWarning', 'main.py'], b.dir, { PYTHONPATH: here('python'), PYTHONIOENCODING: 'utf-8' });
}));
test('Node', async () => {
  await symlink(here('node_modules'), join(folder, 'node_modules'));
  await each('js', async (b) => { await writeFile(join(b.dir, 'main.mjs'), b.code); return run('node', ['main.mjs'], b.dir); });
});
test('Go', async () => {
  for (const name of ['go.mod', 'go.sum']) await copyFile(here(`../${name}`), join(folder, name));
  for (const b of blocks.filter((x) => x.language === 'go')) { await mkdir(b.dir, { recursive: true }); await writeFile(join(b.dir, 'main.go'), b.code); }
  assert.equal((await run('gofmt', ['-d', '.'], folder)).out, '', 'gofmt');
  await mkdir(join(folder, 'bin'));
  const env = Object.fromEntries(['GOFLAGS', 'GOPROXY', 'GOSUMDB', 'GOCACHE', 'GOMODCACHE'].flatMap((k) => (process.env[k] ? [[k, process.env[k]]] : [])));
  const built = await run('go', ['build', '-ldflags=-s -w', '-o', 'bin/', './...'], folder, env);
  assert.equal(built.code, 0, built.err.slice(0, 4000));
  await each('go', (b) => run(join(folder, 'bin', b.dir.split('/').at(-1)), [], b.dir));
});
