// What goes wrong at the console: two clicks, two administrators in one draft, the way back after an act that cannot be undone, texts that are none.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { becomes, browser, demo, fitsWidth, hostile, open, program, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const run = async (...args) => (await promisify(execFile)(program, [...args, '--data', weir.data], { env: { PATH: process.env.PATH, HOME: weir.dir } })).stdout;
const person = async (name) => /\((usr_\w+)\)/.exec(await run('user', 'add', name))[1];
const read = async (page, path) => (await page.request.get(weir.url + path)).json();
/** Two clicks in one turn of the browser: nothing is drawn between them. */
const twice = (button) => button.evaluate((e) => { e.click(); e.click(); });

test('two clicks on what moves money or makes codes move it once', async () => {
  const id = await person('Clara');
  const page = await open(b, weir, { signedIn: true, path: `/admin/people/${id}` });
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Adjust', exact: true }).click();
  await dialog.getByLabel('Amount').fill('7');
  await dialog.getByLabel('Reason, shown in the statement').fill('a gift');
  await twice(dialog.getByRole('button', { name: /^Add 7/ }));
  await dialog.waitFor({ state: 'detached' });
  assert.equal((await read(page, `/api/admin/users/${id}`)).data.balance, '7');
  await page.goto(`${weir.url}/admin/vouchers`);
  await page.getByRole('button', { name: 'Make vouchers' }).click();
  await dialog.getByRole('textbox').first().fill('5');
  await dialog.getByLabel('What they are for').fill('twice');
  await twice(dialog.getByRole('button', { name: /^Make/ }));
  await becomes(async () => (await read(page, '/api/admin/vouchers')).data.filter((v) => v.note === 'twice').length > 0, true);
  await settled(page);
  assert.equal((await read(page, '/api/admin/vouchers')).data.filter((v) => v.note === 'twice').length, 1);
  await page.done();
});

test('of two administrators who change one draft, the second learns it and loses nothing of the first', async () => {
  const first = await open(b, weir, { signedIn: true }), second = await open(b, weir, { signedIn: true });
  const headers = { origin: weir.url, 'x-weir': '1' };
  for (const [path, data] of [['providers', { id: 'mill', base_url: `${weir.simulator_url}/v1` }], ['endpoints', { provider: 'mill', model: 'mill/small', upstream_id: 'chat', context_length: 8000, prices: { prompt: '0.5', completion: '1.5' } }]])
    assert.equal((await first.request.post(`${weir.url}/api/admin/${path}`, { headers, data })).status(), 201);
  for (const page of [first, second]) { await page.goto(`${weir.url}/admin/catalog?q=mill%2Fmill`); await settled(page); await page.getByRole('button', { name: 'Raise prices' }).click(); await page.getByLabel('By how many per cent').fill(page === first ? '10' : '20'); }
  await first.getByRole('dialog').getByRole('button', { name: 'Put into the draft' }).click();
  await first.getByRole('dialog').waitFor({ state: 'detached' });
  await second.getByRole('dialog').getByRole('button', { name: 'Put into the draft' }).click();
  await second.getByRole('dialog').getByRole('alert').waitFor();
  const { draft } = await read(first, '/api/admin/prices/draft');
  assert.equal(draft.changes.find((c) => c.endpoint === 'mill/mill/small' && c.name === 'prompt').new, '0.55');
  const publish = () => first.request.post(`${weir.url}/api/admin/prices/publish`, { headers, data: { version: draft.version, sure: true } });
  assert.deepEqual((await Promise.all([publish(), publish()])).map((r) => r.status()).sort(), [201, 409]);
  assert.equal((await read(first, '/api/admin/prices/publications')).data.length, 1);
  await first.done();
  await second.done();
});

test('a price that becomes free is asked about before it is published', async () => {
  const page = await open(b, weir, { signedIn: true });
  const headers = { origin: weir.url, 'x-weir': '1' };
  assert.equal((await read(page, '/api/admin/prices/draft')).draft, null);
  assert.equal((await page.request.patch(`${weir.url}/api/admin/prices/draft/${encodeURIComponent('mill/mill/small')}`, { headers, data: { prices: { prompt: '0' } } })).status(), 200);
  await page.goto(`${weir.url}/admin/catalog?q=mill%2Fmill`);
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('it would be free').waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Publish', exact: true }).isDisabled(), true);
  await page.done();
});

test('the way back after a block shows what is, and a forward acts no second time', async () => {
  const id = await person('Dora');
  const page = await open(b, weir, { signedIn: true, path: '/admin/people' });
  await page.locator(`a[href^="/admin/people/${id}"]`).filter({ visible: true }).first().click();
  await page.getByRole('button', { name: 'Block', exact: true }).click();
  const dialog = page.getByRole('alertdialog');
  await dialog.getByRole('button', { name: 'Block', exact: true }).click();
  await page.getByRole('button', { name: 'Unblock', exact: true }).waitFor();
  await page.goBack();
  await page.goForward();
  await page.getByRole('button', { name: 'Unblock', exact: true }).waitFor();
  const { data } = await read(page, '/api/admin/audit?limit=50');
  assert.equal(data.filter((r) => r.target === id && r.action === 'user.disable').length, 1);
  await page.done();
});

test('names that are markup, long or of another direction are text on every page of the console that shows them', async () => {
  const names = [...hostile.slice(0, 5), 'שלום עולם', '😀'.repeat(40), 'w'.repeat(256)];
  for (const name of names) await person(name).catch((e) => assert.match(e.stderr, /direction of text/));
  const page = await open(b, weir, { signedIn: true });
  for (const path of ['/admin/people', '/admin/audit', '/admin/sales', '/admin']) {
    await page.goto(weir.url + path);
    await settled(page);
    await page.setViewportSize({ width: 360, height: 740 });
    await settled(page);
    await fitsWidth(page, path);
    await page.setViewportSize({ width: 1440, height: 900 });
  }
  await page.done();
});
