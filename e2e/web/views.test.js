// Saved views: the filters of a page under names, kept with the account; the address stays the truth.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, fitsWidth, hostile, open } from './weir.js';

const weir = await demo();
const b = await browser();
assert.equal((await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] })).status, 200);
const panel = async (page, button = 'Views') => {
  await page.getByRole('button', { name: button, exact: true }).click();
  return page.getByRole('dialog', { name: button === 'Views' ? 'Saved views' : 'Наборы фильтров' });
};
const save = async (page, list, name) => {
  await list.getByLabel('Name of a new view').fill(name);
  await list.getByRole('button', { name: 'Save view' }).click();
};

test('a view is saved, opened on another page load, changed, renamed and deleted', async () => {
  const page = await open(b, weir, { path: '/activity?by=key&show=calls&days=7', signedIn: true });
  let list = await panel(page);
  await list.getByText('Set the filters, give them a name').waitFor();
  await save(page, list, 'Keys, this week');
  await list.getByRole('link', { name: /Keys, this week shown now/ }).waitFor();
  await save(page, list, 'Keys, this week');
  await list.getByText('There is already a view with this name.').waitFor();
  await accessible(page);
  await page.keyboard.press('Escape');

  // Another browser of the same account has it; opening one is following an address.
  const other = await open(b, weir, { path: '/activity', signedIn: true });
  list = await panel(other);
  const link = list.getByRole('link', { name: 'Keys, this week' });
  assert.equal(await link.getAttribute('href'), '/activity?by=key&days=7&show=calls');
  await link.click();
  await other.waitForURL(/\/activity\?.*by=key/);
  await becomes(() => other.getByLabel('Group by').inputValue(), 'key');
  await becomes(() => other.getByLabel('Measure').inputValue(), 'calls');
  await other.goBack();
  await becomes(() => other.getByLabel('Group by').inputValue(), 'model');

  // It gets a new name, then the filters that are shown.
  await other.getByLabel('Group by').selectOption('result');
  list = await panel(other);
  await list.getByRole('button', { name: 'Change Keys, this week' }).click();
  await list.getByLabel('Name', { exact: true }).fill('Results');
  await list.getByRole('button', { name: 'Use these filters' }).click();
  await list.getByRole('link', { name: /Results shown now/ }).waitFor();
  assert.equal(await list.getByRole('link', { name: /Results/ }).getAttribute('href'), '/activity?by=result');

  await list.getByRole('button', { name: 'Delete Results' }).click();
  await other.getByText('View Results is deleted').waitFor();
  await list.getByRole('link', { name: /Results/ }).waitFor({ state: 'detached' });
  await other.getByRole('button', { name: 'Undo' }).click();
  list = await panel(other);
  await list.getByRole('link', { name: /Results shown now/ }).waitFor();
  await other.done();
  await page.done();
});

test('views of calls are apart, keep no open call, and their names are text', async () => {
  const page = await open(b, weir, { path: '/calls?result=ok&model=sim%2Fchat', signedIn: true });
  await page.locator('tbody [data-row]').first().click();
  await page.waitForURL(/open=/);
  await page.keyboard.press('Escape');
  const list = await panel(page);
  assert.equal(await list.getByRole('link').count(), 0);
  const name = hostile[0].slice(0, 60);
  await save(page, list, name);
  await list.getByRole('link', { name }).waitFor();
  assert.equal(await list.getByRole('link').first().getAttribute('href'), '/calls?model=sim/chat&result=ok');
  const rows = (await (await page.request.get(`${weir.url}/api/views`)).json()).data;
  assert.deepEqual(rows.map((v) => v.page), ['activity', 'calls']);
  assert.equal(rows[1].name, name);
  await page.done();
});

for (const theme of ['light', 'dark']) {
  test(`axe finds nothing, it fits 360 px and is Russian, ${theme}`, async () => {
    for (const path of ['/activity', '/calls']) {
      const page = await open(b, weir, { path, theme, size: 'small', language: 'ru', signedIn: true });
      const list = await panel(page, 'Наборы фильтров');
      await list.getByRole('link').first().waitFor();
      await list.getByRole('button', { name: /^Изменить/ }).first().click();
      await accessible(page);
      await fitsWidth(page);
      const box = await list.boundingBox();
      assert.ok(box.x >= 0 && box.x + box.width <= 360, JSON.stringify(box));
      await page.done();
    }
  });
}
