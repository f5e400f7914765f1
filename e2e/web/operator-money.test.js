// What operators do with money from outside: payments and their refunds, invoices, statements of the bank, acts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, open } from './weir.js';

const weir = await demo();
const b = await browser();
const manage = async (method, path, body) => {
  const r = await fetch((path.startsWith('/api/admin') ? weir.admin_url : weir.url) + path, { method, headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, ...(body ? { body: JSON.stringify(body) } : {}) });
  return { status: r.status, body: r.status === 204 ? null : await r.json() };
};
const balance = async () => Number((await manage('GET', '/api/v1/credits')).body.data.balance);
const table = (page, name) => page.getByRole('table', { name, exact: true });

/** Makes a payment, and pays it in the provider's page, or lets it wait. */
async function payment(amount, pay = true) {
  const { body: { data } } = await manage('POST', '/api/payments', { amount });
  if (!pay) return data;
  assert.ok((await fetch(data.url, { method: 'POST', body: new URLSearchParams({ do: 'pay' }), redirect: 'manual' })).status < 400);
  await becomes(async () => (await manage('GET', `/api/payments/${data.id}`)).body.data.state, 'succeeded');
  return data;
}

test('a payment is found, refunded with numbers, and its history says who did what', async () => {
  const before = await balance();
  const paid = await payment('500');
  const waiting = await payment('300', false);
  const page = await open(b, weir, { path: '/admin/payments', signedIn: true });
  await table(page, 'Payments').getByText('paid').first().waitFor();
  await table(page, 'Payments').getByText('waiting').first().waitFor();
  await accessible(page);
  await page.getByLabel('Find a payment').fill('pay_nobody');
  await page.getByLabel('Find a payment').press('Enter');
  await page.getByText('No such payments').waitFor();
  await page.getByLabel('Find a payment').fill(waiting.id);
  await page.getByLabel('Find a payment').press('Enter');
  await table(page, 'Payments').getByRole('link', { name: waiting.id }).waitFor();
  assert.equal(await table(page, 'Payments').getByRole('link', { name: /^pay_/ }).count(), 1);
  await page.getByRole('button', { name: /Remove.*pay_/ }).click();
  await page.getByLabel('State').selectOption('succeeded');
  await page.getByRole('link', { name: paid.id }).click();
  await page.waitForURL(`**/admin/payments/${paid.id}`);
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  const window = page.getByRole('dialog');
  await window.getByText('Returns 500').waitFor();
  await window.getByText(/The wallet keeps/).waitFor();
  await window.getByLabel('How much, rubles').fill('500,01');
  await window.getByText('Between 0.01').waitFor();
  await window.getByLabel('How much, rubles').fill('120');
  await window.getByText(/Returns 120.*of 500/).waitFor();
  await accessible(page);
  await window.getByRole('button', { name: /^Refund 120/ }).click();
  await window.locator('[aria-invalid=true]').first().waitFor(); // a reason or a reference is missing
  await window.getByLabel('Reason').fill('asked for by letter');
  await window.getByLabel('Reference').fill('T-77');
  await window.getByRole('button', { name: /^Refund 120/ }).click();
  await page.getByText(/120.*refunded/).first().waitFor();
  await table(page, 'History').getByText('Refund begun: wallet debited').waitFor();
  await table(page, 'History').getByText('asked for by letter').waitFor();
  await table(page, 'History').getByText('Refund arrived').waitFor();
  assert.equal(await balance(), before + 380);
  // Another administrator has refunded what this page still offers.
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  assert.equal((await manage('POST', `/api/admin/payments/${paid.id}/refund`, { amount: '50', reason: 'asked for by phone', reference: 'T-78' })).status, 200);
  await window.getByLabel('Reason').fill('asked for by letter');
  await window.getByLabel('Reference').fill('T-79');
  await window.getByRole('button', { name: /^Refund/ }).click();
  await window.getByText('Meanwhile another refund').waitFor();
  assert.equal(await balance(), before + 330);
  await window.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: /^Ask .* now/ }).click();
  await table(page, 'History').getByText('Provider asked by hand').waitFor();
  await page.done();
});

test('the pages of payments are for everybody: both themes, Russian, a small phone', async () => {
  const { body: { data: [{ id }] } } = await manage('GET', '/api/admin/payments?state=succeeded');
  for (const path of ['/admin/payments', `/admin/payments/${id}`]) {
    const dark = await open(b, weir, { path, signedIn: true, theme: 'dark' });
    await dark.getByRole('heading', { level: 1 }).waitFor();
    await accessible(dark);
    await dark.done();
    const page = await open(b, weir, { path, signedIn: true, language: 'ru', size: 'small' });
    await page.getByText('оплачен', { exact: true }).first().waitFor();
    await fitsWidth(page);
    assert.deepEqual(await englishWords(page, /^(Weir|UTC|demo|Bank|card|yookassa|pay_|rfd_|T-7|asked|by|for|letter|phone|rubles|paid|refunded|succeeded|of|as)/i), []);
    await page.done();
  }
});
