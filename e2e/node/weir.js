// Starts the built binary and provides the unmodified SDK, with a fetch that checks everything against the OpenAPI document.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import OpenAI from 'openai';
import { Contract } from './contract.js';

export const program = process.env.WEIR_BIN ?? new URL('../../bin/weir', import.meta.url).pathname;

/** Starts `weir demo` with a data folder of its own; it ends with the test file, and must end well. */
export async function demo() {
  const dir = await mkdtemp(join(tmpdir(), 'weir-e2e-node-'));
  const data = join(dir, 'data');
  const shapes = process.env.SHAPES ?? String(1 + Math.floor(Math.random() * 1e9));
  console.log(`the demo's answers are dressed by SHAPES=${shapes}`);
  const child = spawn(program, ['demo', '--json', '--listen', '127.0.0.1:0', '--data', data, '--shapes', shapes, '--empty'], {
    env: { PATH: process.env.PATH, HOME: dir, TZ: 'UTC' }, // no variable that would switch a real provider on
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (piece) => { log += piece; });
  const exited = new Promise((resolve) => { child.once('exit', resolve); child.once('error', resolve); });
  const line = await Promise.race([
    new Promise((resolve) => createInterface(child.stdout).once('line', resolve)),
    exited.then((code) => { throw new Error(`weir demo ended with ${code} before it was ready\n${log}`); }),
  ]);
  const said = JSON.parse(line);
  const api = said.base_url.replace(/\/(v1\/?)?$/, '') + '/v1';
  const contract = await Contract.load(new URL('/openapi.yaml', api));
  after(async () => {
    child.kill('SIGTERM');
    assert.equal(await exited, 0, `weir demo ended badly\n${log}`);
    const books = spawnSync(program, ['ledger', 'verify', '--data', data], { env: { PATH: process.env.PATH }, encoding: 'utf8' });
    assert.equal(books.status, 0, `weir ledger verify: ${books.stdout}${books.stderr}`);
    assert.ok(!log.includes(said.api_key) && !log.includes(said.management_key), 'a key stands in the log');
    await rm(dir, { recursive: true });
    assert.deepEqual(contract.complaints, [], 'what passed is not what the OpenAPI document says');
  });

  const client = (options = {}) => new OpenAI({ baseURL: api, apiKey: said.api_key, maxRetries: 0, timeout: 60_000, fetch: contract.fetch, ...options });
  return { ...said, api, data, client, contract };
}

/** The models of a persona: one on each wire that providers speak. */
export function wires(weir, persona) {
  const found = weir.models.filter((model) => model === `sim/${persona}` || model.startsWith(`sim/${persona}-`));
  assert.equal(found.length, 6, `${persona} is served on ${found}`);
  return found;
}

/** A client whose requests break the document on purpose: only the answers are checked. */
export const sendingWrong = (weir, options = {}) => weir.client({ ...options, fetch: weir.contract.fetchWrong });

/** Amounts are compared in 10^-9 rubles as BigInt; the number goes through its shortest decimal text, never through arithmetic. */
export function nanos(amount) {
  const match = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(plain(amount));
  assert.ok(match, `${amount} is not an amount with at most nine decimals`);
  const n = BigInt(match[2]) * 1_000_000_000n + BigInt((match[3] ?? '').padEnd(9, '0'));
  return match[1] ? -n : n;
}

/** JavaScript writes small numbers with an exponent. */
function plain(amount) {
  const text = String(amount);
  return text.includes('e') ? Number(amount).toFixed(9) : text;
}

export const user = (content) => [{ role: 'user', content }];

/** Collects a stream: its chunks, the first choice's text and reasoning, and the usage of whichever chunk has it. */
export async function collect(stream) {
  const all = { chunks: [], text: '', reasoning: '', usage: undefined };
  for await (const chunk of await stream) {
    all.chunks.push(chunk);
    const delta = chunk.choices[0]?.delta;
    all.text += delta?.content ?? '';
    all.reasoning += delta?.reasoning ?? '';
    all.usage = chunk.usage ?? all.usage;
  }
  return all;
}
