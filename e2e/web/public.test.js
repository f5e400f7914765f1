// Pages for everybody: catalog, comparison, a model's page, status, sign-in.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, hostile, looks, open, settled } from './weir.js';

// Keys that reach nothing: the built-in catalog of these providers is listed, and no call is made to them.
const weir = await demo({ env: { OPENAI_API_KEY: 'sk-none', ANTHROPIC_API_KEY: 'sk-none', GEMINI_API_KEY: 'none', DEEPSEEK_API_KEY: 'none' } });
const b = await browser();
for (let i = 0; i < 8; i++) assert.equal((await weir.call('/v1/chat/completions', { model: 'sim/anywhere', messages: [{ role: 'user', content: `Hello ${i}` }] })).status, 200);
const catalog = await (await weir.call('/api/catalog')).json();
/** The number in the title, once it is the expected one: the list follows the filter a moment later. */
const counts = (page, n) => page.waitForFunction((n) => Number(document.querySelector('h1').innerText.replace(/\D/g, '')) === n, n);
const fits = (...conditions) => catalog.models.filter((m) => conditions.every((c) => c(m))).length;

test('each filter leaves what it says, the address keeps it, and each can be taken away', async () => {
  const page = await open(b, weir, { path: '/models' });
  await counts(page, catalog.models.length);
  const side = page.getByRole('complementary');
  await side.getByRole('checkbox', { name: /^Tools/ }).check({ force: true });
  await side.getByRole('checkbox', { name: /^JSON schema/ }).check({ force: true });
  const tools = (m) => m.caps.includes('tools') && m.caps.includes('json');
  await page.waitForURL(/can=tools,json/);
  await counts(page, fits(tools));
  await side.getByRole('checkbox', { name: /^Not used for training/ }).check({ force: true });
  await page.waitForURL(/policy=notrain/);
  const kept = (m) => ['zero', 'transient', 'retained'].includes(m.policy);
  await counts(page, fits(tools, kept));
  await side.getByRole('slider', { name: 'Input price, up to' }).press('End');
  for (let i = 0; i < 4; i++) await side.getByRole('slider').press('ArrowLeft');
  await page.waitForURL(/in=2000/);
  const cheap = (m) => m.in !== null && Number(m.in) * 1000 <= 2000; // the numbers of a test may be floats
  await counts(page, fits(tools, kept, cheap));
  const address = page.url();
  await page.reload();
  await settled(page);
  assert.equal(page.url(), address);
  await counts(page, fits(tools, kept, cheap));
  assert.ok(await side.getByRole('checkbox', { name: /^Tools/ }).isChecked());
  await page.getByRole('button', { name: 'Remove filter JSON schema' }).click();
  await page.getByRole('button', { name: 'Remove filter Not used for training' }).click();
  await page.waitForURL((u) => !u.search.includes('policy'));
  await counts(page, fits((m) => m.caps.includes('tools'), cheap));
  await page.done();
});

test('the numbers beside the choices are right', async () => {
  const page = await open(b, weir, { path: '/models?makes=video' });
  const text = await page.getByRole('complementary').getByText('Simulated videos').first().locator('xpath=ancestor::label').innerText();
  assert.equal(Number(text.replace(/\D/g, '')), fits((m) => m.outs.includes('video'), (m) => m.providers.includes('sim-videos')));
  await page.done();
});

test('search: words in any order, and the Russian keyboard layout', async () => {
  const page = await open(b, weir, { path: '/models' });
  await page.keyboard.press('/');
  await page.keyboard.type('сдфгву');
  await page.getByText('Read as “claude”.').waitFor();
  await becomes(async () => (await page.locator('tbody th code').allInnerTexts()).filter((name) => !name.includes('claude')), []);
  await page.getByRole('searchbox').first().fill('sonnet claude');
  await page.waitForURL(/sonnet/);
  await page.locator('tbody th code').filter({ hasText: 'sonnet' }).first().waitFor();
  await page.getByRole('searchbox').first().fill('nothing is called this');
  await page.getByText('No model matches.').waitFor();
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.waitForURL((u) => !u.search.includes('q='));
  await counts(page, catalog.models.length);
  await page.done();
});

test('prices have the unit that is chosen, and it is remembered', async () => {
  const page = await open(b, weir, { path: '/models?q=sim/chat' });
  const cell = page.locator('tbody tr').first().locator('td').nth(3);
  await becomes(() => cell.innerText(), '10.00');
  await page.getByRole('radio', { name: '₽ / 1k' }).click();
  await page.waitForURL(/unit=1k/);
  await becomes(() => cell.innerText(), '0.01');
  await page.goto(`${weir.url}/models?q=sim/chat`);
  await settled(page);
  await becomes(() => cell.innerText(), '0.01');
  await page.done();
});

test('with the keyboard alone: a model is found, two are compared, one is opened', async () => {
  const page = await open(b, weir, { path: '/models?vendor=sim' });
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.waitForURL(/m=sim\/[\w.-]+,sim/);
  await page.keyboard.press('c');
  await page.waitForURL(/\/models\/compare\?m=/);
  await page.getByRole('heading', { level: 1, name: 'Compare models' }).waitFor();
  await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
  await becomes(() => page.locator('thead th').count(), 2);
  await page.getByRole('switch', { name: 'Differences only' }).press('Space');
  await page.waitForURL(/diff=1/);
  for (const row of await page.locator('tbody tr:has(td)').all()) {
    const cells = await row.locator('td').evaluateAll((all) => all.map((e) => e.textContent || e.querySelector('svg')?.getAttribute('aria-label')));
    assert.ok(new Set(cells).size > 1, `${cells} do not differ`);
  }
  await page.goBack();
  await settled(page);
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/models\/sim\/[\w.-]+$/);
  await page.done();
});

test('of a list only what is seen is made: lines on a phone, a table on a desk', async () => {
  const page = await open(b, weir, { path: '/models?vendor=sim' });
  const made = () => page.evaluate(() => ['main tbody [data-row]', 'main ul [data-row]'].map((what) => document.querySelectorAll(what).length > 0));
  await becomes(made, [true, false]);
  await page.setViewportSize({ width: 390, height: 844 });
  await becomes(made, [false, true]);
  await page.setViewportSize({ width: 1440, height: 900 });
  await becomes(made, [true, false]);
  await page.done();
});

test('a long list: the keys go through all of it, and scrolling stays where it was let go', async () => {
  const page = await open(b, weir);
  const models = Array.from({ length: 300 }, (_, i) => ({ ...catalog.models[0], id: `sim/made-${i}`, name: `Made ${i}`, rank: i + 1 }));
  await page.route('**/api/catalog', (route) => route.fulfill({ json: { ...catalog, models } }));
  await page.goto(`${weir.url}/models`);
  await settled(page);
  assert.ok(await page.locator('tbody [data-row]').count() < 100, 'rows far from the screen are made');
  for (let i = 1; i <= 130; i++) {
    await page.keyboard.press('j');
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-rowindex')), String(i + 1));
  }
  const at = await page.evaluate(() => scrollY);
  assert.ok(at > 3000, `at ${at}`);
  await page.evaluate(() => scrollTo(0, 9000));
  await becomes(() => page.evaluate(() => [scrollY, [...document.querySelectorAll('tbody [data-row]')].filter((e) => { const { top, bottom } = e.getBoundingClientRect(); return top > 100 && bottom < innerHeight; }).length > 10]), [9000, true]);
  await page.getByRole('searchbox').first().fill('made 299');
  await page.getByRole('heading', { name: '1 model' }).waitFor();
  assert.equal(await page.locator('tbody [data-row]').count(), 1);
  await page.done();
});

test('a model: providers, shares, prices to the last digit, a calculator that is exact', async () => {
  const page = await open(b, weir, { path: '/models/sim/anywhere' });
  assert.match(await page.title(), /Sim Anywhere/);
  const rows = page.getByRole('table', { name: 'Who serves it' }).locator('tbody > tr');
  const served = await (await weir.call('/v1/models/sim/anywhere/providers')).json();
  assert.equal(await rows.count(), served.providers.flatMap((p) => p.endpoints).length);
  // The head of the table covers none of its rows.
  const [head, row] = [await page.getByRole('table', { name: 'Who serves it' }).locator('thead th').first().boundingBox(), await rows.first().boundingBox()];
  assert.ok(head.y + head.height <= row.y + 1, `the head ends at ${head.y + head.height}, the first row begins at ${row.y}`);
  await rows.first().getByRole('button').first().click();
  await page.getByRole('table').getByText('Name in provider.order').waitFor();
  await page.getByLabel('Tokens in').fill('1000');
  await page.getByLabel('of them cached').fill('400');
  await page.getByLabel('Tokens out').fill('333');
  // 600 × 20 + 400 × 5 + 333 × 80 for a million
  await page.locator('output').filter({ hasText: '0.04064' }).waitFor();
  assert.equal((await page.locator('output').getAttribute('title')).replace(/\s/g, ' '), '0.04064 ₽');
  await page.done();
});

test('what is copied from a model’s page runs: curl', async () => {
  const page = await open(b, weir, { path: '/models/sim/chat' });
  const code = await page.getByRole('tabpanel').locator('code').innerText();
  const run = spawnSync('bash', ['-c', code.replace('curl ', 'curl -sS ')], { env: { PATH: process.env.PATH, WEIR_API_KEY: weir.api_key }, encoding: 'utf8' });
  assert.equal(run.status, 0, run.stderr);
  assert.equal(JSON.parse(run.stdout).object, 'chat.completion', run.stdout);
  for (const name of ['Python', 'Node', 'Go', 'Claude Code', 'Codex', 'Cursor', 'Continue', 'Cline']) {
    await page.getByRole('tab', { name, exact: true }).click();
    const text = page.getByRole('tabpanel', { name, exact: true }).locator('code');
    for (const part of [weir.url, 'sim/chat']) await text.filter({ hasText: part }).waitFor();
  }
  await page.done();
});

test('a key is made beside the code, which runs with it; it is gone when the page is left', async () => {
  const page = await open(b, weir, { path: '/models/sim/chat', signedIn: true });
  await page.getByRole('button', { name: 'Make a key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('checkbox', { name: 'For this model alone' }).check({ force: true });
  await accessible(page, 'making a key');
  await dialog.getByRole('button', { name: 'Make a key' }).click();
  const secret = await page.getByRole('textbox', { name: 'Text of the key' }).inputValue();
  const code = await page.getByRole('tabpanel').locator('code').innerText();
  assert.ok(secret.startsWith('sk-') && code.includes(secret), code);
  const run = spawnSync('bash', ['-c', code.replace('curl ', 'curl -sS ')], { env: { PATH: process.env.PATH }, encoding: 'utf8' });
  assert.equal(JSON.parse(run.stdout).object, 'chat.completion', run.stdout + run.stderr);
  const other = await (await fetch(`${weir.url}/v1/chat/completions`, { method: 'POST', headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }, body: JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'Hi' }] }) })).json();
  assert.equal(other.error.code, 403, JSON.stringify(other));
  await page.reload();
  await settled(page);
  assert.ok(!(await page.content()).includes(secret));
  await page.done();
});

test('a model that nobody serves says when it was served last, and what is nearest to it', async () => {
  const page = await open(b, weir);
  await page.route('**/v1/models/sim/anywhere/providers', async (route) => { const r = await route.fetch(); await route.fulfill({ response: r, json: { ...(await r.json()), providers: [] } }); });
  await page.goto(`${weir.url}/models/sim/anywhere`);
  await page.getByText(/Last served in the hour from .*\d\d:00\./).waitFor();
  await page.getByText('These are nearest to it').waitFor();
  await accessible(page, 'a model that nobody serves');
  await page.done();
});

test('charts have their data as a table', async () => {
  const page = await open(b, weir, { path: '/models/sim/anywhere' });
  const figure = page.getByRole('figure', { name: 'Speed' });
  await figure.getByRole('button', { name: 'Show as table' }).click();
  await figure.getByRole('row').nth(2).waitFor();
  await figure.getByRole('button', { name: 'Show as chart' }).click();
  await figure.locator('canvas').waitFor();
  await figure.getByRole('group').press('End');
  await page.done();
});

test('a model that is not there says so', async () => {
  const page = await open(b, weir, { path: '/models/nobody/nothing' });
  await page.getByRole('heading', { name: 'There is no such model here' }).waitFor();
  await page.done();
});

test('a video model has its options and price for a second', async () => {
  const page = await open(b, weir, { path: '/models/sim/video' });
  await page.getByText('1.50 ₽ a second'.replaceAll(' ', '\u202f').replace('\u202fa\u202f', ' a ')).first().waitFor();
  await page.getByLabel('Seconds').fill('12');
  await page.getByRole('checkbox', { name: 'With sound' }).uncheck({ force: true });
  await page.locator('output').filter({ hasText: '18.00' }).waitFor();
  await page.done();
});

test('a wrong password says so, and nothing else; a link that does not work says so', async () => {
  const page = await open(b, weir, { path: '/sign-in' });
  await page.getByLabel('E-mail').fill('nobody@example.org');
  await page.getByLabel('Password', { exact: true }).fill('not the password');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByText('The e-mail or the password is wrong.').waitFor();
  await page.goto(`${weir.url}/invite#not-a-token-that-exists`);
  await page.getByText('This link does not work').waitFor();
  assert.ok(!page.url().includes('not-a-token'), 'the token stays in the address bar');
  await page.done();
});

test('the link of the first administrator makes one', async () => {
  const setup = spawnSync(process.env.WEIR_BIN ?? '../../bin/weir', ['user', 'setup', '--data', weir.data], { encoding: 'utf8' });
  const link = /(\/welcome#\S+)/.exec(setup.stdout + setup.stderr)?.[1];
  assert.ok(link, setup.stdout + setup.stderr);
  const page = await open(b, weir);
  await page.goto(weir.url + link);
  await page.getByRole('heading', { name: 'Make yourself the administrator' }).waitFor();
  assert.ok(page.url().endsWith('/setup'), page.url());
  await page.getByLabel('E-mail').fill('anna@example.org');
  await page.getByLabel('Password', { exact: true }).fill('correct horse battery');
  await page.getByRole('button', { name: 'Become the administrator' }).click();
  await page.getByRole('button', { name: /Your account/ }).waitFor();
  await page.getByRole('button', { name: /Your account/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('link', { name: 'Sign in' }).waitFor();
  await page.done();
});

test('names that would do harm are texts', async () => {
  // The answer of the gateway is replaced on its way: a provider's catalog may name its models as it likes.
  const page = await open(b, weir);
  const models = hostile.map((name, i) => ({ ...catalog.models.find((m) => m.id === 'sim/chat'), id: `sim/evil-${i}`, name, about: name, vendor: 'sim' }));
  await page.route('**/api/catalog', (route) => route.fulfill({ json: { ...catalog, models, facets: { ...catalog.facets, providers: [{ id: 'sim', name: hostile[1], count: 1, policy: 'zero' }] } } }));
  await page.goto(`${weir.url}/models?q=${encodeURIComponent(hostile[0])}`);
  await settled(page);
  await page.goto(`${weir.url}/models`);
  await settled(page);
  await becomes(async () => { const shown = await page.locator('tbody').innerText(); return hostile.filter((name) => !shown.includes(name)); }, []);
  await page.goto(`${weir.url}/models/compare?m=sim/evil-0,sim/evil-1,sim/evil-5`);
  await settled(page);
  await page.goto(`${weir.url}/models/sim/evil-1%3Cimg%20src=x%20onerror=alert(1)%3E`);
  await settled(page);
  await page.done();
});

test('a gateway that fails: the last catalog with its time, or an error with a way on', async () => {
  const page = await open(b, weir, { path: '/models' });
  await page.waitForFunction(() => Object.keys(localStorage).some((k) => k.includes('catalog')));
  await page.route('**/api/catalog', (route) => route.abort());
  await page.reload();
  await page.getByText(/The gateway does not answer\. Prices of \d\d:\d\d\./).waitFor();
  await page.evaluate(() => localStorage.clear());
  await page.reload();
  await page.getByText('The gateway cannot be reached.').waitFor();
  await page.unroute('**/api/catalog');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('row').nth(3).waitFor();
  await page.done();
});

test('models that one\'s calls would be refused are hidden, with their number, and can be shown', async () => {
  const prefer = (provider) => fetch(`${weir.url}/api/account/preferences`, { method: 'PUT', headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, body: JSON.stringify({ provider }) });
  assert.equal((await prefer({ only: ['sim'] })).status, 200);
  const page = await open(b, weir, { path: '/models', signedIn: true });
  const { hidden } = await (await page.request.get(`${weir.url}/api/catalog/hidden`)).json();
  assert.ok(hidden.length > 0 && hidden.length < catalog.models.length);
  await counts(page, catalog.models.length - hidden.length);
  await page.getByText(`${hidden.length} models are hidden: your settings refuse them.`).waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await page.waitForURL(/all=1/);
  await counts(page, catalog.models.length);
  await page.getByRole('row').filter({ hasText: hidden[0] }).first().getByText('refused by your settings').waitFor();
  await accessible(page, 'the catalog with refused models');
  await page.setViewportSize({ width: 360, height: 740 });
  await fitsWidth(page, 'the catalog with refused models');
  await page.done();
  assert.equal((await prefer(null)).status, 200);
  const visitor = await open(b, weir, { path: '/models' });
  await counts(visitor, catalog.models.length);
  await visitor.done();
});

/** Rankings as an installation with many accounts has them. */
const ranked = (names = {}) => ({ range: '7d', from: '2026-11-19', to: '2026-11-25', least: 5,
  models: catalog.models.slice(0, 12).map((m, i) => ({ place: i + 1, before: [2, 1, 3, null, 9, 5][i % 6], id: m.id, name: m.name, vendor: m.vendor, vendor_name: m.vendor, share: [31, 22, 14, 9, 7, 5, 4, 3, 2, 2, 1, 0][i], ...names })),
  vendors: [{ id: 'acme', name: names.vendor_name ?? 'Acme', share: 71 }, { id: 'zeta', name: 'Zeta', share: 29 }] });

test('rankings: closed to visitors, open to people with an account; a period is in the address', async () => {
  const visitor = await open(b, weir, { path: '/rankings' });
  await visitor.getByText('Rankings are for people with an account here').waitFor();
  assert.equal(await visitor.getByRole('main').getByRole('link', { name: 'Sign in' }).getAttribute('href'), '/sign-in');
  await visitor.goto(`${weir.url}/models`);
  await settled(visitor);
  assert.equal(await visitor.getByRole('main').getByRole('link', { name: 'Rankings' }).count(), 0);
  await visitor.done();
  const page = await open(b, weir, { path: '/models', signedIn: true });
  await page.getByRole('main').getByRole('link', { name: 'Rankings' }).click();
  await page.getByText('No model has been used by 5 accounts yet').waitFor();
  await page.getByRole('radio', { name: 'Last 30 days' }).click();
  await page.waitForURL(/range=30d/);
  await page.done();
});

for (const { theme, language } of looks) {
  test(`rankings: places, changes, shares; axe finds nothing, and they fit a phone, ${theme}, ${language}`, async () => {
    const page = await open(b, weir, { theme, language, signedIn: true });
    await page.route('**/api/rankings?**', (route) => route.fulfill({ json: ranked() }));
    await page.goto(`${weir.url}/rankings`);
    await settled(page);
    const rows = page.locator('tbody tr');
    assert.equal(await rows.count(), 12);
    if (language === 'en') {
      assert.match(await rows.nth(0).innerText(), /1 place up[\s\S]*31\s%/);
      assert.match(await rows.nth(3).innerText(), /new[\s\S]*9\s%/);
      assert.match(await rows.nth(11).innerText(), /7 places down[\s\S]*<\s1\s%/);
    }
    await accessible(page, '/rankings');
    await page.setViewportSize({ width: 360, height: 740 });
    await settled(page);
    await fitsWidth(page, '/rankings');
    await accessible(page, '/rankings, phone');
    await page.route('**/api/rankings?**', (route) => route.fulfill({ json: ranked({ name: hostile[0], vendor_name: hostile[1] }) }));
    await page.reload();
    await settled(page);
    await page.getByRole('listitem').getByText(hostile[1]).waitFor();
    await page.done();
  });
}

const pages = ['/rankings', '/models', '/models?q=nothing+fits&can=tools', '/models/compare?m=sim/chat,sim/video', '/models/sim/anywhere', '/models/sim/video', '/status', '/sign-in', '/reset'];
for (const path of pages) {
  test(`${path} fits 360 px, and is Russian`, async () => {
    const page = await open(b, weir, { path, size: 'small', language: 'ru' });
    await fitsWidth(page, path);
    if (path.includes('?q=')) await accessible(page, `${path}, phone`); // access.test.js looks at the others
    const names = /Weir|Sim|curl|Python|Node|Claude|Codex|Cursor|Continue|Cline|OpenAI|Anthropic|Google|DeepSeek|[a-z]+\/[a-z]|UTC|^\d+p|English|\d|OpenRouter|first_frame/;
    assert.deepEqual(await englishWords(page, names), [], 'English on a Russian page');
    await page.done();
  });
}
