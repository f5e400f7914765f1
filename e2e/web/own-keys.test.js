// Own keys of providers: added, used, refused by the provider, and removed, in a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, hostile, open } from './weir.js';

const weir = await demo();
const b = await browser();
const mine = 'own-key-0123456789-mine';
const name = 'Simulator, Converse wire';
const ask = async () => (await weir.call('/v1/chat/completions', { model: 'sim/chat-bedrock', messages: [{ role: 'user', content: 'hello' }] })).json();
const revoke = (key) => fetch(`${weir.simulator_url}/sim/keys?revoke=${key}`, { method: 'POST' });

/** Chooses what the menu of the key offers. */
async function choose(page, what) {
  await page.getByRole('button', { name: `Actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: what }).click();
}

test('an own key is used, fails, is replaced and removed', async () => {
  const page = await open(b, weir, { path: '/settings/provider-keys', signedIn: true });
  await page.getByText('No keys yet.').waitFor();
  await page.getByRole('button', { name: 'Add a key' }).click();
  await page.getByLabel('Provider', { exact: true }).selectOption({ label: name });
  await page.getByLabel('Key', { exact: true }).fill('short');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('key must have from 8').waitFor();
  await page.getByLabel('Key', { exact: true }).fill('has spaces inside it');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('without spaces').waitFor();
  await page.getByLabel('Key', { exact: true }).fill(mine);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const row = page.locator('[data-key="sim-bedrock"]');
  await row.getByText('in use').waitFor();
  await row.getByText('mine', { exact: true }).waitFor();
  assert.equal((await page.content()).includes(mine), false, 'the page has the key');

  let answer = await ask();
  assert.equal(answer.usage.is_byok, true);
  const call = await open(b, weir, { path: `/calls/${answer.id}`, signedIn: true });
  await call.getByText('Own key', { exact: true }).waitFor();
  await call.done();

  await page.getByRole('button', { name: `Test the key of ${name}` }).click();
  await page.getByText(`${name} accepts the key.`).waitFor();
  await revoke(mine);
  answer = await ask(); // the gateway's own credential serves it
  assert.equal(answer.usage.is_byok, false);
  await page.reload();
  await row.getByText('The provider does not accept this key.').waitFor();
  await page.getByLabel(`Order of ${name}`).selectOption('only');
  await row.getByText('are called with your own keys alone').waitFor();
  answer = await ask();
  assert.match(answer.error.message, /does not accept your own key/);

  await choose(page, 'Put in another key');
  await page.getByLabel('Key', { exact: true }).fill(`${mine}-2`);
  await page.getByRole('button', { name: 'Put in another key' }).click();
  await page.getByText('The key was replaced.').waitFor();
  assert.equal((await ask()).usage.is_byok, true);

  await choose(page, 'Switch off');
  await row.getByText('fail until it is on again').waitFor();
  assert.match((await ask()).error.message, /switched off/);
  await choose(page, 'Remove');
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await row.getByText('Put in another key, change the order').waitFor();
  assert.match((await ask()).error.message, /was removed/);
  await choose(page, 'Remove');
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByText('No keys yet.').waitFor();
  assert.equal((await ask()).usage.is_byok, false);
  await page.done();
});

test('the window and the list are for everybody: both themes, Russian, a small phone', async () => {
  const added = await weir.call('/api/provider-keys', { provider: 'sim-bedrock', key: `${mine}-3`, order: 'only' }, weir.management_key);
  assert.equal(added.status, 201);
  for (const theme of ['light', 'dark']) {
    const page = await open(b, weir, { path: '/settings/provider-keys', signedIn: true, theme });
    await page.locator('[data-key="sim-bedrock"]').waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Add a key' }).click();
    await page.getByLabel('Key', { exact: true }).waitFor();
    await accessible(page);
    await page.done();
  }
  const page = await open(b, weir, { path: '/settings/provider-keys', signedIn: true, language: 'ru', size: 'small' });
  await page.locator('[data-key="sim-bedrock"]').waitFor();
  await fitsWidth(page);
  assert.deepEqual(await englishWords(page, /^(Weir|English|demo|UTC|EN)$|Chrome|Simulator|wire|Converse/), []);
  if (process.env.SHOTS) {
    await page.screenshot({ path: `${process.env.SHOTS}/own-keys-phone-ru.png` });
    const desk = await open(b, weir, { path: '/settings/provider-keys', signedIn: true, theme: 'dark' });
    await desk.locator('[data-key="sim-bedrock"]').waitFor();
    await desk.screenshot({ path: `${process.env.SHOTS}/own-keys-dark.png` });
    await desk.done();
  }
  await page.done();
});

test('hostile names of providers and what their keys end in are text', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/settings' });
  const { data, providers, ...rest } = await (await page.request.get(`${weir.url}/api/provider-keys`)).json();
  assert.ok(data.length > 0 && providers.length > 0);
  const names = hostile.map((name, i) => ({ ...providers[0], id: `evil-${i}`, name }));
  const failed = { at: '2026-11-20T10:00:00Z', code: 'refused', status: 401, message: hostile[1] };
  await page.route('**/api/provider-keys', (route) => route.fulfill({ json: { ...rest, providers: names, data: names.map((p, i) => ({ ...data[0], id: `own_${i}`, provider: p.id, provider_name: p.name, last4: hostile[i].slice(0, 4), last_error: failed })) } }));
  await page.goto(`${weir.url}/settings/provider-keys`);
  await page.locator(`[data-key="evil-${hostile.length - 1}"]`).waitFor();
  await becomes(async () => { const shown = await page.locator('main').innerText(); return hostile.filter((name) => !shown.includes(name)); }, []);
  await page.done();
});
