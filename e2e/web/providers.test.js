// The console: who may see it, and a provider from its address to the first call, a key that is refused, and another in its place.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createSafeServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, looks, open } from './weir.js';

const weir = await demo();
const b = await browser();
const right = 'the-key-that-is-taken-1234';
const seen = [];
/** Answers whoever has the right key. */
const answerAll = (req, res) => {
  let body = '';
  req.on('data', (piece) => { body += piece; });
  req.on('end', () => {
    seen.push(req.headers.authorization);
    if (req.headers.authorization !== `Bearer ${right}`) {
      res.writeHead(401, { 'content-type': 'application/json' });
      return res.end(JSON.stringify({ error: { message: `No such key: ${req.headers.authorization}`, type: 'invalid_request_error' } }));
    }
    const chunk = (delta, more) => `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'small', choices: delta ? [{ index: 0, ...delta }] : [], ...more })}\n\n`;
    const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
    if (JSON.parse(body).stream !== true) {
      res.writeHead(200, { 'content-type': 'application/json' });
      return res.end(JSON.stringify({ id: 'c1', object: 'chat.completion', created: 1, model: 'small', choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }], usage }));
    }
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    return res.end(chunk({ delta: { role: 'assistant', content: 'ok' }, finish_reason: null }) + chunk({ delta: {}, finish_reason: 'stop' }) + chunk(null, { usage }) + 'data: [DONE]\n\n');
  });
};
const mill = createServer(answerAll);
await new Promise((done) => { mill.listen(0, '127.0.0.1', done); });
after(() => mill.close());

test('a server is added, its key is refused, and another makes it work', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/overview' });
  await page.getByRole('link', { name: 'Run the gateway' }).click();
  await page.goto(`${weir.url}/admin/providers`);
  await page.getByRole('button', { name: 'Another server' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Short name').fill('mill');
  await dialog.getByLabel('Address').fill(`http://127.0.0.1:${mill.address().port}/v1`);
  await dialog.getByLabel('Key').fill('the-key-that-is-refused-1234');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'mill' }).waitFor();
  await page.getByRole('button', { name: 'Add a model' }).click();
  await dialog.getByLabel('Name of the model').fill('mill/small');
  await dialog.getByLabel('Context, tokens').fill('8000');
  await dialog.getByLabel('Price of 1000 tokens in').fill('0,5');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await dialog.getByText('completion').first().waitFor(); // the other price is asked for
  await dialog.getByLabel('Price of 1000 tokens out').fill('1.5');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('serves 1 model').waitFor();
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await page.getByText('The key is refused').waitFor();
  assert.doesNotMatch(await page.locator('main').innerText(), /the-key-that-is/);
  await page.getByLabel('Paste another key').fill(right);
  await page.getByRole('button', { name: 'Save and test' }).click();
  await page.getByText('mill/small answered').waitFor();
  const answer = await weir.call('/v1/chat/completions', { model: 'mill/small', messages: [{ role: 'user', content: 'Hi' }] });
  assert.equal(answer.status, 200);
  assert.equal((await answer.json()).usage.cost, 0.0075); // 9 tokens at 0.5 and 2 at 1.5 for 1000
  assert.equal(seen.at(-1), `Bearer ${right}`);

  await page.getByRole('button', { name: 'Switch off' }).click();
  await page.getByRole('alertdialog').getByText(/New calls of 1 model/).waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Switch off' }).click();
  await page.getByText('switched off', { exact: true }).waitFor();
  await becomes(async () => (await weir.call('/v1/chat/completions', { model: 'mill/small', messages: [{ role: 'user', content: 'Hi' }] })).status, 404);
  await page.getByRole('button', { name: 'Switch on' }).click();
  await page.getByText('serves 1 model').waitFor();
  await page.done();
});

test('an authority that this machine does not trust is trusted for one provider', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'weir-e2e-ca-'));
  after(() => rm(dir, { recursive: true, force: true }));
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  await promisify(execFile)('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=Mill House CA', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert]);
  const safe = createSafeServer({ key: await readFile(key), cert: await readFile(cert) }, answerAll);
  await new Promise((done) => { safe.listen(0, '127.0.0.1', done); });
  after(() => safe.close());
  const page = await open(b, weir, { signedIn: true });
  const manage = async (path, data) => assert.equal((await page.request.post(`${weir.url}/api/admin/${path}`, { headers: { origin: weir.url, 'x-weir': '1' }, data })).status(), 201);
  await manage('providers', { id: 'safe', base_url: `https://127.0.0.1:${safe.address().port}/v1`, api_key: right });
  await manage('endpoints', { provider: 'safe', model: 'safe/small', context_length: 8000, prices: { prompt: '0.5', completion: '1.5' } });
  await page.goto(`${weir.url}/admin/providers/safe`);
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await page.getByText('This machine does not trust Mill House CA').first().waitFor();
  await page.getByText(`SHA-256 ${new X509Certificate(await readFile(cert)).fingerprint256}`).waitFor();
  await accessible(page);
  await page.getByRole('button', { name: 'Trust it and test' }).click();
  await page.getByText('safe/small answered').waitFor();
  await page.done();
});

test('rate and margin are shown as what they do, and an unusual margin is asked about', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/admin/providers/mill' });
  await page.getByRole('button', { name: 'Set rate and margin' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Rubles for a dollar').fill('92,5');
  await dialog.getByLabel('Margin, %').fill('150');
  await dialog.getByRole('status').getByText('231.25').waitFor();
  await dialog.getByRole('button', { name: 'Set rate and margin' }).click();
  await dialog.getByText('A margin of 150 % is unusually high').waitFor();
  await dialog.getByLabel('Margin, %').fill('10');
  await dialog.getByRole('button', { name: 'Set rate and margin' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('1 $ costs you 92.5').waitFor();
  await page.getByText('your customers pay 101.75').waitFor();
  await page.done();
});

test('who does not run the gateway learns nothing of the console', async () => {
  const page = await open(b, weir, { path: '/models' });
  await page.goto(`${weir.url}/admin/providers`);
  await page.waitForURL(/\/sign-in\?/);
  assert.equal((await page.request.get(`${weir.url}/api/admin/providers`)).status(), 404);
  await page.done();
});

for (const { theme, language } of looks) {
  test(`axe finds nothing, ${theme}, ${language}`, async () => {
    for (const path of ['/admin/providers', '/admin/providers/mill', '/admin/providers/openai']) {
      const page = await open(b, weir, { signedIn: true, path, theme, language });
      await accessible(page);
      await page.done();
    }
  });
}
test('it fits 360 px, and is Russian', async () => {
  for (const path of ['/admin/providers', '/admin/providers/openai']) {
    const page = await open(b, weir, { signedIn: true, path, size: 'small', language: 'ru' });
    await fitsWidth(page);
    const names = (await (await page.request.get(`${weir.url}/api/admin/providers`)).json()).data.map((p) => p.name.replaceAll('.', '\\.')).join('|');
    assert.deepEqual(await englishWords(page, new RegExp(`${names}|Weir|OPENAI_API_KEY|[a-z0-9.-]+\\.(com|ai|io|run|co|net|sh|cloud|org|dev)|English|mill`)), []);
    await page.done();
  }
});
