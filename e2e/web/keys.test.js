// Keys: made with a name alone, shown once, limited, disabled and brought back, deleted by typing the name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, choose, demo, englishWords, fitsWidth, hostile, open } from './weir.js';

const weir = await demo();
const b = await browser();

async function make(page, name, more = async () => {}) {
  await page.getByRole('heading', { level: 1 }).focus();
  await page.keyboard.press('n');
  await page.getByLabel('Name', { exact: true }).fill(name);
  await more(page.getByRole('form', { name: 'Make a key' }));
  await page.getByRole('form').getByRole('button', { name: 'Make a key' }).click();
  const secret = page.getByRole('textbox', { name: 'Text of the key' });
  await secret.waitFor();
  return secret.inputValue();
}
const action = async (page, name, item) => {
  await page.getByRole('table').getByRole('button', { name: `Actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: item }).click();
};

test('a key is made, called with, limited, disabled, brought back, renewed and deleted', async () => {
  const page = await open(b, weir, { path: '/keys', signedIn: true });
  const key = await make(page, 'backend');
  assert.match(key, /^sk-weir-v1-/);
  await page.getByRole('tabpanel').getByText(key).waitFor();
  await accessible(page);
  const call = (k) => weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] }, k);
  assert.equal((await call(key)).status, 200);
  await page.getByRole('button', { name: 'I have saved it' }).click();
  assert.equal((await page.content()).includes(key), false);

  await action(page, 'backend', 'Name and limits');
  await page.getByLabel('Limit', { exact: true }).fill('99,90');
  await page.getByLabel('Limit for').selectOption('monthly');
  await page.locator('summary', { hasText: 'Only these models' }).click();
  await choose(page, 'Only these models', 'sim/*');
  await accessible(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('table').getByText(/of 99\.90/).waitFor();

  await action(page, 'backend', 'Disable');
  await page.getByText('Key backend is disabled').waitFor();
  assert.notEqual((await call(key)).status, 200);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Key backend works again').waitFor();

  await action(page, 'backend', 'Replace the secret');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Replace the secret' }).click();
  const other = page.getByRole('textbox', { name: 'Text of the key' });
  await other.waitFor();
  assert.notEqual(await other.inputValue(), key);

  await action(page, 'backend', 'Delete');
  const sure = page.getByRole('alertdialog');
  assert.ok(await sure.getByRole('button', { name: 'Delete' }).isDisabled());
  await sure.getByRole('textbox').fill('backend');
  await sure.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Key backend is deleted').waitFor();
  await page.done();
});

test('a key has a page: what it may do, what it spent, its calls; a new text moves it, deleting leads back', async () => {
  const page = await open(b, weir, { path: '/keys', signedIn: true });
  const key = await make(page, 'river');
  await page.getByRole('button', { name: 'I have saved it' }).click();
  const ask = (n) => weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: `Hello ${n}` }] }, key);
  for (let i = 0; i < 2; i++) assert.equal((await ask(i)).status, 200);
  await page.getByRole('table').getByRole('link', { name: 'river' }).click();
  await page.waitForURL(/\/keys\/[0-9a-f]{64}$/);
  await page.getByRole('heading', { level: 1, name: 'river' }).waitFor();
  const rows = page.getByRole('table', { name: 'Latest calls' }).locator('tbody [data-row]');
  await becomes(() => rows.count(), 2);
  const { data } = await (await page.request.get(`${weir.url}/api/keys/${page.url().split('/').pop()}`)).json();
  await becomes(async () => (await page.getByRole('main').locator('dl [title]').first().getAttribute('title')).replace(/[\u202f\u00a0]/g, ''), `${data.spent_total}₽`);
  assert.equal(await page.getByRole('link', { name: 'Activity' }).last().getAttribute('href'), `/activity?key=${data.hash}`);
  await page.getByRole('button', { name: 'Name and limits' }).click();
  await page.locator('summary', { hasText: 'Only these models' }).click();
  await choose(page, 'Only these models', 'sim/*');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Only these models' }).waitFor();
  await page.getByRole('button', { name: 'Actions for river' }).click();
  await page.getByRole('menuitem', { name: 'Replace the secret' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Replace the secret' }).click();
  await page.getByRole('textbox', { name: 'Text of the key' }).waitFor();
  await page.waitForURL((u) => !u.pathname.endsWith(data.hash));
  await page.getByRole('button', { name: 'I have saved it' }).click();
  await page.getByRole('button', { name: 'Actions for river' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('alertdialog').getByRole('textbox').fill('river');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await page.waitForURL(/\/keys$/);
  await page.getByText('Key river is deleted').waitFor();
  await page.goto(`${weir.url}/keys/${data.hash}`);
  await page.getByText('There is no such key').waitFor();
  await page.keyboard.press('?');
  await page.done();
});

test('a key is made in one step with all of its limits, and its text is not lost by leaving', async () => {
  const page = await open(b, weir, { path: '/keys', signedIn: true });
  const key = await make(page, 'nightly', async (form) => {
    await form.getByRole('button', { name: 'Make a key' }).waitFor();
    await form.getByLabel('Limit', { exact: true }).fill('1 500,5');
    await form.getByLabel('Limit for').selectOption('weekly');
    await form.getByLabel('Expires').selectOption('30');
    await form.locator('summary', { hasText: 'Only these models' }).click();
    await choose(page, 'Only these models', 'sim/*', form);
    await form.locator('summary', { hasText: 'Only these addresses' }).click();
    await form.getByLabel('Only these addresses').fill('127.0.0.0/8');
    await form.locator('summary', { hasText: 'Answer format' }).click();
    await form.getByLabel('Answer format').selectOption('strict');
    await accessible(page);
  });
  assert.equal(await page.evaluate(() => { const e = document.activeElement; return e.value.slice(e.selectionStart, e.selectionEnd); }), key, 'the text is selected');
  await page.getByRole('tab', { name: '.env' }).click();
  await page.getByRole('tabpanel').getByText(`WEIR_API_KEY=${key}`).waitFor();
  const { data: keys } = await (await page.request.get(`${weir.url}/api/keys`)).json();
  const { limit, limit_reset, allowed_models, allowed_ips, schema, expires_at } = keys.find((k) => k.name === 'nightly');
  const end = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
  assert.deepEqual({ limit, limit_reset, allowed_models, allowed_ips, schema }, { limit: '1500.5', limit_reset: 'weekly', allowed_models: ['sim/*'], allowed_ips: ['127.0.0.0/8'], schema: 'strict' });
  assert.ok([end, new Date(Date.parse(end) - 86_400_000).toISOString().slice(0, 10)].includes(expires_at.slice(0, 10)), expires_at);
  const answer = await (await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] }, key)).json();
  assert.equal(answer.choices[0].message.content[0].type, 'text');

  const leaves = page.getByRole('alertdialog', { name: 'Leave without the text of nightly?' });
  await page.getByRole('link', { name: 'Calls', exact: true }).first().click();
  await leaves.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await page.getByRole('textbox', { name: 'Text of the key' }).inputValue(), key);
  const closing = page.waitForEvent('dialog');
  await page.close({ runBeforeUnload: true });
  assert.equal((await closing).type(), 'beforeunload');
  page.complaints.length = 0; // the browser's question, which the frame of these tests has answered with staying
  await page.getByRole('link', { name: 'Calls', exact: true }).first().click();
  await leaves.getByRole('button', { name: 'Leave' }).click();
  await page.waitForURL(/\/calls/);
  await page.getByRole('heading', { level: 1, name: 'Calls' }).waitFor();
  await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
  await page.waitForURL(/\/keys$/);
  assert.equal((await page.content()).includes(key), false);
  await page.done();
});

test('on a phone the text of a key fills a sheet, which asks before it closes', async () => {
  const page = await open(b, weir, { path: '/keys', signedIn: true, size: 'phone' });
  const key = await make(page, 'pocket');
  await accessible(page);
  const sheet = page.getByRole('dialog');
  assert.equal(await sheet.getByRole('textbox', { name: 'Text of the key' }).inputValue(), key);
  await sheet.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click();
  await sheet.getByRole('button', { name: 'I have saved it' }).click();
  await becomes(() => sheet.count(), 0);
  await page.done();
});

test('names are text', async () => {
  const page = await open(b, weir, { path: '/keys', signedIn: true });
  for (const name of (Array.isArray(hostile) ? hostile : Object.values(hostile)).slice(0, 8)) { await make(page, name); await page.getByRole('button', { name: 'I have saved it' }).click(); }
  await page.done();
});

test('axe finds nothing on the page of a key with all that it can have, it fits 360 px and is Russian', async () => {
  const made = await (await fetch(`${weir.url}/api/keys`, { method: 'POST', headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, body: JSON.stringify({ name: hostile[0], limit: '500', limit_reset: 'monthly', allowed_ips: ['127.0.0.0/8'] }) })).json();
  for (let i = 0; i < 2; i++) assert.equal((await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] }, made.key)).status, 200);
  for (const look of [{ theme: 'dark' }, { size: 'small', language: 'ru' }]) {
    const page = await open(b, weir, { path: `/keys/${made.data.hash}`, signedIn: true, ...look });
    await page.getByRole('heading', { level: 1, name: hostile[0] }).waitFor();
    await becomes(() => page.locator('main table tbody [data-row], main ul [data-row]').count().then((n) => n > 0), true);
    await accessible(page);
    await fitsWidth(page);
    if (look.language) assert.deepEqual(await englishWords(page, /Weir|sk-|sim|Sim|script|img|svg|English|demo|Demo|[<>{}$]|http|alert|src|href|xss|on\w+/i), []);
    await page.done();
  }
});
test('the list fits 360 px and is Russian', async () => {
  const page = await open(b, weir, { path: '/keys', size: 'small', language: 'ru', signedIn: true });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await fitsWidth(page);
  assert.deepEqual(await englishWords(page, /Weir|sk-|sim|script|img|svg|English|demo|Demo|[<>{}$]|http|alert|src|href|xss|on\w+/i), []);
  await page.done();
});

test('with 1,000 keys one is found, opened and changed, by their owner and by an administrator, and no more are made', async () => {
  const many = await demo({ env: { WEIR_KEYS_MAX_PER_USER: '1000' } });
  const page = await open(b, many, { path: '/keys', signedIn: true });
  const keys = async () => (await (await page.request.get(`${many.url}/api/keys`)).json()).data;
  const files = [{ text: JSON.stringify({ data: Array.from({ length: 1000 - (await keys()).length }, (_, i) => ({ hash: `${i}`, name: `worker ${i}` })) }) }];
  const made = await page.request.post(`${many.url}/api/import`, { headers: { origin: many.url, 'x-weir': '1' }, data: { source: 'openrouter', dry_run: false, files }, timeout: 45_000 });
  assert.equal(made.status(), 200, await made.text());
  const all = await keys();
  assert.equal(all.length, 1000);
  await page.reload();
  await page.getByText(/^1\s?000 of 1\s?000$/).waitFor();
  const rows = (of) => of.getByRole('table', { name: 'Keys', exact: true }).locator('[data-row]');
  await becomes(() => rows(page).count(), 200);
  await page.getByRole('button', { name: 'Show more' }).click();
  await becomes(() => rows(page).count(), 400);
  await page.keyboard.press('n');
  await page.getByText(/All of your 1\s?000 keys are in use/).waitFor();
  const old = all.find((k) => k.name === 'worker 3');
  for (const typed of ['Worker 3', old.label.slice(-3)]) {
    await page.getByRole('searchbox', { name: 'Find by name' }).fill(typed);
    await rows(page).getByRole('link', { name: 'worker 3', exact: true }).waitFor();
  }
  await rows(page).getByRole('link', { name: 'worker 3', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'worker 3' }).waitFor();
  const me = await (await page.request.get(`${many.url}/api/me`)).json();
  for (const size of ['desk', 'small']) {
    const view = await open(b, many, { path: `/admin/people/${me.user.id}`, signedIn: true, size });
    await view.getByRole('searchbox', { name: 'Find by name' }).fill('worker 33');
    const turn = view.getByRole('button', { name: size === 'desk' ? 'Disable: worker 33' : 'Enable: worker 33', exact: true });
    await turn.click();
    if (size === 'desk') await view.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click();
    await turn.waitFor({ state: 'detached' });
    await fitsWidth(view);
    await view.done();
  }
  await page.done();
});
