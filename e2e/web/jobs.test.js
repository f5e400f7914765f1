// Pages of jobs: videos and batches, under way and done.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, browser, demo, englishWords, fitsWidth, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const video = async (prompt) => {
  const answer = await weir.call('/v1/videos', { model: 'sim/video', prompt });
  assert.equal(answer.status, 202);
  return (await answer.json()).id;
};
const state = async (id) => (await (await weir.call(`/v1/videos/${id}`)).json()).status;

test('a list without jobs leads to the models that make videos', async () => {
  const page = await open(b, weir, { path: '/jobs', signedIn: true });
  await page.getByRole('link', { name: 'Models' }).last().click();
  await page.waitForURL(/\/models\?.*video/);
  await page.done();
});

test('a video is watched from its start to its file, and costs what the list says', async () => {
  const page = await open(b, weir, { path: '/jobs', signedIn: true });
  const id = await video('A heron at a weir');
  const row = page.locator(`tbody [data-key="${id}"]`);
  await row.waitFor(); // the page is told of it
  await row.getByText('Done').waitFor({ timeout: 60_000 });
  const cost = await row.locator('td').last().innerText();
  await row.getByRole('link').click();
  await page.waitForURL(`**/jobs/${id}`);
  await page.locator('video').waitFor();
  assert.ok((await page.locator('dl').innerText()).includes(cost.trim()), cost);
  await page.waitForFunction(() => document.querySelector('video')?.readyState >= 1 || document.querySelector('video')?.error);
  assert.equal(await page.locator('video').evaluate((v) => v.error?.message ?? null), null);
  await accessible(page);
  await page.done();
});

test('a video under way is cancelled, and costs nothing', async () => {
  const id = await video('[[sim takes=90s]] A long one');
  const page = await open(b, weir, { path: `/jobs/${id}`, signedIn: true });
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).last().click();
  await page.locator('dl').getByText('Cancelled').waitFor();
  assert.equal(await state(id), 'cancelled');
  await page.done();
});

test('a batch is listed, and its results are a file', async () => {
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob([JSON.stringify({ custom_id: 'one', method: 'POST', url: '/v1/chat/completions', body: { model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] } })]), 'in.jsonl');
  const headers = { Authorization: `Bearer ${weir.api_key}` };
  const file = await (await fetch(`${weir.url}/v1/files`, { method: 'POST', headers, body: form })).json();
  const made = await weir.call('/v1/batches', { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' });
  assert.equal(made.status, 200, await made.clone().text());
  const { id } = await made.json();
  const page = await open(b, weir, { path: '/jobs?kind=batches', signedIn: true });
  const row = page.locator(`tbody [data-key="${id}"]`);
  await row.getByText('Done').waitFor({ timeout: 60_000 });
  await row.getByRole('link').click();
  const results = page.getByRole('link', { name: /results/i });
  await results.waitFor();
  const lines = await (await page.request.get(new URL(await results.getAttribute('href'), weir.url).href)).text();
  assert.equal(JSON.parse(lines.trim()).custom_id, 'one');
  await accessible(page);
  await page.done();
});

test('an unknown job is missing', async () => {
  const page = await open(b, weir, { path: '/jobs/vj_00000000000000000000', signedIn: true });
  await page.getByRole('link', { name: /jobs/i }).last().waitFor();
  await page.done();
});

test('phone, Russian, dark: fits, speaks Russian, no findings', async () => {
  const id = await video('A second heron');
  for (const path of ['/jobs', `/jobs/${id}`, '/jobs?kind=batches']) {
    const page = await open(b, weir, { path, language: 'ru', theme: 'dark', size: 'small', signedIn: true });
    await settled(page);
    await fitsWidth(page);
    await accessible(page);
    assert.deepEqual(await englishWords(page), []);
    await page.done();
  }
});
