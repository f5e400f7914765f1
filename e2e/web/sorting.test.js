// Tables whose rows are all there are sorted by their heads, by keyboard too, and the address keeps it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, browser, demo, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const manage = (path, method, body) => fetch(weir.url + path, { method, headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, body: JSON.stringify(body) });
for (const name of ['beta 10', 'Alpha', 'beta 9']) assert.equal((await manage('/api/keys', 'POST', { name })).status, 201);
const names = (page) => page.locator('table [data-row] th').evaluateAll((all) => all.map((e) => e.querySelector('a')?.textContent ?? e.textContent));
const own = (all) => all.filter((n) => /^(Alpha|beta)/.test(n));

test('keys are sorted by name in both directions, and then as the list has them', async () => {
  const page = await open(b, weir, { path: '/keys', signedIn: true });
  const before = await names(page);
  const head = page.getByRole('columnheader', { name: 'Name' });
  const press = head.getByRole('button');
  await press.focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(/order=name/);
  assert.equal(await head.getAttribute('aria-sort'), 'ascending');
  assert.deepEqual(own(await names(page)), ['Alpha', 'beta 9', 'beta 10']);
  assert.ok(await press.evaluate((e) => e === document.activeElement), 'the focus stays on the head');
  await accessible(page);
  await page.keyboard.press('Space');
  await page.waitForURL(/order=-name/);
  assert.equal(await head.getAttribute('aria-sort'), 'descending');
  assert.deepEqual(own(await names(page)), ['beta 10', 'beta 9', 'Alpha']);
  await page.reload();
  await settled(page);
  assert.deepEqual(own(await names(page)), ['beta 10', 'beta 9', 'Alpha'], 'the address has the order');
  await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click();
  await page.waitForURL((u) => !u.search.includes('order'));
  assert.equal(await page.getByRole('columnheader', { name: 'Name' }).getAttribute('aria-sort'), null);
  assert.deepEqual(await names(page), before);
  await page.done();
});

test('the heads of the catalog choose its order', async () => {
  const page = await open(b, weir, { path: '/models', signedIn: true });
  await page.getByRole('columnheader', { name: 'Context' }).getByRole('button').click();
  await page.waitForURL(/sort=context/);
  assert.equal(await page.getByRole('columnheader', { name: 'Context' }).getAttribute('aria-sort'), 'descending');
  assert.equal(await page.getByRole('combobox', { name: 'Sort by' }).first().inputValue(), 'context');
  await page.getByRole('columnheader', { name: 'Context' }).getByRole('button').click();
  await page.waitForURL((u) => !u.search.includes('sort'));
  await accessible(page);
  await page.done();
});

test('the order of activity stays when a filter changes, and the other pages have heads that sort', async () => {
  for (const model of ['sim/chat', 'sim/echo']) for (let i = 0; i < (model === 'sim/chat' ? 1 : 3); i++) assert.equal((await weir.call('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi' }] })).status, 200);
  const page = await open(b, weir, { path: '/activity?order=-calls', signedIn: true });
  const figures = () => page.locator('tbody [data-row] td[data-col=calls]').evaluateAll((all) => all.map((e) => Number(e.textContent)));
  await page.getByRole('columnheader', { name: 'Calls' }).waitFor();
  const shown = await figures();
  assert.ok(shown.length >= 2);
  assert.deepEqual(shown, [...shown].sort((x, y) => y - x));
  await page.getByLabel('Group by').selectOption('key');
  await page.waitForURL(/by=key/);
  assert.match(page.url(), /order=-calls/);
  for (const [path, head] of [['/admin/people', 'Available'], ['/admin/endpoints?q=sim%2Fchat', 'Endpoint'], ['/admin/sales', 'Calls']]) {
    await page.goto(weir.url + path);
    await settled(page);
    const th = page.getByRole('columnheader', { name: new RegExp(`^${head}`) });
    await th.getByRole('button').click();
    await page.waitForURL(/order=/);
    assert.match(await th.getAttribute('aria-sort'), /ascending|descending/, path);
    await accessible(page);
  }
  await page.done();
});
