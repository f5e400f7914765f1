// The playground: one to four models answer side by side.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { accessible, browser, demo, englishWords, fitsWidth, hostile, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const ask = async (page, text) => { const field = page.locator('form textarea'); await field.fill(text); await field.press('Enter'); };
const column = (page, name) => page.getByRole('region', { name, exact: true });

test('two models answer side by side, keep their history over a reload, and their cost is settled', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo,sim/reason', signedIn: true });
  await ask(page, 'Hello **there**');
  await column(page, 'Sim Echo').getByText('settled').waitFor();
  await column(page, 'Sim Reason').getByText('settled').waitFor();
  assert.equal(await column(page, 'Sim Echo').locator('strong').innerText(), 'there');
  const thought = column(page, 'Sim Reason').getByRole('button', { name: /^Thought for/ });
  assert.equal(await thought.getAttribute('aria-expanded'), 'false');
  await ask(page, 'And again');
  await page.getByText('4 calls settled').waitFor();
  await accessible(page);
  await page.reload();
  await settled(page);
  assert.equal(await column(page, 'Sim Echo').getByText('And again').count(), 2);
  await column(page, 'Sim Echo').getByRole('button', { name: 'Run again' }).click();
  await page.getByText('5 calls settled').waitFor();
  await page.getByRole('combobox', { name: 'Model 1' }).selectOption('sim/chat');
  assert.equal(await column(page, 'Sim Chat').getByText('And again').count(), 2);
  await page.getByText('5 calls settled').waitFor();
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.getByText('Nothing is asked yet').first().waitFor();
  await page.done();
});

test('Esc stops an answer, what was given is kept and charged', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/chat', signedIn: true });
  await ask(page, '[[sim gap=200ms]] What is a weir?');
  await page.getByText('estimate', { exact: true }).waitFor();
  await page.waitForTimeout(700);
  await page.keyboard.press('Escape');
  await page.getByText('Stopped by you.').waitFor();
  await page.getByText('settled', { exact: true }).waitFor();
  await page.done();
});

test('an error before content and one after it', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/chat', signedIn: true });
  await ask(page, '[[sim fault=u15 status=502]] Hi');
  await page.getByText('The answer failed').waitFor();
  await page.getByRole('button', { name: 'New chat' }).click();
  await ask(page, '[[sim fault=u6 after=5]] Hello there');
  await page.getByText('The answer broke off here').waitFor();
  assert.match(await page.getByRole('log').innerText(), /You wrote/);
  await page.getByText('settled', { exact: true }).waitFor();
  await page.done();
});

test('settings go out only when they are set; the code runs', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo', signedIn: true });
  const sent = [];
  page.on('request', (r) => { if (r.url().endsWith('/chat/completions')) sent.push(r.postDataJSON()); });
  await ask(page, 'One');
  await page.getByText('settled', { exact: true }).waitFor();
  assert.deepEqual(sent[0], { model: 'sim/echo', messages: [{ role: 'user', content: 'One' }], stream: true });
  await page.getByLabel('Temperature').fill('3');
  await page.getByText('A number from 0 to 2.').waitFor();
  await page.getByLabel('Temperature').fill('0.5');
  await page.getByLabel('Instructions').fill('Be brief');
  await ask(page, "It's two");
  await page.getByText('2 calls settled').waitFor();
  assert.equal(sent[1].temperature, 0.5);
  assert.deepEqual(sent[1].messages[0], { role: 'system', content: 'Be brief' });
  await page.getByRole('button', { name: 'Show as code' }).click();
  const curl = await page.getByRole('tabpanel').locator('code').innerText();
  const run = spawnSync('bash', ['-c', curl.replace('curl ', 'curl -sS ')], { env: { PATH: process.env.PATH, WEIR_API_KEY: weir.api_key }, encoding: 'utf8' });
  assert.equal(JSON.parse(run.stdout).choices[0].message.content, "It's two", run.stdout + run.stderr);
  await accessible(page);
  await page.done();
});

test('what a model says is text', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo', signedIn: true });
  await ask(page, `${hostile.join('\n\n')}\n\n![x](https://evil.example/x.png) [x](javascript:alert(1))`);
  await page.getByText('settled', { exact: true }).waitFor();
  assert.equal(await page.locator('main :is(img, iframe, script, base, a[href^="javascript"])').count(), 0);
  await page.done();
});

test('visitors are asked to sign in', async () => {
  const page = await open(b, weir, { path: '/playground' });
  await page.getByText('Sign in to ask models').waitFor();
  await accessible(page);
  await page.done();
});

for (const size of ['desk', 'small']) {
  test(`Russian, dark, ${size}`, async () => {
    const page = await open(b, weir, { path: '/playground?models=sim/reason,sim/echo', signedIn: true, language: 'ru', theme: 'dark', size });
    await ask(page, 'Что такое плотина?');
    await page.getByText('списано', { exact: true }).first().waitFor();
    await fitsWidth(page);
    await accessible(page);
    assert.deepEqual(await englishWords(page, /^(Sim|Simulator|Weir)/), []);
    await page.done();
  });
}
