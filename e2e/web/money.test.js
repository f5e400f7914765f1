// The statement: what the page says is what the API says, to the last digit.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, browser, demo, englishWords, fitsWidth, open } from './weir.js';

const weir = await demo({ env: { WEIR_PRICING_VAT_MODE: 'included', WEIR_PRICING_VAT_PERCENT: '22' } });
const b = await browser();
for (let i = 0; i < 3; i++) assert.equal((await weir.call('/v1/chat/completions', { model: 'sim/anywhere', messages: [{ role: 'user', content: `Hello ${i}` }] })).status, 200);

test('the statement shows the figures of the API, all digits, and the address keeps the period', async () => {
  const page = await open(b, weir, { path: '/money', signedIn: true });
  const answer = await page.request.get(`${weir.url}/api/ledger`);
  const { data } = await answer.json();
  assert.equal(data.verified, true);
  const calls = data.rows.find((r) => r.kind === 'calls');
  assert.ok(calls.count >= 3);
  const shown = (await page.getByRole('main').innerText()).replace(/[\u202f\u00a0]/g, '');
  const [vat] = data.vat;
  assert.equal(vat.percent, '22');
  assert.equal(vat.gross, calls.debit);
  for (const text of ['VAT22%', 'Gross']) assert.ok(shown.replace(/\s/g, '').includes(text), `${text} is not in ${shown}`);
  for (const amount of [vat.net, vat.vat, vat.gross, calls.debit, calls.balance]) assert.ok(shown.includes(`${amount}₽`), `${amount} is not in ${shown}`);
  // What heads the page has two decimals, and every digit on hover.
  const head = await page.locator('dl').first().locator('[title]').evaluateAll((all) => all.map((e) => [e.title, e.textContent].map((s) => s.replace(/[\u202f\u00a0₽]/g, ''))));
  for (const amount of [data.closing, data.available]) assert.ok(head.some(([exact, shown]) => exact === amount && /^(<?-?\d+\.\d\d|0)$/.test(shown)), `${amount} is not in ${JSON.stringify(head)}`);
  await page.getByRole('button', { name: /Last 7 days/ }).click();
  await page.waitForURL(/days=7/);
  await page.goto(`${weir.url}/money?from=2020-01-01&to=2020-01-02`);
  await page.getByText('Nothing has moved yet').first().waitFor();
  await page.done();
});

test('the files of the statement are for the period that is shown', async () => {
  const page = await open(b, weir, { path: '/money', signedIn: true });
  for (const [name, type] of [['CSV', /csv/], ['PDF', /pdf/]]) {
    const answer = await page.request.get(weir.url + await page.getByRole('link', { name, exact: true }).getAttribute('href'));
    assert.equal(answer.status(), 200);
    assert.match(answer.headers()['content-type'], type);
  }
  await page.done();
});

test('the statement is for everybody: both themes, Russian, a small phone', async () => {
  for (const theme of ['light', 'dark']) {
    const page = await open(b, weir, { path: '/money', signedIn: true, theme });
    await accessible(page);
    await page.done();
  }
  const page = await open(b, weir, { path: '/money', signedIn: true, language: 'ru', size: 'small' });
  await fitsWidth(page);
  assert.deepEqual(await englishWords(page, /^(Weir|CSV|PDF|UTC|demo)/i), []);
  await page.done();
});
