// Shared by the tests of clients: a demo with a checking fetch, a key without money, and the charges.
import assert from 'node:assert/strict';
import { demo as start, nanos } from '../node/weir.js';

export { nanos };

/** A test that hangs fails alone; the slowest takes a few seconds on a busy machine. */
export const limit = { timeout: 60_000 };

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
