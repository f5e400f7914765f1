// The page of people, for those who run the gateway: found by what they know of themselves, helped, and stopped; every window says first what
// will happen.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, hostile, looks, open, program } from './weir.js';

const weir = await demo();
const b = await browser();
const run = async (...args) => (await promisify(execFile)(program, [...args, '--data', weir.data], { env: { PATH: process.env.PATH, HOME: weir.dir } })).stdout;

/** Adds a person with so many rubles and a key, and answers their id and the key. */
async function person(name, rubles, ...limits) {
  const id = /\((usr_\w+)\)/.exec(await run('user', 'add', name))[1];
  if (rubles) await run('topup', id, String(rubles));
  const key = /sk-weir-v1-\w+/.exec(await run('key', 'add', id, '--name', 'laptop', ...limits))[0];
  return { id, key };
}
const works = (key) => weir.call('/v1/key', undefined, key).then((r) => r.status === 200);
const chat = (key) => weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] }, key);

const lidia = await person('Лидия Ким', 1840, '--limit', '500', '--reset', 'monthly');
assert.equal((await chat(lidia.key)).status, 200);
const denis = await person('Denis Gusev', 0);

const table = (page, name) => page.getByRole('table', { name });
const search = (page) => page.getByRole('search').getByRole('textbox');

test('a person is found by a part of the name in any letters, and by the end of a key', async () => {
  const page = await open(b, weir, { path: '/admin/people', signedIn: true });
  await table(page, 'People').getByText('Denis Gusev').waitFor();
  for (const typed of ['лидия', 'КИМ', lidia.id, lidia.key.slice(-3), lidia.key.slice(-4)]) {
    await search(page).fill(typed);
    await table(page, 'People').getByText('Denis Gusev').waitFor({ state: 'detached' });
    await table(page, 'People').getByText('Лидия Ким').waitFor();
    await search(page).fill('');
    await table(page, 'People').getByText('Denis Gusev').waitFor();
  }
  await search(page).fill('ким');
  await page.waitForURL(/\?q=/);
  await table(page, 'People').getByRole('link', { name: 'Лидия Ким' }).click();
  await page.waitForURL(`**/admin/people/${lidia.id}?q=**`);
  await page.getByRole('heading', { name: 'Лидия Ким' }).waitFor();
  await table(page, 'Keys').getByText('laptop').waitFor();
  await table(page, 'Last calls').getByText('sim/chat').waitFor();
  await search(page).fill('nobody is called that');
  await page.getByText('No key, mail or name like this').waitFor();
  await page.done();
});

test('a whole key finds its owner, and is in no address and no log', async () => {
  const page = await open(b, weir, { path: '/admin/people', signedIn: true });
  const addresses = [];
  page.on('request', (r) => addresses.push(r.url()));
  await search(page).fill(denis.key);
  await page.waitForURL(new RegExp(`/admin/people/${denis.id}\\?key=key_`));
  await page.getByRole('status').getByText('The key that you pasted is laptop').waitFor();
  assert.equal(await search(page).inputValue(), '');
  await search(page).fill(`${denis.key.slice(0, -1)}${denis.key.endsWith('a') ? 'b' : 'a'}`);
  await page.getByText('A character is missing or wrong').waitFor();
  assert.deepEqual(addresses.filter((a) => a.includes(denis.key.slice(11, 30))), []);
  assert.ok(!page.url().includes(denis.key.slice(11, 30)));
  assert.ok(!weir.log().includes(denis.key.slice(11, 30)));
  await page.done();
});

test('a key is disabled after a word, and enabled again', async () => {
  const page = await open(b, weir, { path: `/admin/people/${denis.id}`, signedIn: true });
  await page.getByRole('button', { name: 'Disable: laptop' }).click();
  const sure = page.getByRole('alertdialog');
  await sure.getByText('get 401 within 5 s').waitFor();
  await sure.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await works(denis.key), true);
  await page.getByRole('button', { name: 'Disable: laptop' }).click();
  await sure.getByRole('button', { name: 'Disable' }).click();
  await table(page, 'Keys').getByText(/disabled by demo/).waitFor();
  await becomes(() => works(denis.key), false);
  await page.getByRole('button', { name: 'Enable: laptop' }).click();
  await page.getByRole('button', { name: 'Disable: laptop' }).waitFor();
  await becomes(() => works(denis.key), true);
  await page.done();
});

test('who is blocked gets nothing more, and the window says in numbers what stops', async () => {
  const page = await open(b, weir, { path: `/admin/people/${denis.id}`, signedIn: true });
  await page.getByRole('button', { name: 'Block', exact: true }).click();
  const sure = page.getByRole('alertdialog');
  await sure.getByText('1 key stops on all nodes within 5 s. No call is running. The balance stays: 0').waitFor();
  await sure.getByRole('button', { name: 'Block', exact: true }).click();
  await page.getByRole('button', { name: 'Unblock' }).waitFor();
  await becomes(() => works(denis.key), false);
  await page.getByRole('combobox', { name: 'Which people' }).selectOption('blocked');
  await page.waitForURL(/kind=blocked/);
  await table(page, 'People').getByText('Лидия Ким').waitFor({ state: 'detached' });
  await table(page, 'People').getByText('Denis Gusev').waitFor();
  await page.getByRole('button', { name: 'Unblock' }).click();
  await page.getByRole('button', { name: 'Block', exact: true }).waitFor();
  await becomes(() => works(denis.key), true);
  await page.done();
});

test('a balance is adjusted: before, after, and what the person will read', async () => {
  const page = await open(b, weir, { path: `/admin/people/${denis.id}`, signedIn: true });
  await page.getByRole('button', { name: 'Adjust' }).click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Amount').fill('-5');
  await form.getByRole('button', { name: /^Add/ }).click();
  await form.getByText('Write an amount above zero').waitFor();
  await form.getByLabel('Amount').fill('100,50');
  await form.getByLabel('Reason, shown in the statement').fill('Answer cut off');
  await form.getByLabel('Reference').fill('TICKET-1');
  const effect = (await form.getByRole('status').textContent()).replace(/\s/g, ' ');
  assert.match(effect, /from 0 ₽ to 100\.5 ₽.*The person reads: Adjustment, \+100\.5 ₽: Answer cut off/);
  await form.getByRole('button', { name: /^Add 100\.5/ }).click();
  await page.getByRole('term').filter({ hasText: 'Balance' }).locator('xpath=following-sibling::dd').getByText('100.5').waitFor();
  assert.match(await run('ledger', 'statement', denis.id), /100\.5.*Answer cut off/);
  // the same reference with another amount is refused, at the window
  await page.getByRole('button', { name: 'Adjust' }).click();
  await form.getByRole('radio', { name: 'Take' }).click();
  await form.getByLabel('Amount').fill('1');
  await form.getByLabel('Reason, shown in the statement').fill('x');
  await form.getByLabel('Reference').fill('TICKET-1');
  await form.getByRole('button', { name: /^Take 1/ }).click();
  await form.locator('[aria-invalid=true]').waitFor();
  await page.done();
});

test('a call is given back from its row', async () => {
  const page = await open(b, weir, { path: `/admin/people/${lidia.id}`, signedIn: true });
  await table(page, 'Last calls').getByRole('button', { name: 'Refund' }).click();
  const form = page.getByRole('dialog');
  assert.match(await form.getByLabel('Id of the call').inputValue(), /^gen-/);
  await form.getByLabel('Reason, shown in the statement').fill('It was empty');
  await form.getByLabel('Reference').fill('TICKET-2');
  await form.getByRole('button', { name: 'Refund', exact: true }).click();
  await form.waitFor({ state: 'detached' });
  await page.getByRole('term').filter({ hasText: 'Balance' }).locator('xpath=following-sibling::dd').getByText(/1.840/).waitFor();
  await page.done();
});

test('an operator helps, and neither moves money nor touches an administrator', async () => {
  const boss = await open(b, weir, { path: '/admin/people', signedIn: true });
  await boss.getByRole('button', { name: 'Invite' }).click();
  await boss.getByRole('dialog').getByLabel('May do as').selectOption('operator');
  await boss.getByRole('dialog').getByRole('button', { name: 'Make the link' }).click();
  const link = await boss.getByLabel('Hand this over, if no mail arrives').inputValue();
  await boss.done();
  const page = await open(b, weir, { path: '/models' });
  const made = await page.request.post(`${weir.url}/api/auth/sign-up`, { headers: { origin: weir.url, 'x-weir': '1' }, data: { email: 'olga@example.org', name: 'Olga', password: 'correct horse battery', invitation: link.split('#')[1] } });
  assert.equal(made.status(), 200, await made.text());
  await page.goto(`${weir.url}/admin/people/${denis.id}`);
  await page.getByRole('button', { name: 'Disable: laptop' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Adjust' }).count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Role' }).count(), 0);
  await page.getByRole('button', { name: 'Reset password' }).click();
  await page.getByRole('dialog').getByText('an administrator makes the link').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'End all sessions and keys' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'End sessions and keys' }).click();
  await page.getByRole('button', { name: 'Enable: laptop' }).waitFor();
  await becomes(() => works(denis.key), false);
  await page.getByRole('button', { name: 'Enable: laptop' }).click();
  await page.getByRole('button', { name: 'Disable: laptop' }).waitFor();
  await page.getByRole('combobox', { name: 'Which people' }).selectOption('administrator');
  await table(page, 'People').getByRole('link', { name: 'demo' }).click();
  await page.getByRole('heading', { name: 'demo' }).waitFor();
  assert.equal(await page.getByRole('button', { name: /^(Block|Disable|Reset)/ }).count(), 0);
  await page.done();
});

test('names are shown as text', async () => {
  const { id } = await person(hostile[0].slice(0, 100), 1);
  const page = await open(b, weir, { path: `/admin/people/${id}`, signedIn: true });
  await page.getByRole('heading', { name: hostile[0].slice(0, 20) }).waitFor();
  await page.done();
});

for (const { theme, language } of looks) {
  test(`axe finds nothing, it fits 360 px and speaks one language, ${theme}, ${language}`, async () => {
    const page = await open(b, weir, { path: `/admin/people/${lidia.id}`, signedIn: true, theme, language });
    await page.getByRole('table').nth(2).waitFor();
    await accessible(page);
    await page.getByRole('button', { name: language === 'ru' ? 'Корректировка' : 'Adjust' }).click();
    await page.getByRole('dialog').waitFor();
    await accessible(page, 'the window of an adjustment');
    if (language === 'ru') assert.deepEqual(await englishWords(page, /^(Weir|UTC|demo|sim|laptop|Denis|Gusev|Olga|olga|usr|gen|sk|weir|v1|key|chat|web|first|management|mgmt|img|src|onerror|script|alert)/i), []);
    await page.done();
    const small = await open(b, weir, { path: `/admin/people/${lidia.id}`, signedIn: true, theme, language, size: 'small' });
    await small.getByRole('heading', { name: 'Лидия Ким' }).waitFor();
    await fitsWidth(small);
    await small.goto(`${weir.url}/admin/people`);
    await small.getByText('Denis Gusev').waitFor();
    await fitsWidth(small);
    await small.done();
  });
}

test('an administrator sees as a person: whose page it is on each of them, nothing changes, and the way out', async () => {
  const page = await open(b, weir, { path: `/admin/people/${lidia.id}`, signedIn: true });
  const other = await page.context().newPage();
  await other.goto(`${weir.url}/admin/people`);
  await table(other, 'People').getByText('Лидия Ким').waitFor();
  const asked = [];
  other.on('request', (r) => { if (r.url().endsWith('/api/me')) asked.push(r.url()); });
  await page.getByRole('button', { name: 'See as this person' }).click();
  const banner = page.getByRole('region', { name: 'Seen by an operator' });
  await banner.getByText('You see what Лидия Ким sees.').waitFor();
  for (const path of ['/keys', '/money', '/activity', '/calls', '/settings/profile', '/models', '/playground']) {
    await page.goto(weir.url + path);
    await banner.getByText('You see what Лидия Ким sees.').waitFor();
    await fitsWidth(page);
  }
  // Another tab of the same browser is not left with its owner's name over her figures: its stream of events ends, and it asks who it is.
  await other.getByRole('region', { name: 'Seen by an operator' }).waitFor();
  await other.getByRole('heading', { name: 'There is no such page' }).waitFor();
  await page.goto(`${weir.url}/keys`);
  await table(page, 'Keys').getByText('laptop').waitFor();
  await accessible(page);
  const refused = page.waitForResponse((r) => r.url().endsWith('/api/keys') && r.request().method() === 'POST');
  await page.getByRole('button', { name: 'Make a key' }).click();
  const form = page.getByRole('form', { name: 'Make a key' });
  await form.getByLabel('Name').fill('stolen');
  await form.getByRole('button', { name: 'Make a key' }).click();
  assert.equal((await refused).status(), 403);
  await page.getByText('Nothing can be changed or spent meanwhile').first().waitFor();
  await banner.getByRole('button', { name: 'End' }).click();
  await page.waitForURL(`**/admin/people/${lidia.id}`);
  await page.getByRole('heading', { name: 'Лидия Ким' }).waitFor();
  assert.equal(await banner.count(), 0);
  await table(other, 'People').getByText('Лидия Ким').waitFor(); // and gets its own page back
  assert.ok(asked.length <= 10, `the other tab asked ${asked.length} times who it is`);
  await page.goto(`${weir.url}/admin/audit?days=1`);
  await page.getByText('Began to see as a person').first().waitFor();
  await page.getByText('Stopped seeing as a person').first().waitFor();
  await other.close();
  await page.done();
});

test('a key whose limit is used up goes on when its spending is reset, and what was spent stays', async () => {
  const boris = await person('Boris Orlov', 100, '--limit', '0.000001');
  assert.notEqual((await chat(boris.key)).status, 200);
  const page = await open(b, weir, { path: `/admin/people/${boris.id}`, signedIn: true });
  await page.getByRole('button', { name: 'Change or reset laptop' }).click();
  await page.getByRole('menuitem', { name: 'Change limit, expiry, name' }).click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Limit', { exact: true }).fill('20');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.waitFor({ state: 'detached' });
  await becomes(() => chat(boris.key).then((r) => r.status === 200), true);
  await page.reload();
  await page.getByRole('button', { name: 'Change or reset laptop' }).click();
  await page.getByRole('menuitem', { name: 'Reset spending' }).click();
  const sure = page.getByRole('alertdialog');
  await sure.getByText('of 20').waitFor();
  await sure.getByLabel('Reason, for the audit log').fill('ticket 4711');
  await sure.getByRole('button', { name: 'Reset spending' }).click();
  await sure.waitFor({ state: 'detached' });
  await table(page, 'Keys').getByText(/^0.* of 20/).waitFor();
  assert.match(await run('audit', 'list'), /key\.reset_spending/);
  await page.done();
});

test('a person is given 100 rubles, and their key is found by its text and disabled', async () => {
  const vera = await person('Vera Sizova', 0);
  const page = await open(b, weir, { path: '/admin/people', signedIn: true });
  await search(page).fill(vera.key);
  await page.waitForURL(new RegExp(`/admin/people/${vera.id}\\?key=key_`));
  await page.getByRole('button', { name: 'Adjust' }).click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Amount').fill('100');
  await form.getByLabel('Reason, shown in the statement').fill('Welcome');
  await form.getByLabel('Reference').fill('TICKET-100');
  await form.getByRole('button', { name: /^Add 100/ }).click();
  await page.getByRole('term').filter({ hasText: 'Balance' }).locator('xpath=following-sibling::dd').getByText('100').waitFor();
  assert.equal((await chat(vera.key)).status, 200);
  await page.getByRole('button', { name: 'Disable: laptop' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click();
  await becomes(() => works(vera.key), false);
  await page.done();
});
