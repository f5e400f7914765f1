// Coding agents in non-interactive mode: they change files in a folder with models on every wire. The prompt of a task contains the tool
// calls that the simulator makes, and the agents execute them as usual. They are set up as docs/clients.md says.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { demo, setUp } from './clients.js';

const weir = await demo();
const bin = fileURLToPath(new URL('node_modules/.bin', import.meta.url));
const limit = { timeout: 300_000 };

before(async () => {
  for (const name of ['claude', 'codex', 'gemini', 'opencode']) {
    await access(join(bin, name)).catch(() => assert.fail(`${name} is not installed in e2e/clients: run make e2e-clients, which needs the npm registry.`));
  }
});

/** An agent's home and its folder, with one file in it; both go when the tests end. */
async function place() {
  const root = await mkdtemp(join(tmpdir(), 'weir-e2e-agent-'));
  after(() => rm(root, { recursive: true, maxRetries: 5 }));
  const at = { home: join(root, 'home'), work: join(root, 'work') };
  await mkdir(at.home, { recursive: true });
  await mkdir(at.work);
  return at;
}

/**
 * Sets a client up as its page says and runs its program to the end, in a process group of its own, which is killed when the test is over for any
 * reason. The page's line that starts the program gets the arguments; without such a line, the program is called by its name.
 */
async function run(t, client, model, { home, work }, args, env = {}, { key = weir.api_key, edit = (text) => text } = {}) {
  const { commands, files } = setUp(client, { root: weir.root, api_key: key }, model);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, name)), { recursive: true });
    await writeFile(join(home, name), edit(text));
  }
  const program = { 'Claude Code': 'claude', 'Gemini CLI': 'gemini' }[client] ?? client.toLowerCase();
  const lines = commands.trimEnd().split('\n').map((line) => line.replace(/\s+#.*$/, ''));
  if (!lines.at(-1).startsWith(program)) lines.push(program);
  lines.push(`exec ${lines.pop()} "$@"`);
  const child = spawn('bash', ['-euc', lines.join('\n'), program, ...args], {
    cwd: work, env: { PATH: bin + delimiter + process.env.PATH, HOME: home, TZ: 'UTC', ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true,
  });
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

/** The calls of a key of that name, as their pages have them, once they are in the database. */
async function callsOf(name) {
  const read = async (path) => (await fetch(`${weir.root}/api/calls${path}`, { headers: { Authorization: `Bearer ${weir.management_key}` } })).json();
  for (;;) {
    const { data } = await read('?limit=100');
    const own = data.filter((call) => call.key.name === name);
    if (own.length > 0) return Promise.all(own.map(async (call) => (await read(`/${call.id}`)).data));
  }
}

async function charged(work) {
  const before = await weir.spent();
  await work();
  assert.ok(await weir.spent() > before, 'nothing was charged');
}

/** Keeps Claude Code from calling other hosts. */
const quiet = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1', DISABLE_AUTOUPDATER: '1' };

describe('agents', { concurrency: 2 }, () => {
  test('Claude Code asks for the models that are set for haiku, sonnet and opus', { timeout: 600_000 }, (t) => charged(async () => {
    for (const name of ['haiku', 'sonnet', 'opus']) {
      const said = await run(t, 'Claude Code', 'sim/echo', await place(), ['-p', '--model', name, '--output-format', 'json', 'Hello'], quiet);
      assert.deepEqual(Object.keys(JSON.parse(said).modelUsage), ['sim/echo'], name);
    }
  }));

  for (const model of weir.models('chat')) {
    test(`Claude Code writes and edits a file, ${model}`, limit, (t) => charged(async () => {
      const { home, work } = await place();
      const file = join(work, 'river.txt');
      const steps = script(['Write', { file_path: file, content: 'The weir stands.\n' }], ['Edit', { file_path: file, old_string: 'stands', new_string: 'holds' }], ['Read', { file_path: file }]);
      const said = await run(t, 'Claude Code', model, { home, work }, ['-p', '--permission-mode', 'acceptEdits', '--output-format', 'json', `${steps} Write a file, then mend it.`], quiet);
      assert.equal(await readFile(file, 'utf8'), 'The weir holds.\n');
      const result = JSON.parse(said);
      assert.equal(result.is_error, false);
      assert.equal(result.num_turns, 4); // three calls and the last word
      assert.match(result.result, /The weir holds\./);
    }));

    for (const sockets of [false, true]) test(`Codex writes and patches a file, ${model}, ${sockets ? 'through a WebSocket' : 'over HTTP'}`, limit, (t) => charged(async () => {
      const { home, work } = await place();
      const name = `${sockets} ${model}`;
      const { key } = await weir.client({ apiKey: weir.management_key }).post('/keys', { body: { name } });
      const steps = script(['exec_command', { cmd: 'printf "The weir stands.\\n" > river.txt' }], ['exec_command', { cmd: 'sed -i s/stands/holds/ river.txt && cat river.txt' }]);
      const edit = (text) => text.replace(/^supports_websockets = true.*\n/m, sockets ? '$&' : ''); // the page says what is without the line
      const said = await run(t, 'Codex', model, { home, work }, ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', `${steps} Write a file, then mend it.`], {}, { key, edit });
      assert.equal(await readFile(join(work, 'river.txt'), 'utf8'), 'The weir holds.\n');
      const events = said.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
      const last = events.findLast((event) => event.item?.type === 'agent_message');
      assert.match(last.item.text, /The weir holds\./);
      assert.ok(events.findLast((event) => event.type === 'turn.completed').usage.output_tokens > 0);
      if (sockets) assert.ok(!said.includes('Falling back'), said);
      for (const call of await callsOf(name)) assert.equal(call.parameters?.websocket === true, sockets, 'it went another way');
    }));

    test(`Gemini CLI writes and edits a file, ${model}`, limit, (t) => charged(async () => {
      const { home, work } = await place();
      const file = join(work, 'river.txt');
      const steps = script(['write_file', { file_path: file, content: 'The weir stands.\n' }], ['replace', { file_path: file, instruction: 'Mend it.', old_string: 'stands', new_string: 'holds' }], ['read_file', { file_path: file }]);
      const said = await run(t, 'Gemini CLI', model, { home, work }, ['--approval-mode', 'yolo', '--output-format', 'json', '-p', `${steps} Write a file, then mend it.`], { GEMINI_CLI_TRUST_WORKSPACE: 'true' });
      assert.equal(await readFile(file, 'utf8'), 'The weir holds.\n');
      const result = JSON.parse(said);
      assert.equal(result.error, undefined);
      assert.match(result.response, /The weir holds\./);
      const used = result.stats.models[model];
      assert.equal(used.api.totalErrors, 0);
      assert.ok(used.api.totalRequests >= 4 && used.tokens.candidates > 0); // three calls and the last word
    }));

    test(`opencode writes and edits a file, ${model}`, { timeout: 600_000 }, (t) => charged(async () => {
      const { home, work } = await place();
      const file = join(work, 'river.txt');
      const steps = script(['write', { filePath: file, content: 'The weir stands.\n' }], ['edit', { filePath: file, oldString: 'stands', newString: 'holds' }], ['read', { filePath: file }]);
      const said = await run(t, 'opencode', model, { home, work }, ['run', '--format', 'json', `${steps} Write a file, then mend it.`], { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' });
      assert.equal(await readFile(file, 'utf8'), 'The weir holds.\n');
      const events = said.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
      assert.match(events.findLast((event) => event.type === 'text').part.text, /The weir holds\./);
      assert.ok(events.findLast((event) => event.type === 'step_finish').part.tokens.output > 0);
    }));
  }
});
