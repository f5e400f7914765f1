// Coding agents in non-interactive mode: they change files in a folder with models on every wire. The prompt of a task contains the tool
// calls that the simulator makes, and the agents execute them as usual.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { demo } from './clients.js';

const weir = await demo();
const programs = Object.fromEntries(['claude', 'codex', 'gemini'].map((name) => [name, fileURLToPath(new URL(`node_modules/.bin/${name}`, import.meta.url))]));
const limit = { timeout: 80_000 };

before(async () => {
  for (const [name, program] of Object.entries(programs)) {
    await access(program).catch(() => assert.fail(`${name} is not installed in e2e/clients: run make e2e-clients, which needs the npm registry.`));
  }
});

/** An agent's home and its folder, with one file in it; both go when the tests end. */
async function place() {
  const root = await mkdtemp(join(tmpdir(), 'weir-e2e-agent-'));
  after(() => rm(root, { recursive: true, maxRetries: 5 }));
  const at = { home: join(root, 'home'), work: join(root, 'work') };
  await mkdir(join(at.home, '.codex'), { recursive: true });
  await mkdir(join(at.home, '.gemini'));
  await mkdir(at.work);
  return at;
}

/** Runs a program to its end in a process group of its own, which is killed when the test is over for any reason. */
async function run(t, program, args, { cwd, env }) {
  const child = spawn(program, args, { cwd, env: { PATH: process.env.PATH, TZ: 'UTC', ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const kill = () => { try { process.kill(-child.pid, 'SIGKILL'); } catch { /* it is gone */ } };
  t.signal.addEventListener('abort', kill);
  let [said, complained] = ['', ''];
  child.stdout.on('data', (piece) => { said += piece; });
  child.stderr.on('data', (piece) => { complained += piece; });
  const code = await new Promise((resolve, reject) => { child.once('close', resolve); child.once('error', reject); });
  kill();
  assert.equal(code, 0, said + complained);
  return said;
}

/** A marker that has the simulator call these tools, one after the other. */
const script = (...calls) => `[[sim ${calls.map(([name, args]) => `call=${name},${Buffer.from(JSON.stringify(args)).toString('base64url')}`).join(' ')}]]`;

/** How many of the latest calls of a model came through a WebSocket. */
async function throughSockets(model) {
  const { data } = await weir.client({ apiKey: weir.management_key }).get('/calls?limit=100');
  return data.filter((call) => call.model === model && call.parameters?.websocket).length;
}

async function charged(work) {
  const before = await weir.spent();
  await work();
  assert.ok(await weir.spent() > before, 'nothing was charged');
}

describe('agents', { concurrency: 2 }, () => {
  for (const model of weir.models('chat')) {
    test(`Claude Code writes and edits a file, ${model}`, limit, (t) => charged(async () => {
      const { home, work } = await place();
      const file = join(work, 'river.txt');
      const steps = script(['Write', { file_path: file, content: 'The weir stands.\n' }], ['Edit', { file_path: file, old_string: 'stands', new_string: 'holds' }], ['Read', { file_path: file }]);
      const said = await run(t, programs.claude, ['-p', '--permission-mode', 'acceptEdits', '--output-format', 'json', `${steps} Write a file, then mend it.`], {
        cwd: work,
        env: {
          HOME: home, ANTHROPIC_BASE_URL: weir.root, ANTHROPIC_AUTH_TOKEN: weir.api_key, ANTHROPIC_MODEL: model, ANTHROPIC_SMALL_FAST_MODEL: model,
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1', DISABLE_AUTOUPDATER: '1',
        },
      });
      assert.equal(await readFile(file, 'utf8'), 'The weir holds.\n');
      const result = JSON.parse(said);
      assert.equal(result.is_error, false);
      assert.equal(result.num_turns, 4); // three calls and the last word
      assert.match(result.result, /The weir holds\./);
    }));

    for (const sockets of [false, true]) test(`Codex writes and patches a file, ${model}, ${sockets ? 'through a WebSocket' : 'over HTTP'}`, limit, (t) => charged(async () => {
      const { home, work } = await place();
      const through = await throughSockets(model);
      await writeFile(join(home, '.codex', 'config.toml'), `model = "${model}"
model_provider = "weir"
[model_providers.weir]
name = "Weir"
base_url = "${weir.api}"
env_key = "WEIR_KEY"
wire_api = "responses"
supports_websockets = ${sockets}
`);
      const steps = script(['exec_command', { cmd: 'printf "The weir stands.\\n" > river.txt' }], ['exec_command', { cmd: 'sed -i s/stands/holds/ river.txt && cat river.txt' }]);
      const said = await run(t, programs.codex, ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', `${steps} Write a file, then mend it.`], {
        cwd: work, env: { HOME: home, WEIR_KEY: weir.api_key },
      });
      assert.equal(await readFile(join(work, 'river.txt'), 'utf8'), 'The weir holds.\n');
      const events = said.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
      const last = events.findLast((event) => event.item?.type === 'agent_message');
      assert.match(last.item.text, /The weir holds\./);
      assert.ok(events.findLast((event) => event.type === 'turn.completed').usage.output_tokens > 0);
      if (sockets) assert.ok(!said.includes('Falling back'), said);
      assert.equal(await throughSockets(model) > through, sockets, 'another way than asked for');
    }));

    test(`Gemini CLI writes and edits a file, ${model}`, limit, (t) => charged(async () => {
      const { home, work } = await place();
      const file = join(work, 'river.txt');
      await writeFile(join(home, '.gemini', 'settings.json'), JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false } }));
      const steps = script(['write_file', { file_path: file, content: 'The weir stands.\n' }], ['replace', { file_path: file, instruction: 'Mend it.', old_string: 'stands', new_string: 'holds' }], ['read_file', { file_path: file }]);
      const said = await run(t, programs.gemini, ['--model', model, '--approval-mode', 'yolo', '--output-format', 'json', '-p', `${steps} Write a file, then mend it.`], {
        cwd: work, env: { HOME: home, GOOGLE_GEMINI_BASE_URL: weir.root, GEMINI_API_KEY: weir.api_key, GEMINI_CLI_TRUST_WORKSPACE: 'true' },
      });
      assert.equal(await readFile(file, 'utf8'), 'The weir holds.\n');
      const result = JSON.parse(said);
      assert.equal(result.error, undefined);
      assert.match(result.response, /The weir holds\./);
      const used = result.stats.models[model];
      assert.equal(used.api.totalErrors, 0);
      assert.ok(used.api.totalRequests >= 4 && used.tokens.candidates > 0); // three calls and the last word
    }));
  }
});
