// The activity page: its figures are those of the statement and the overview to the last digit, and each row opens the calls it is made of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const ask = (model, text) => weir.call('/v1/chat/completions', { model, messages: [{ role: 'user', content: text }] });
for (let i = 0; i < 4; i++) assert.equal((await ask('sim/anywhere', `Hello ${i}`)).status, 200);
for (let i = 0; i < 2; i++) assert.equal((await ask('sim/chat', `Hello ${i}`)).status, 200);
const bare = (text) => text.replace(/[\u202f\u00a0]/g, '');

test('activity, overview, statement and calls have the same figures', async () => {
  const page = await open(b, weir, { path: '/activity', signedIn: true });
  const get = async (path) => (await page.request.get(weir.url + path)).json();
  const { data: usage } = await get('/api/usage?figures=true');
  const { data: overview } = await get('/api/overview');
  const { data: ledger } = await get('/api/ledger');
  assert.equal(usage.total, overview.spent_30_days);
  assert.equal(usage.total, ledger.rows.find((r) => r.kind === 'calls').debit);
  const shown = bare(await page.getByRole('main').innerText());
  assert.ok(shown.includes(`${usage.total}₽`), `${usage.total} is not in ${shown}`);
  for (const s of usage.series) assert.ok(shown.includes(s.figures.cost), `${s.key} costs ${s.figures.cost}, which is not in ${shown}`);
  // A row opens its calls: as many as the row says, and as dear.
  await page.getByRole('link', { name: /^Show calls: Sim Chat$/ }).first().click();
  await page.waitForURL(/\/calls\?.*model=sim/);
  await settled(page);
  await becomes(() => page.locator('tbody [data-row]').count(), 2);
  await page.done();
});

test('measure, group and period are in the address, and the keys move the period', async () => {
  const page = await open(b, weir, { path: '/activity?by=key&show=calls&days=7', signedIn: true });
  assert.equal(await page.getByLabel('Group by').inputValue(), 'key');
  assert.equal(await page.getByLabel('Measure').inputValue(), 'calls');
  await page.getByRole('row', { name: /demo/ }).first().waitFor();
  await page.getByLabel('Measure').selectOption('tokens_out');
  await page.waitForURL(/show=tokens_out/);
  await page.getByLabel('Group by').selectOption('result');
  await page.waitForURL(/by=result/);
  await page.getByRole('row', { name: /answered/ }).first().waitFor();
  await page.getByRole('heading', { level: 1 }).focus();
  await page.keyboard.press('t');
  await page.getByRole('button', { name: 'Show as chart' }).waitFor();
  await page.keyboard.press('t');
  await page.getByRole('button', { name: 'Show as table' }).waitFor();
  await page.keyboard.press('ArrowLeft');
  await page.waitForURL(/from=\d/);
  await page.getByText('No calls in this period').waitFor();
  await page.done();
});

test('by member the account has one row, which opens its calls; failures open the failed ones', async () => {
  assert.notEqual((await ask('sim/chat', '[[sim fault=u15 status=502]] no')).status, 200);
  const page = await open(b, weir, { path: '/activity?by=member', signedIn: true });
  const me = await (await page.request.get(`${weir.url}/api/me`)).json();
  await becomes(async () => { await page.reload(); await settled(page); return page.getByRole('link', { name: `Show failed calls: ${me.user.name}` }).count(); }, 1);
  await page.getByRole('link', { name: `Show failed calls: ${me.user.name}` }).click();
  await page.waitForURL((u) => u.searchParams.get('member') === me.user.id && u.searchParams.get('result') === 'failed');
  await settled(page);
  await becomes(() => page.locator('tbody [data-row]').count(), 1);
  await page.done();
});

test('periods of 90 days and a year are days, longer ones months, and all have the same calls', async () => {
  const page = await open(b, weir, { signedIn: true });
  const year = new Date().getUTCFullYear();
  const today = new Date().toISOString().slice(0, 10);
  const all = [];
  for (const [query, bucket] of [['days=90', 'day'], [`from=${new Date(Date.now() - 399 * 86_400_000).toISOString().slice(0, 10)}&to=${today}`, 'day'], [`from=${year - 3}-01-01&to=${today}`, 'month']]) {
    const asked = page.waitForResponse((r) => r.url().includes('/api/usage?'));
    await page.goto(`${weir.url}/activity?${query}`);
    const { data } = await (await asked).json();
    assert.equal(data.bucket, bucket, query);
    await settled(page);
    await page.getByRole('link', { name: /^Show calls: Sim Chat$/ }).first().waitFor();
    all.push(data.total);
  }
  assert.deepEqual(all, all.map(() => all[0]));
  await page.done();
});

test('a file has the same period and filter, and an empty period leads to the last call', async () => {
  const page = await open(b, weir, { path: '/activity?model=sim/chat', signedIn: true });
  const answer = await page.request.get(weir.url + await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href'));
  const rows = (await answer.text()).trim().split('\r\n').slice(1);
  assert.equal(rows.length, 1);
  assert.match(rows[0], /sim\/chat/);
  await page.goto(`${weir.url}/activity?from=2020-01-01&to=2020-01-03`);
  await page.getByText('No calls in this period').waitFor();
  await page.done();
});

test('activity is for everybody: both themes, Russian, a small phone', async () => {
  for (const theme of ['light', 'dark']) {
    const page = await open(b, weir, { path: '/activity', signedIn: true, theme });
    await accessible(page);
    await page.done();
  }
  const page = await open(b, weir, { path: '/activity?by=kind&show=first_token', signedIn: true, language: 'ru', size: 'small' });
  await fitsWidth(page);
  assert.deepEqual(await englishWords(page, /^(Weir|CSV|UTC|demo)/i), []);
  await page.done();
});
