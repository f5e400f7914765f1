// A provider's bill against the records: files of two formats are uploaded, each error is named, and what was compared is kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, browser, demo, englishWords, fitsWidth, open } from './weir.js';

const weir = await demo();
const b = await browser();
const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10); // of which the demo, made a moment ago, has no calls

/** Chooses a file on the page, as a person would in the dialog of the system. */
const upload = (page, name, text) => page.locator('input[type=file]').setInputFiles([{ name, mimeType: 'text/plain', buffer: Buffer.from(text) }]);

test('an operator uploads a CSV, says which column is which, and each error is named', async () => {
  const page = await open(b, weir, { path: '/admin/reconciliation', signedIn: true });
  await page.getByText('Nothing was compared yet').waitFor();
  await page.getByText('platform.openai.com/usage').waitFor();
  await accessible(page, '/admin/reconciliation');
  const lines = ['chatcmpl-1,100,10,0.25', 'chatcmpl-2,200,20,0.5', 'chatcmpl-2,200,20,0.5'].map((l) => `${day}T10:00:00Z,chat,${l}\n`).join('');
  await upload(page, 'own.csv', `When,What,Number,In,Out,Amount\n${lines}`);
  await page.getByText('Say which column is which', { exact: true }).waitFor();
  for (const [field, column] of [['Day', 'When'], ['Model', 'What'], ['Id of the call', 'Number'], ['Tokens in', 'In'], ['Tokens out', 'Out'], ['Cost, $', 'Amount']]) {
    const looked = page.waitForResponse('**/reconciliations/look');
    await page.getByLabel(field, { exact: true }).selectOption(column);
    await looked;
  }
  await page.getByText(/CSV, 3 rows/).waitFor();
  await page.getByLabel('Whose bill it is').selectOption({ label: 'Simulator' });
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.waitForURL('**/admin/reconciliation/rec_*');
  await page.getByText(/^sim bills 1\.25.\$ more than your calls explain/).waitFor();
  const found = page.getByRole('list', { name: 'Differences, the largest first' }).getByRole('listitem');
  assert.deepEqual((await found.locator('p:first-child > span:first-child').allTextContents()).sort(), ['doubled', 'lost', 'lost']);
  await page.getByText('No call of sim is recorded on these days').waitFor();
  await accessible(page, '/admin/reconciliation/$id');
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'CSV' }).click()]);
  assert.match(file.suggestedFilename(), new RegExp(`^weir-reconciliation-sim-${day}`));
  await page.done();
});

test('an activity of OpenRouter is recognized, on a phone, in Russian; and the comparison is deleted', async () => {
  const page = await open(b, weir, { path: '/admin/reconciliation', signedIn: true, theme: 'dark', language: 'ru', size: 'small' });
  await upload(page, 'activity.json', JSON.stringify({ data: [{ date: day, model: 'chat', usage: 12.4, requests: 3, prompt_tokens: 900, completion_tokens: 70 }] }));
  await page.getByText(/OpenRouter activity, 1 строка/).waitFor();
  await page.getByLabel('Чей счёт').selectOption({ label: 'Simulator' });
  await fitsWidth(page);
  await page.getByRole('button', { name: 'Сверить', exact: true }).click();
  await page.getByText(/^sim выставляет на 12,40.\$ больше, чем объясняют ваши вызовы: 3 вызова здесь не записаны/).waitFor();
  await fitsWidth(page);
  await accessible(page, '/admin/reconciliation/$id, ru');
  assert.deepEqual(await englishWords(page, /^(Weir|UTC|CSV|OpenRouter|activity|json|sim|chat|file|data)/), []);
  await page.getByRole('button', { name: 'Удалить' }).click();
  await page.getByText(/Будут забыты 1 расхождение/).waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Удалить' }).click();
  await page.waitForURL('**/admin/reconciliation');
  await page.getByText('own.csv').waitFor();
  assert.equal(await page.getByText('activity.json').count(), 0);
  await page.done();
});

test('keys of a bill are named once, and a difference is settled and opened again', async () => {
  const page = await open(b, weir, { path: '/admin/reconciliation', signedIn: true });
  const file = `date,model,key,requests,prompt_tokens,completion_tokens\n${day},chat,key_ours,2,300,30\n${day},chat,key_theirs,5,900,90\n`;
  const compare = async () => {
    await upload(page, 'keys.csv', file);
    const looked = page.waitForResponse('**/reconciliations/look');
    await page.getByLabel('Whose bill it is').selectOption({ label: 'Simulator' });
    await looked;
    await page.getByLabel('key_theirs', { exact: true }).waitFor();
  };
  // the demo's provider has no key: one that it had is said by its tag, as a program does
  const tag = '0123456789ab';
  const said = await page.request.post(`${weir.url}/api/admin/reconciliations`, {
    headers: { origin: weir.url, 'x-weir': '1' },
    data: { provider: 'sim', files: [{ name: 'first.csv', content: Buffer.from(file).toString('base64') }], our_keys: { key_ours: tag } },
  });
  assert.equal(said.status(), 201, await said.text());
  await compare();
  await page.getByLabel('key_theirs', { exact: true }).selectOption('of another program');
  assert.equal(await page.getByLabel('key_ours', { exact: true }).inputValue(), tag);
  await accessible(page, '/admin/reconciliation with keys');
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.waitForURL('**/admin/reconciliation/rec_*');
  await page.getByText('Each key is compared by itself.').waitFor();
  const found = page.getByRole('list', { name: 'Differences, the largest first' }).getByRole('listitem');
  assert.equal(await found.count(), 1);
  await found.getByRole('button', { name: 'Settle' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Settle' }).click();
  await page.getByRole('dialog').getByText(/one line of at most 500 bytes/).waitFor();
  await page.getByRole('dialog').getByLabel('Reason').fill('a test of ours');
  await accessible(page, 'settling a difference');
  await page.getByRole('dialog').getByRole('button', { name: 'Settle' }).click();
  await found.getByText('a test of ours').waitFor();
  await page.getByText('0 differences are open.').waitFor();

  await page.goto(`${weir.url}/admin/reconciliation`);
  await compare();
  assert.equal(await page.getByLabel('key_theirs', { exact: true }).inputValue(), '-');
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.waitForURL('**/admin/reconciliation/rec_*');
  await found.getByText('a test of ours').waitFor();
  await found.getByRole('button', { name: 'Take back' }).click();
  await found.getByRole('button', { name: 'Settle' }).waitFor();
  await page.done();
});

test('a day that is not over is refused', async () => {
  const page = await open(b, weir, { path: '/admin/reconciliation', signedIn: true });
  await upload(page, 'today.csv', `date,model,cost\n${new Date().toISOString().slice(0, 10)},chat,1\n`);
  await page.getByLabel('Whose bill it is').selectOption({ label: 'Simulator' });
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.getByText(/is not over: export days until yesterday/).waitFor();
  await page.done();
});
