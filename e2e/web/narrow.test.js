// Activity is narrowed on its own page: a filter is chosen from what calls of the period have, is in the address, and goes away by its chip.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();
for (const [model, tag] of [['sim/chat', 'river'], ['sim/chat', 'weir'], ['sim/echo', 'river']]) assert.equal((await fetch(`${weir.url}/v1/chat/completions`, { method: 'POST', headers: { authorization: `Bearer ${weir.api_key}`, 'content-type': 'application/json', 'x-weir-tags': `project=${tag}` }, body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }) })).status, 200);
const usage = async (query) => (await (await fetch(`${weir.url}/api/usage?metric=calls&${query}`, { headers: { authorization: `Bearer ${weir.management_key}` } })).json()).data;
await becomes(async () => (await usage('group=model')).total, 3);

test('a model is chosen, then a tag, and both are taken off again', async () => {
  const page = await open(b, weir, { path: '/activity?show=calls', signedIn: true });
  const add = async (by, value) => {
    await page.getByRole('button', { name: 'Add a filter' }).click();
    const window = page.getByRole('dialog', { name: 'Add a filter' });
    await window.getByLabel('Filter by').selectOption({ label: by });
    const values = window.getByRole('combobox').nth(1);
    await values.waitFor();
    await accessible(page);
    await values.selectOption({ label: value });
  };
  const total = () => page.locator('tfoot').first().innerText();
  await add('Model', 'Sim Chat');
  await page.waitForURL((u) => u.searchParams.get('model') === 'sim/chat');
  const chip = page.getByRole('button', { name: /Model: sim\/chat/ });
  await chip.waitFor();
  await settled(page);
  assert.match(await total(), /\b2\b/);
  await add('Tag project', 'river');
  await page.waitForURL((u) => u.searchParams.get('tag') === 'project=river' && u.searchParams.get('model') === 'sim/chat');
  await settled(page);
  assert.match(await total(), /\b1\b/);
  await page.reload();
  await settled(page);
  await chip.click();
  await page.waitForURL((u) => !u.searchParams.has('model') && u.searchParams.has('tag'));
  await page.getByRole('button', { name: /project=river/ }).click();
  await page.waitForURL((u) => !u.searchParams.has('tag'));
  await page.done();
});

test('a key is named on its chip, and links to activity keep their filter', async () => {
  const { data: keys } = await (await fetch(`${weir.url}/api/keys`, { headers: { authorization: `Bearer ${weir.management_key}` } })).json();
  const used = keys.find((k) => k.last_used_at !== null);
  const page = await open(b, weir, { path: `/activity?key=${used.hash}`, signedIn: true });
  await page.getByRole('button', { name: new RegExp(`Key: ${used.name}`) }).waitFor();
  await page.done();
  const phone = await open(b, weir, { path: `/activity?key=${used.hash}`, signedIn: true, language: 'ru', size: 'small' });
  await phone.getByRole('button', { name: 'Добавить фильтр' }).waitFor();
  await fitsWidth(phone);
  await accessible(phone);
  assert.deepEqual(await englishWords(phone, /^(Weir|CSV|UTC|demo|Sim)/), []);
  await phone.done();
});
