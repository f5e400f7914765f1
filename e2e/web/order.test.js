// Order and names: an administrator says who serves a model first and gives a model a former name; an operator reads both.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, looks, open } from './weir.js';

const weir = await demo();
const b = await browser();
const ask = (model) => weir.call('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] }).then((r) => r.status);

test('a model gets a place for its endpoint, and prices decide again', async () => {
  const page = await open(b, weir, { path: '/admin/order', signedIn: true });
  await page.getByRole('heading', { level: 1, name: 'Order and names' }).waitFor();
  await page.getByText('Prices decide for all models').waitFor();
  await page.getByLabel('Model', { exact: true }).fill('sim/chat');
  await page.getByRole('button', { name: 'Show endpoints' }).click();
  const window = page.getByRole('dialog');
  await window.getByLabel('Place of sim/sim/chat', { exact: true }).fill('1000');
  await accessible(page, 'the window of an order');
  await window.getByRole('button', { name: 'Save the order' }).click();
  await window.getByText('A place must be at most 100.').waitFor();
  await window.getByLabel('Place of sim/sim/chat', { exact: true }).fill('1');
  await window.getByLabel('Weight of sim/sim/chat', { exact: true }).fill('3');
  await window.getByRole('button', { name: 'Save the order' }).click();
  await page.getByRole('table', { name: 'Who serves a model first' }).getByText('sim/sim/chat · Place 1 · Weight 3').waitFor();
  const { data } = await page.evaluate(async () => (await fetch('/api/admin/orders')).json());
  assert.deepEqual(data.map((o) => [o.model, o.endpoints[0].id, o.endpoints[0].place, o.endpoints[0].weight]), [['sim/chat', 'sim/sim/chat', 1, 3]]);
  assert.equal(await ask('sim/chat'), 200);
  await page.getByRole('button', { name: 'Change the order of sim/chat' }).click();
  await window.getByRole('button', { name: 'Let prices decide' }).click();
  await page.getByText('Prices decide for all models').waitFor();
  await page.done();
});

test('a model answers to another name until it is removed', async () => {
  const page = await open(b, weir, { path: '/admin/order', signedIn: true });
  await page.getByRole('button', { name: 'Add a name' }).click();
  const window = page.getByRole('dialog');
  await window.getByLabel('Name').fill('sim/former');
  await window.getByLabel('Answered by').fill('sim/none');
  await window.getByRole('button', { name: 'Add a name' }).click();
  await window.getByText('There is no model "sim/none".').waitFor();
  await window.getByLabel('Answered by').fill('sim/chat');
  await window.getByRole('button', { name: 'Add a name' }).click();
  await page.getByRole('table', { name: 'Other names' }).getByText('sim/former').waitFor();
  await becomes(() => ask('sim/former'), 200);
  await page.getByRole('button', { name: 'Remove the name' }).click();
  await page.getByRole('alertdialog').getByText(/sim\/former/).first().waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove the name' }).click();
  await page.getByText('No other names').waitFor();
  await becomes(() => ask('sim/former'), 404);
  await page.done();
});

for (const look of looks)
  test(`axe finds nothing, it fits a phone and speaks one language, ${look.theme}, ${look.language}`, async () => {
    const page = await open(b, weir, { path: '/admin/order', signedIn: true, ...look });
    await page.getByRole('heading', { level: 1 }).waitFor();
    await accessible(page);
    if (look.language === 'ru') assert.deepEqual(await englishWords(page, /^(Weir$|demo)/), []);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/order-${look.theme}.png`, fullPage: false });
    await page.setViewportSize({ width: 320, height: 740 });
    await fitsWidth(page);
    await page.done();
  });
