// Whose clock it is: moments are those of the browser's time zone, with UTC in their title; days are those that the API cuts, in every zone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, browser, demo, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const called = await weir.call('/v1/chat/completions', { model: 'sim/anywhere', messages: [{ role: 'user', content: 'Hello' }] });
const call = called.headers.get('x-generation-id');
const read = async (path) => (await fetch(weir.url + path, { headers: { authorization: `Bearer ${weir.management_key}` } }));
await becomes(async () => (await read(`/api/calls/${call}`)).status, 200);
const at = new Date((await (await read(`/api/calls/${call}`)).json()).data.created_at);

/** What a clock there shows, as the language itself says it. */
function clock(zone, when) {
  const part = Object.fromEntries(new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' }).formatToParts(when).map((p) => [p.type, p.value]));
  return { time: `${part.hour}:${part.minute}:${part.second}`, day: `${part.day} ${part.month.replace('Sept', 'Sep')}`, year: part.year };
}
const zones = [['Asia/Kolkata', 'UTC+5:30'], ['America/New_York', /UTC−[45]/], ['Europe/Moscow', 'UTC+3']];

for (const [zone, name] of zones)
  test(`moments are those of ${zone}, and their titles are UTC`, async () => {
    const page = await open(b, weir, { path: '/calls', signedIn: true, zone });
    const note = await page.getByText(/Times are in your zone \(.+\)/).innerText();
    assert.match(note, typeof name === 'string' ? new RegExp(`\\(${name.replace('+', '\\+')}\\)`) : name);
    const there = clock(zone, at), utc = clock('UTC', at);
    const cell = page.locator(`tr[data-key="${call}"] time`).first();
    assert.equal(await cell.innerText(), `${there.day}, ${there.time}`);
    assert.equal(await cell.getAttribute('title'), `${utc.day} ${utc.year}, ${utc.time} UTC`);
    assert.equal(Date.parse(await cell.getAttribute('datetime')), at.getTime());
    await page.goto(`${weir.url}/calls/${call}`);
    await page.getByText(`${there.day} ${there.year}, ${there.time}`).first().waitFor();
    // Every moment of the page has the title, and no page says that its times are UTC.
    for (const path of ['/keys', '/jobs', '/admin/audit', '/admin/calls', '/admin/people', '/settings/security']) {
      await page.goto(weir.url + path);
      await settled(page);
      assert.deepEqual(await page.locator('time').evaluateAll((all) => all.map((e) => e.title).filter((title) => !/^\d+ \w{3} \d{4}, \d\d:\d\d:\d\d UTC$/.test(title))), [], path);
      assert.doesNotMatch(await page.getByRole('main').innerText(), /Times are UTC|Time, UTC/, path);
    }
    await page.done();
  });

for (const [zone] of zones)
  test(`days are those of the account, not of ${zone}`, async () => {
    const page = await open(b, weir, { path: '/activity', signedIn: true, zone });
    await page.getByText('Days by the account’s time zone').waitFor();
    const { data } = await (await page.request.get(`${weir.url}/api/usage?days=30`)).json();
    assert.equal(data.bucket, 'day');
    await page.getByRole('button', { name: 'Show as table' }).click();
    const chart = page.getByRole('main').locator('figure table').first();
    const shown = await chart.locator('tbody th').allInnerTexts();
    const dates = data.t.map((t) => { const day = clock('UTC', new Date(t)); return day.day; }).reverse();
    assert.deepEqual(shown, dates.slice(0, shown.length));
    assert.equal(await chart.locator('thead th').first().innerText(), 'Date');
    // Hours are moments again.
    const today = data.t.at(-1).slice(0, 10);
    await page.goto(`${weir.url}/activity?from=${today}&to=${today}`);
    await page.getByText(/Times are in your zone/).waitFor();
    await page.getByRole('button', { name: 'Show as table' }).click();
    const first = page.getByRole('main').locator('figure table tbody time').last();
    const begun = new Date(await first.getAttribute('datetime'));
    assert.equal(begun.getUTCMinutes(), 0, 'an hour of the ledger is one of UTC');
    const there = clock(zone, begun);
    assert.equal(await first.innerText(), `${there.day}, ${there.time.slice(0, 5)}`);
    await page.done();
  });

test('a key works to the end of the day that its form names, by the clock of the browser', async () => {
  for (const [zone] of zones) {
    const page = await open(b, weir, { path: '/keys', signedIn: true, zone });
    await page.getByRole('heading', { level: 1 }).focus();
    await page.keyboard.press('n');
    await page.getByLabel('Name', { exact: true }).fill(`until ${zone}`);
    await page.getByLabel('Expires').selectOption('day');
    await page.getByText(/In your time zone \(UTC/).waitFor();
    await page.locator('input[type=date]').fill('2030-07-01');
    await page.getByRole('form').getByRole('button', { name: 'Make a key' }).click();
    await page.getByRole('textbox', { name: 'Text of the key' }).waitFor();
    await page.getByRole('button', { name: 'I have saved it' }).click();
    const key = (await (await read('/api/keys')).json()).data.find((k) => k.name === `until ${zone}`);
    const end = clock(zone, new Date(key.expires_at));
    assert.deepEqual([end.day, end.year, end.time], ['1 Jul', '2030', '23:59:59'], zone);
    await page.goto(`${weir.url}/keys/${key.hash}`);
    await page.getByText('1 Jul 2030').first().waitFor();
    await page.done();
  }
});

test('the same in Russian', async () => {
  const page = await open(b, weir, { path: '/calls', signedIn: true, zone: 'Asia/Kolkata', language: 'ru' });
  await page.getByText('Время по вашему часовому поясу (UTC+5:30)').waitFor();
  const there = clock('Asia/Kolkata', at);
  const cell = page.locator(`tr[data-key="${call}"] time`).first();
  assert.match(await cell.innerText(), new RegExp(`^${there.day.split(' ')[0]} [а-я]{3}, ${there.time}$`));
  await page.goto(`${weir.url}/activity`);
  await page.getByText('Дни по часовому поясу аккаунта').waitFor();
  await page.done();
});
