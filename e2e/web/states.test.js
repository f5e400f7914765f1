// Every page of an account in the states that a page can be in: on its way, refused in each way and tried again, offline, with the session
// over, and with the longest names and the largest and smallest amounts. Each page is one line of the table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, browser, demo, fitsWidth, open, settled } from './weir.js';

/** make soak walks through every state of every page. */
const everything = process.env.SOAK === '1';
const weir = await demo();
const b = await browser();
for (let i = 0; i < 3; i++) assert.equal((await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: `Hello ${i}` }] })).status, 200);
const listed = async (path) => (await (await fetch(weir.url + path, { headers: { authorization: `Bearer ${weir.management_key}` } })).json()).data;
const [call] = await listed('/api/calls?limit=1'), key = (await listed('/api/keys')).find((k) => k.name === 'demo');

/** What is read for the page, and cannot be left out. */
const pages = [
  ['/overview', '/api/overview'],
  ['/activity', '/api/usage'],
  ['/calls', '/api/calls'],
  [`/calls/${call.id}`, `/api/calls/${call.id}`],
  ['/keys', '/api/keys'],
  [`/keys/${key.hash}`, `/api/keys/${key.hash}`],
  ['/money', '/api/ledger'],
  ['/jobs', '/api/jobs'],
  ['/presets', '/api/presets'],
  ['/settings/profile', '/api/account/profile'],
  ['/settings/routing', '/api/account/preferences'],
  ['/settings/data', '/api/account/data'],
  ['/settings/notifications', '/api/notifications'],
  ['/settings/provider-keys', '/api/provider-keys'],
];
const refusals = {
  429: [{ message: 'Slow down.', metadata: { error_type: 'rate_limit_exceeded' } }, /Too many attempts\. Try again in/],
  402: [{ message: 'No money.', metadata: { error_type: 'payment_required' } }, /no money left/],
  401: [{ message: 'Not signed in.', metadata: { error_type: 'authentication' } }, /You are not signed in|e-mail or the password/],
  500: [{ message: 'It broke.', metadata: { error_type: 'server' } }, /The gateway failed/],
};

test('each page: on its way, refused, tried again, offline', async () => {
  const page = await open(b, weir, { signedIn: true });
  await page.route('**/api/events**', (route) => route.abort());
  let path = '', mode = 'pass', held = [];
  const free = () => held.splice(0).forEach((go) => go()); // a page may ask for the same twice
  await page.route((url) => url.pathname === path, async (route) => {
    if (mode === 'hold') await new Promise((go) => held.push(go));
    if (mode === 'pass') return route.continue();
    const status = Number(mode);
    return route.fulfill({ status, headers: { 'x-request-id': 'req-of-the-test', 'retry-after': '7' }, json: { error: { code: status, ...refusals[status][0] } } });
  });
  for (const [at, api] of pages) {
    path = api;
    mode = 'hold';
    await page.goto(weir.url + at);
    await page.locator('main .late').first().waitFor({ state: 'attached' });
    assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, `${at} has its title at once`);
    assert.equal(await page.getByRole('main').getByRole('alert').count(), 0, at);
    // A session that is over asks at once; the other refusals look the same on each page, so they are walked through on few.
    mode = '401';
    free();
    const box = page.getByRole('main').getByRole('alert').first();
    await page.getByRole('dialog', { name: 'Your session is over' }).getByRole('button', { name: 'Close' }).click();
    await box.getByText(refusals[401][1]).waitFor();
    const whole = everything || ['/overview', '/calls'].includes(at);
    for (const status of whole ? [500, 429, 402] : []) {
      mode = String(status);
      await box.getByRole('button', { name: 'Try again' }).click();
      await box.getByText(refusals[status][1]).waitFor();
      await box.getByText('req-of-the-test').waitFor();
    }
    assert.equal(await page.getByRole('navigation', { name: 'Account' }).isVisible(), true, `${at}: the frame stays`);
    mode = 'pass';
    await box.getByRole('button', { name: 'Try again' }).click();
    await becomes(() => page.getByRole('main').getByRole('alert').count(), 0);
    if (!whole) continue;
    await settled(page);
    const shown = await page.getByRole('main').locator('h1, table, form, figure').count();
    await page.context().setOffline(true);
    await page.getByText(/No connection\. What you see is from \d\d:\d\d\./).waitFor();
    assert.equal(await page.getByRole('main').locator('h1, table, form, figure').count(), shown, `${at}: what is shown stays`);
    await page.context().setOffline(false);
    await becomes(() => page.getByText(/No connection/).count(), 0);
  }
  page.complaints.length = 0; // the refused streams
  await page.done();
});

test('code that cannot be had leaves what is shown; with that of a new release the page is loaded again', async () => {
  const page = await open(b, weir, { path: '/models' });
  const link = page.getByRole('banner').getByRole('link', { name: 'Playground' });
  await page.evaluate(() => { window.same = true; });
  await page.context().setOffline(true);
  const failed = page.waitForEvent('requestfailed', (r) => r.url().endsWith('/healthz'));
  await link.hover();
  await failed;
  assert.equal(await page.evaluate(() => window.same), true);
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1);
  await page.context().setOffline(false);
  await page.goto(`${weir.url}/models`);
  await settled(page);
  await page.evaluate(() => { window.same = true; });
  await page.route('**/assets/*.js', (route) => route.fulfill({ status: 404 }), { times: 1 });
  await page.mouse.move(0, 0);
  await link.hover();
  await becomes(() => page.evaluate(() => window.same).catch(() => true), undefined); // the page may just be on its way
  await settled(page);
  await link.click();
  await page.waitForURL(`${weir.url}/playground`);
  await settled(page);
  page.complaints.length = 0; // the code that could not be had
  await page.done();
});

test('a form that is sent when the session is over keeps its text', async () => {
  const page = await open(b, weir, { path: '/keys', signedIn: true });
  for (const [at, label, button] of [['/keys', 'Name', 'Make a key'], ['/settings/profile', 'Name', 'Save']]) {
    await page.goto(weir.url + at);
    await settled(page);
    if (at === '/keys') await page.keyboard.press('n');
    const form = page.getByRole('main').locator('form').first();
    await form.getByLabel(label, { exact: true }).fill('typed before');
    await page.request.post(`${weir.url}/api/auth/sign-out`, { headers: { origin: weir.url, 'x-weir': '1' }, data: {} });
    await form.getByRole('button', { name: button }).click();
    await page.getByRole('dialog', { name: 'Your session is over' }).getByRole('button', { name: 'Close' }).click();
    assert.equal(await form.getByLabel(label, { exact: true }).inputValue(), 'typed before', at);
    await page.request.post(`${weir.url}/api/auth/demo`, { headers: { origin: weir.url, 'x-weir': '1' }, data: {} });
  }
  await page.done();
});

const long = 'A-name-without-a-place-to-break-'.repeat(6);
const sums = ['/overview', '/activity', '/money', `/keys/${key.hash}`];
for (const [what, amount, size] of [['the longest names and the largest amounts', '999999999999.999999999', 'small'], ['no money at all', '0', 'desk']]) {
  test(`each page with ${what}`, async () => {
    const page = await open(b, weir, { signedIn: true, size });
    const swell = (v, name) => (Array.isArray(v) ? v.map((x) => swell(x, name)) : v && typeof v === 'object' ? Object.fromEntries(Object.entries(v).map(([k, x]) => [k, swell(x, k)]))
      : typeof v === 'string' && /^-?\d+(\.\d+)?$/.test(v) ? amount : typeof v === 'string' && /^(name|label|model|model_asked|provider|provider_name|reason)$/.test(name) && size === 'small' ? long : v);
    const apis = new Set(pages.map(([, api]) => api));
    await page.route((url) => apis.has(url.pathname), async (route) => {
      if (route.request().method() !== 'GET') return route.continue();
      const answer = await route.fetch();
      return route.fulfill({ response: answer, json: swell(await answer.json()) });
    });
    for (const [at] of pages.filter(([at]) => everything || (size === 'small' ? !at.startsWith('/settings') : sums.includes(at)))) {
      await page.goto(weir.url + at);
      await settled(page);
      await fitsWidth(page);
      assert.equal(await page.getByRole('main').getByRole('alert').count(), 0, at);
      assert.equal(/NaN|Infinity|undefined|[0-9]e[+-]\d/.test(await page.getByRole('main').innerText()), false, at);
    }
    await page.done();
  });
}
