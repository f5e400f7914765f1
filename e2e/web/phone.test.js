// What pages are on a phone, and what they say while there is nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();

test('without a job the page says what one is, and what the cheapest video costs', async () => {
  const page = await open(b, weir, { path: '/jobs', signedIn: true, size: 'phone' });
  const { models } = await (await page.request.get(`${weir.url}/api/catalog`)).json();
  const prices = models.filter((m) => m.live && m.type === 'video' && m.unit === 'second').map((m) => [Number(m.each), m.id]).sort((a, b) => a[0] - b[0]);
  assert.ok(prices.length > 0);
  const said = page.getByText('A video is made in the background');
  await said.getByRole('link').waitFor(); // it comes a moment later
  assert.match((await said.innerText()).replace(/\s/g, ' '), new RegExp(`A second of video costs ${prices[0][0].toFixed(2)}`));
  await said.getByRole('link').click();
  const chosen = new URL(page.url()).pathname.replace('/models/', '');
  assert.equal(prices.find(([, id]) => id === chosen)?.[0], prices[0][0]);
  await page.done();
});

test('without a preset one is made of the last chat, and opened', async () => {
  const page = await open(b, weir, { path: '/presets', signedIn: true, size: 'phone' });
  await page.getByRole('link', { name: 'To the playground' }).waitFor();
  await page.goto(`${weir.url}/playground?models=sim/echo&t=0.3&system=Be+brief.`);
  const field = page.locator('[data-composer] textarea');
  await field.fill('What is a Weir?');
  await field.press('Enter');
  await page.getByText('settled', { exact: true }).waitFor();
  await page.goto(`${weir.url}/presets`);
  await page.getByRole('button', { name: 'Make one from the last chat' }).click();
  const name = page.getByRole('dialog').getByRole('textbox');
  assert.equal(await name.inputValue(), 'what-is-a-weir');
  await accessible(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.waitForURL(/\/presets\/what-is-a-weir$/);
  await settled(page);
  assert.equal(await page.getByLabel('Instructions').inputValue(), 'Be brief.');
  // On a phone the editor is in steps, which open.
  await accessible(page);
  await fitsWidth(page);
  assert.ok(!await page.getByLabel('Temperature').isVisible());
  await page.getByRole('button', { name: 'Parameters' }).click();
  assert.equal(await page.getByLabel('Temperature').inputValue(), '0.3');
  await page.getByLabel('Temperature').fill('9');
  await page.getByRole('button', { name: 'Parameters' }).click();
  assert.ok(await page.getByLabel('Temperature').isVisible(), 'a step with something wrong in it stays open');
  await page.goto(`${weir.url}/presets`);
  await settled(page);
  assert.equal(await page.getByRole('button', { name: 'Make one from the last chat' }).count(), 0);
  await page.done();
});

test('calls have their histogram in a line that opens, the overview a chart without an axis, the statement its files in a menu', async () => {
  await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] });
  await becomes(async () => (await (await weir.call('/api/calls/histogram', undefined, weir.management_key)).json()).data.total_calls > 0, true);
  const page = await open(b, weir, { path: '/calls', signedIn: true, size: 'phone', language: 'ru' });
  const line = page.getByRole('button', { name: /^Вызовов: \d/ });
  assert.equal(await line.getAttribute('aria-expanded'), 'false');
  assert.equal(await page.locator('figure').count(), 0);
  await line.click();
  await page.locator('figure canvas').waitFor();
  await accessible(page);
  assert.deepEqual(await englishWords(page, /^(sim\/|Simulator|Weir|CSV|demo|Demo)/), []);
  await page.goto(`${weir.url}/overview`);
  await settled(page);
  const summary = page.locator('figure > p');
  assert.ok((await summary.boundingBox()).height > 10, 'the summary is to be seen');
  const [level, button] = [await page.getByRole('img', { name: /потрачено/i }).first().boundingBox(), await page.getByRole('link', { name: 'Выписка' }).boundingBox()];
  assert.ok(level.y < button.y, 'the level comes before what can be done');
  await fitsWidth(page);
  await page.goto(`${weir.url}/money`);
  await settled(page);
  await accessible(page);
  await page.getByRole('button', { name: 'Файлы этой выписки' }).click();
  const coming = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: 'CSV' }).click();
  assert.match((await coming).suggestedFilename(), /\.csv$/);
  await page.done();
});

test('who is new and has no money reads that first, and a refused call leads there', async () => {
  const headers = { origin: weir.url, 'x-weir': '1' };
  const operator = await open(b, weir, { signedIn: true });
  const { url } = (await (await operator.request.post(`${weir.url}/api/invitations`, { headers, data: { role: 'user' } })).json()).data;
  await operator.done();
  const page = await open(b, weir, { size: 'phone', language: 'ru' });
  await page.goto(url);
  await page.getByLabel('Почта').fill('ira@example.org');
  await page.locator('input[type=password]').fill('correct horse battery');
  await page.getByRole('button', { name: 'Принять приглашение' }).click();
  await page.waitForURL(/\/overview/);
  await becomes(() => page.getByRole('listitem').getByRole('link').allInnerTexts(), ['Создать ключ', 'Пополнить кошелёк', 'Сделать вызов']);
  await page.goto(`${weir.url}/playground?models=sim/chat`);
  const field = page.locator('[data-composer] textarea');
  await field.fill('Что такое плотина?');
  await field.press('Enter');
  await page.getByRole('alert').waitFor();
  await accessible(page);
  await page.getByRole('alert').getByRole('link', { name: 'Пополнить' }).click();
  await page.waitForURL(/\/money\/top-up/);
  await settled(page);
  await page.done();
});

test('at a desk all of it is there at once', async () => {
  const page = await open(b, weir, { path: '/calls', signedIn: true });
  await page.locator('figure canvas').waitFor();
  await page.goto(`${weir.url}/money`);
  await page.getByRole('link', { name: 'PDF', exact: true }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Files of this statement' }).isVisible(), false);
  await page.done();
});
