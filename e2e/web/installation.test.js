// The pages on the gateway itself, for those who run it: who changed what, what is stuck, and which settings hold.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { accessible, browser, demo, englishWords, fitsWidth, looks, open, program } from './weir.js';

const weir = await demo();
const b = await browser();
const run = async (...args) => (await promisify(execFile)(program, [...args, '--data', weir.data], { env: { PATH: process.env.PATH, HOME: weir.dir } })).stdout;
const table = (page, name) => page.getByRole('table', { name });

const anna = /\((usr_\w+)\)/.exec(await run('user', 'add', 'Anna Orlova'))[1];
await run('topup', anna, '250');

test('who changed what is read, filtered, verified and exported', async () => {
  const page = await open(b, weir, { path: '/admin/audit', signedIn: true });
  const rows = table(page, 'Audit');
  const added = rows.getByRole('row').filter({ hasText: 'Money added' }).filter({ hasText: 'Anna Orlova' });
  await added.getByText('250 rubles').waitFor();
  await added.getByText('on the machine').waitFor();
  await page.getByRole('combobox', { name: 'Kind' }).selectOption({ label: 'People' });
  await page.waitForURL(/action=user/);
  await added.waitFor({ state: 'detached' });
  await rows.getByRole('link', { name: 'Anna Orlova' }).first().waitFor();
  await page.getByRole('textbox', { name: 'Id of what was changed' }).fill('usr_none');
  await page.keyboard.press('Enter');
  await page.getByText('No line matches').waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await added.waitFor();

  await page.getByRole('button', { name: 'Verify' }).click();
  const check = page.getByRole('dialog');
  await check.getByLabel('Mark of an earlier check').fill('not a mark');
  await check.getByRole('button', { name: 'Verify now' }).click();
  await check.locator('[aria-invalid=true]').waitFor();
  await check.getByLabel('Mark of an earlier check').fill('');
  await check.getByRole('button', { name: 'Verify now' }).click();
  await check.getByRole('status').getByText(/The log is whole/).waitFor();
  const mark = await check.locator('code').textContent();
  assert.match(mark, /^\d+:[0-9a-f]{64}$/);
  assert.match(await run('audit', 'verify', '--mark', mark), /^whole/);
  await check.getByLabel('Mark of an earlier check').fill(mark.replace(/:./, (c) => (c === ':0' ? ':1' : ':0')));
  await check.getByRole('button', { name: 'Verify now' }).click();
  await check.getByText('The log was tampered with').waitFor();
  await page.keyboard.press('Escape');
  await page.getByText(/Unbroken: /).waitFor();

  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'JSON lines' }).click()]);
  assert.match(download.suggestedFilename(), /^weir-audit-.*\.jsonl$/);
  await page.done();
});

test('a video that does not come to its end is asked for, and ended with its money back', async () => {
  const made = await weir.call('/v1/videos', { model: 'sim/video', prompt: '[[sim job=stuck]] A heron' });
  const { id } = await made.json();
  assert.ok(id);
  const page = await open(b, weir, { path: '/admin/jobs', signedIn: true });
  const row = table(page, 'Videos').getByRole('row').filter({ hasText: 'sim/video' });
  await row.getByText('being made').waitFor();
  await row.getByRole('button', { name: /^Ask/ }).click();
  await page.getByText(`${id} is tried within seconds`).waitFor();
  await row.getByRole('button', { name: /^End/ }).click();
  const sure = page.getByRole('alertdialog');
  await sure.getByText(/counts as failed, and [\d.,]+.₽ returns to demo at once.*You may still have to pay the provider/).waitFor();
  await sure.getByRole('button', { name: 'End', exact: true }).click();
  await sure.locator('[aria-invalid=true]').waitFor();
  await sure.getByLabel('Reason').fill('The provider is out of order.');
  await sure.getByRole('button', { name: 'End', exact: true }).click();
  await page.getByText('Nothing is running').waitFor();
  assert.equal((await (await weir.call(`/v1/videos/${id}`)).json()).error, 'The provider is out of order.');
  await page.goto(`${weir.url}/admin/audit?target=${id}`);
  await table(page, 'Audit').getByText('Job ended').waitFor();
  await table(page, 'Audit').getByText('The provider is out of order.').waitFor();
  assert.match(await run('job', 'list', 'videos'), /Nothing is under way/);
  await page.done();
});

test('each setting says its value and where it is set', async () => {
  const page = await open(b, weir, { path: '/admin/settings', signedIn: true });
  const rows = table(page, 'Settings');
  const row = (key) => rows.getByRole('row').filter({ has: page.getByText(key, { exact: true }) });
  await row('video.max_active_per_user').getByText('default').waitFor();
  await row('data_dir').getByText(weir.data).waitFor();
  await page.getByRole('checkbox', { name: 'Changed only' }).check();
  await row('video.max_active_per_user').waitFor({ state: 'detached' });
  await page.getByRole('checkbox', { name: 'Changed only' }).uncheck();
  await page.getByRole('textbox', { name: 'Find a setting' }).fill('mail password');
  await row('mail.password').getByText('not set').waitFor();
  await page.waitForURL(/q=mail/);
  await page.done();
});

test('the log is made more detailed for a quarter of an hour, and as it was', async () => {
  const page = await open(b, weir, { path: '/admin/settings?q=log.level', signedIn: true });
  const row = table(page, 'Settings').getByRole('row').filter({ has: page.getByText('log.level', { exact: true }) });
  const level = (name) => row.getByText(name, { exact: true }); // what the setting means names all of them
  await level('warn').waitFor(); // the demo's
  await row.getByRole('button', { name: 'Change log.level' }).click();
  const window = page.getByRole('dialog');
  await window.getByLabel('Value').selectOption('debug');
  await window.getByLabel('For how long').selectOption('15 minutes');
  await accessible(page, 'the window of a setting');
  await window.getByRole('button', { name: 'Set for this time' }).click();
  await level('debug').waitFor();
  await row.getByText(/until/).waitFor();
  await page.goto(`${weir.url}/admin/audit`);
  await page.getByText('Setting changed for a while').first().waitFor();
  await page.goto(`${weir.url}/admin/settings?q=log.level`);
  await row.getByRole('button', { name: 'Change log.level' }).click();
  await window.getByRole('button', { name: 'Back to the configuration' }).click();
  await level('warn').waitFor();
  await page.done();
});

for (const { theme, language } of looks) {
  test(`axe finds nothing, it fits 360 px and speaks one language, ${theme}, ${language}`, async () => {
    for (const path of ['/admin/audit', '/admin/jobs', '/admin/settings']) {
      const page = await open(b, weir, { path, signedIn: true, theme, language });
      await page.locator('main').getByRole('table').or(page.getByText(/Nothing is running|Ничего не выполняется/)).first().waitFor();
      await accessible(page, path);
      if (language === 'ru' && path === '/admin/settings') await page.getByText('куда подключаются клиенты').waitFor();
      if (language === 'ru') assert.deepEqual(await englishWords(page, /^(Weir|UTC|CSV)/), []);
      await page.done();
      const small = await open(b, weir, { path, signedIn: true, theme, language, size: 'small' });
      await small.getByRole('heading', { level: 1 }).waitFor();
      await fitsWidth(small);
      await small.done();
    }
  });
}
