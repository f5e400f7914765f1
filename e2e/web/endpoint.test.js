// The page of one endpoint: how fast it was, why it failed in the words of its provider, where its calls went, and taking it out and back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, looks, open } from './weir.js';

const weir = await demo();
const b = await browser();
const chat = (text, more = {}) => weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: text }], ...more });
const status = () => chat('Hello').then((r) => r.status);
const path = '/admin/endpoints/sim/sim/chat';
for (let i = 0; i < 4; i++) assert.equal(await status(), 200);
// The first attempt gets 429, the second one, of the other model, is answered.
const saved = await chat('[[sim fault=u10 times=1 id=moved]] Hello', { models: ['sim/chat', 'sim/reason'] });
assert.equal(saved.status, 200);
assert.equal((await saved.json()).model, 'sim/reason');
assert.equal((await chat('[[sim fault=u12 times=100 id=bad]] Hello')).status, 400);
const management = async (at) => (await fetch(`${weir.admin_url}${at}`, { headers: { authorization: `Bearer ${weir.management_key}` } })).json();
await becomes(async () => (await management('/api/admin/endpoints/sim%2Fsim%2Fchat/activity')).data.causes.length, 2);

test('figures, histograms, reasons and moves are those of the calls', async () => {
  const page = await open(b, weir, { path: '/admin/endpoints?q=sim/sim/chat', signedIn: true });
  await page.getByRole('link', { name: 'Endpoint sim/sim/chat', exact: true }).click();
  await page.waitForURL(`**${path}`);
  await page.getByRole('heading', { level: 1, name: 'sim/sim/chat' }).waitFor();
  await page.getByText('healthy').first().waitFor();
  const causes = page.getByRole('table', { name: 'Errors by reason' });
  await causes.getByText('The simulator was told to find this request bad.').waitFor();
  assert.equal(await causes.locator('tbody').getByRole('row').count(), 2);
  const first = page.getByRole('figure', { name: 'Time to first token' });
  await first.getByRole('button', { name: 'table' }).click();
  const counts = await first.getByRole('cell').allTextContents();
  assert.equal(counts.reduce((sum, n) => sum + Number(n), 0), 4);
  await first.getByRole('rowheader').first().getByText('≤').waitFor();
  const speed = page.getByRole('figure', { name: 'Tokens per second' });
  await speed.getByRole('button', { name: 'table' }).click();
  await speed.getByRole('rowheader').first().getByText(/^≤ .*tok\/s$/).waitFor(); // as its axis says it
  const moves = page.getByRole('table', { name: 'What moved where' });
  await moves.getByRole('link', { name: 'sim/sim/reason' }).waitFor();
  assert.deepEqual((await moves.getByRole('cell').allTextContents()).slice(0, 2), ['1', '0']);
  await accessible(page);
  await causes.getByRole('link', { name: 'Last call' }).first().click();
  await page.waitForURL(/admin\/calls\/gen-/);
  await page.goto(`${weir.url}${path}?hours=2`);
  await page.getByLabel('Period').selectOption('168');
  await page.waitForURL(/hours=168/);
  await causes.getByText('The simulator was told to find this request bad.').waitFor();
  await page.goto(`${weir.url}/admin/endpoints/no/such/endpoint`);
  await page.getByText('There is no such endpoint').waitFor();
  await page.getByRole('link', { name: 'All endpoints' }).click();
  await page.waitForURL(/admin\/endpoints$/);
  await page.done();
});

test('it is drained from its page after the numbers were read, and returned', async () => {
  const page = await open(b, weir, { path, signedIn: true });
  await page.getByRole('button', { name: 'Take out', exact: true }).click();
  const sure = page.getByRole('dialog');
  await sure.getByText(/calls? an hour ha(s|ve) nowhere to go and gets? 503|no other endpoint/).first().waitFor();
  await sure.getByRole('button', { name: 'Drain', exact: true }).click();
  await page.getByText('off', { exact: true }).waitFor();
  await page.getByText(/^since \d\d:\d\d/).waitFor();
  await becomes(status, 503);
  await page.getByRole('button', { name: 'Return', exact: true }).click();
  await page.getByRole('button', { name: 'Take out', exact: true }).waitFor();
  await becomes(status, 200);
  await page.done();
});

test('a model goes out at one provider, and the provider for an hour, from its page', async () => {
  const page = await open(b, weir, { path: '/admin/providers/sim', signedIn: true });
  await page.getByRole('button', { name: 'Take out: sim/chat', exact: true }).click();
  const sure = page.getByRole('dialog', { name: /sim\/chat at / });
  await sure.getByRole('button', { name: 'Drain', exact: true }).click();
  await page.getByRole('button', { name: 'Return: sim/chat', exact: true }).waitFor();
  const absences = async () => (await management('/api/admin/absences')).data;
  assert.deepEqual((await absences()).map((a) => [a.target, a.mode, a.until]), [['model:sim/sim/chat', 'drain', null]]);
  await becomes(status, 503);
  await page.getByRole('button', { name: 'Return: sim/chat', exact: true }).click();
  await becomes(status, 200);
  await page.getByRole('button', { name: 'Take out of service' }).click();
  const whole = page.getByRole('dialog');
  await whole.getByRole('button', { name: 'Drain', exact: true }).click();
  await page.getByText(/out of service until/).first().waitFor();
  const [{ target, since, until }] = await absences();
  assert.deepEqual([target, Math.round((Date.parse(until) - Date.parse(since)) / 60_000)], ['provider:sim', 60]);
  await becomes(status, 503);
  await page.getByRole('button', { name: 'Return to service' }).click();
  await becomes(status, 200);
  await page.done();
});

for (const look of looks)
  test(`axe finds nothing, it fits a phone and speaks one language, ${look.theme}, ${look.language}`, async () => {
    const page = await open(b, weir, { path, signedIn: true, ...look });
    await page.getByText('The simulator was told to find this request bad.').first().waitFor();
    await accessible(page);
    if (look.language === 'ru') assert.deepEqual(await englishWords(page, /^(sim|Weir$|chat|demo)/), []);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/endpoint-${look.theme}.png`, fullPage: true });
    await page.done();
    const small = await open(b, weir, { path, size: 'small', signedIn: true, ...look });
    await small.getByText('The simulator was told to find this request bad.').first().waitFor();
    await fitsWidth(small);
    await small.setViewportSize({ width: 320, height: 640 });
    await fitsWidth(small);
    if (process.env.SHOTS) await small.screenshot({ path: `${process.env.SHOTS}/endpoint-${look.theme}-phone.png`, fullPage: true });
    await small.done();
  });
