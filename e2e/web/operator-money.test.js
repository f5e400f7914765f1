// What operators do with money from outside: payments and their refunds, invoices, statements of the bank, acts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, open } from './weir.js';

const weir = await demo({ env: {
  WEIR_INVOICES_ENABLED: 'true', WEIR_INVOICES_SELLER_NAME: 'ООО «Плотина»', WEIR_INVOICES_SELLER_INN: '0012345673', WEIR_INVOICES_SELLER_KPP: '001201001', WEIR_INVOICES_SELLER_ADDRESS: 'Москва', WEIR_INVOICES_SELLER_BANK: 'АО «Речной банк»',
  WEIR_INVOICES_SELLER_BIK: '000000225', WEIR_INVOICES_SELLER_ACCOUNT: '40702810400000000018', WEIR_INVOICES_SELLER_CORRESPONDENT_ACCOUNT: '30101810300000000225', WEIR_INVOICES_SELLER_DIRECTOR: 'Иванова А. П.',
} });
const b = await browser();
const manage = async (method, path, body) => {
  const r = await fetch((path.startsWith('/api/admin') ? weir.admin_url : weir.url) + path, { method, headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, ...(body ? { body: JSON.stringify(body) } : {}) });
  return { status: r.status, body: r.status === 204 ? null : await r.json() };
};
const balance = async () => Number((await manage('GET', '/api/v1/credits')).body.data.balance);
const table = (page, name) => page.getByRole('table', { name, exact: true });

/** Makes a payment, and pays it in the provider's page, or lets it wait. */
async function payment(amount, pay = true) {
  const { body: { data } } = await manage('POST', '/api/payments', { amount });
  if (!pay) return data;
  assert.ok((await fetch(data.url, { method: 'POST', body: new URLSearchParams({ do: 'pay' }), redirect: 'manual' })).status < 400);
  await becomes(async () => (await manage('GET', `/api/payments/${data.id}`)).body.data.state, 'succeeded');
  return data;
}

test('a payment is found, refunded with numbers, and its history says who did what', async () => {
  const before = await balance();
  const paid = await payment('500');
  const waiting = await payment('300', false);
  const page = await open(b, weir, { path: '/admin/payments', signedIn: true });
  await table(page, 'Payments').getByText('paid').first().waitFor();
  await table(page, 'Payments').getByText('waiting').first().waitFor();
  await accessible(page);
  await page.getByLabel('Find a payment').fill('pay_nobody');
  await page.getByLabel('Find a payment').press('Enter');
  await page.getByText('No such payments').waitFor();
  await page.getByLabel('Find a payment').fill(waiting.id);
  await page.getByLabel('Find a payment').press('Enter');
  await table(page, 'Payments').getByRole('link', { name: waiting.id }).waitFor();
  assert.equal(await table(page, 'Payments').getByRole('link', { name: /^pay_/ }).count(), 1);
  await page.getByRole('button', { name: /Remove.*pay_/ }).click();
  await page.getByLabel('State').selectOption('succeeded');
  await page.getByRole('link', { name: paid.id }).click();
  await page.waitForURL(`**/admin/payments/${paid.id}`);
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  const window = page.getByRole('dialog');
  await window.getByText('Returns 500').waitFor();
  await window.getByText(/The wallet keeps/).waitFor();
  await window.getByLabel('How much, rubles').fill('500,01');
  await window.getByText('Between 0.01').waitFor();
  await window.getByLabel('How much, rubles').fill('120');
  await window.getByText(/Returns 120.*of 500/).waitFor();
  await accessible(page);
  await window.getByRole('button', { name: /^Refund 120/ }).click();
  await window.locator('[aria-invalid=true]').first().waitFor(); // a reason or a reference is missing
  await window.getByLabel('Reason').fill('asked for by letter');
  await window.getByLabel('Reference').fill('T-77');
  await window.getByRole('button', { name: /^Refund 120/ }).click();
  await page.getByText(/120.*refunded/).first().waitFor();
  await table(page, 'History').getByText('Refund begun: wallet debited').waitFor();
  await table(page, 'History').getByText('asked for by letter').waitFor();
  await table(page, 'History').getByText('Refund arrived').waitFor();
  assert.equal(await balance(), before + 380);
  // Another administrator has refunded what this page still offers.
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  assert.equal((await manage('POST', `/api/admin/payments/${paid.id}/refund`, { amount: '50', reason: 'asked for by phone', reference: 'T-78' })).status, 200);
  await window.getByLabel('Reason').fill('asked for by letter');
  await window.getByLabel('Reference').fill('T-79');
  await window.getByRole('button', { name: /^Refund/ }).click();
  await window.getByText('Meanwhile another refund').waitFor();
  assert.equal(await balance(), before + 330);
  await window.getByRole('button', { name: 'Cancel' }).click();
  // The provider has nothing more to say of a payment whose refunds have ended; of one that waits it may have.
  const known = async (id) => (await manage('GET', `/api/admin/payments/${id}`)).body.data;
  await becomes(async () => (await known(paid.id)).refunds.every((r) => r.state === 'succeeded'), true);
  await page.reload();
  await table(page, 'History').getByText('Refund arrived').nth(1).waitFor();
  assert.equal(await page.getByRole('button', { name: /^Ask .* now/ }).count(), 0);
  await page.goto(`${weir.url}/admin/payments/${waiting.id}`);
  await page.getByRole('button', { name: /^Ask .* now/ }).click();
  await table(page, 'History').getByText('Provider asked by hand').waitFor();
  await page.done();
});

test('the pages of payments are for everybody: both themes, Russian, a small phone', async () => {
  const { body: { data: [{ id }] } } = await manage('GET', '/api/admin/payments?state=succeeded');
  for (const path of ['/admin/payments', `/admin/payments/${id}`]) {
    const dark = await open(b, weir, { path, signedIn: true, theme: 'dark' });
    await dark.getByRole('heading', { level: 1 }).waitFor();
    await accessible(dark);
    await dark.done();
    const page = await open(b, weir, { path, signedIn: true, language: 'ru', size: 'small' });
    await page.getByText('оплачен', { exact: true }).first().waitFor();
    await fitsWidth(page);
    assert.deepEqual(await englishWords(page, /^(Weir|UTC|demo|Bank|card|yookassa|pay_|rfd_|T-7|asked|by|for|letter|phone|rubles|paid|refunded|succeeded|of|as)/i), []);
    await page.done();
  }
});

const today = new Date().toLocaleDateString('ru-RU', { timeZone: 'Europe/Moscow' });
/** A statement as a bank exports it: in windows-1251, one document for each [number, amount, purpose]. */
function statement(...documents) {
  const text = ['1CClientBankExchange', 'ВерсияФормата=1.03', 'Кодировка=Windows', ...documents.flatMap(([number, amount, purpose]) => ['СекцияДокумент=Платежное поручение', `Номер=${number}`, `Дата=${today}`, `Сумма=${amount}`,
    'ПлательщикСчет=40702810500000000001', 'Плательщик1=ООО Ромашка', 'ПлательщикИНН=0076543215', 'ПолучательСчет=40702810400000000018', `ДатаПоступило=${today}`, `НазначениеПлатежа=${purpose}`, 'КонецДокумента']), 'КонецФайла', ''].join('\r\n');
  return Buffer.from([...text].map((c) => { const n = c.codePointAt(0); return n < 0x80 ? n : n >= 0x410 && n <= 0x44f ? n - 0x350 : 0x3f; }));
}
const file = (name, buffer) => ({ name, mimeType: 'text/plain', buffer });

test('a statement says first what it credits: one document matched, one that is not, one that is known; and credits nothing twice', async () => {
  assert.equal((await manage('PUT', '/api/invoices/buyer', { name: 'ООО «Ромашка»', inn: '0076543215', kpp: '007601001', address: 'Красногорск' })).status, 200);
  const bill = async (amount) => (await manage('POST', '/api/invoices', { amount })).body.data;
  const [first, second, third] = [await bill('1000'), await bill('2000'), await bill('3000')];
  const before = await balance();
  const known = await manage('POST', '/api/admin/invoices/import', { statement: statement(['7', '1000.00', `Оплата ${first.number}`]).toString('base64'), name: 'yesterday.txt' });
  assert.equal(known.body.data.credited, '1000');
  const bytes = statement(['7', '1000.00', `Оплата ${first.number}`], ['8', '2000.00', `Оплата ${second.number}`], ['9', '3000.00', 'За услуги'], ['10', '5.00', 'Проценты']);

  const page = await open(b, weir, { path: '/admin/invoices', signedIn: true });
  await table(page, 'Invoices').getByRole('link', { name: third.number, exact: true }).waitFor();
  await accessible(page);
  await page.getByRole('link', { name: 'Bank statements' }).click();
  await table(page, 'Bank statements').getByText('yesterday.txt').waitFor();
  await page.getByLabel('Statement of the bank').setInputFiles(file('kl_to_1c.txt', bytes));
  await page.getByText(/4 documents: 1 will be credited with 2.000.*, 1 known already, 0 outgoing\. 2 need you/).waitFor();
  const list = table(page, 'Documents of the statement');
  await list.getByText('Will be credited').waitFor();
  await list.getByText('Credited before').waitFor();
  assert.equal(await list.getByText('Names no invoice').count(), 2);
  await accessible(page);
  assert.equal(await balance(), before + 1000, 'the look moved money');
  const unmatched = list.getByRole('row').filter({ hasText: 'За услуги' });
  await unmatched.getByText(`Open ones of this payer: `).waitFor();
  await unmatched.getByLabel(/^Invoice for line/).fill(third.number);
  await unmatched.getByRole('button', { name: /^Choose/ }).click();
  await page.getByText(/2 will be credited with 5.000/).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText(/1 will be credited with 2.000/).waitFor();
  await page.getByRole('button', { name: /^Credit 2.000/ }).click();
  await page.waitForURL(/\/admin\/statements\/bst_/);
  assert.equal(await balance(), before + 3000);

  // What waits is assigned by hand, and set aside with a reason.
  const kept = table(page, 'Documents of the statement');
  await page.getByText('2 wait', { exact: true }).waitFor();
  await kept.getByRole('row').filter({ hasText: 'За услуги' }).getByLabel(/^Invoice for line/).fill(third.number);
  await kept.getByRole('row').filter({ hasText: 'За услуги' }).getByRole('button', { name: /^Credit it/ }).click();
  await page.getByText('1 waits', { exact: true }).waitFor();
  assert.equal(await balance(), before + 6000);
  await kept.getByRole('row').filter({ hasText: 'Проценты' }).getByRole('button', { name: /^Set aside/ }).click();
  const sure = page.getByRole('alertdialog');
  await sure.getByText('No money moves').waitFor();
  await sure.getByLabel('What it is').fill('interest');
  await sure.getByRole('button', { name: 'Set aside' }).click();
  await kept.getByText('interest').waitFor();
  await accessible(page);

  // The same file again.
  await page.goto(`${weir.url}/admin/statements`);
  await page.getByLabel('Statement of the bank').setInputFiles(file('kl_to_1c.txt', bytes));
  await page.getByText('This file was imported before').waitFor();
  await page.getByRole('button', { name: 'Keep without crediting' }).click();
  await page.waitForURL(/\/admin\/statements\/bst_/);
  assert.equal(await balance(), before + 6000, 'the second import credited something');
  assert.equal((await manage('GET', '/api/admin/statements')).body.data.length, 2);
  await page.goto(`${weir.url}/admin/statements`);
  await page.getByLabel('Statement of the bank').setInputFiles(file('notes.txt', Buffer.from('hello')));
  await page.getByText(/no statement in the 1C exchange format/).waitFor();
  await page.done();
});

test('an invoice is marked as paid once, and another cancelled with its numbers', async () => {
  const bill = async (amount) => (await manage('POST', '/api/invoices', { amount })).body.data;
  const [paid, gone] = [await bill('4000'), await bill('4500')];
  const before = await balance();
  const page = await open(b, weir, { path: '/admin/invoices', signedIn: true });
  await page.getByLabel('Find an invoice').fill(paid.number);
  await page.getByLabel('Find an invoice').press('Enter');
  await table(page, 'Invoices').getByRole('link', { name: paid.number, exact: true }).click();
  await page.getByRole('button', { name: 'Mark as paid' }).click();
  const window = page.getByRole('dialog');
  await window.getByText(/The invoice is then paid/).waitFor();
  await window.getByLabel('Arrived, rubles').fill('1500');
  await window.getByText(/Then 2.500.* is missing/).waitFor();
  await window.getByLabel('Number of the bank').fill('501');
  await window.getByRole('button', { name: /^Credit 1.500/ }).click();
  await table(page, 'What arrived').getByText('501').waitFor();
  // Another administrator notes the rest twice, at once.
  const rest = { amount: '2500', reference: '502', date: new Date().toISOString().slice(0, 10) };
  const both = await Promise.all([0, 1].map(() => manage('POST', `/api/admin/invoices/${paid.id}/paid`, rest)));
  assert.deepEqual(both.map((r) => r.status), [200, 200]);
  assert.equal(both.filter((r) => r.body.data.repeated).length, 1);
  assert.equal(await balance(), before + 4000);

  // Part of it goes back to the buyer.
  await page.reload();
  await table(page, 'What arrived').getByText('demo').first().waitFor(); // who noted it, by name
  // A paid invoice asks for nothing: what arrives late can still be noted, and no button stands out.
  const late = page.getByRole('button', { name: 'Note another transfer' });
  assert.equal(await late.evaluate((e) => getComputedStyle(e).backgroundColor), await page.getByRole('button', { name: 'Pay back' }).evaluate((e) => getComputedStyle(e).backgroundColor));
  assert.equal(await page.getByRole('button', { name: 'Mark as paid' }).count(), 0);
  await late.click();
  await window.getByLabel('Arrived, rubles').fill('10');
  await window.getByText(/10.* more than the total/).waitFor();
  await window.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Pay back' }).click();
  await window.getByLabel('Amount that was paid back').fill('500');
  await window.getByLabel('Number of the bank').fill('503');
  await window.getByLabel('Reason, which the buyer reads').fill('Asked for by letter');
  await window.getByText(/500.* is taken from the wallet.*3.500.* stays/).waitFor();
  await accessible(page);
  await window.getByRole('button', { name: /^Take 500/ }).click();
  await page.getByText(/500.* was taken from the wallet/).waitFor();
  assert.equal(await balance(), before + 3500);
  const here = page.getByRole('navigation', { name: 'Running the gateway' }).first().getByRole('link', { name: 'Invoices' });
  assert.equal(await here.getAttribute('aria-current'), 'page');

  await page.goto(`${weir.url}/admin/invoices/${gone.id}`);
  await page.getByRole('button', { name: 'Cancel invoice' }).click();
  const sure = page.getByRole('alertdialog');
  await sure.getByText(/of 4.500.* was not paid/).waitFor();
  await sure.getByRole('button', { name: 'Cancel invoice' }).click();
  await page.getByText('cancelled', { exact: true }).waitFor();
  assert.equal(await page.getByRole('button', { name: /Note another|Mark as paid|Pay back|Cancel invoice/ }).count(), 0);
  const { body: { data: [line] } } = await manage('GET', `/api/admin/audit?target=${gone.id}&action=invoice.cancel`);
  assert.equal(line.before, 'open, 0 of 4500 rubles received');
  await page.goto(`${weir.url}/admin/acts`);
  await page.getByText('No acts of this month').waitFor();
  assert.equal(await here.getAttribute('aria-current'), 'page'); // the place of acts, too
  await page.done();
});

test('invoices, statements and acts are for everybody: both themes, Russian, a small phone', async () => {
  const { body: { data: [s] } } = await manage('GET', '/api/admin/statements');
  const { body: { data: [i] } } = await manage('GET', '/api/admin/invoices?state=paid');
  for (const [path, says] of [['/admin/invoices', 'оплачен'], [`/admin/invoices/${i.id}`, 'Что пришло'], ['/admin/statements', 'yesterday.txt'], [`/admin/statements/${s.id}`, 'Отложен'], ['/admin/acts', 'За этот месяц актов нет']]) {
    const dark = await open(b, weir, { path, signedIn: true, theme: 'dark' });
    await dark.getByRole('heading', { level: 1 }).waitFor();
    await accessible(dark);
    await dark.done();
    const page = await open(b, weir, { path, signedIn: true, language: 'ru', size: 'small' });
    await page.getByText(says, { exact: true }).first().waitFor();
    await fitsWidth(page);
    assert.deepEqual(await englishWords(page, /^(Weir|UTC|demo|PDF|W-|key|operator|interest|yesterday|kl_to|txt|bst_|inv_|c\.txt)/i), []);
    await page.done();
  }
});
