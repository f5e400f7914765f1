// The operators' page "Now": figures, money checks, endpoints, what happened and nodes, equal to what the API says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, looks, open } from './weir.js';

const weir = await demo();
const b = await browser();
test('it says whether all is well, in the figures of the API', async () => {
  const page = await open(b, weir, { path: '/admin', signedIn: true });
  await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
  await page.getByText('No requests for models in the last half hour.').waitFor();
  for (let i = 0; i < 4; i++) assert.equal((await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: `Hello ${i}` }] })).status, 200);
  await page.getByRole('figure').waitFor(); // the page renews itself
  const table = page.getByRole('table', { name: 'Endpoints' });
  await becomes(async () => (await table.getByText('sim/chat').count()) > 0, true);
  const { points, checks, nodes, counts } = await page.evaluate(async () => (await fetch('/api/admin/now')).json());
  assert.equal(points.reduce((n, p) => n + p.requests, 0), 4);
  for (const c of checks) await page.locator(`[data-check="${c.kind}"]`).waitFor();
  assert.equal(checks.length, 6);
  assert.deepEqual(nodes.map((n) => [n.self, n.differs]), [[true, null]]);
  await page.locator(`[data-node="${nodes[0].id}"]`).getByText(nodes[0].version, { exact: true }).waitFor();
  await page.getByText(`${counts.healthy} healthy`).waitFor();
  const added = page.locator('dt', { hasText: 'Weir adds, p99' }).locator('..');
  await becomes(() => added.getAttribute('title'), 'Metric: weir_added_seconds');
  assert.match(await added.textContent(), /ms.*goal ≤ 5/);
  await accessible(page);
  await page.done();
});

test('its figures are of the time that is chosen, and say for how long the node has counted', async () => {
  const page = await open(b, weir, { path: '/admin', signedIn: true });
  const choice = page.getByRole('radiogroup', { name: 'Figures of' });
  await choice.getByRole('radio', { name: '24 hours' }).click();
  await page.waitForURL(/over=24h/);
  await page.getByText('The node has counted for').waitFor();
  const long = await page.evaluate(async () => (await fetch('/api/admin/now?over=24h')).json());
  assert.equal(long.over, '24h');
  assert.equal(Math.round(long.figures.requests_per_second.all * long.seconds), 4);
  await page.locator('dt', { hasText: 'Weir adds, p99' }).locator('..').getByText(/ms$/).first().waitFor();
  await page.reload();
  await choice.getByRole('radio', { name: '24 hours', checked: true }).waitFor();
  await choice.getByRole('radio', { name: '24 hours' }).focus();
  await page.keyboard.press('ArrowLeft');
  await choice.locator(':focus', { hasText: '1 hour' }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/over=1h/);
  await accessible(page);
  await page.done();
});

test('a new rate is a sentence in what happened', async () => {
  const page = await open(b, weir, { path: '/admin', signedIn: true });
  await page.getByRole('heading', { name: 'What happened' }).waitFor();
  const status = await page.evaluate(async () => (await fetch('/api/admin/rates', { method: 'POST', headers: { 'content-type': 'application/json', 'x-weir': '1' }, body: JSON.stringify({ margin: '0.25' }) })).status);
  assert.equal(status, 201);
  await page.locator('[data-event="rate"]').getByText('margin to 25').waitFor();
  await page.done();
});

for (const look of looks)
  test(`it fits a phone, ${look.theme}, ${look.language}`, async () => {
    const page = await open(b, weir, { path: '/admin', size: 'small', signedIn: true, ...look });
    await page.getByRole('heading', { name: look.language === 'ru' ? 'Узлы' : 'Nodes' }).waitFor();
    await page.getByRole('figure').waitFor();
    await fitsWidth(page);
    if (look.language === 'ru') assert.deepEqual(await englishWords(page, /^(sim\/|p95$|Weir$)/), []);
    await accessible(page);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/now-${look.theme}-phone.png`, fullPage: true });
    await page.done();
    const desk = await open(b, weir, { path: '/admin', signedIn: true, ...look });
    await desk.getByRole('figure').waitFor();
    await accessible(desk);
    if (process.env.SHOTS) await desk.screenshot({ path: `${process.env.SHOTS}/now-${look.theme}.png`, fullPage: true });
    await desk.done();
  });
