// Shared by the tests of clients: a demo with a checking fetch, a key without money, and the charges.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { demo as start, nanos } from '../node/weir.js';

export { nanos };

/** A test that hangs fails alone; the slowest takes a few seconds on a busy machine. */
export const limit = { timeout: 300_000 };

/**
 * Starts a demonstration. `root` is its address for clients that add /v1 themselves, `models(persona)` one model for each wire that
 * providers speak, `charge(id)` what a generation cost in nano-rubles. What passes `fetch` must be as the OpenAPI document says.
 */
export async function demo() {
  const weir = await start();
  const read = (path) => weir.client().get(path);
  return {
    ...weir,
    root: weir.api.replace(/\/v1$/, ''),
    fetch: checkedBy(weir.contract),
    models: (persona) => byDialect(weir.models, persona),
    charge: async (id) => nanos((await read(`/generation?id=${id}`)).data.total_cost),
    spent: async () => nanos((await read('/credits')).data.total_usage),
    emptyKey: async () => (await weir.client({ apiKey: weir.management_key }).post('/keys', { body: { name: 'empty', limit: 0 } })).key,
  };
}

const page = await readFile(new URL('../../docs/clients.md', import.meta.url), 'utf8');

/**
 * The set-up of a client as docs/clients.md has it: `commands`, its lines for a shell, and `files`, by their paths below the home folder. What a
 * reader puts in is put in: address, key and model. The page says to which file a block belongs in the line before it.
 */
export function setUp(client, { root, api_key }, model) {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${client} ✓`));
  assert.ok(section, `docs/clients.md has no page of ${client} that is tested`);
  const filled = section.replaceAll('http://127.0.0.1:8080', root).replaceAll(/\b(google\/gemini-3\.1-pro-preview|google\/gemini-3\.5-flash|anthropic\/claude-sonnet-4\.6)\b/g, model);
  const files = {};
  let [commands, before] = [`export BASE=${root}\nexport KEY=${api_key}\n`, ''];
  for (const [part] of filled.matchAll(/(?:^ {4}.*\n(?:\n(?= {4}))?)+|^.*\n/gm)) {
    if (!part.startsWith('    ')) {
      if (part.trim()) before = part;
      continue;
    }
    const text = part.replaceAll(/^ {4}/gm, '');
    const file = /`~\/([^`]+)`:\s*$/.exec(before)?.[1];
    if (file) files[file] = text;
    else commands += text;
  }
  return { commands, files };
}

/** Some clients hand over a Request; the contract takes an address and what belongs to it. */
function checkedBy(contract) {
  return async (input, init) => {
    if (!(input instanceof Request)) return contract.fetch(String(input), init);
    const body = await input.text();
    return contract.fetch(input.url, { method: input.method, headers: input.headers, signal: input.signal, ...(body && { body }) });
  };
}

function byDialect(models, persona) {
  const found = models.filter((model) => model === `sim/${persona}` || model.startsWith(`sim/${persona}-`));
  assert.equal(found.length, 6, `${persona} is served on ${found}`);
  return found;
}
