// One list wherever a model is chosen: found by words, narrowed by abilities and vendor, with the keyboard alone, on the phone, over a window.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, choose, demo, englishWords, fitsWidth, looks, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const field = (page) => page.getByRole('combobox', { name: 'Name, vendor or slug of a model' });
const model = (page) => page.getByRole('combobox', { name: 'Model', exact: true });

test('the keyboard opens it, finds by a word, chooses, and is back at the button', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo', signedIn: true });
  assert.equal(await page.locator('select').evaluateAll((all) => all.filter((e) => e.options.length > 30).length), 0);
  await model(page).focus();
  await page.keyboard.press('Enter');
  await field(page).waitFor();
  await becomes(() => page.locator('[role=option][aria-selected=true]').getAttribute('data-value'), 'sim/echo');
  assert.ok(await page.locator('[role=option]').first().getByText('₽').count() === 0, 'the unit is said once');
  await page.keyboard.type('сим чат');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('sim/chat');
  await becomes(() => page.locator('[role=option][aria-selected=true]').getAttribute('data-value'), 'sim/chat');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await becomes(() => model(page).innerText(), 'Sim Chat');
  await becomes(() => page.evaluate(() => document.activeElement?.textContent), 'Sim Chat');
  // Closing it without a choice changes nothing.
  await page.keyboard.press('Enter');
  await field(page).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Escape');
  await field(page).waitFor({ state: 'detached' });
  assert.equal(await model(page).innerText(), 'Sim Chat');
  await page.done();
});

test('abilities and vendors leave fewer, and the list says how many', async () => {
  const page = await open(b, weir, { path: '/settings/routing', signedIn: true });
  await model(page).click();
  await field(page).waitFor();
  const count = async () => Number((await page.getByRole('status').getByText(/^\d+ models?$/).innerText()).split(' ')[0]);
  const all = await count();
  await page.getByRole('button', { name: 'Images in' }).click();
  await becomes(async () => await count() < all && await count() > 0, true);
  await page.getByRole('button', { name: 'Images in', pressed: true }).click();
  await becomes(count, all);
  await field(page).fill('no such model anywhere');
  await page.getByText('No model matches.').waitFor();
  await page.done();
});

for (const { theme, language } of looks) {
  test(`it is for everybody, in ${theme}, ${language}`, async () => {
    const page = await open(b, weir, { path: '/playground?models=sim/echo', signedIn: true, theme, language });
    await page.getByRole('combobox', { name: language === 'ru' ? 'Модель' : 'Model', exact: true }).click();
    await page.locator('[role=option]').first().waitFor();
    await accessible(page);
    if (language === 'ru') assert.deepEqual(await englishWords(page), []);
    await page.done();
  });
}

test('on a phone it is a sheet; a pattern can be taken as it is, over the window of a key', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo', signedIn: true, size: 'small' });
  await model(page).click();
  await page.locator('[role=option]').first().waitFor();
  await fitsWidth(page);
  assert.ok(await field(page).evaluate((e) => { const r = e.getBoundingClientRect(); return document.elementFromPoint(r.left + 5, r.top + 5) === e; }), 'the list scrolls, and not the field of the words with it');
  await accessible(page);
  await page.getByRole('button', { name: 'Close' }).click();
  await becomes(() => page.evaluate(() => document.activeElement?.textContent), 'Sim Echo');
  await choose(page, 'Model', 'sim/chat');
  await becomes(() => model(page).innerText(), 'Sim Chat');
  await page.goto(`${weir.url}/keys`);
  await settled(page);
  await page.getByRole('button', { name: 'Actions for demo', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Name and limits' }).click();
  await page.locator('summary', { hasText: 'Only these models' }).click();
  await choose(page, 'Only these models', 'acme/*');
  await page.getByRole('button', { name: 'Remove filter acme/*' }).waitFor();
  await page.done();
});

test('over a window the list scrolls with the wheel', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo', signedIn: true });
  await page.getByRole('textbox', { name: 'Message' }).fill('Hello');
  await page.keyboard.press('Enter');
  await page.getByText('1 call settled').waitFor();
  await page.getByRole('button', { name: 'Run with another model' }).click();
  await page.getByRole('dialog').getByRole('combobox', { name: 'Model' }).click();
  const list = page.getByRole('listbox');
  await list.hover();
  await page.mouse.wheel(0, 300);
  await becomes(async () => await list.evaluate((e) => e.scrollTop > 0), true);
  await page.done();
});
