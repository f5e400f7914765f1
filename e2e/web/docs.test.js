// The documentation: readable without scripts, found by search, accessible, and reached from the interface.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, browser, demo, englishWords, fitsWidth, open, settled, sizes } from './weir.js';

const weir = await demo();
const b = await browser();

test('without scripts: pages, the list of pages on the phone, and the search', async () => {
  const context = await b.newContext({ viewport: sizes.small, javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${weir.url}/docs`);
  await page.getByRole('button', { name: 'Pages' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Money', exact: true }).click();
  await page.waitForURL(/\/docs\/money$/);
  assert.match(await page.locator('article').innerText(), /What is held/);
  await page.getByRole('button', { name: 'On this page' }).click();
  await page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'What is held' }).click();
  await page.waitForURL(/#what-is-held$/);
  await page.getByRole('link', { name: 'Search', exact: true }).click();
  await page.getByRole('searchbox').fill('idempotency');
  await page.getByRole('searchbox').press('Enter');
  await page.waitForURL(/q=idempotency/);
  assert.match(await page.getByRole('status').innerText(), /Results: \d+/);
  await page.locator('.results a').first().click();
  await page.waitForURL(/\/docs\/\w+/);
  await context.close();
});

test('with scripts: search by a key, theme, language, copying', async () => {
  const page = await open(b, weir, { path: '/docs/start' });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  assert.ok((await page.locator('article').innerText()).includes(`export BASE=${weir.url.replace('localhost', '127.0.0.1')}`) || (await page.locator('article').innerText()).includes(`export BASE=${weir.url}`));
  await page.locator('.code').first().hover();
  await page.locator('.code .copy').first().click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'make run');
  await page.getByRole('link', { name: 'Copy as Markdown' }).click();
  await becomes(async () => (await page.evaluate(() => navigator.clipboard.readText())).split('\n')[0], '# Start in five minutes');
  await page.getByRole('button', { name: /^Theme/ }).click();
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
  await page.reload();
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
  await page.getByRole('button', { name: /^RU/ }).click();
  await page.getByRole('button', { name: 'Скопировать' }).first().waitFor({ state: 'attached' });
  assert.equal(await page.locator('html').getAttribute('lang'), 'ru');
  await page.keyboard.press('/');
  await page.keyboard.type('ьщтун');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/docs\/search/);
  await page.getByText('Прочитано как').waitFor();
  await page.done();
});

test('every page fits 360 px', async () => {
  const page = await open(b, weir, { size: 'small' });
  const pages = await (await fetch(`${weir.url}/docs/pages.json`)).json();
  assert.ok(pages.length > 60);
  // the generated ones have one form, and are long: one of them stands for all
  for (const { path } of pages.filter((p) => !p.path.startsWith('/docs/reference/') || p.path.endsWith('/keys'))) {
    await page.goto(weir.url + path);
    await fitsWidth(page);
  }
  await page.done();
});

test('what is around the text is Russian', async () => {
  const page = await open(b, weir, { path: '/docs/money', language: 'ru' });
  assert.deepEqual(await englishWords(page, /^Weir$/), []);
  await page.done();
});

test('the interface leads to the documentation, and its palette finds pages', async () => {
  const page = await open(b, weir, { path: '/models', signedIn: true });
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').fill('what is held');
  await page.getByRole('option', { name: /What is held/ }).first().click();
  await page.waitForURL(/\/docs\/money#what-is-held$/);
  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await page.waitForURL(/\/overview/);
  await settled(page);
  await page.getByRole('navigation').getByRole('link', { name: 'Docs' }).first().click();
  await page.waitForURL(/\/docs$/);
  await page.done();
});
