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

test('every figure of the table opens calls that add up to it, those without a name and the sum, too', async () => {
  const page = await open(b, weir, { signedIn: true });
  const nano = (text) => { const [whole, part = ''] = text.replace(/[^\d.]/g, '').split('.'); return BigInt(whole || 0) * 10n ** 9n + BigInt(part.padEnd(9, '0')); };
  const number = (text) => Number(bare(text).replace(/\D/g, ''));
  for (const by of ['model', 'key', 'member', 'provider', 'kind', 'result']) {
    await page.goto(`${weir.url}/activity?by=${by}`);
    await settled(page);
    const rows = await page.getByRole('table', { name: 'The same figures' }).locator('tbody tr, tfoot tr').evaluateAll((all) => all.map((row) => [...row.children].map((cell) => ({ column: cell.dataset.col, text: cell.innerText, href: cell.querySelector('a')?.getAttribute('href') ?? null }))));
    assert.ok(rows.length > 1 && rows.some((row) => row.some((cell) => cell.href?.includes('%28none%29'))) === ['model', 'provider'].includes(by), by);
    const columns = rows[0].map((cell) => cell.column);
    for (const row of rows) {
      for (const [i, cell] of row.entries()) {
        const column = columns[i];
        if (cell.text === '0' || row === rows.at(-1) && column === 'share') continue; // nothing to open
        assert.ok(cell.href?.startsWith('/calls'), `${by} ${row[0].text} ${column}: ${cell.href}`);
        if (!['cost', 'calls', 'failed', 'in', 'out'].includes(column)) continue;
        const { data: calls, next } = await (await page.request.get(`${weir.url}/api/calls?limit=200&${cell.href.split('?')[1] ?? ''}`)).json();
        assert.equal(next, null);
        const sum = { cost: () => calls.reduce((n, c) => n + nano(c.cost), 0n), in: () => calls.reduce((n, c) => n + c.prompt_tokens, 0), out: () => calls.reduce((n, c) => n + c.completion_tokens, 0) }[column] ?? (() => calls.length);
        assert.equal(sum(), (column === 'cost' ? nano : number)(cell.text), `${by} ${row[0].text} ${column} ${cell.href}`);
      }
    }
  }
  await page.getByRole('link', { name: 'Show calls: Total' }).click();
  await page.waitForURL(/\/calls/);
  await page.goto(`${weir.url}/activity?by=provider`);
  await page.getByRole('link', { name: 'Show calls: none', exact: true }).first().click();
  await page.waitForURL(/provider=%28none%29/);
  await page.getByRole('button', { name: 'Remove filter No provider' }).waitFor();
  await settled(page);
  await becomes(() => page.locator('tbody [data-row]').count(), 1);
  await page.done();
});

test('what is too much for the chart has rows when they are asked for', async () => {
  const page = await open(b, weir, { signedIn: true });
  await page.route('**/api/usage?**', async (route) => { // with so few calls, one bar is all that fits
    const url = new URL(route.request().url());
    if (url.searchParams.get('limit') === '8') url.searchParams.set('limit', '1');
    await route.continue({ url: String(url) });
  });
  await page.goto(`${weir.url}/activity`);
  await settled(page);
  const rows = page.getByRole('table', { name: 'The same figures' }).locator('tbody [data-row]');
  assert.equal(await rows.count(), 2);
  await page.getByRole('button', { name: 'Show a row for each of the others' }).first().click();
  await page.waitForURL(/rows=all/);
  await becomes(() => rows.count(), 3);
  await page.getByRole('button', { name: 'All rows' }).click();
  await becomes(() => rows.count(), 2);
  await page.done();
});

test('periods of 90 days and a year are days, longer ones months, and all have the same calls', async () => {
  const page = await open(b, weir, { signedIn: true });
  const year = new Date().getUTCFullYear();
  const today = new Date().toISOString().slice(0, 10);
  const all = [];
  for (const [query, bucket] of [['days=90', 'day'], [`from=${new Date(Date.now() - 399 * 86_400_000).toISOString().slice(0, 10)}&to=${today}`, 'day'], [`from=${year - 3}-01-01&to=${today}`, 'month']]) {
    const asked = page.waitForResponse((r) => r.url().includes('/api/usage?') && r.url().includes('group=model'));
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

test('who spends what: all projects together equal the statement, and a row opens its calls', async () => {
  const tagged = (project) => weir.call('/v1/chat/completions', { model: 'sim/chat', metadata: { project, env: 'test' }, session_id: `run-${project}`, messages: [{ role: 'user', content: 'Hello' }] });
  for (const project of ['atlas', 'atlas', 'helpdesk']) assert.equal((await tagged(project)).status, 200);
  const page = await open(b, weir, { path: '/activity', signedIn: true });
  await becomes(async () => { await page.reload(); await settled(page); return page.getByLabel('Group by').locator('option[value="tag:project"]').count(); }, 1);
  await page.getByLabel('Group by').selectOption('tag:project');
  await page.waitForURL((u) => u.searchParams.get('by') === 'tag:project');
  await settled(page);
  const { data: usage } = await (await page.request.get(`${weir.url}/api/usage?group=tag:project&figures=true`)).json();
  assert.deepEqual(usage.series.map((s) => s.key).sort(), ['', 'project=atlas', 'project=helpdesk']);
  const { data: ledger } = await (await page.request.get(`${weir.url}/api/ledger`)).json();
  assert.equal(usage.total, ledger.rows.find((r) => r.kind === 'calls').debit);
  await page.getByText('all together equal the statement of these days').waitFor();
  const shown = bare(await page.getByRole('main').innerText());
  for (const s of usage.series) assert.ok(shown.includes(s.figures.cost), `${s.key} costs ${s.figures.cost}, which is not in ${shown}`);
  await accessible(page);
  await page.getByRole('link', { name: 'Show calls: atlas' }).first().click();
  await page.waitForURL((u) => u.pathname === '/calls' && u.searchParams.get('tag') === 'project=atlas');
  await settled(page);
  await becomes(() => page.locator('tbody [data-row]').count(), 2);
  await page.goto(`${weir.url}/calls?tag=${encodeURIComponent('project=(none)')}`);
  await settled(page);
  await becomes(() => page.locator('tbody [data-row]').count(), usage.series.find((s) => s.key === '').figures.calls);
  const { data: calls } = await (await page.request.get(`${weir.url}/api/calls?tag=project%3Dhelpdesk`)).json();
  await page.goto(`${weir.url}/calls/${calls[0].id}`);
  await page.getByRole('link', { name: 'project=helpdesk' }).click();
  await page.waitForURL((u) => u.searchParams.get('tag') === 'project=helpdesk');
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
  await page.goto(`${weir.url}/activity?by=tag:project&tag=project%3D(none)`);
  await settled(page);
  await fitsWidth(page);
  assert.deepEqual(await englishWords(page, /^(Weir|CSV|UTC|demo|project|env|atlas|helpdesk)/i), []);
  await page.done();
});
