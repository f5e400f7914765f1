// Codes of vouchers: made by the operator's command or in the browser, redeemed on the page of the statement, which names them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { accessible, browser, demo, englishWords, fitsWidth, hostile, open, program } from './weir.js';

const weir = await demo();
const b = await browser();
const run = async (...args) => (await promisify(execFile)(program, [...args, '--data', weir.data], { env: { PATH: process.env.PATH, HOME: weir.dir } })).stdout;
const make = async (...args) => (await run('vouchers', 'create', ...args)).trim().split('\n').slice(1).map((line) => line.split(','));

/** Types a code into the window, which it opens first. */
async function redeem(page, code) {
  await page.getByRole('button', { name: 'Redeem a code' }).click();
  await page.getByLabel('Code', { exact: true }).fill(code);
  await page.getByRole('button', { name: 'Redeem', exact: true }).click();
}

test('a code is redeemed once, the statement names it, and the second of its kind is refused', async () => {
  const [[code, rubles, , batch], [other]] = await make('321.5', '--codes', '2', '--note', 'spring');
  assert.equal(rubles, '321.5');
  const page = await open(b, weir, { path: '/money', signedIn: true });
  await redeem(page, code.toLowerCase().replaceAll('-', ' '));
  await page.getByRole('status').getByText('321.5').waitFor();
  await page.getByRole('button', { name: 'OK' }).click();
  await page.getByRole('table', { name: 'Entries by day' }).getByText('Voucher').waitFor();
  await page.getByRole('table', { name: 'Entries by day' }).getByText('321.5').first().waitFor();
  await redeem(page, code);
  await page.getByText('You have redeemed this code before').waitFor();
  await page.getByRole('button', { name: 'OK' }).click();
  await redeem(page, other);
  await page.getByText('has redeemed another code of this kind').waitFor();
  assert.match(await run('vouchers', 'list'), new RegExp(`${batch} .*\\b1 `));
  await page.done();
});

test('what is no code, unknown, withdrawn or used up says so at the field', async () => {
  const page = await open(b, weir, { path: '/money', signedIn: true });
  await redeem(page, hostile[0].slice(0, 100));
  await page.getByText('A code has 20 letters and digits').waitFor();
  const again = async (code, text) => { await page.getByLabel('Code', { exact: true }).fill(code); await page.getByRole('button', { name: 'Redeem', exact: true }).click(); await page.getByText(text).waitFor(); };
  await again('0000-0000-0000-0000-0000', 'There is no such code');
  const [[code, , , batch]] = await make('10', '--note', 'withdrawn');
  await run('vouchers', 'revoke', batch);
  await again(code, 'This code was withdrawn');
  await page.done();
});

test('an administrator makes vouchers in the browser, and ends them', async () => {
  const page = await open(b, weir, { path: '/admin/people', signedIn: true });
  await page.getByRole('link', { name: 'Vouchers' }).click();
  await page.getByRole('button', { name: 'Make vouchers' }).click();
  const window = page.getByRole('dialog');
  await window.getByLabel('Each is worth').fill('12,5');
  await window.getByLabel('How many codes').fill('2');
  await window.getByText(/At most 25.₽ can be credited/).waitFor();
  await window.getByRole('button', { name: 'Make them' }).click();
  await window.locator('[aria-invalid=true]').waitFor();
  await window.getByLabel('What they are for').fill('for the browser');
  await window.getByRole('button', { name: 'Make them' }).click();
  const codes = window.getByRole('list', { name: 'These codes are shown once' }).getByRole('listitem').filter({ hasText: /^\w{4}(-\w{4}){4}$/ });
  await codes.first().waitFor();
  assert.equal(await codes.count(), 2);
  await window.getByRole('button', { name: 'Done' }).click();
  const row = page.getByRole('table', { name: 'Vouchers' }).getByRole('row').filter({ hasText: 'for the browser' });
  await row.getByText('0 of 2').waitFor();
  await accessible(page, '/admin/vouchers');
  await row.getByRole('button', { name: 'End' }).click();
  await page.getByRole('alertdialog').getByText('2 redemptions that are still possible will not be').waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'End vouchers' }).click();
  await row.getByText(/^ended/).waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  await page.getByText('for the browser').waitFor();
  await fitsWidth(page);
  await page.done();
});

test('vouchers whose time is over have nothing to end', async () => {
  const page = await open(b, weir, { path: '/admin/vouchers', signedIn: true });
  await page.getByRole('button', { name: 'Make vouchers' }).click();
  const window = page.getByRole('dialog');
  await window.getByLabel('What they are for').fill('for a day');
  await window.getByLabel('Valid until').fill(new Date(Date.now() + 86_400_000).toISOString().slice(0, 10));
  await window.getByRole('button', { name: 'Make them' }).click();
  await window.getByRole('button', { name: 'Done' }).click();
  const row = page.getByRole('table', { name: 'Vouchers' }).getByRole('row').filter({ hasText: 'for a day' });
  await row.getByRole('button', { name: 'End' }).waitFor();
  await page.clock.setFixedTime(Date.now() + 3 * 86_400_000);
  await page.reload();
  await row.getByText(/^expired/).waitFor();
  assert.equal(await row.getByRole('button').count(), 0);
  await page.done();
});

test('the window is for everybody: both themes, Russian, a small phone', async () => {
  for (const theme of ['light', 'dark']) {
    const page = await open(b, weir, { path: '/money', signedIn: true, theme });
    await page.getByRole('button', { name: 'Redeem a code' }).click();
    await page.getByLabel('Code', { exact: true }).waitFor();
    await accessible(page);
    await page.done();
  }
  const page = await open(b, weir, { path: '/money', signedIn: true, language: 'ru', size: 'small' });
  await page.getByRole('button', { name: 'Ввести код' }).click();
  await page.getByLabel('Код', { exact: true }).waitFor();
  await fitsWidth(page);
  assert.deepEqual(await englishWords(page, /^(Weir|UTC|demo|CSV|PDF|operator)/i), []);
  await page.done();
});

test('who tries many codes has to wait', async () => {
  const page = await open(b, weir, { path: '/money', signedIn: true });
  await page.getByRole('button', { name: 'Redeem a code' }).click();
  let status = 0;
  for (let i = 0; i < 25 && status !== 429; i++) status = (await weir.call('/api/vouchers/redeem', { code: '0000-0000-0000-0000-0000' }, weir.management_key)).status;
  assert.equal(status, 429);
  await page.getByLabel('Code', { exact: true }).fill('0000-0000-0000-0000-0000');
  await page.getByRole('button', { name: 'Redeem', exact: true }).click();
  await page.getByText('Too many codes were tried').waitFor();
  await page.done();
});
