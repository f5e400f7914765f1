// What Weir has noticed: the bell with what is unread, the page with its filters, and both while they are open.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, looks, open, settled, sizes } from './weir.js';

const weir = await demo({ env: { WEIR_NOTIFICATIONS_CHECK_EVERY: '10s' } });
const b = await browser();
const manage = async (path, method, body) => {
  const answer = await fetch(`${weir.url}${path}`, { method, headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, ...(body ? { body: JSON.stringify(body) } : {}) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
};
const day = (days) => new Date(Date.now() + days * 86_400_000).toISOString();
const listed = async () => (await manage('/api/notices', 'GET')).data.map((n) => n.kind).sort();

test('nothing yet', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/notices' });
  await page.getByText('No notices').first().waitFor();
  assert.equal(await page.getByRole('button', { name: 'Mark all as read' }).count(), 0);
  await page.getByRole('button', { name: 'Notices', exact: true }).click();
  await page.getByRole('dialog', { name: 'Notices' }).getByText('No notices').waitFor();
  await accessible(page, 'empty');
  await page.done();
});

test('what is noticed comes to pages that are open: as a number, in the list of the bell, and on the page', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/overview' });
  const other = await open(b, weir, { signedIn: true, path: '/notices' });
  const bell = page.getByRole('button', { name: /^Notices/ });
  assert.equal(await bell.getAttribute('aria-label'), 'Notices');
  const { data: key } = await manage('/api/keys', 'POST', { name: 'ci', expires_at: day(2) });
  await page.getByRole('button', { name: 'Notices, 1 unread' }).waitFor();
  await other.getByText('Key “ci” expires on').waitFor();
  // With the keyboard: the newest, the way to its remedy, and back to the button.
  await bell.focus();
  await page.keyboard.press('Enter');
  const list = page.getByRole('dialog', { name: 'Notices' });
  await list.getByText('Key “ci” expires on').waitFor();
  await accessible(page, 'the bell, open');
  await page.keyboard.press('Escape');
  await list.waitFor({ state: 'detached' });
  assert.ok(await bell.evaluate((e) => e === document.activeElement));
  await bell.click();
  await list.getByRole('link', { name: 'Open keys' }).click();
  await page.waitForURL(`${weir.url}/keys/${key.hash}`);
  await list.waitFor({ state: 'detached' });

  // Money that ends, and a budget of a tag.
  await manage('/api/budgets', 'POST', { scope: { kind: 'tag', id: 'project=atlas' }, period: 'month', amount: '0.000001', hard: false, alarms: [50], name: 'atlas' });
  const called = await fetch(`${weir.api}/chat/completions`, { method: 'POST', headers: { authorization: `Bearer ${weir.api_key}`, 'content-type': 'application/json', 'x-weir-tags': 'project=atlas' }, body: JSON.stringify({ model: 'sim/chat', messages: [{ role: 'user', content: 'Hi' }] }) });
  assert.equal(called.status, 200, await called.text());
  await manage('/api/notifications', 'PUT', { threshold: '900000000' });
  await page.getByRole('button', { name: 'Notices, 3 unread' }).waitFor();
  assert.deepEqual(await listed(), ['budget_alarm', 'key_expiring', 'money_low']);

  // Filters, in the address.
  await other.getByLabel('Cause').selectOption('Low balance');
  await other.getByRole('listitem').filter({ hasText: 'ci' }).waitFor({ state: 'detached' });
  assert.equal(new URL(other.url()).search, '?cause=low_balance');
  await other.getByLabel('Cause').selectOption('Any cause');
  await other.getByLabel('Tag').selectOption('project=atlas');
  await other.getByText('Budget “atlas” has used').waitFor();
  await becomes(() => other.locator('li[data-kind]').count(), 1);
  await other.getByLabel('Tag').selectOption('Any tag');
  await becomes(() => other.locator('li[data-kind]').count(), 3);

  // The overview says the same.
  const overview = await open(b, weir, { signedIn: true, path: '/overview' });
  const said = await other.locator('li[data-kind=money_low] p').first().innerText();
  await overview.getByText(said, { exact: true }).waitFor();
  await overview.done();

  // Read here is read there, and what is over says so.
  await other.getByRole('button', { name: 'Mark all as read' }).click();
  await page.getByRole('button', { name: 'Notices', exact: true }).waitFor();
  await other.getByRole('button', { name: 'Mark all as read' }).waitFor({ state: 'detached' });
  await manage('/api/notifications', 'PUT', { threshold: '0' });
  await other.locator('li[data-kind=money_low]').getByText('Over since').waitFor();
  await page.done();
  await other.done();
});

for (const look of looks)
  test(`page and bell, ${look.theme}, ${look.language}, on each size`, async () => {
    for (const size of Object.keys(sizes)) {
      const page = await open(b, weir, { ...look, size, signedIn: true, path: '/notices' });
      await page.locator('li[data-kind]').first().waitFor();
      await fitsWidth(page, size);
      await accessible(page, size, { coloursOnly: look.theme === 'dark' });
      if (look.language === 'ru') assert.deepEqual(await englishWords(page), []);
      if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/notices-${look.theme}-${size}.png` });
      await page.getByRole('button', { name: look.language === 'ru' ? /^Уведомления/ : /^Notices/ }).click();
      await page.getByRole('dialog').locator('li[data-kind]').first().waitFor();
      await settled(page);
      await fitsWidth(page, `${size}, bell`);
      await accessible(page, `${size}, bell`, { coloursOnly: look.theme === 'dark' });
      if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/bell-${look.theme}-${size}.png` });
      await page.done();
    }
  });
