// Prices: raised by ten per cent in a draft, published, charged, and taken back.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { accessible, becomes, browser, demo, fitsWidth, open } from './weir.js';

const weir = await demo();
const b = await browser();
/** Always 9 tokens in and 2 out. */
const mill = createServer((req, res) => {
  let body = '';
  req.on('data', (piece) => { body += piece; });
  req.on('end', () => {
    const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
    const chunk = (choices, more) => `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'small', choices, ...more })}\n\n`;
    if (JSON.parse(body).stream === true) {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      return res.end(chunk([{ index: 0, delta: { role: 'assistant', content: 'ok' }, finish_reason: null }]) + chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]) + chunk([], { usage }) + 'data: [DONE]\n\n');
    }
    res.writeHead(200, { 'content-type': 'application/json' });
    return res.end(JSON.stringify({ id: 'c1', object: 'chat.completion', created: 1, model: 'small', choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }], usage }));
  });
});
await new Promise((done) => { mill.listen(0, '127.0.0.1', done); });
after(() => mill.close());

/** What a call costs, as the digits of the answer: a float would hide the last ones. */
async function cost() {
  const answer = await weir.call('/v1/chat/completions', { model: 'mill/small', messages: [{ role: 'user', content: 'Hi' }] });
  const text = await answer.text();
  return /"cost":\s*([0-9.]+)/.exec(text)?.[1] ?? text;
}
/** Rubles of 9 tokens in and 2 out, of prices for 1000 in thousandths of a ruble. */
function charged(prompt, completion) {
  const millionths = 9n * prompt + 2n * completion;
  return `0.${String(millionths).padStart(6, '0').replace(/0+$/, '')}`;
}

test('prices are raised by 10 %, the next call costs them, and they are taken back', async () => {
  const page = await open(b, weir, { signedIn: true });
  const manage = async (path, data) => assert.equal((await page.request.post(`${weir.url}/api/admin/${path}`, { headers: { origin: weir.url, 'x-weir': '1' }, data })).status(), 201);
  await manage('providers', { id: 'mill', base_url: `http://127.0.0.1:${mill.address().port}/v1`, api_key: 'the-key-of-the-mill-1234' });
  await manage('endpoints', { provider: 'mill', model: 'mill/small', context_length: 8000, prices: { prompt: '0.5', completion: '1.5' } });
  await becomes(cost, charged(500n, 1500n));

  await page.goto(`${weir.url}/admin/catalog`);
  await page.getByRole('textbox', { name: 'Model or provider' }).fill('mill/');
  await page.waitForURL(/q=mill/);
  await page.getByRole('button', { name: 'Raise prices' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Only endpoints with “mill/”').waitFor();
  await dialog.getByLabel('By how many per cent').fill('0');
  await dialog.getByRole('button', { name: 'Put into the draft' }).click();
  await dialog.getByText('and not 0').waitFor();
  await dialog.getByLabel('By how many per cent').fill('10');
  await dialog.getByRole('button', { name: 'Put into the draft' }).click();
  await page.getByText('1 endpoint changes.').waitFor();
  assert.equal(await cost(), charged(500n, 1500n)); // a draft charges nobody
  await accessible(page);

  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await dialog.getByText('Publish prices of 1 endpoint?').waitFor();
  await accessible(page);
  await dialog.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByText('The new prices are in effect').waitFor();
  await becomes(cost, charged(550n, 1650n));

  await page.getByRole('button', { name: 'Revert' }).click();
  await page.getByText('1 endpoint changes.').waitFor();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await dialog.getByRole('button', { name: 'Publish', exact: true }).click();
  await becomes(cost, charged(500n, 1500n));

  // one price, by hand, and away with it
  await page.getByRole('button', { name: 'Discard' }).waitFor({ state: 'hidden' }); // the page has seen that the draft is gone
  await page.getByRole('button', { name: 'Change mill/mill/small' }).click();
  await dialog.getByLabel('in, ₽').fill('0,7');
  await dialog.getByRole('button', { name: 'Put into the draft' }).click();
  await page.getByText('1 price is different, 1 higher.').waitFor();
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Discard' }).click();
  await page.getByText('The draft is discarded').waitFor();
  assert.equal((await (await page.request.get(`${weir.url}/api/admin/prices/draft`)).json()).draft, null);
  await page.done();
});

test('it fits 360 px', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/admin/catalog', size: 'small', language: 'ru' });
  await page.getByText('mill/small').first().waitFor();
  await fitsWidth(page);
  await page.done();
});

test('what a price is for is said in the language of the page', async () => {
  const page = await open(b, weir, { path: '/admin/catalog?q=sim%2Flisten', signedIn: true, language: 'ru' });
  await page.getByText('минута аудио').filter({ visible: true }).first().waitFor();
  await page.done();
});
