// A provider's life: connected with a pasted key, called, its key rotated in three steps, and its endpoint taken out of service.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, looks, open } from './weir.js';

const weir = await demo({ env: { OPENAI_API_KEY: 'the-key-of-openai-3333' } });
const b = await browser();
const [first, second] = ['the-first-key-of-the-mill-1111', 'the-second-key-of-the-mill-2222'];
const taken = new Set([first]);
const seen = [];
const mill = createServer((req, res) => {
  let body = '';
  req.on('data', (piece) => { body += piece; });
  req.on('end', () => {
    const key = (req.headers.authorization ?? '').replace('Bearer ', '');
    seen.push(key);
    res.writeHead(taken.has(key) ? 200 : 401, { 'content-type': 'application/json' });
    if (!taken.has(key)) return res.end(JSON.stringify({ error: { message: `No such key: ${key}`, type: 'invalid_request_error' } }));
    return res.end(JSON.stringify({
      id: 'c1', object: 'chat.completion', created: 1, model: 'small', usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
      choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
    }));
  });
});
await new Promise((done) => { mill.listen(0, '127.0.0.1', done); });
after(() => mill.close());
const call = async () => (await weir.call('/v1/chat/completions', { model: 'mill/small', messages: [{ role: 'user', content: 'Hi' }] })).status;

test("a provider's life: pasted key to rotated and ejected", async () => {
  const page = await open(b, weir, { signedIn: true });
  const manage = async (path, data) => assert.equal((await page.request.post(`${weir.url}/api/admin/${path}`, { headers: { origin: weir.url, 'x-weir': '1' }, data })).status(), 201);
  await manage('providers', { id: 'mill', base_url: `http://127.0.0.1:${mill.address().port}/v1` });
  await manage('endpoints', { provider: 'mill', model: 'mill/small', context_length: 8000, prices: { prompt: '0.5', completion: '1.5' } });
  await page.goto(`${weir.url}/admin/providers/mill`);
  await page.getByText('It has no key.').waitFor();
  await page.getByLabel('Paste the key').fill(first);
  await page.getByRole('button', { name: 'Save and test' }).click();
  await page.getByText('mill/small answered').waitFor();
  await becomes(call, 200);
  assert.equal(seen.at(-1), first);

  await page.getByRole('button', { name: 'Rotate' }).click();
  const steps = page.getByRole('region', { name: 'Rotate' });
  await steps.locator('[aria-current=step]').getByText('1. New in').waitFor();
  await page.getByLabel('Paste another key').fill(second);
  await page.getByRole('button', { name: 'Save and test' }).click();
  await page.getByText('The provider refuses this key').waitFor(); // it is not active yet
  assert.doesNotMatch(await page.locator('main').innerText(), /the-(first|second)-key/);
  taken.add(second);
  await page.getByRole('button', { name: 'Save and test' }).click();
  await steps.locator('[aria-current=step]').getByText('2. Old drained').waitFor();
  await page.reload(); // another person goes on
  await page.getByRole('button', { name: 'Rotate' }).click();
  await steps.getByRole('button', { name: 'Drain: …1111' }).click();
  await steps.locator('[aria-current=step]').getByText('3. Old out').waitFor();
  await becomes(async () => { await call(); return seen.at(-1); }, second);
  await page.reload(); // what is draining shows its step by itself
  await steps.getByRole('button', { name: 'Take out: …1111' }).click();
  const asks = page.getByRole('alertdialog');
  await asks.getByText(/\d+ calls? went over it within the last hour/).waitFor();
  await asks.getByRole('button', { name: 'Take out' }).click();
  await page.getByRole('button', { name: 'Bring back: …1111' }).waitFor();
  seen.length = 0;
  for (let i = 0; i < 4; i++) assert.equal(await call(), 200);
  assert.deepEqual([...new Set(seen)], [second]);

  await page.getByRole('button', { name: 'Take out: …2222' }).click();
  await asks.getByText('No other key of mill is in use').waitFor();
  await asks.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Delete: …1111' }).click();
  await asks.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('…1111 is deleted').waitFor();

  await page.getByRole('button', { name: 'Take out of service' }).click();
  const out = page.getByRole('dialog');
  await out.getByText('Eject', { exact: true }).click();
  await out.getByRole('button', { name: 'Eject', exact: true }).click();
  await page.getByRole('button', { name: 'Return to service' }).waitFor();
  await becomes(call, 503);
  await page.getByRole('button', { name: 'Return to service' }).click();
  await becomes(call, 200);
  await page.done();
});

test('keys of the environment and of the configuration are listed, and locked', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/admin/providers/openai' });
  await page.getByText('from the environment: OPENAI_API_KEY').waitFor();
  const keys = page.getByRole('table', { name: 'Keys' });
  const only = (text) => keys.getByRole('row').filter({ hasText: text });
  await only('…3333').getByText('in use').waitFor();
  assert.equal(await keys.getByRole('button').count(), 0);
  const pasted = await page.request.post(`${weir.url}/api/admin/providers/openai/keys`, { headers: { origin: weir.url, 'x-weir': '1' }, data: { api_key: 'the-key-that-is-pasted-4444', sure: true } });
  assert.equal(pasted.status(), 201, await pasted.text());
  await page.reload();
  await only('…3333').getByText('not used: a key below is').waitFor();
  assert.equal(await only('…3333').getByRole('button').count(), 0);
  assert.equal(await only('…4444').getByRole('button').count(), 2);
  const sims = (await (await page.request.get(`${weir.url}/api/admin/providers`)).json()).data.filter((p) => p.api_key?.source === 'configuration');
  await page.goto(`${weir.url}/admin/providers/${sims[0].id}`);
  await keys.getByText('from the configuration').waitFor();
  assert.equal(await keys.getByRole('button').count(), 0);
  await page.done();
});

for (const { theme, language } of looks) {
  test(`axe finds nothing, ${theme}, ${language}`, async () => {
    const page = await open(b, weir, { signedIn: true, path: '/admin/providers/mill', theme, language });
    await accessible(page);
    await page.done();
  });
}

test('it fits a phone, and is Russian', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/admin/providers/mill', size: 'small', language: 'ru' });
  await page.getByText('…2222').waitFor();
  await fitsWidth(page);
  const act = await page.getByRole('button', { name: 'Вывести: …2222' }).boundingBox();
  assert.ok(act.x >= 0 && act.x + act.width <= 360, 'what is done with a key is beside the screen');
  assert.deepEqual(await englishWords(page, /Weir|English|mill|small|prompt|completion|prices/), []);
  await page.done();
});
