// Overview: first steps of a new account, then money, spending and the last calls, equal to what the API says.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, open } from './weir.js';

const weir = await demo();
const b = await browser();

test('an account without calls sees the first steps, then its calls', async () => {
  const page = await open(b, weir, { path: '/overview', signedIn: true });
  await page.getByRole('link', { name: 'Make a call' }).waitFor();
  await accessible(page);
  for (let i = 0; i < 3; i++) assert.equal((await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: `Hello ${i}` }] })).status, 200);
  await page.reload();
  const table = page.getByRole('table', { name: 'Latest calls' });
  await table.getByText('sim/chat').first().waitFor();
  const { data } = await page.evaluate(async () => (await fetch('/api/overview')).json());
  assert.equal(data.calls.length, 3);
  await becomes(() => table.getByRole('row').count(), 4);
  await accessible(page);
  await table.getByText('sim/chat').first().click();
  await page.waitForURL(/\/calls\/gen-/);
  await page.done();
});
test('spending has periods and groups in its address, and a file with all digits', async () => {
  const page = await open(b, weir, { path: '/overview?days=7&by=key', signedIn: true });
  const { data } = await page.evaluate(async () => (await fetch('/api/usage?group=key&limit=3')).json());
  const where = page.getByRole('heading', { name: 'Where it went' }).locator('xpath=ancestor::section[1]');
  await where.getByRole('link', { name: 'demo' }).waitFor();
  assert.equal(await where.locator('p [title]').getAttribute('title').then((t) => t.replace(/[^\d.]/g, '')), data.total);
  assert.match(await where.getByRole('link', { name: 'demo' }).getAttribute('href'), new RegExp(`^/calls\\?.*key=${data.series[0].key}`));
  const coming = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV: Spending' }).click();
  const rows = (await readFile(await (await coming).path(), 'utf8')).trim().split('\r\n').map((r) => r.split(','));
  assert.deepEqual([rows.length, rows[0][1], rows.at(-1)[1]], [8, 'demo', data.series[0].total]);
  await page.getByRole('button', { name: /^30 d/ }).click();
  await page.waitForURL((u) => u.search === '?by=key');
  await page.getByLabel('Group by').selectOption('model');
  await page.waitForURL((u) => u.search === '');
  await where.getByRole('link', { name: 'sim/chat' }).waitFor();
  await page.done();
});
test('it fits 360 px, and is Russian', async () => {
  const page = await open(b, weir, { path: '/overview', size: 'small', language: 'ru', signedIn: true });
  await page.getByRole('heading', { name: 'Обзор' }).waitFor();
  await page.getByText('Последние вызовы').first().waitFor();
  await fitsWidth(page);
  assert.deepEqual(await englishWords(page), []);
  await page.done();
});
