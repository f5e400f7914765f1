// Invoices of an organization: made on the page, paid by a transfer in a statement of the bank, and in the act of the month.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { accessible, browser, demo, englishWords, fitsWidth, hostile, open, program, settled } from './weir.js';

const run = promisify(execFile);
// The demo and the operator's commands have the same seller.
const seller = {
  WEIR_INVOICES_ENABLED: 'true', WEIR_INVOICES_SELLER_NAME: 'ООО «Плотина»', WEIR_INVOICES_SELLER_INN: '0012345673', WEIR_INVOICES_SELLER_KPP: '001201001', WEIR_INVOICES_SELLER_ADDRESS: 'Москва', WEIR_INVOICES_SELLER_BANK: 'АО «Речной банк»',
  WEIR_INVOICES_SELLER_BIK: '000000225', WEIR_INVOICES_SELLER_ACCOUNT: '40702810400000000018', WEIR_INVOICES_SELLER_CORRESPONDENT_ACCOUNT: '30101810300000000225', WEIR_INVOICES_SELLER_DIRECTOR: 'Иванова А. П.',
};
const weir = await demo({ env: seller });
const b = await browser();
const weirCommand = async (...args) => {
  const options = { env: { PATH: process.env.PATH, HOME: weir.dir, ...seller } };
  return run(program, [...args, '--data', weir.data], options).then((r) => ({ code: 0, said: r.stdout }), (e) => ({ code: e.code, said: e.stdout + e.stderr }));
};
const today = new Date().toLocaleDateString('ru-RU', { timeZone: 'Europe/Moscow' });

/** A statement with one transfer, as a bank exports it: in windows-1251. */
async function statement(amount, inn, purpose, number = '17') {
  const text = ['1CClientBankExchange', 'ВерсияФормата=1.03', 'Кодировка=Windows', 'СекцияДокумент=Платежное поручение', `Номер=${number}`, `Дата=${today}`, `Сумма=${amount}`, 'ПлательщикСчет=40702810500000000001', 'Плательщик1=ООО Ромашка',
    `ПлательщикИНН=${inn}`, 'ПолучательСчет=40702810400000000018', `ДатаПоступило=${today}`, `НазначениеПлатежа=${purpose}`, 'КонецДокумента', 'КонецФайла', ''].join('\r\n');
  const bytes = Buffer.from([...text].map((c) => { const n = c.codePointAt(0); return n < 0x80 ? n : n >= 0x410 && n <= 0x44f ? n - 0x350 : c === 'ё' ? 0xb8 : 0x3f; }));
  const path = join(weir.dir, `kl_to_1c-${number}.txt`);
  await writeFile(path, bytes);
  return path;
}

test('an invoice is made, its transfer imported once, and the money appears on the open page', async () => {
  const page = await open(b, weir, { path: '/money', signedIn: true });
  await page.getByRole('link', { name: 'Invoices' }).click();
  await page.getByLabel('Name').fill(`ООО «Ромашка» ${hostile[0]}`);
  const inn = page.getByLabel('INN');
  await inn.pressSequentially('0076543218');
  await page.getByText('A digit of the INN is wrong').waitFor();
  await inn.press('Backspace');
  await inn.pressSequentially('5');
  await page.getByText('The INN is right').waitFor();
  await page.getByLabel('KPP').fill('007601001');
  await page.getByLabel('Legal address').fill('г. Красногорск, ул. Ленина, д. 5');
  await accessible(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByLabel('Amount for the balance, rubles').fill('10');
  await page.getByRole('button', { name: 'Make an invoice' }).click();
  await page.locator('[id$=-error]').getByText('From').waitFor();
  await page.getByLabel('Amount for the balance, rubles').fill('12 200,50');
  await page.getByRole('button', { name: 'Make an invoice' }).click();
  const list = page.getByRole('table', { name: 'Invoices' });
  await list.getByText('Waiting for the money').waitFor();
  const number = await list.getByText(/^W-\d{4}-1$/).textContent();

  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: `PDF of ${number}` }).click()]);
  const { stdout: printed } = await run('pdftotext', ['-layout', await download.path(), '-']);
  for (const text of [number, '12 200,50', 'Двенадцать тысяч двести рублей 50 копеек', '40702810400000000018', 'ИНН 0076543215', hostile[0]]) assert.ok(printed.replaceAll('\u00a0', ' ').replaceAll(/\s+/g, ' ').includes(text), text);

  const wrong = await weirCommand('invoice', 'import', await statement('12200.50', '0012345673', `Оплата по счету ${number}`, '16'));
  assert.equal(wrong.code, 1, wrong.said);
  assert.match(wrong.said, /payer_differs/);
  const file = await statement('12200.50', '0076543215', `Оплата по счету ${number}`);
  assert.match((await weirCommand('invoice', 'import', file, '--dry')).said, /credited: 1\. 12200\.5 rubles would be credited/);
  assert.equal(await list.getByText('Paid').count(), 0);
  assert.match((await weirCommand('invoice', 'import', file)).said, /credited: 1\. 12200\.5 rubles were credited/);
  await list.getByText('Paid').waitFor(); // nobody has reloaded
  assert.match((await weirCommand('invoice', 'import', file)).said, /already: 1\. 0 rubles were credited/);
  await page.goto(`${weir.url}/money`);
  await page.getByRole('table', { name: 'Entries by day' }).getByText('Bank transfer').waitFor();
  await page.done();
});

test('an unpaid invoice is cancelled', async () => {
  const page = await open(b, weir, { path: '/money/invoices', signedIn: true });
  await page.getByLabel('Amount for the balance, rubles').fill('2000');
  await page.getByRole('button', { name: 'Make an invoice' }).click();
  await page.getByRole('button', { name: /^Cancel W-/ }).click();
  await page.getByRole('button', { name: 'Cancel the invoice' }).click();
  await page.getByRole('table', { name: 'Invoices' }).getByText('Cancelled').waitFor();
  await page.done();
});

test('the month has an act', async () => {
  assert.equal((await weir.call('/v1/chat/completions', { model: 'sim/echo', messages: [{ role: 'user', content: 'hello '.repeat(2000) }] })).status, 200);
  // A month cannot be waited for: what happened is moved to the month before the last, as if it had happened then. On its first day the last one cannot
  // be closed yet, and the invoice must not be of a later month.
  const name = (await readdir(weir.data)).find((n) => n.endsWith('.db'));
  const moved = await run('python3', ['-c', `
import datetime, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], timeout=60)
last = datetime.date.today().replace(day=1) - datetime.timedelta(days=1)
day = (last.replace(day=1) - datetime.timedelta(days=20)).isoformat()
for _ in range(600):
    if db.execute("SELECT COUNT(*) FROM usage_groups WHERE part = 'kind' AND cost > 0").fetchone()[0]: break
    time.sleep(0.1)
db.execute("UPDATE usage_groups SET day = ?, cost = 1234567890123 WHERE part = 'kind' AND cost > 0", (day,))
db.execute("UPDATE invoices SET created_at = created_at - 100 * 86400 * 1000000")
db.commit()
print(day)`, join(weir.data, name)]);
  assert.match(moved.stdout, /^\d{4}-\d\d-\d\d/);
  const page = await open(b, weir, { path: '/money/invoices', signedIn: true });
  await page.getByRole('button', { name: /^Make acts up to/ }).click();
  const acts = page.getByRole('table', { name: 'Acts' });
  await acts.getByText(/^A-\d{4}-1$/).waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: /^PDF of A-/ }).click()]);
  const { stdout: printed } = await run('pdftotext', ['-layout', await download.path(), '-']);
  assert.match(printed.replaceAll(/\s+/g, ' '), /Акт № A-\d{4}-1 от .*1 234,56/);
  await page.done();
});

test('the page is for everybody: both themes, Russian, a small phone', async () => {
  for (const theme of ['light', 'dark']) {
    const page = await open(b, weir, { path: '/money/invoices', signedIn: true, theme });
    await settled(page);
    await accessible(page);
    await page.done();
  }
  const page = await open(b, weir, { path: '/money/invoices', signedIn: true, language: 'ru', size: 'small' });
  await fitsWidth(page);
  assert.deepEqual(await englishWords(page, /^(Weir|UTC|demo|PDF|operator|W-|A-)/i), []);
  await page.getByRole('button', { name: 'Изменить' }).click();
  await fitsWidth(page);
  await page.done();
});
