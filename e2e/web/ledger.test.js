// The ledger as operators see it: a check of the books, and what was posted for one call.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, open } from './weir.js';

const weir = await demo();
const b = await browser();
const called = await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: 'Hi' }] });
const call = called.headers.get('x-generation-id');

test('an operator checks the books and finds what was posted for a call', async () => {
  const page = await open(b, weir, { path: '/admin/ledger', signedIn: true });
  await page.getByText('not checked yet').waitFor();
  await page.getByText('Nothing waits').waitFor();
  await becomes(async () => (await page.request.get(`${weir.url}/api/admin/ledger/transaction?q=${call}`)).status(), 200);

  await page.getByRole('button', { name: 'Check now' }).click();
  await page.getByText(/balanced at \d/).waitFor();
  const parts = page.getByRole('list', { name: 'Parts of the check' }).getByRole('listitem');
  const { data: { check } } = await (await page.request.get(`${weir.url}/api/admin/ledger`)).json();
  assert.equal(check.balanced, true);
  assert.deepEqual(await parts.evaluateAll((all) => all.length), check.parts.length);
  assert.equal(await parts.getByRole('img', { name: 'right' }).count(), check.parts.length);
  await page.getByText(`begun by ${check.by} on ${check.node}`).waitFor();

  await page.getByRole('textbox', { name: 'Find a transaction' }).fill(` ${call} `);
  await page.keyboard.press('Enter');
  const entries = page.getByRole('table', { name: 'Entries of the transaction' });
  await entries.getByRole('row').filter({ hasText: 'wallet:' }).waitFor();
  const [debit, credit] = await entries.locator('tfoot td').allTextContents();
  assert.match(debit, /[1-9]/);
  assert.equal(debit, credit);
  await accessible(page, '/admin/ledger');
  const now = page.getByRole('navigation', { name: 'Running the gateway' }).locator('[aria-current]:visible');
  assert.deepEqual(await now.allTextContents(), ['Ledger']);
  await page.getByRole('link', { name: 'Open the call' }).click();
  await page.waitForURL(`**/admin/calls/${call}`);
  await page.done();
});

test('it fits 360 px and speaks Russian', async () => {
  const page = await open(b, weir, { path: `/admin/ledger?q=${call}`, signedIn: true, theme: 'dark', language: 'ru', size: 'small' });
  await page.getByRole('table', { name: 'Проводки операции' }).waitFor();
  await page.getByText(/сходится, проверено/).waitFor();
  await fitsWidth(page);
  await accessible(page, '/admin/ledger, ru');
  assert.deepEqual(await englishWords(page, /^(Weir|UTC|CSV)/), []);
  await page.done();
});
