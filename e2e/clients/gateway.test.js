// Claude Code signs in with a browser: its own windows in a terminal, the code that it shows, a person who allows it, calls, and its sign-out.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { demo } from './clients.js';

const weir = await demo();
const claude = fileURLToPath(new URL('node_modules/.bin/claude', import.meta.url));

/** A terminal: `script`, of util-linux, gives the program one. Texts are read without colours and movements of the cursor. */
function terminal(t, command, { cwd, env }) {
  const child = spawn('script', ['-qfec', `stty cols 120 rows 50; exec ${command}`, '/dev/null'], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  const kill = () => { try { process.kill(-child.pid, 'SIGKILL'); } catch { /* it is gone */ } };
  t.signal.addEventListener('abort', () => { kill(); console.error(`The screen was: ${screen.slice(-2000)}`); });
  after(kill);
  let [screen, more] = ['', () => {}];
  child.stdout.on('data', (piece) => {
    screen = (screen + piece).replace(/\x1b\][^\x07]*\x07/g, '').replace(/\x1b\[[0-9;?<>=]*[a-zA-Z]/g, ' ').replace(/ +/g, ' ');
    more();
  });
  const ended = new Promise((resolve) => { child.once('close', () => resolve()); });
  return {
    kill,
    press: (keys) => { screen = ''; child.stdin.write(keys); },
    /** Waits until the screen has shown something since the last key. */
    until: async (pattern) => {
      for (;;) {
        const found = pattern.exec(screen);
        if (found) return found;
        const over = await Promise.race([new Promise((resolve) => { more = () => resolve(false); }), ended.then(() => true)]);
        assert.ok(!over, `it has ended before ${pattern}: ${screen.slice(-2000)}`);
      }
    },
  };
}

/** Runs Claude Code to its end. */
async function run(args, { cwd, env }) {
  const child = spawn(claude, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const from of [child.stdout, child.stderr]) from.on('data', (piece) => { said += piece; });
  const code = await new Promise((resolve, reject) => { child.once('close', resolve); child.once('error', reject); });
  return { code, said };
}

/** The person's browser, which is signed in. */
async function browser() {
  const from = { origin: weir.root, 'x-weir': '1', 'content-type': 'application/json' };
  const post = (path, body, cookie) => fetch(`${weir.root}${path}`, { method: 'POST', headers: { ...from, ...(cookie && { cookie }) }, body: JSON.stringify(body) });
  const [cookie] = (await post('/api/auth/demo', {})).headers.getSetCookie();
  return async (path, body) => {
    const reply = await post(path, body, cookie.split(';')[0]);
    assert.equal(reply.status, 200, await reply.clone().text());
    return reply.json();
  };
}

test('Claude Code signs in with a code, calls a model, and signs out', { timeout: 90_000 }, async (t) => {
  await access(claude).catch(() => assert.fail('claude is not installed in e2e/clients: run make e2e-clients, which needs the npm registry.'));
  const root = await mkdtemp(join(tmpdir(), 'weir-e2e-gateway-'));
  after(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));
  const [config, work] = [join(root, 'config'), join(root, 'work')];
  await mkdir(config);
  await mkdir(work);
  await writeFile(join(config, 'settings.json'), JSON.stringify({ theme: 'dark', forceLoginMethod: 'gateway', forceLoginGatewayUrl: weir.root }));
  const place = {
    cwd: work,
    env: { PATH: process.env.PATH, HOME: root, CLAUDE_CONFIG_DIR: config, TERM: 'xterm-256color', BROWSER: 'true', DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  };

  const at = terminal(t, claude, place);
  await at.until(/Syntax theme/);
  at.press('\r');
  await at.until(/Enter to connect/);
  at.press('\r');
  await at.until(/No, cancel login/);
  at.press('\x1b[A'); // up: yes, trust this gateway
  await at.until(/❯\s*Yes, trust/);
  at.press('\r');
  const [, code] = await at.until(/Code:\s*([BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4})/);
  const ask = await browser();
  const shown = await ask('/api/auth/device', { code });
  assert.equal(shown.client, 'Claude Code');
  await ask('/api/auth/device/decision', { code, allow: true });
  await at.until(/Connected to Cloud gateway/);
  at.kill();

  const kept = JSON.parse(await readFile(join(config, '.credentials.json'), 'utf8')).enterpriseGateway;
  assert.equal(kept.url, weir.root);
  const before = await weir.spent();
  const { code: ended, said } = await run(['-p', '--model', 'sim/chat', '--output-format', 'json', 'Say hello.'], place);
  assert.equal(ended, 0, said);
  assert.ok(await weir.spent() > before, 'nothing was charged');

  const out = await run(['auth', 'logout'], place);
  assert.equal(out.code, 0, out.said);
  const refused = await fetch(`${weir.root}/v1/messages`, {
    method: 'POST', headers: { authorization: `Bearer ${kept.jwt}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim/chat', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  assert.equal(refused.status, 401);
  assert.equal(refused.headers.get('x-should-retry'), 'false');
});
