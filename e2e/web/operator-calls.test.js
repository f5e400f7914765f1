// Calls and errors of everybody, for those who run the gateway: from a complaint to the provider's own words in one paste.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, looks, open } from './weir.js';

const weir = await demo();
const b = await browser();
const chat = (text) => weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: text }], metadata: { patient: 'Smith' } });
await chat('Hello');
const failed = await chat('[[sim fault=u12 times=100 id=op]] Hello');
assert.equal(failed.status, 400);
const request = failed.headers.get('x-request-id');
const list = async (query) => (await (await weir.call(`/api/calls?${query}`, undefined, weir.management_key)).json()).data;
await becomes(async () => (await list('limit=10')).length, 2);
const [{ id }] = await list('result=failed&limit=1');

const table = (page, name) => page.getByRole('table', { name });

test('the id of a request from a complaint opens its call, with what the provider said', async () => {
  const page = await open(b, weir, { path: '/admin/calls', signedIn: true });
  await table(page, 'Everyone’s calls').getByText('sim/chat').first().waitFor();
  const find = page.getByRole('search').getByRole('textbox');
  await find.fill('nonsense');
  await find.press('Enter');
  await page.getByText('This is not the id of a call').waitFor();
  await find.fill(request);
  await find.press('Enter');
  await page.waitForURL(`**/admin/calls/${request}`);
  await page.getByRole('heading', { name: 'What the providers said' }).waitFor();
  await page.getByText('The simulator was told to find this request bad.').first().waitFor();
  await page.getByText(id).first().waitFor();
  assert.equal(await page.getByText('Smith').count(), 0);
  await page.getByRole('link', { name: 'demo' }).first().click();
  await page.waitForURL(/admin\/people\/usr_/);
  await page.done();
});

test('what a call cost is given back from its page, with the reference of a difference', async () => {
  const [paid] = await list('result=ok&limit=1');
  const page = await open(b, weir, { path: `/admin/calls/${paid.id}?reference=8c1d0e6f:1`, signedIn: true });
  await page.getByRole('link', { name: 'Give money back' }).click();
  const form = page.getByRole('dialog');
  assert.equal(await form.getByLabel('Reference').inputValue(), '8c1d0e6f:1');
  assert.equal(await form.getByPlaceholder('gen-…').inputValue(), paid.id);
  await form.getByLabel('Reason, shown in the statement').fill('billed twice');
  await form.getByRole('button', { name: 'Refund' }).click();
  await form.waitFor({ state: 'detached' });
  await page.goto(`${weir.url}/admin/calls/${paid.id}`);
  await page.getByText(/^Refunded /).waitFor();
  await page.done();
});

test('calls are filtered by how they ended and whose they are', async () => {
  const page = await open(b, weir, { path: '/admin/calls', signedIn: true });
  const rows = table(page, 'Everyone’s calls').locator('tbody').getByRole('row');
  await rows.nth(1).waitFor();
  await page.getByLabel('Result').selectOption('failed');
  await page.waitForURL(/result=failed/);
  await rows.nth(1).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'demo: show only this account' }).click();
  await page.waitForURL(/member=usr_/);
  await rows.first().getByText('400').waitFor();
  await page.getByRole('button', { name: 'Remove filter failed' }).click();
  await rows.nth(1).waitFor();
  await page.done();
});

test('the chart and the sums are those of the calls that are asked for, and the file has them all', async () => {
  const page = await open(b, weir, { path: '/admin/calls', signedIn: true });
  const sum = (name) => page.getByRole('term').filter({ hasText: name }).locator('xpath=following-sibling::dd[1]');
  await page.getByRole('figure', { name: 'Calls over time' }).waitFor();
  assert.match(await sum(/^Calls$/).textContent(), /^2$/);
  assert.match(await sum(/^Failed$/).textContent(), /^1\s?50(\.0)?\s?%$/);
  const money = async (name) => Number((await sum(name).evaluate((e) => e.querySelector('[title]').title)).replace(/[^\d.−-]/g, '').replace('−', '-'));
  const file = async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download CSV', exact: true }).click()]);
    const [heads, ...rows] = (await readFile(await download.path(), 'utf8')).trim().split('\r\n').map((l) => l.split(','));
    return rows.map((r) => Object.fromEntries(heads.map((h, i) => [h, r[i]])));
  };
  const all = await file();
  assert.equal(all.length, 2);
  const charged = all.reduce((n, r) => n + Number(r.cost_rub), 0);
  assert.ok(charged > 0 && Math.abs((await money(/^Charged$/)) - charged) < 1e-6, `${await money(/^Charged$/)}, want ${charged}`);
  // What the simulator asks for is not known, and that is said instead of 0.
  assert.equal(await sum(/^Providers’ cost$/).textContent(), '—not known of 1 call');
  assert.equal(await sum(/^Margin$/).textContent(), '—');
  assert.deepEqual(all.map((r) => r.margin_rub).sort(), ['', '0']);
  await page.getByLabel('Result').selectOption('failed');
  await page.getByText('1 call, 1 failed.').waitFor();
  assert.equal((await file()).length, 1);
  await page.getByLabel('Status').selectOption('400');
  await page.waitForURL(/status=400/);
  await page.getByRole('figure', { name: 'Calls over time' }).waitFor();
  assert.match(await sum(/^Failed$/).textContent(), /^1\s?100(\.0)?\s?%$/);
  assert.equal(await money(/^Margin$/), 0);
  // By what a call cost no sums are kept, and the page says so.
  await page.goto(`${weir.url}/admin/calls?status=400&min=1`);
  await page.getByText('none are kept by what a call cost').waitFor();
  await page.getByRole('figure', { name: 'Calls over time' }).waitFor({ state: 'detached' });
  await page.done();
});

test('errors are one line for each cause, and lead to the accounts and the last call', async () => {
  const page = await open(b, weir, { path: '/admin/errors', signedIn: true });
  const causes = table(page, 'Errors by cause');
  await causes.getByText('The simulator was told to find this request bad.').waitFor();
  await page.getByRole('status').getByText('reached a customer').waitFor();
  await causes.locator('tbody').getByRole('button').first().click();
  const detail = page.getByRole('dialog');
  await detail.getByRole('table', { name: 'Accounts' }).getByText('demo').waitFor();
  await detail.getByRole('link', { name: 'Open the last call' }).click();
  await page.waitForURL(/admin\/calls\/gen-/);
  await page.getByRole('heading', { name: 'What the providers said' }).waitFor();
  await page.done();
});

for (const { theme, language } of looks) {
  test(`axe finds nothing, they fit 360 px and speak one language, ${theme}, ${language}`, async () => {
    for (const path of ['/admin/calls', `/admin/calls/${id}`, '/admin/errors']) {
      const page = await open(b, weir, { path, signedIn: true, theme, language });
      await page.getByText(/demo|told to find/).first().waitFor();
      await accessible(page);
      if (language === 'ru' && !path.includes('gen-')) assert.deepEqual(await englishWords(page, /^(Weir|UTC|demo|sim|Simulator|gen|req|vj|chat|invalid|request|The|was|told|to|find|this|bad|simulator|id|CSV|api|completions)/i), []);
      await page.done();
      const small = await open(b, weir, { path, signedIn: true, theme, language, size: 'small' });
      await small.getByText(/demo|told to find/).first().waitFor();
      await fitsWidth(small);
      await small.done();
    }
  });
}
