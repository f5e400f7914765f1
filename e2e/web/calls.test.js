// The list of calls, and one call: why this provider, where the time went, what it cost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, hostile, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const chat = async (content, more = {}) => (await (await weir.call('/v1/chat/completions', { model: 'sim/anywhere', messages: [{ role: 'user', content }], ...more })).json()).id;
const plain = await chat('Hello');
const moved = await chat('[[sim fault=u16 tokens=120 times=1 id=e2e]] Hello', { provider: { order: ['sim', 'sim-anthropic'] } });
await chat('[[sim fault=u15 times=100 id=bad]] Hello');
const record = async (id) => {
  for (let i = 0; i < 400; i++) {
    const answer = await weir.call(`/api/calls/${id}`, undefined, weir.management_key);
    if (answer.status === 200) return (await answer.json()).data;
    await new Promise((done) => setTimeout(done, 250));
  }
  throw new Error(`${id} was not recorded`);
};
const call = await record(moved);
const nano = (text) => { const [whole, part = ''] = text.replace(/[\s\u202f,₽]/g, '').split('.'); return BigInt(whole) * 10n ** 15n + BigInt(part.padEnd(15, '0')); };

test('a call that went on to another provider: picture, table, time, and money that adds up', async () => {
  const page = await open(b, weir, { path: `/calls/${moved}`, signedIn: true });
  assert.ok(call.attempts.length > 1, 'the first provider failed');
  await page.getByText(`200, provider ${call.attempts.length}`).waitFor();
  const says = await page.locator('svg[data-flow]').getAttribute('aria-label');
  assert.match(says, /Attempt 1: .* 503 .*Attempt 2: .*answered/);
  await page.getByRole('radio', { name: 'Table' }).click();
  const rows = page.getByRole('table', { name: 'Why this provider answered' }).locator('tbody tr');
  await becomes(() => rows.count(), new Set([...call.plan.candidates, ...call.attempts].map((c) => c.endpoint)).size);
  const costs = await page.getByRole('table', { name: 'What it cost' }).locator('tr td:last-child').allInnerTexts();
  const settledCost = nano(costs.pop());
  assert.equal(costs.reduce((sum, c) => sum + nano(c), 0n), settledCost);
  assert.equal(settledCost, nano(call.cost));
  assert.equal(nano(call.hold.amount), nano(call.cost) + nano(call.hold.released));
  await page.getByRole('button', { name: 'JSON' }).click();
  await page.getByRole('dialog').getByText(call.request_id).waitFor();
  await page.keyboard.press('Escape');
  await accessible(page);
  await page.done();
});

test('what the cache of the provider saved, and what was lost of it and why, in both languages', async () => {
  const say = async (instructions, messages, more = {}) => (await (await weir.call('/v1/chat/completions', {
    model: 'sim/anywhere', session_id: 'caches', messages: [{ role: 'system', content: instructions.repeat(400) }, ...messages.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content }))], ...more,
  })).json());
  await say('You are an agent of a repository. ', ['Hello']);
  const read = await say('You are an agent of a repository. ', ['Hello', 'Hi', 'Go on']);
  const changed = await say('You are a poet of a repository, now. ', ['Hello', 'Hi', 'Go on', 'Well', 'And then?']);
  assert.ok(read.usage.cache_details.saved > 0 && read.usage.cache_details.lost === undefined, JSON.stringify(read.usage));
  assert.equal(changed.usage.cache_details.lost.because, 'prefix_changed');
  assert.equal(changed.usage.cache_details.lost.message, 1);
  for (const [id, language, heading, says] of [
    [read.id, 'en', 'The provider’s cache', /Saved .* tokens read/],
    [changed.id, 'en', 'The provider’s cache', /Message 1 differs from the call before/],
    [changed.id, 'ru', 'Кэш провайдера', /Сообщение 1 отличается от прошлого вызова/],
  ]) {
    await record(id);
    const page = await open(b, weir, { path: `/calls/${id}`, signedIn: true, language });
    assert.match(await page.getByRole('region', { name: heading }).innerText(), says);
    await fitsWidth(page);
    await accessible(page);
    await page.done();
  }
});

test('a call that nobody answered says so, costs nothing and is not on its way', async () => {
  const [failed] = (await (await weir.call('/api/calls?result=failed&limit=1', undefined, weir.management_key)).json()).data;
  const page = await open(b, weir, { path: `/calls/${failed.id}`, signedIn: true });
  await page.getByRole('heading', { name: 'Why no provider answered' }).waitFor();
  await page.getByText('Nothing was charged.').waitFor();
  const why = page.getByRole('region', { name: 'Why it failed' });
  assert.match(await why.innerText(), /No provider gave a usable answer|no room for this call|did not answer in time/);
  assert.match(await why.innerText(), /ry again/);
  assert.equal(await why.getByRole('link', { name: /^About / }).getAttribute('href'), '/docs/errors');
  assert.equal(await page.getByText('Not settled yet').count(), 0);
  await accessible(page);
  await page.done();
});

test('an unknown call is missing, and one that has just ended is being recorded and then there', async () => {
  const page = await open(b, weir, { path: '/calls/gen-1-nowhere', signedIn: true });
  await page.getByRole('heading', { name: 'There is no such call' }).waitFor();
  await accessible(page);
  let asked = 0;
  await page.route(`**/api/calls/${plain}`, (route) => (asked++ < 2 ? route.fulfill({ status: 404, headers: { 'retry-after': '1' }, json: { error: { code: 404, message: 'Later.', metadata: { error_type: 'not_found', recording: true } } } }) : route.continue()));
  await page.goto(`${weir.url}/calls/${plain}`);
  await page.getByRole('heading', { name: 'Being recorded' }).waitFor();
  await page.getByRole('heading', { name: 'sim/anywhere' }).waitFor();
  assert.equal(asked, 3);
  await page.done();
});

test('phone, Russian, dark: fits, speaks Russian, no findings', async () => {
  for (const size of ['small', 'phone', 'laptop']) {
    const page = await open(b, weir, { path: `/calls/${moved}`, signedIn: true, language: 'ru', theme: 'dark', size });
    await fitsWidth(page);
    assert.deepEqual(await englishWords(page, /^(sim\/|\d · Simulator|Simulator|Weir|JSON|gen-|node|demo|MK|Demo)/), []);
    await accessible(page);
    await page.done();
  }
});

test('names that would be markup are text', async () => {
  const page = await open(b, weir, { signedIn: true });
  const bad = (i) => hostile[i % hostile.length];
  await page.route(`**/api/calls/${moved}`, (route) => route.fulfill({ json: { data: { ...call, model: bad(0), model_asked: bad(1), provider_name: bad(2), key_name: bad(3), user_agent: bad(4), title: bad(5), http_referer: bad(6), error: bad(7), finish_reason: bad(8), notice: bad(9), client_user: bad(10),
    plan: { ...call.plan, candidates: [...call.plan.candidates, ...hostile.map((h) => ({ ...call.plan.candidates[0], endpoint: `${h}/x`, dropped_by: h, detail: h, order: 0 }))] }, usage: { ...call.usage, parts: call.usage.parts.map((p) => ({ ...p, kind: bad(11) })) } } } }));
  await page.goto(`${weir.url}/calls/${moved}`);
  await settled(page);
  await page.getByRole('radio', { name: 'Table' }).click();
  await page.getByRole('heading', { name: bad(0) }).waitFor();
  await page.done();
});

test('the list: filters are in the address and can be taken away, a row opens a drawer, more comes as it is scrolled', async () => {
  await Promise.all(Array.from({ length: 60 }, () => chat('Hello again', { model: 'sim/echo' })));
  await record(await chat('Hello', { model: 'sim/echo' }));
  const page = await open(b, weir, { path: '/calls', signedIn: true });
  const rows = page.getByRole('table', { name: 'Calls', exact: true }).locator('tbody tr');
  await rows.nth(49).waitFor();
  await rows.nth(49).scrollIntoViewIfNeeded(); // near its end the list goes on by itself
  await rows.nth(60).waitFor();
  await accessible(page);
  await page.getByLabel('Result').selectOption('failed');
  await page.waitForURL(/result=failed/);
  await page.getByRole('button', { name: 'Remove filter failed' }).waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll('table tbody tr')].length < 10);
  assert.ok(!(await rows.allInnerTexts()).some((r) => /\b200\b/.test(r)));
  await page.reload();
  await settled(page);
  await page.getByRole('button', { name: 'Remove filter failed' }).click();
  await page.getByPlaceholder('Id of a call').fill(moved);
  await page.keyboard.press('Enter');
  await page.waitForURL(new RegExp(`id=${moved}`));
  await page.waitForFunction(() => document.querySelectorAll('table tbody tr').length === 1);
  await settled(page);
  await page.keyboard.press('Tab');
  await rows.first().press('Enter');
  await page.getByRole('dialog').getByText('Why this provider answered').waitFor();
  await page.waitForURL(/open=/);
  await accessible(page);
  await page.getByRole('dialog').getByRole('link', { name: 'Open the page' }).click();
  await page.getByRole('heading', { name: 'sim/anywhere' }).waitFor();
  assert.equal(new URL(page.url()).pathname, `/calls/${moved}`);
  await page.done();
});

test('the file has the filters of the list', async () => {
  const page = await open(b, weir, { path: '/calls?model=sim/anywhere', signedIn: true });
  const href = await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href');
  const text = await (await page.request.get(weir.url + href)).text();
  const models = text.trim().split('\n').slice(1).map((l) => l.split(',')[3]);
  assert.ok(models.length >= 2 && models.every((m) => m === 'sim/anywhere'), text);
  await page.done();
});

test('the list on phones and in Russian, without calls, and with hostile names', async () => {
  for (const [size, path] of [['small', '/calls'], ['phone', '/calls?model=none'], ['laptop', '/calls?result=ok&kind=completions']]) {
    const page = await open(b, weir, { path, signedIn: true, language: 'ru', size });
    await fitsWidth(page);
    assert.deepEqual(await englishWords(page, /^(sim\/|Simulator|Weir|CSV|demo|Demo)/), []);
    await accessible(page);
    await page.done();
  }
  const page = await open(b, weir, { signedIn: true });
  const list = (await (await weir.call('/api/calls?limit=1', undefined, weir.management_key)).json()).data;
  await page.route('**/api/calls?**', (route) => route.fulfill({ json: { data: hostile.map((h, i) => ({ ...list[0], id: `gen-${i}`, model: h, provider_name: h, kind: h, result: h, status: 500, key: { id: h, hash: null, name: h, deleted: false } })), next: null, searched_to: null } }));
  await page.goto(`${weir.url}/calls?model=${encodeURIComponent(hostile[0])}&result=${encodeURIComponent(hostile[1])}`);
  await settled(page);
  await page.getByRole('cell', { name: hostile[0], exact: true }).first().waitFor();
  await page.done();
});
