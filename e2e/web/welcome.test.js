// The first run: from the printed address to the first call, with one click and one command.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { accessible, browser, demo, englishWords, fitsWidth, looks, open } from './weir.js';

/** Runs the command that a page shows, in a terminal that has nothing of the browser. */
function paste(code) {
  const run = spawnSync('bash', ['-c', code.replace('curl ', 'curl -sS ')], { env: { PATH: process.env.PATH }, encoding: 'utf8' });
  assert.match(run.stdout, /data: \[DONE\]/, run.stdout + run.stderr);
}

const weir = await demo();
const b = await browser();

test('a call that is pasted into a terminal is noticed before anybody has signed in', async () => {
  const page = await open(b, weir, { path: '/welcome' });
  await page.getByText('Waiting for the call').waitFor();
  paste(await page.getByRole('tabpanel').locator('code').innerText());
  await page.getByText('It arrived').waitFor();
  assert.equal(await page.getByRole('link', { name: /^Why / }).count(), 0); // what a visitor may not open
  await page.getByRole('button', { name: 'Look at the demo' }).click();
  await page.getByRole('link', { name: /^Why / }).click();
  await page.waitForURL(/\/calls\/gen-/);
  await page.done();
});

test('from the first page to the first call, which the page notices', async () => {
  const page = await open(b, weir, { path: '/' });
  await page.waitForURL(/\/welcome$/);
  await page.getByRole('button', { name: 'Look at the demo' }).click();
  await page.getByRole('radio', { name: 'Fails once' }).click();
  paste(await page.getByRole('tabpanel').locator('code').innerText());
  await page.getByText('It arrived').waitFor();
  await page.getByText(/after 1 failed attempt$/).waitFor();
  await page.getByRole('heading', { level: 1, name: /The first call is here/ }).waitFor();
  await page.done();
});

test('the demo’s key is for browsers on its machine alone', async () => {
  const said = await (await fetch(`${weir.url}/api/setup`)).json();
  assert.equal(said.key, weir.api_key);
  const elsewhere = await (await fetch(`${weir.url}/api/setup`, { headers: { 'x-forwarded-for': '192.0.2.1' } })).json();
  assert.equal(elsewhere.key, null);
  assert.deepEqual(elsewhere.steps.map((s) => s.id), ['administrator', 'provider']);
});

for (const { theme, language } of looks) {
  test(`axe finds nothing as a visitor, ${theme}, ${language}`, async () => {
    const page = await open(b, weir, { path: '/welcome', theme, language });
    await page.getByRole('tabpanel').waitFor();
    await accessible(page);
    await page.done();
  });
}
test('it fits 360 px, and is Russian', async () => {
  const page = await open(b, weir, { path: '/welcome', size: 'small', language: 'ru', signedIn: true });
  await page.getByRole('tabpanel').waitFor();
  await fitsWidth(page);
  assert.deepEqual(await englishWords(page, /Weir|Sim|curl|Python|Node|Claude|Codex|Cursor|Continue|Cline|sim\/|English/), []);
  await page.done();
});
