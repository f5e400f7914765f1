import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, browser, demo, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();

test('a visitor looks at the models and signs in to the demo', async () => {
  const page = await open(b, weir, { path: '/models' });
  assert.match(await page.title(), /Models · Weir/);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Look at the demo' }).click();
  await page.waitForURL((u) => u.pathname === '/models');
  await page.getByRole('button', { name: /Your account/ }).waitFor();
  await page.done();
});

test('the palette finds a model with the keyboard in the wrong layout', async () => {
  const page = await open(b, weir, { path: '/models' });
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').fill('ышь');
  await page.getByRole('option').first().waitFor();
  assert.match(await page.getByRole('option').first().innerText(), /sim/i);
  await page.keyboard.press('Escape');
  await page.done();
});

test('keys typed while the palette opens are in its field, and no shortcut runs behind it', async () => {
  const page = await open(b, weir, { path: '/overview', signedIn: true });
  let arrive;
  const arrived = new Promise((resolve) => { arrive = resolve; });
  await page.route(/assets\/palette-[^/]*\.js$/, async (route) => { await arrived; await route.continue(); });
  await page.keyboard.press('Control+k');
  await page.keyboard.type('gm top');
  arrive();
  const field = page.getByRole('dialog').getByRole('combobox');
  await field.waitFor();
  assert.equal(await field.inputValue(), 'gm top');
  assert.equal(new URL(page.url()).pathname, '/overview');
  await page.done();
});

test('the palette finds what can be done and pages that lie deeper', async () => {
  const page = await open(b, weir, { path: '/overview', signedIn: true });
  for (const [typed, name, to] of [['top up', /Top up the wallet/, '/money/top-up'], ['provider keys', /^Provider keys/, '/settings/provider-keys'], ['make a key', /Make a key/, '/keys'], ['security', /^Security/, '/settings/security']]) {
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill(typed);
    await page.getByRole('option', { name }).first().click();
    await page.waitForURL((u) => u.pathname === to);
    if (to === '/keys') await page.getByRole('form', { name: 'Make a key' }).getByRole('textbox', { name: 'Name' }).waitFor();
    await settled(page);
  }
  await page.done();
});

test('a visitor on a phone reaches models, playground, documentation and status', async () => {
  const page = await open(b, weir, { path: '/models', size: 'phone' });
  const bar = page.getByRole('navigation', { name: 'Main' });
  assert.deepEqual(await bar.getByRole('link').evaluateAll((all) => all.filter((a) => a.offsetParent !== null || getComputedStyle(a.parentElement).position === 'fixed').map((a) => a.getAttribute('href'))), ['/models', '/playground', '/docs', '/status']);
  await bar.getByRole('link', { name: 'Status' }).click();
  await page.waitForURL((u) => u.pathname === '/status');
  await page.done();
});

test('the language changes at once and stays', async () => {
  const page = await open(b, weir, { path: '/models' });
  await page.getByRole('button', { name: /Russian/ }).click();
  await page.getByRole('heading', { level: 1, name: /модел/i }).waitFor();
  await page.reload();
  await settled(page);
  assert.equal(await page.getAttribute('html', 'lang'), 'ru');
  await page.done();
});

test('the theme comes with the page and changes at once', async () => {
  const page = await open(b, weir, { path: '/models', theme: 'dark' });
  assert.equal(await page.getAttribute('html', 'data-theme'), 'dark');
  await page.getByRole('button', { name: 'Theme' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Light' }).click();
  await becomes(() => page.getAttribute('html', 'data-theme'), 'light');
  await page.done();
});

test('the skip link leads to the title', async () => {
  const page = await open(b, weir, { path: '/models' });
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1');
  await page.done();
});

test('an address that is no page says so', async () => {
  const page = await open(b, weir, { path: '/nowhere/at/all' });
  await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  await page.done();
});

test('the bar that comes with the document has the place and the words of the page’s own', async () => {
  for (const [language, words] of Object.entries({ en: ['Weir', 'Models', 'Playground'], ru: ['Weir', 'Модели', 'Песочница'] })) {
    for (const size of ['desk', 'phone']) {
      const page = await open(b, weir, { language, size });
      const at = () => page.locator('header').evaluate((bar, words) => [...bar.querySelectorAll('a')].filter((a) => a.offsetParent !== null && words.includes(a.innerText)).map((a) => { const { x, y, width, height } = a.getBoundingClientRect(); return [a.innerText, a.getAttribute('href'), x, y, width, height].join(' '); }), words);
      await page.route('**/assets/*.js', (route) => route.abort());
      await page.goto(`${weir.url}/models`);
      await page.evaluate(() => document.fonts.load('600 16px Inter').then(() => document.fonts.ready));
      const first = await at();
      assert.equal(first.length, size === 'desk' ? 3 : 1);
      await page.unroute('**/assets/*.js');
      await page.goto(`${weir.url}/models`);
      await settled(page);
      assert.equal(await page.locator('[data-first]').count(), 0, 'the page’s own takes its place');
      assert.deepEqual(await at(), first);
      await page.done();
    }
  }
});

test('what a page is sure to need is named in its document, and asked for once', async () => {
  for (const path of ['/models', '/models/sim/anywhere', '/overview', '/calls', '/playground', '/settings/routing']) {
    const page = await open(b, weir, { signedIn: true });
    const asked = [];
    page.on('request', (r) => asked.push(new URL(r.url()).pathname));
    await page.goto(weir.url + path);
    await settled(page);
    const named = await page.locator('head :is(link[rel=modulepreload], link[rel=preload], script)').evaluateAll((all) => all.map((e) => new URL(e.href ?? e.src).pathname));
    assert.deepEqual(named.filter((f) => asked.filter((a) => a === f).length !== 1), [], `${path}: not asked for once`);
    // What opens on a press comes after the first paint.
    assert.deepEqual(asked.filter((f) => f.endsWith('.js') && !named.includes(f) && !/\/(menus|column-menu|bell|(accounts|notices|facts)\.\w+)-/.test(f)), [], `${path}: asked for late`);
    await page.done();
  }
});
