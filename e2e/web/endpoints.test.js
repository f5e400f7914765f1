// The page of endpoints: an operator sees how they stand, takes one and then a whole provider out of service after reading what that does, and returns
// them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, looks, open } from './weir.js';

const weir = await demo();
const b = await browser();
const status = () => weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] }).then((r) => r.status);
const rows = (page) => page.getByRole('table', { name: 'Endpoints' });

test('an endpoint is drained after its effect was read, and returned', async () => {
  assert.equal(await status(), 200);
  const page = await open(b, weir, { path: '/admin/endpoints?q=sim/sim/chat', signedIn: true });
  await page.getByRole('button', { name: 'Take out: sim/sim/chat', exact: true }).click();
  const sure = page.getByRole('dialog');
  await sure.getByText(/moves? to|nowhere to go|serves no calls/).first().waitFor();
  await accessible(page, 'the window before something is taken out');
  await sure.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await status(), 200);
  await page.getByRole('button', { name: 'Take out: sim/sim/chat', exact: true }).click();
  await sure.getByRole('combobox', { name: 'For how long' }).selectOption('An hour');
  await sure.getByLabel('Reason').fill('maintenance');
  await sure.getByRole('button', { name: 'Drain', exact: true }).click();
  await rows(page).getByText(/off until/).waitFor();
  await rows(page).getByText(/: maintenance/).waitFor();
  const { data } = await page.evaluate(async () => (await fetch('/api/admin/absences')).json());
  assert.deepEqual(data.map((a) => [a.target, a.mode, a.reason]), [['endpoint:sim/sim/chat', 'drain', 'maintenance']]);
  await page.goto(`${weir.url}/admin`);
  await page.locator('[data-event="absence"]').getByText('drained sim/sim/chat').waitFor();
  await page.goto(`${weir.url}/admin/endpoints?state=off`);
  await page.getByRole('button', { name: 'Return: sim/sim/chat', exact: true }).click();
  await page.getByText('No endpoint is like this').waitFor();
  await becomes(status, 200);
  await page.done();
});

test('a provider goes out for an hour from its page: whom nobody else serves gets 503', async () => {
  const page = await open(b, weir, { path: '/admin/providers/sim', signedIn: true });
  await page.getByRole('button', { name: 'Take out of service' }).click();
  const sure = page.getByRole('dialog');
  await sure.getByText(/no other endpoint/).waitFor();
  await sure.getByRole('radio', { name: 'Eject' }).click();
  await sure.getByRole('button', { name: 'Eject', exact: true }).click();
  await page.getByText(/out of service until/).first().waitFor();
  const { data } = await page.evaluate(async () => (await fetch('/api/admin/absences')).json());
  assert.deepEqual(data.map((a) => [a.target, a.mode, a.until !== null]), [['provider:sim', 'eject', true]]);
  await page.getByRole('button', { name: 'Return to service' }).click();
  await page.getByRole('button', { name: 'Take out of service' }).waitFor();
  await becomes(status, 200);
  await page.done();
});

for (const look of looks)
  test(`axe finds nothing, it fits a phone and speaks one language, ${look.theme}, ${look.language}`, async () => {
    const page = await open(b, weir, { path: '/admin/endpoints', signedIn: true, ...look });
    await page.getByRole('table').getByText('sim/chat').first().waitFor();
    await accessible(page);
    if (look.language === 'ru') assert.deepEqual(await englishWords(page, /^(sim|Weir$|chat|default|flex|priority|batch|free|demo)/), []);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/endpoints-${look.theme}.png`, fullPage: false });
    await page.done();
    const small = await open(b, weir, { path: '/admin/endpoints', size: 'small', signedIn: true, ...look });
    await small.getByText('sim/chat').first().waitFor();
    await fitsWidth(small);
    if (process.env.SHOTS) await small.screenshot({ path: `${process.env.SHOTS}/endpoints-${look.theme}-phone.png` });
    await small.done();
  });
