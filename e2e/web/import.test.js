// Keys and presets from another gateway's files: shown before anything is made, made once, with new keys that work.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, browser, demo, englishWords, fitsWidth, hostile, open } from './weir.js';

const weir = await demo();
const b = await browser();

const keys = (...list) => ({ name: 'keys.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify({ data: list.map((k, i) => ({ hash: `0${i}`, ...k })) })) });
const preset = (slug, config) => ({ name: `${slug}.json`, mimeType: 'application/json', buffer: Buffer.from(JSON.stringify({ data: { slug, status: 'active', designated_version: { system_prompt: 'Be polite.', config } } })) });

async function choose(page, files, { open: button = 'Import', look = 'Show what would be made' } = {}) {
  await page.getByRole('button', { name: button, exact: true }).click();
  await page.locator('[data-import]').setInputFiles(files);
  await page.getByRole('button', { name: look }).click();
}

test('keys and presets are shown, made once, and work', async () => {
  const files = [keys({ name: 'Moved', limit: 10, limit_reset: 'monthly', usage: 3 }, { name: 'Old', expires_at: '2020-01-01T00:00:00Z' }), preset('moved', { model: 'sim/chat', temperature: 0.5 }), preset('elsewhere', { model: 'nowhere/model' })];
  const page = await open(b, weir, { path: '/keys', signedIn: true });
  await choose(page, files);
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 key, 1 preset').waitFor();
  await dialog.getByText('It has expired.').waitFor();
  await dialog.getByText('None of its models is served here.').waitFor();
  await dialog.getByText('What is not carried').click();
  await dialog.getByText('keys.usage').waitFor();
  await accessible(page);
  assert.deepEqual((await (await weir.call('/api/presets', undefined, weir.management_key)).json()).data, []);
  await dialog.getByRole('button', { name: 'Make them' }).click();
  await dialog.getByText('The new keys are shown this once').waitFor();
  const key = await dialog.getByText(/^sk-weir-v1-/).innerText();
  await accessible(page);
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await page.getByRole('table').getByText('Moved').waitFor();
  assert.equal((await page.content()).includes(key), false);
  assert.equal((await weir.call('/v1/chat/completions', { model: '@preset/moved', messages: [{ role: 'user', content: 'Hello' }] }, key)).status, 200);
  await page.goto(`${weir.url}/presets`);
  await page.getByRole('table').getByText('moved').first().waitFor();
  await choose(page, files);
  await dialog.getByText('There is nothing to make.').waitFor();
  await dialog.getByText('is there already').first().waitFor();
  await page.done();
});

test('hostile names are text, and files that are none say so', async () => {
  const page = await open(b, weir, { path: '/keys', signedIn: true });
  await choose(page, [keys(...hostile.slice(0, 20).map((name) => ({ name })))]);
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/\d+ keys?/).first().waitFor();
  await page.keyboard.press('Escape');
  await choose(page, [{ name: 'bomb.yaml', mimeType: 'text/plain', buffer: Buffer.from('a: &a [1]\nmodel_list: [*a, *a]\n') }]);
  await dialog.getByText('anchors and aliases are not read').first().waitFor();
  await page.locator('[data-import]').setInputFiles([{ name: 'large.json', mimeType: 'application/json', buffer: Buffer.alloc((1 << 20) + 1, 32) }]);
  await dialog.getByText('more than 1 MiB').waitFor();
  await page.done();
});

test('the window is for everybody: both themes, Russian, a small phone', async () => {
  for (const [theme, language, size] of [['light', 'en', 'phone'], ['dark', 'en', 'desk'], ['light', 'ru', 'small']]) {
    const page = await open(b, weir, { path: '/keys', signedIn: true, theme, language, size });
    const ru = language === 'ru';
    await choose(page, [keys({ name: 'Another', limit: 10, limit_reset: 'monthly', usage: 3 }, { name: 'Old', expires_at: '2020-01-01T00:00:00Z' }), preset('another', { model: 'sim/chat', temperature: 0.5 })], ru ? { open: 'Перенести', look: 'Показать, что будет создано' } : {});
    await page.getByRole('dialog').getByText(ru ? '1 ключ, 1 пресет' : '1 key, 1 preset').waitFor();
    await accessible(page);
    await fitsWidth(page);
    if (ru) assert.deepEqual(await englishWords(page, /^(Weir|UTC|demo|OpenRouter|LiteLLM|Another|another|Old|sim|chat|temperature|Be|polite|operator)/i), []);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/import-${theme}-${language}-${size}.png` });
    await page.done();
  }
});
