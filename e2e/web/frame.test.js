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
