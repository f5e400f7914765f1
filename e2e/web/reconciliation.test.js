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

test('a day that is not over is refused', async () => {
  const page = await open(b, weir, { path: '/admin/reconciliation', signedIn: true });
  await upload(page, 'today.csv', `date,model,cost\n${new Date().toISOString().slice(0, 10)},chat,1\n`);
  await page.getByLabel('Whose bill it is').selectOption({ label: 'Simulator' });
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.getByText(/is not over: export days until yesterday/).waitFor();
  await page.done();
});
