// Pages that are open learn of what happens elsewhere: one stream for a tab, asking again without it, neither in a hidden tab.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, browser, demo, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const chat = async (model = 'sim/anywhere') => assert.equal((await weir.call('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] })).status, 200);
await chat();
const streams = (page) => { const all = []; page.on('request', (r) => { if (r.url().includes('/api/events')) all.push(r); }); return all; };

/** Scrolls the page away from its beginning: then new rows wait until they are asked for. */
const down = (page) => page.evaluate(() => { document.body.style.minHeight = '300vh'; window.scrollTo(0, 120); });

test('at the top new calls come in by themselves, and when Live is switched on what was missed', async () => {
  const page = await open(b, weir, { path: '/calls', signedIn: true });
  const rows = page.locator('tbody [data-row]');
  const before = await rows.count();
  await chat();
  await page.waitForFunction((n) => document.querySelectorAll('tbody [data-row]').length === n, before + 1);
  await page.getByRole('switch', { name: 'Live' }).click();
  await chat();
  await becomes(async () => (await (await page.request.get(`${weir.url}/api/calls?limit=50`)).json()).data.length, before + 2);
  assert.equal(await rows.count(), before + 1);
  await page.getByRole('switch', { name: 'Live' }).click();
  await page.waitForFunction((n) => document.querySelectorAll('tbody [data-row]').length === n, before + 2);
  await page.done();
});

test('further down new calls are announced, and rows move only when the reader asks', async () => {
  const page = await open(b, weir, { signedIn: true });
  const all = streams(page);
  await page.goto(`${weir.url}/calls`);
  await settled(page);
  const rows = page.locator('tbody [data-row]');
  const before = await rows.count();
  await down(page);
  const first = await rows.first().getAttribute('data-key');
  await chat();
  await chat('sim/chat');
  await page.getByRole('button', { name: '2 new calls' }).waitFor();
  assert.equal(await rows.count(), before);
  assert.equal(await rows.first().getAttribute('data-key'), first);
  await page.getByRole('button', { name: '2 new calls' }).click();
  await page.waitForFunction((n) => document.querySelectorAll('tbody [data-row]').length === n, before + 2);
  await becomes(() => page.getByRole('button', { name: /new call/ }).count(), 0);
  assert.equal(all.length, 1, 'one stream for the tab');
  // A filter that does not fit them: not announced.
  await page.goto(`${weir.url}/calls?model=sim/chat`);
  await settled(page);
  await down(page);
  await chat();
  await chat('sim/chat');
  await page.getByRole('button', { name: '1 new call', exact: true }).waitFor();
  await page.done();
});

test('money in the bar and on the overview follows calls made elsewhere', async () => {
  const page = await open(b, weir, { path: '/overview', signedIn: true });
  const title = () => page.evaluate(() => document.querySelector('header a[href="/money"] [title]')?.getAttribute('title'));
  const before = await title();
  assert.ok(before);
  await chat();
  await page.waitForFunction((was) => document.querySelector('header a[href="/money"] [title]')?.getAttribute('title') !== was, before);
  const { data } = await (await page.request.get(`${weir.url}/api/overview`)).json();
  assert.equal((await title()).replace(/[\u202f\u00a0₽]/g, ''), data.available);
  await page.waitForFunction((n) => document.querySelectorAll('main tbody [data-row]').length >= n, Math.min(5, data.calls.length));
  await page.done();
});

test('without a stream pages ask again, and a hidden tab does neither', async () => {
  const page = await open(b, weir, { signedIn: true });
  await page.clock.install();
  let allowed = false;
  const asked = [];
  await page.route('**/api/events**', (route) => (allowed ? route.continue() : route.fulfill({ status: 503, body: '{}' })));
  await page.goto(`${weir.url}/calls`);
  await page.waitForSelector('tbody [data-row]');
  page.on('request', (r) => { if (r.url().includes('/api/calls?')) asked.push(r.url()); });
  await down(page);
  await chat();
  await page.clock.fastForward(16_000);
  await page.getByRole('button', { name: /new call/ }).waitFor();
  assert.ok(asked.length > 0);
  const hide = (hidden) => page.evaluate((h) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (h ? 'hidden' : 'visible') });
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => h });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await hide(true);
  asked.length = 0;
  await page.clock.fastForward(120_000);
  assert.deepEqual(asked, []);
  allowed = true;
  const stream = page.waitForRequest('**/api/events**');
  await hide(false);
  await stream;
  page.complaints.length = 0; // the refused streams
  await page.done();
});

test('a session that ends elsewhere asks for a sign-in over the page', async () => {
  const page = await open(b, weir, { path: '/calls', signedIn: true });
  const out = await page.request.post(`${weir.url}/api/auth/sign-out`, { headers: { origin: weir.url, 'x-weir': '1' }, data: {} });
  assert.equal(out.status() / 100 | 0, 2);
  await page.getByRole('dialog').waitFor();
  await page.done();
});

test('keys of the list: o opens, f filters by the cell, l stops following', async () => {
  const page = await open(b, weir, { path: '/calls', signedIn: true });
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  for (const what of ['On this page', 'Follow new calls, or stop', 'Filter by the cell', 'Next and previous row']) await help.getByText(what).waitFor();
  await page.keyboard.press('Escape');
  await becomes(() => help.count(), 0);
  await page.keyboard.press('l');
  await becomes(() => page.getByRole('switch', { name: 'Live' }).getAttribute('aria-checked'), 'false');
  await page.keyboard.press('l');
  await page.locator('tbody [data-row] [data-col=model]').first().hover();
  await page.keyboard.press('f');
  await page.waitForURL(/model=sim/);
  await page.getByLabel('Key', { exact: true }).selectOption({ label: 'demo' });
  await page.waitForURL(/key=/);
  await settled(page);
  await page.keyboard.press('j');
  const id = await page.evaluate(() => document.activeElement.dataset.key);
  await page.keyboard.press('o');
  await page.waitForURL(new RegExp(`/calls/${id}$`));
  await page.done();
});

test('a day of the statement opens to its calls, which add up to it, and e fetches the file', async () => {
  const page = await open(b, weir, { path: '/money', signedIn: true });
  const { data } = await (await page.request.get(`${weir.url}/api/ledger`)).json();
  const day = data.rows.find((r) => r.kind === 'calls');
  await page.getByRole('table').getByRole('button', { name: /\d calls?/ }).first().click();
  const list = page.getByRole('table').getByRole('list', { name: /Calls of/ });
  await list.waitFor();
  const nano = (text) => { const [whole, part = ''] = text.replace(/[^\d.]/g, '').split('.'); return BigInt(whole) * 10n ** 9n + BigInt(part.padEnd(9, '0')); };
  const amounts = list.locator('li > span:last-child');
  await becomes(() => amounts.count(), day.count);
  const costs = await amounts.allInnerTexts();
  assert.equal(costs.reduce((sum, c) => sum + nano(c), 0n), nano(day.debit));
  await page.getByRole('heading', { level: 1 }).focus();
  const file = page.waitForEvent('download');
  await page.keyboard.press('e');
  assert.match((await file).suggestedFilename(), /csv$/);
  await page.done();
});

test('ten thousand calls stay quick: rows far from the screen are not in the document', async () => {
  const page = await open(b, weir, { signedIn: true });
  const { data: [row] } = await (await page.request.get(`${weir.url}/api/calls?limit=1`)).json();
  const many = Array.from({ length: 10_000 }, (_, i) => ({ ...row, id: `gen-1-${i}`, model: `sim/row-${i}` }));
  await page.route('**/api/calls?**', (route) => route.fulfill({ json: { data: many, next: null, searched_to: null } }));
  await page.goto(`${weir.url}/calls`);
  await settled(page);
  assert.ok(await page.locator('tbody [data-row]').count() < 300);
  await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
  await page.getByText('sim/row-9999').first().waitFor();
  assert.ok(await page.locator('tbody [data-row]').count() < 300);
  await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight / 2));
  await page.getByText(/sim\/row-5\d\d\d/).first().waitFor();
  const head = () => page.getByRole('columnheader', { name: 'Model' }).evaluate((e) => e.getBoundingClientRect().top);
  assert.equal(await head(), 52, 'the head stays under the bar of the page');
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Model' }).click();
  await becomes(() => page.getByRole('columnheader', { name: 'Model' }).count(), 0);
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('menuitem', { name: 'As usual' }).click();
  await page.getByRole('table', { name: 'Calls' }).evaluate((e) => { e.style.minWidth = '2000px'; }); // then the frame scrolls
  const scroller = page.getByRole('region', { name: 'Calls' });
  await becomes(() => scroller.evaluate((e) => { e.scrollLeft = 50; e.scrollTop = 500; const [corner] = e.querySelectorAll('th'), at = e.getBoundingClientRect(), is = corner.getBoundingClientRect(); return is.left === at.left && is.top === at.top; }), true);
  await page.done();
});

test('a page shows what happens between its reading and its stream', async () => {
  const manage = (path, body) => weir.call(path, body, weir.management_key);
  for (const [path, act, seen] of [
    ['/calls', () => chat(), (page) => page.getByRole('button', { name: '1 new call' })],
    ['/keys', () => manage('/api/keys', { name: 'made in between' }), (page) => page.getByRole('link', { name: 'made in between' })],
    ['/jobs', () => weir.call('/v1/videos', { model: 'sim/video', prompt: 'made in between' }), (page) => page.locator('tbody [data-key^="vj_"]')],
  ]) {
    const page = await open(b, weir, { signedIn: true });
    let isWhole;
    const whole = new Promise((resolve) => { isWhole = resolve; });
    await page.route('**/api/events?**', async (route) => { await whole; await route.continue(); });
    await page.goto(`${weir.url}${path}`);
    await settled(page);
    assert.equal(await seen(page).count(), 0, path);
    if (path === '/calls') await down(page);
    await act();
    isWhole();
    await seen(page).first().waitFor();
    await page.done();
  }
});
