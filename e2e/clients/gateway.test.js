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
    const reply = body ? await post(path, body, cookie.split(';')[0]) : await fetch(`${weir.root}${path}`, { headers: { ...from, cookie: cookie.split(';')[0] } });
    assert.equal(reply.status, 200, await reply.clone().text());
    return reply.json();
  };
}

test('Codex works with the key that weir agent token prints', { timeout: 300_000 }, async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'weir-e2e-codex-'));
  after(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  const program = process.env.WEIR_BIN ?? fileURLToPath(new URL('../../bin/weir', import.meta.url));
  const env = { PATH: process.env.PATH, HOME: home, BROWSER: 'true', TZ: 'UTC' };
  const signIn = spawn(program, ['agent', 'sign-in', weir.root], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.signal.addEventListener('abort', () => signIn.kill('SIGKILL'));
  let shown = '';
  const code = await new Promise((resolve, reject) => {
    for (const from of [signIn.stdout, signIn.stderr]) from.on('data', (piece) => {
      shown += piece;
      const found = /[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}/.exec(shown);
      if (found) resolve(found[0]);
    });
    signIn.once('close', () => reject(new Error(shown)));
  });
  const signedIn = new Promise((resolve) => { signIn.once('exit', resolve); });
  const ask = await browser();
  await ask('/api/auth/device/decision', { code, allow: true });
  assert.equal(await signedIn, 0, shown);

  // As docs/guides/agents.md has it, and with no key in any file or variable.
  const page = await readFile(new URL('../../docs/guides/agents.md', import.meta.url), 'utf8');
  const set = /^ {4}\[model_providers\.weir\][\s\S]*?args = .*$/m.exec(page)[0].replaceAll(/^ {4}/gm, '').replace('https://weir.example.org', weir.root).replace('command = "weir"', `command = ${JSON.stringify(program)}`);
  await mkdir(join(home, '.codex'));
  await writeFile(join(home, '.codex', 'config.toml'), `model = "sim/chat"\nmodel_provider = "weir"\n${set}\n`);
  const before = await weir.spent();
  const codex = spawn(fileURLToPath(new URL('node_modules/.bin/codex', import.meta.url)), ['exec', '--json', '--skip-git-repo-check', 'Say hello.'], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.signal.addEventListener('abort', () => codex.kill('SIGKILL'));
  let said = '';
  for (const from of [codex.stdout, codex.stderr]) from.on('data', (piece) => { said += piece; });
  assert.equal(await new Promise((resolve) => { codex.once('close', resolve); }), 0, said);
  assert.ok(said.includes('agent_message'), said);
  assert.ok(await weir.spent() > before, 'nothing was charged');
  const { data: [call] } = await ask('/api/calls?limit=1');
  assert.match(call.key.name, /^Weir, /);
});


test('Claude Code signs in with a code, calls a model, and signs out', { timeout: 300_000 }, async (t) => {
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
  // It reports what it did, and the page of a call shows that.
  const reports = { ...place, env: { ...place.env, CLAUDE_CODE_ENABLE_TELEMETRY: '1', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf', OTEL_METRICS_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp' } };
  const file = join(work, 'river.txt');
  const steps = [['Write', { file_path: file, content: 'The weir stands.\n' }], ['Edit', { file_path: file, old_string: 'stands', new_string: 'holds' }]];
  const script = `[[sim ${steps.map(([name, args]) => `call=${name},${Buffer.from(JSON.stringify(args)).toString('base64url')}`).join(' ')}]]`;
  const { code: ended, said } = await run(['-p', '--model', 'sim/chat', '--permission-mode', 'acceptEdits', '--output-format', 'json', `${script} Write a file, then mend it.`], reports);
  assert.equal(ended, 0, said);
  assert.ok(await weir.spent() > before, 'nothing was charged');
  const { session_id: session } = JSON.parse(said.split('\n').findLast((line) => line.startsWith('{"')));
  const { data: calls } = await ask('/api/calls?limit=10');
  const call = (await ask(`/api/calls/${calls[0].id}`)).data;
  assert.equal(call.session_id, session);
  assert.match(call.session_report.client, /^claude-code \d/);
  assert.ok(call.session_report.tools_accepted >= 2 && call.session_report.edits_accepted >= 2 && call.session_report.lines_added >= 2 && call.session_report.program_ms > 0, JSON.stringify(call.session_report));

  const out = await run(['auth', 'logout'], place);
  assert.equal(out.code, 0, out.said);
  const refused = await fetch(`${weir.root}/v1/messages`, {
    method: 'POST', headers: { authorization: `Bearer ${kept.jwt}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim/chat', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  assert.equal(refused.status, 401);
  assert.equal(refused.headers.get('x-should-retry'), 'false');
});
