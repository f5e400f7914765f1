// A demo as it is started by hand: with a month of demo data, which adds up on each page and says that it was made up.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { accessible, browser, demo, fitsWidth, open, program } from './weir.js';

const weir = await demo({ month: true });
const b = await browser();
const digits = (text) => text.replace(/[^\d.]/g, '');
const read = async (path) => (await (await fetch(weir.url + path, { headers: { authorization: `Bearer ${weir.management_key}` } })).json()).data;
const nano = (text) => BigInt(text.includes('.') ? text.replace('.', '') + '0'.repeat(9 - text.split('.')[1].length) : `${text}000000000`);

test('the overview has thirty days, whose parts are the whole', async () => {
  const page = await open(b, weir, { path: '/overview', signedIn: true });
  await page.getByRole('complementary').getByText(/^Demo data: what is older than .* was made up/).waitFor();
  const where = page.getByRole('heading', { name: 'Where it went' }).locator('xpath=ancestor::section[1]');
  await where.getByText('sim/claude-sonnet-4.5').waitFor();
  const overview = await read('/api/overview');
  assert.equal(digits(await where.locator('p [title]').getAttribute('title')), overview.spent_30_days);
  assert.ok(overview.days.filter((d) => d.calls > 0).length >= 28, 'days without a call');
  for (const d of overview.days) assert.equal(d.parts.reduce((sum, p) => sum + nano(p.cost), 0n), nano(d.cost), d.date);
  assert.equal(overview.days.reduce((sum, d) => sum + nano(d.cost), 0n), nano(overview.spent_30_days));
  await accessible(page);
  await page.done();
});

test('a failover of the month is explained on the page of its call', async () => {
  const { id } = (await read('/api/calls?limit=200')).find((c) => c.attempts > 1 && !c.error);
  const page = await open(b, weir, { path: `/calls/${id}`, signedIn: true });
  await page.getByRole('heading', { name: 'Why this provider answered' }).waitFor();
  await page.getByText(/\(simulated\)/).locator('visible=true').first().waitFor();
  await page.getByText(/, provider 2$/).waitFor();
  await page.done();
});

test('the start page waits for a call of today, and not for one of the month', async () => {
  const page = await open(b, weir, { path: '/welcome' });
  await page.getByText('Waiting for the call').waitFor();
  assert.equal((await weir.call('/v1/chat/completions', { model: 'sim/claude-sonnet-4.5', messages: [{ role: 'user', content: 'Hello' }] })).status, 200);
  await page.getByText('It arrived').waitFor();
  await page.getByText('sim/claude-sonnet-4.5').first().waitFor();
  await page.done();
});

test('files and commands say that it is demo data', async () => {
  const file = await fetch(`${weir.url}/api/ledger.csv`, { headers: { authorization: `Bearer ${weir.management_key}` } });
  assert.match(file.headers.get('content-disposition'), /filename="demo-/);
  const run = spawnSync(program, ['ledger', 'verify', '--data', weir.data], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: weir.dir } });
  assert.match(run.stdout, /^balanced$/m, run.stdout + run.stderr);
  assert.match(run.stderr, /^weir: demo data: what is older than .* was made up, and all money is play money$/m);
});

for (const path of ['/overview', '/activity', '/calls', '/money', '/jobs', '/admin', '/admin/sales']) {
  test(`${path} fits 360 px with the month, in Russian`, async () => {
    const page = await open(b, weir, { path, size: 'small', language: 'ru', signedIn: true });
    await page.getByRole('complementary').getByText(/^Демонстрационные данные: всё до .* вымышлено/).waitFor();
    await fitsWidth(page);
    await page.done();
  });
}
