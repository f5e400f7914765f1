// Money through the simulated payment provider: the way there and back, and notifications that come late, twice, forged or never.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, browser, demo, englishWords, fitsWidth, open } from './weir.js';

const weir = await demo({ env: { WEIR_SERVER_TRUSTED_PROXIES: '127.0.0.1' } });
const b = await browser();
const manage = async (method, path, body) => {
  const r = await fetch(weir.url + path, { method, headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, ...(body ? { body: JSON.stringify(body) } : {}) });
  return { status: r.status, body: r.status === 204 ? null : await r.json() };
};
const balance = async () => String((await manage('GET', '/api/v1/credits')).body.data.balance);
const made = await manage('POST', '/api/payments', { amount: '100' });
const shop = new URL(made.body.data.url).origin;
const faults = async (f) => assert.equal((await fetch(`${shop}/yookassa/sim/faults`, { method: 'POST', body: JSON.stringify(f) })).status, 200);
const deliver = () => fetch(`${shop}/yookassa/sim/deliver`, { method: 'POST' });

/** The provider's page is another site, and meant to be. */
const elsewhere = (page) => { page.complaints = page.complaints.filter((c) => !c.startsWith(`request elsewhere: ${shop}/`)); };

/** Goes to the provider's page for an amount, and decides there. */
async function pay(page, amount, decision) {
  await page.getByLabel('Another amount, rubles').fill(amount);
  await page.getByRole('button', { name: 'Go to payment' }).click();
  await page.waitForURL(/\/yookassa\/pay\//);
  const at = page.url();
  await page.getByRole('button', { name: decision }).click();
  await page.waitForURL(/\/money\/top-up\?payment=pay_/);
  return at.split('/').pop();
}

test('the statement leads to the top-up, and the money arrives on the page that waits for it', async () => {
  await faults({});
  const before = await balance();
  const page = await open(b, weir, { path: '/money', signedIn: true });
  await page.getByRole('link', { name: 'Top up' }).click();
  await page.getByText('Play money').waitFor();
  await pay(page, '250,50', 'Pay');
  await page.getByText('The money has arrived').waitFor();
  await page.getByRole('status').getByText('250.5').waitFor();
  assert.equal(Number(await balance()), Number(before) + 250.5);
  await page.getByRole('link', { name: 'Statement' }).first().click();
  await page.getByRole('table', { name: 'Payments' }).getByText('Paid').first().waitFor();
  elsewhere(page);
  await page.done();
});

test('who comes back before the money, and before any notification, sees it arrive; later notifications change nothing', async () => {
  await faults({ hold: true, twice: true });
  const before = await balance();
  const page = await open(b, weir, { path: '/money/top-up', signedIn: true });
  await pay(page, '300', 'Pay');
  await page.getByText('The money has arrived').waitFor();
  for (let i = 0; i < 3; i++) await deliver(); // twice each, late
  assert.equal(Number(await balance()), Number(before) + 300);
  elsewhere(page);
  await page.done();
});

test('a notification that never comes is not needed, and a forged one brings nothing', async () => {
  await faults({ never: true });
  const before = await balance();
  const page = await open(b, weir, { path: '/money/top-up', signedIn: true });
  await page.getByLabel('Another amount, rubles').fill('400');
  await page.getByRole('button', { name: 'Go to payment' }).click();
  await page.waitForURL(/\/yookassa\/pay\//);
  const id = page.url().split('/').pop();
  for (const value of ['400.00', '9000.00']) {
    const forged = await fetch(`${weir.url}/api/payments/notifications`, { method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'notification', event: 'payment.succeeded', object: { id, status: 'succeeded', paid: true, amount: { value, currency: 'RUB' } } }) });
    assert.equal(forged.status, 200);
  }
  const stranger = await fetch(`${weir.url}/api/payments/notifications`, { method: 'POST', headers: { 'content-type': 'application/json', 'x-forwarded-for': '8.8.8.8' },
    body: JSON.stringify({ event: 'payment.succeeded', object: { id } }) });
  assert.equal(stranger.status, 403, 'a notification from an address that is not the provider\'s');
  assert.equal(await balance(), before, 'a forged notification moved money');
  await page.getByRole('button', { name: 'Pay' }).click();
  await page.getByText('The money has arrived').waitFor();
  assert.equal(Number(await balance()), Number(before) + 400);
  elsewhere(page);
  await page.done();
});

test('a payment that was declined says so, and what the provider cannot take is said at the field', async () => {
  await faults({});
  const page = await open(b, weir, { path: '/money/top-up', signedIn: true });
  await page.getByLabel('Another amount, rubles').fill('1');
  await page.getByRole('button', { name: 'Go to payment' }).click();
  await page.locator('.text-bad').getByText('From 100').waitFor();
  await pay(page, '500', 'Decline');
  await page.getByText('The payment was canceled').waitFor();
  await page.getByText('the bank declined it').waitFor();
  await page.getByRole('button', { name: 'Pay again' }).click();
  await page.getByLabel('Another amount, rubles').waitFor();
  elsewhere(page);
  await page.done();
});

test('automatic top-ups begin with a payment and a consent, and end with one button', async () => {
  await faults({});
  const page = await open(b, weir, { path: '/money/top-up', signedIn: true });
  await page.getByText('Top up automatically when the balance is low').click();
  await page.getByLabel('When the balance is below, rubles').fill('100');
  await page.getByLabel('Top up by, rubles').fill('500');
  await page.getByLabel('At most in a calendar month, rubles').fill('2000');
  await pay(page, '500', 'Pay');
  await page.getByText('The money has arrived').waitFor();
  await page.getByText('Bank card *4444').first().waitFor();
  await page.getByRole('button', { name: 'End' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'End' }).click();
  await page.getByText('Automatic top-ups have ended').waitFor();
  assert.equal((await manage('GET', '/api/payments')).body.auto, null);
  elsewhere(page);
  await page.done();
});

test('the pages are for everybody: both themes, Russian, a small phone', async () => {
  for (const theme of ['light', 'dark']) {
    const page = await open(b, weir, { path: '/money/top-up', signedIn: true, theme });
    await page.getByLabel('Another amount, rubles').waitFor();
    await accessible(page);
    await page.done();
  }
  const page = await open(b, weir, { path: '/money/top-up', signedIn: true, language: 'ru', size: 'small' });
  await page.getByText('Игрушечные деньги').waitFor();
  await fitsWidth(page);
  assert.deepEqual(await englishWords(page, /^(Weir|UTC|demo|Bank|card)/i), []);
  await page.done();
});
