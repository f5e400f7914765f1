// Sales: what was earned, on what. The strip, the table and the file are the same sums, and those of the ledger.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, open } from './weir.js';

const weir = await demo();
const b = await browser();
/** Each call costs the gateway a dollar, whatever its prices say. */
const mill = createServer((req, res) => {
  req.resume().on('end', () => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ id: 'c1', object: 'chat.completion', created: 1, model: 'small', choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }], usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11, cost: 1 } }));
  });
});
await new Promise((done) => { mill.listen(0, '127.0.0.1', done); });
after(() => mill.close());

/** Billionths of a decimal text, which a float would round. */
const nano = (text) => {
  const [whole, part = ''] = text.replace('-', '').split('.');
  return (text.startsWith('-') ? -1n : 1n) * (BigInt(whole) * 1_000_000_000n + BigInt(part.padEnd(9, '0')));
};
/** The amount that a person reads, as the API writes it. */
const read = (text) => text.replace(/[−–]/, '-').replace(',', '.').replace(/[^\d.-]/g, '');
const ask = async (page, path) => (await page.request.get(`${weir.url}/api/admin/${path}`)).json();
const chat = async (model) => assert.equal((await weir.call('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi' }] })).status, 200);

test('before the first call there is nothing', async () => {
  const page = await open(b, weir, { path: '/admin/sales?from=2020-01-01&to=2020-01-31', signedIn: true });
  await page.getByText('Nothing was sold in these days').waitFor();
  await accessible(page, '/admin/sales, empty');
  await page.done();
});

test('the strip, the table, the file and the ledger have the same sums', async () => {
  const page = await open(b, weir, { signedIn: true });
  const manage = async (path, data) => assert.equal((await page.request.post(`${weir.url}/api/admin/${path}`, { headers: { origin: weir.url, 'x-weir': '1' }, data })).status(), 201);
  await manage('providers', { id: 'mill', base_url: `http://127.0.0.1:${mill.address().port}/v1`, api_key: 'the-key-of-the-mill-1234', quirks: { cost_field: 'usage.cost' } });
  await manage('endpoints', { provider: 'mill', model: 'mill/small', context_length: 8000, price_usd: { prompt: '0.6', completion: '0.9' } });
  await becomes(async () => (await weir.call('/v1/chat/completions', { model: 'mill/small', messages: [{ role: 'user', content: 'Hi' }] })).status, 200);
  await chat('sim/chat');
  await chat('sim/chat');
  await becomes(async () => (await ask(page, 'sales')).data.total.calls >= 3, true);

  await page.goto(`${weir.url}/admin/sales`);
  const table = page.getByRole('table', { name: 'What was sold' });
  await table.getByRole('row').filter({ hasText: 'mill/small' }).waitFor();
  const { data } = await ask(page, 'sales?by=model');
  const strip = await page.locator('dl dd').evaluateAll((all) => all.map((e) => e.querySelector('[title]')?.title ?? ''));
  assert.deepEqual(strip.slice(0, 4).map((t) => nano(read(t))), [data.total.sales, data.total.vat, data.total.provider_cost, data.total.margin].map(nano));
  assert.equal(nano(data.total.sales) - nano(data.total.vat) - nano(data.total.provider_cost) - nano(data.total.unknown_cost_sales), nano(data.total.margin));

  const column = async (name) => {
    const heads = await table.locator('thead th').allTextContents();
    const at = heads.findIndex((h) => h === name);
    assert.ok(at > 0, `${name} in ${heads.join()}`);
    return (await table.locator('tbody tr').evaluateAll((rows, i) => rows.map((r) => r.cells[i].querySelector('[title]').title), at)).map((t) => nano(read(t))).reduce((p, q) => p + q, 0n);
  };
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'CSV' }).click()]);
  assert.match(file.suggestedFilename(), /^weir-sales-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/);
  const text = await (await page.request.get(file.url())).text();
  const [head, ...lines] = text.trimEnd().split('\r\n').map((l) => l.split(','));
  const sum = (name) => lines.reduce((all, l) => all + nano(l[head.indexOf(name)]), 0n);
  for (const [shown, filed, figure] of [['Sales, ₽', 'sales_rub', 'sales'], ['VAT, ₽', 'vat_rub', 'vat'], ['Cost, ₽', 'provider_cost_rub', 'provider_cost'], ['Margin, ₽', 'margin_rub', 'margin']]) {
    assert.equal(await column(shown), nano(data.total[figure]), shown);
    assert.equal(sum(filed), nano(data.total[figure]), filed);
  }
  for (const by of ['provider', 'account', 'day']) {
    const { data: other } = await ask(page, `sales?by=${by}`);
    assert.deepEqual(other.total, data.total);
    assert.equal(other.rows.reduce((all, r) => all + nano(r.sales), 0n), nano(data.total.sales), by);
  }
  // the page of the ledger adds up entries; a check of the books compares sales with them
  const check = await page.request.post(`${weir.url}/api/admin/ledger/check`, { headers: { origin: weir.url, 'x-weir': '1' }, data: {} });
  assert.ok(check.ok(), await check.text());
  const part = async () => (await ask(page, 'ledger')).data?.check?.parts.find((p) => p.name === 'sales')?.ok;
  await becomes(part, true);
  await page.done();
});

test('what loses money stands out with its reason, and is looked into', async () => {
  const page = await open(b, weir, { path: '/admin/sales', signedIn: true });
  const row = page.getByRole('row').filter({ hasText: 'mill/small' });
  await row.getByText('loss', { exact: true }).waitFor();
  await row.getByText('the provider asked for more than its prices say').waitFor();
  await row.getByText(/since \d/).waitFor();
  await accessible(page, '/admin/sales');
  await row.getByRole('button', { name: /^Look into/ }).click();
  await page.waitForURL(/by=provider&model=mill(%2F|\/)small/);
  await page.getByRole('row').filter({ hasText: 'mill' }).getByText('loss', { exact: true }).waitFor();
  await page.getByRole('link', { name: /^Show the calls of/ }).first().click();
  await page.waitForURL(/\/admin\/calls\?.*model=mill/);
  await page.done();
});

test('it fits 360 px and speaks Russian', async () => {
  const page = await open(b, weir, { path: '/admin/sales?by=account', signedIn: true, theme: 'dark', language: 'ru', size: 'small' });
  await page.getByRole('heading', { name: 'Продажи' }).waitFor();
  await page.getByText('убыток').first().waitFor();
  await fitsWidth(page);
  await accessible(page, '/admin/sales, ru');
  assert.deepEqual(await englishWords(page, /^(Weir|UTC|CSV|Demo|demo)/), []);
  await page.done();
});
