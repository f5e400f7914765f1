// The documentation: readable without scripts, found by search, accessible, and reached from the interface.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, open, settled, sizes } from './weir.js';

const weir = await demo();
const b = await browser();

test('without scripts: pages, the list of pages on the phone, and the search', async () => {
  const context = await b.newContext({ viewport: sizes.small, javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${weir.url}/docs`);
  await page.getByRole('button', { name: 'Pages' }).click();
  const pages = page.getByRole('navigation', { name: 'Pages' });
  await pages.locator('summary', { hasText: /^Money$/ }).click(); // shelves of others are closed
  await pages.getByRole('link', { name: 'Money', exact: true }).click();
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
  const page = await open(b, weir, { path: '/docs/routing', language: 'ru' });
  assert.deepEqual(await englishWords(page, /^Weir$/), []);
  await page.goto(`${weir.url}/docs/start`);
  await page.getByRole('heading', { level: 1, name: 'Начало за пять минут' }).waitFor();
  assert.equal(await page.locator('article').getAttribute('lang'), 'ru');
  await accessible(page);
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

test('a guide: each program in one block with a choice of languages, which all pages and the interface share; the key has the name of one', async () => {
  const page = await open(b, weir, { path: '/docs/guides/streaming', signedIn: true });
  const lists = page.getByRole('tablist', { name: 'Language of the code' });
  assert.ok(await lists.count() >= 3);
  assert.deepEqual(await lists.first().getByRole('tab').allInnerTexts(), ['curl', 'Python', 'Node', 'Go']);
  await lists.nth(1).getByRole('tab', { name: 'Python' }).click();
  assert.match(await page.getByRole('tabpanel').first().innerText(), /from openai import OpenAI/); // in every block
  await page.keyboard.press('ArrowRight');
  await page.getByRole('tabpanel').first().getByText("import OpenAI from 'openai'").waitFor();
  // A key of the account is named in the examples, and another one can be.
  const key = page.getByRole('combobox', { name: 'Key in the examples' });
  const article = page.locator('article');
  await becomes(async () => /export KEY=sk-weir-v1-\S+ +# your key demo\b/.test(await article.innerText()), true);
  assert.equal((await fetch(`${weir.url}/api/keys`, { method: 'POST', headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, body: JSON.stringify({ name: 'my "back`end $(x)' }) })).ok, true);
  await page.reload();
  await key.waitFor();
  await key.selectOption({ label: 'my "back`end $(x)' });
  await becomes(async () => /# your key my back end x/.test(await article.innerText()), true);
  assert.ok(!(await article.innerText()).includes(weir.api_key));
  await accessible(page);
  await page.goto(`${weir.url}/docs/guides/tools`);
  await becomes(async () => /# your key my back end x/.test(await article.innerText()), true);
  assert.equal(await lists.first().getByRole('tab', { name: 'Node' }).getAttribute('aria-selected'), 'true');
  await page.goto(`${weir.url}/models/sim/chat`);
  assert.equal(await page.getByRole('tab', { name: 'Node', exact: true }).getAttribute('aria-selected'), 'true');
  await page.done();
});

test('a guide without scripts has every program, for visitors and on phones, in Russian and dark', async () => {
  const context = await b.newContext({ viewport: sizes.small, javaScriptEnabled: false });
  const plain = await context.newPage();
  await plain.goto(`${weir.url}/docs/guides/tools`);
  for (const text of ['from openai import OpenAI', "import OpenAI from 'openai'", 'package main']) await plain.getByText(text).first().waitFor();
  await context.close();
  for (const size of ['small', 'phone']) {
    const page = await open(b, weir, { path: '/docs/guides/streaming', size, language: 'ru', theme: 'dark' });
    await page.getByRole('tablist', { name: 'Язык кода' }).first().waitFor();
    assert.equal(await page.getByRole('combobox').count(), 0);
    assert.ok((await page.locator('article').innerText()).includes('export KEY=sk-weir-v1-...'));
    await fitsWidth(page);
    await accessible(page);
    await page.done();
  }
});
