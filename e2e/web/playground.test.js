// The playground: one to four models answer side by side.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { accessible, becomes, browser, choose, demo, englishWords, fitsWidth, hostile, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const ask = async (page, text) => { const field = page.locator('[data-composer] textarea'); await field.fill(text); await field.press('Enter'); };
const column = (page, name) => page.getByRole('region', { name, exact: true });

test('two models answer side by side, keep their history over a reload, and their cost is settled', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo,sim/reason', signedIn: true });
  await ask(page, 'Hello **there**');
  await column(page, 'Sim Echo').getByText('settled').waitFor();
  await column(page, 'Sim Reason').getByText('settled').waitFor();
  assert.equal(await column(page, 'Sim Echo').locator('strong').innerText(), 'there');
  const thought = column(page, 'Sim Reason').getByRole('button', { name: /^Thought for/ });
  assert.equal(await thought.getAttribute('aria-expanded'), 'false');
  await ask(page, 'And again');
  await page.getByText('4 calls settled').waitFor();
  await accessible(page);
  await page.reload();
  await settled(page);
  await becomes(() => column(page, 'Sim Echo').getByText('And again').count(), 2);
  await column(page, 'Sim Echo').getByRole('button', { name: 'Run again' }).click();
  await page.getByText('5 calls settled').waitFor();
  await choose(page, 'Model 1', 'sim/chat');
  await becomes(() => column(page, 'Sim Chat').getByText('And again').count(), 2);
  await page.getByText('5 calls settled').waitFor();
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.getByText('No messages yet').first().waitFor();
  await page.done();
});

test('Esc stops an answer, what was given is kept and charged', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/chat', signedIn: true });
  await ask(page, '[[sim tokens=20000 gap=200ms]] What is a weir?');
  await page.getByText('estimate', { exact: true }).waitFor();
  await page.getByRole('log').getByText('You wrote').waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('Stopped by you.').waitFor();
  await page.getByText('settled', { exact: true }).waitFor();
  await page.done();
});

test('who leaves the page ends the call, and finds what was given', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/chat', signedIn: true });
  const answered = page.waitForResponse((r) => r.url().endsWith('/chat/completions'));
  await ask(page, '[[sim tokens=20000 gap=200ms]] Tell me everything');
  const id = (await answered).headers()['x-generation-id'];
  await page.getByRole('log').getByText('You wrote').waitFor();
  await page.getByRole('link', { name: 'Models', exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
  await becomes(async () => {
    const answer = await page.request.get(`${weir.url}/v1/generation?id=${id}`, { headers: { authorization: `Bearer ${weir.api_key}` } });
    return answer.ok() && (await answer.json()).data.cancelled;
  }, true);
  await page.goBack();
  await page.getByText('Stopped by you.').waitFor();
  await page.getByText('settled', { exact: true }).waitFor();
  await page.done();
});

test('an error before content and one after it', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/chat', signedIn: true });
  await ask(page, '[[sim fault=u15 status=502]] Hi');
  await page.getByText('The answer failed').waitFor();
  await page.getByText('not charged').waitFor();
  await page.getByRole('button', { name: 'New chat' }).click();
  await ask(page, '[[sim fault=u6 after=5]] Hello there');
  await page.getByText('The answer broke off here').waitFor();
  assert.match(await page.getByRole('log').innerText(), /You wrote/);
  await page.getByText('settled', { exact: true }).waitFor();
  await page.done();
});

test('settings go out only when they are set; the code runs', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo', signedIn: true });
  const sent = [];
  page.on('request', (r) => { if (r.url().endsWith('/chat/completions')) sent.push(r.postDataJSON()); });
  await ask(page, 'One');
  await page.getByText('settled', { exact: true }).waitFor();
  assert.deepEqual(sent[0], { model: 'sim/echo', messages: [{ role: 'user', content: 'One' }], stream: true });
  await page.getByLabel('Temperature').fill('3');
  await page.getByText('A number from 0 to 2.').waitFor();
  await page.getByLabel('Temperature').fill('0.5');
  await page.getByLabel('Instructions').fill('Be brief');
  await ask(page, "It's two");
  await page.getByText('2 calls settled').waitFor();
  assert.equal(sent[1].temperature, 0.5);
  assert.deepEqual(sent[1].messages[0], { role: 'system', content: 'Be brief' });
  await page.getByRole('button', { name: 'Show as code' }).click();
  const curl = await page.getByRole('tabpanel').locator('code').innerText();
  const run = spawnSync('bash', ['-c', curl.replace('curl ', 'curl -sS ')], { env: { PATH: process.env.PATH, WEIR_API_KEY: weir.api_key }, encoding: 'utf8' });
  assert.equal(JSON.parse(run.stdout).choices[0].message.content, "It's two", run.stdout + run.stderr);
  await accessible(page);
  await page.done();
});

test('what a model says is text', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo', signedIn: true });
  await ask(page, `${hostile.join('\n\n')}\n\n![x](https://evil.example/x.png) [x](javascript:alert(1))`);
  await page.getByText('settled', { exact: true }).waitFor();
  assert.equal(await page.locator('main :is(img, iframe, script, base, a[href^="javascript"])').count(), 0);
  await page.done();
});

test('visitors are asked to sign in', async () => {
  const page = await open(b, weir, { path: '/playground' });
  await page.getByText('Sign in to ask models').waitFor();
  await accessible(page);
  await page.done();
});

for (const size of ['desk', 'small']) {
  test(`Russian, dark, ${size}`, async () => {
    const page = await open(b, weir, { path: '/playground?models=sim/reason,sim/echo', signedIn: true, language: 'ru', theme: 'dark', size });
    await ask(page, 'Что такое плотина?');
    await page.getByText('списано', { exact: true }).first().waitFor();
    await fitsWidth(page);
    await accessible(page);
    assert.deepEqual(await englishWords(page, /^(Sim|Simulator|Weir)/), []);
    await page.done();
  });
}

const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==', 'base64');
const pdf = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n4 0 obj<</Length 33>>stream\nBT /F 9 Tf 9 50 Td (Hello) Tj ET\nendstream endobj\ntrailer<</Root 1 0 R>>\n');
/** A tone of a tenth of a second. */
export function wav(hz = 8000, length = 800) {
  const b = Buffer.alloc(44 + length * 2);
  b.write('RIFF'); b.writeUInt32LE(36 + length * 2, 4); b.write('WAVEfmt ', 8); b.writeUInt32LE(16, 16); b.writeUInt16LE(1, 20); b.writeUInt16LE(1, 22);
  b.writeUInt32LE(hz, 24); b.writeUInt32LE(hz * 2, 28); b.writeUInt16LE(2, 32); b.writeUInt16LE(16, 34); b.write('data', 36); b.writeUInt32LE(length * 2, 40);
  for (let i = 0; i < length; i++) b.writeInt16LE(Math.round(8000 * Math.sin(i / 3)), 44 + i * 2);
  return b;
}

test('files go with a message, and a model that cannot take one says so before it is sent', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/vision', signedIn: true });
  const attach = (files) => page.locator('input[data-attach]').setInputFiles(files);
  await attach([{ name: 'chart.png', mimeType: 'image/png', buffer: png }, { name: 'sales.pdf', mimeType: 'application/pdf', buffer: pdf }, { name: 'notes.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2') }, { name: 'tone.wav', mimeType: 'audio/wav', buffer: wav() }]);
  await page.getByRole('list', { name: 'Files' }).getByText('1 page · 350 B').or(page.getByText('1 page')).first().waitFor();
  await ask(page, 'What is there?');
  await page.getByText('settled', { exact: true }).waitFor();
  const said = await page.getByRole('log').innerText();
  for (const part of ['image', 'sales.pdf', 'notes.csv', 'audio']) assert.ok(said.includes(part), `${part}: ${said}`);
  await attach([{ name: 'x.exe', mimeType: 'application/x-msdownload', buffer: Buffer.from('MZ') }]);
  await page.getByText('x.exe is not an image, a PDF, a text or a recording.').waitFor();
  await attach([{ name: 'broken.png', mimeType: 'image/png', buffer: Buffer.from('no picture') }]);
  await page.getByText('broken.png cannot be read.').waitFor();
  // A picture out of the clipboard.
  await page.evaluate((data) => {
    const list = new DataTransfer();
    list.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], 'pasted.png', { type: 'image/png' }));
    document.querySelector('[data-composer] textarea').dispatchEvent(new ClipboardEvent('paste', { clipboardData: list, bubbles: true, cancelable: true }));
  }, png.toString('base64'));
  await page.getByText('pasted.png').waitFor();
  await page.getByRole('combobox', { name: 'Model' }).click();
  await page.locator('[role=option]', { hasText: /Sim Chat \(gigachat\).*no images/ }).waitFor();
  await page.keyboard.press('Escape');
  await choose(page, 'Model', 'sim/chat-gigachat');
  await page.getByText('Sim Chat (gigachat) takes no images').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Send' }).isDisabled());
  await page.getByRole('button', { name: 'Remove pasted.png' }).click();
  await page.getByRole('region', { name: 'Sim Chat (gigachat)' }).waitFor();
  await ask(page, 'Now without');
  await page.getByText('2 calls settled').or(page.getByText('The answer failed')).first().waitFor();
  await page.done();
});

test('a large picture is made smaller when the person wants it', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/vision', signedIn: true });
  const data = await page.evaluate(() => { const c = document.createElement('canvas'); c.width = 3000; c.height = 1500; c.getContext('2d').fillRect(0, 0, 900, 900); return c.toDataURL('image/png').split(',')[1]; });
  await page.locator('input[data-attach]').setInputFiles([{ name: 'big.png', mimeType: 'image/png', buffer: Buffer.from(data, 'base64') }]);
  await page.getByText(/3.000 × 1.500/).waitFor();
  await page.getByRole('button', { name: 'Make smaller' }).click();
  await page.getByText(/1.568 × 784/).waitFor();
  await page.done();
});

test('a tool is called, answered by the person, and the answer goes on', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/tools', signedIn: true });
  await page.getByText('Tools', { exact: true }).click();
  await page.getByLabel('Tools as JSON').fill('[{"name": "a b"}]');
  await page.getByText('Each tool needs a name').waitFor();
  await page.locator('[data-composer] textarea').fill('Hi');
  await page.getByText('A setting is not valid').waitFor();
  await page.getByLabel('Tools as JSON').fill('');
  await page.getByRole('button', { name: 'get_weather' }).click();
  await ask(page, 'What is the weather in Samara?');
  await page.getByLabel('Result of get_weather').waitFor();
  await page.getByRole('button', { name: 'get_weather city' }).click();
  await page.getByRole('log').getByText('"city"').waitFor();
  await page.getByRole('button', { name: 'Sample result' }).click();
  assert.match(await page.getByLabel('Result of get_weather').inputValue(), /celsius/);
  await page.getByLabel('Result of get_weather').fill('{"temperature": -40}');
  await accessible(page);
  await page.getByRole('button', { name: 'Send the results' }).click();
  await page.getByText('2 calls settled').waitFor();
  assert.match(await page.getByRole('log').innerText(), /-40/);
  // Arguments that are no JSON are shown as they are, with what is wrong.
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.getByText('No messages yet').waitFor();
  await page.getByText('Tools', { exact: true }).click();
  await page.getByRole('button', { name: 'get_weather' }).click();
  await ask(page, `Once more [[sim call=get_weather,${Buffer.from('{"city": "Sam').toString('base64url')}]]`);
  await page.getByText('not valid JSON').waitFor();
  await page.getByText('{"city": "Sam', { exact: true }).waitFor();
  await page.done();
});

test('a message is edited into a new chat; another model is asked the same; an answer that broke off goes on', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo', signedIn: true });
  await ask(page, 'First');
  await page.getByText('1 call settled').waitFor();
  await ask(page, 'Second');
  await page.getByText('2 calls settled').waitFor();
  const address = page.url();
  await page.getByRole('button', { name: 'Edit the message' }).last().click();
  await page.getByRole('textbox', { name: 'Edit the message' }).fill('Second, edited');
  await page.getByRole('button', { name: 'Send in a new chat' }).click();
  await page.getByText('1 call settled').waitFor();
  assert.notEqual(page.url(), address);
  const log = page.getByRole('log');
  await becomes(() => log.getByText('Second, edited').count(), 2);
  await becomes(() => log.getByText('First', { exact: true }).count(), 2);
  await page.getByRole('button', { name: 'Run with another model' }).last().click();
  await choose(page, 'Model', 'sim/chat', page.getByRole('dialog'));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 'Sim Chat').getByText('settled').waitFor();
  assert.match(await column(page, 'Sim Chat').getByRole('log').innerText(), /You wrote "Second, edited"/);
  await page.getByRole('button', { name: 'Chats' }).click();
  await page.getByRole('dialog').getByRole('link', { name: 'First' }).last().click();
  await page.waitForURL((u) => u.href.startsWith(address.split('?')[0]));
  await log.getByText('Second', { exact: true }).first().waitFor();
  await ask(page, '[[sim fault=u6 after=5]] Hello there');
  await page.getByText('The answer broke off here').or(page.getByText('Hello there')).first().waitFor();
  await page.done();
});

test('an answer that broke off is continued', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/chat', signedIn: true });
  await ask(page, '[[sim fault=u6 after=5 times=1 id=goes-on]] Hello there');
  await page.getByText('The answer broke off here').waitFor();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('2 calls settled').waitFor();
  assert.match(await page.getByRole('log').innerText(), /You wrote "Continue exactly where you stopped\."/);
  await page.done();
});

test('raw frames, the route, a link without text, chats that can be deleted', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/anywhere&t=0.3&notrain=1', signedIn: true });
  assert.equal(await page.getByLabel('Temperature').inputValue(), '0.3');
  await ask(page, 'Hello');
  await page.getByText('settled', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Raw frames' }).click();
  await page.getByRole('dialog').getByText('[DONE]').waitFor();
  await accessible(page);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Explain the route' }).click();
  await page.getByRole('dialog').getByText('Candidates now').waitFor();
  await accessible(page);
  await page.keyboard.press('Escape');
  await page.getByLabel('Instructions').fill('A secret');
  await page.getByRole('button', { name: 'Share' }).click();
  const link = await page.getByRole('dialog').getByRole('textbox', { name: 'Link' }).inputValue();
  assert.equal(link, `${weir.url}/playground?models=sim/anywhere&t=0.3&notrain=1`);
  await page.getByText('With the instructions').click();
  await becomes(async () => (await page.getByRole('dialog').getByRole('textbox', { name: 'Link' }).inputValue()).includes('system=A+secret'), true);
  await page.keyboard.press('Escape');
  const address = page.url();
  await page.getByRole('button', { name: 'Chats' }).click();
  await page.getByRole('button', { name: 'Delete Hello' }).click();
  await page.waitForURL((u) => u.href !== address);
  await page.getByRole('button', { name: 'Chats' }).click();
  await page.getByText('No chat is kept yet').waitFor();
  await page.goto(address);
  await page.getByText('No messages yet').waitFor();
  await page.done();
});

test('chats that the account keeps are there in another browser, and nothing is kept before somebody wants it', async () => {
  const keeps = async (chats) => assert.equal((await fetch(`${weir.url}/api/account/data`, { method: 'PUT', headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, body: JSON.stringify({ chats }) })).status, 200);
  const stored = async () => (await (await fetch(`${weir.url}/api/chats`, { headers: { authorization: `Bearer ${weir.management_key}` } })).json()).data;
  const page = await open(b, weir, { path: '/playground?models=sim/echo', signedIn: true });
  await ask(page, 'Only in this browser');
  await page.getByText('1 call settled').waitFor();
  assert.deepEqual(await stored(), []);
  await page.getByText('Chats stay in this browser.').waitFor();
  await page.getByRole('complementary').getByRole('link', { name: 'Change' }).click();
  await page.getByRole('checkbox', { name: 'Keep chats with the account' }).click({ force: true });
  await page.getByText('Chats are kept with the account from now on.').waitFor();
  await becomes(async () => (await (await page.request.get(`${weir.url}/api/me`)).json()).user.keeps_chats, true);
  await page.evaluate(() => window.dispatchEvent(new Event('pagehide'))); // saves the chats that are open
  await settled(page);
  assert.deepEqual(await stored(), [], 'a chat from before');
  await page.goto(`${weir.url}/playground?models=sim/echo`);
  await page.getByText('Chats are kept in this browser and with your account').waitFor();
  await page.locator('input[data-attach]').setInputFiles([{ name: 'notes.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2') }]);
  await page.getByRole('list', { name: 'Files' }).getByText('notes.csv').waitFor();
  await ask(page, 'In every browser');
  await page.getByText('1 call settled').waitFor();
  await becomes(async () => (await stored()).map((c) => c.title), ['In every browser']);
  const address = page.url();
  await page.done();

  const other = await open(b, weir, { path: '/models', signedIn: true });
  await other.goto(address);
  await becomes(() => other.getByRole('log').getByText('In every browser').count(), 2);
  await other.getByText('the history did not keep it').waitFor();
  await ask(other, 'And on');
  await other.getByText('2 calls settled').waitFor();
  await other.getByRole('button', { name: 'Chats' }).click();
  await other.getByRole('dialog').getByText('account', { exact: true }).waitFor();
  await accessible(other, 'chats of the account');
  await other.getByRole('button', { name: 'Delete In every browser' }).click();
  await becomes(stored, []);
  await other.done();
  await keeps(false);
});

test('what the page says an answer cost is what its call and the statement say, to the last digit', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/chat&t=0.4&max=90&notrain=1', signedIn: true });
  const before = await (await page.request.get(`${weir.url}/api/v1/credits`)).text();
  await ask(page, 'A question of seven words, or so');
  await page.getByText('settled', { exact: true }).waitFor();
  const shown = await page.locator('footer [title$="₽"]').getAttribute('title');
  const sum = await page.getByRole('complementary').locator('[title$="₽"]').first().getAttribute('title');
  const id = (await page.getByRole('link', { name: 'Open the call' }).getAttribute('href')).split('/').pop();
  const call = (await (await page.request.get(`${weir.url}/api/calls/${id}`)).json()).data;
  assert.deepEqual(call.parameters, { temperature: 0.4, max_tokens: 90, provider: { data_collection: 'deny' } });
  const digits = (s) => s.replace(/[^\d.,]/g, '').replace(',', '.');
  assert.equal(digits(shown), call.cost);
  assert.equal(digits(sum), call.cost);
  const day = new Date().toISOString().slice(0, 10);
  const rows = await (await page.request.get(`${weir.url}/api/ledger/day/${day}`)).text();
  assert.ok(rows.includes(call.cost), `${call.cost} in ${rows}`);
  assert.ok(before.length > 0);
  // From its call one is back with the same model and settings, and without a text.
  await page.getByRole('link', { name: 'Open the call' }).click();
  await page.getByRole('link', { name: 'Run again' }).click();
  await page.getByText('No messages yet').waitFor();
  assert.equal(await page.getByLabel('Temperature').inputValue(), '0.4');
  assert.equal(await page.getByLabel('Maximum answer length').inputValue(), '90');
  assert.ok(await page.getByRole('checkbox', { name: 'Not used for training' }).isChecked());
  assert.equal(await page.getByRole('combobox', { name: 'Model', exact: true }).innerText(), 'Sim Chat');
  await page.done();
});

test('a session that is over keeps the message', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo', signedIn: true });
  await page.getByText('No messages yet').waitFor();
  const cookies = (await page.context().cookies()).filter((c) => !c.name.startsWith('weir_'));
  for (const c of cookies) await page.context().clearCookies({ name: c.name });
  await ask(page, 'Do not lose me');
  await page.getByText('Your session is over').waitFor();
  await page.context().addCookies(cookies);
  await page.keyboard.press('Escape');
  await page.getByRole('log').getByText('Do not lose me').waitFor();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('settled', { exact: true }).waitFor();
  await becomes(() => page.getByRole('log').getByText('Do not lose me').count(), 2);
  await page.done();
});

test('from a call whose text is stored one is back with all of it, until it is deleted', async () => {
  const respond = async (body) => { const r = await weir.call('/v1/responses', { model: 'sim/chat', store: true, ...body }); assert.equal(r.status, 200); return { ...(await r.json()), call: r.headers.get('x-generation-id') }; };
  const first = await respond({ input: 'What is a weir?', instructions: 'Speak like a sailor.' });
  const second = await respond({ input: [{ role: 'user', content: 'And a lock?' }], instructions: 'Be brief.', previous_response_id: first.id, temperature: 0.3 });
  const page = await open(b, weir, { path: `/calls/${second.call}`, signedIn: true });
  await page.getByText('The text of prompts and answers of this call is stored.').waitFor();
  await page.getByRole('link', { name: 'Run again' }).click();
  await page.getByText('Nothing is sent before you send it').waitFor();
  assert.equal(await page.getByLabel('Instructions').inputValue(), 'Be brief.');
  assert.equal(await page.getByLabel('Temperature').inputValue(), '0.3');
  assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'And a lock?');
  assert.ok(!page.url().includes('lock'), page.url());
  await page.getByRole('log').getByText('What is a weir?', { exact: true }).waitFor();
  await accessible(page);
  await fitsWidth(page);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('settled', { exact: true }).waitFor();
  assert.equal(await page.getByText('Nothing is sent before you send it').count(), 0);
  // The beginning of the conversation is deleted, and then the call's own text.
  const link = `/playground?models=sim%2Fchat&t=0.3&again=${second.call}`;
  const forget = async (id) => assert.equal((await fetch(`${weir.api}/responses/${id}`, { method: 'DELETE', headers: { authorization: `Bearer ${weir.api_key}` } })).status, 200);
  await forget(first.id);
  await page.goto(weir.url + link);
  await page.getByText('The beginning of this conversation was deleted or has expired').waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'And a lock?');
  await forget(second.id);
  await page.goto(weir.url + link);
  await page.getByText('it was deleted or has expired. Only its model and settings are here').waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), '');
  assert.equal(await page.getByLabel('Temperature').inputValue(), '0.3');
  await page.goto(`${weir.url}/calls/${second.call}`);
  await page.getByText('The text of prompts and answers is not stored').waitFor();
  assert.ok(!(await page.getByRole('link', { name: 'Run again' }).getAttribute('href')).includes('again='));
  await page.done();
});

test('a long answer streams without being read again and again, and can be scrolled', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/chat', signedIn: true });
  await ask(page, '[[sim tokens=20000 chunk=7]] Tell me everything');
  await page.getByText('settled', { exact: true }).waitFor({ timeout: 60_000 });
  const log = page.getByRole('log');
  await log.hover();
  await page.mouse.wheel(0, -5000);
  await page.waitForFunction(() => { const l = document.querySelector('[role=log]'); return l.scrollHeight - l.scrollTop - l.clientHeight > 100; });
  await page.done();
});

test('on a phone what is written stays above the keyboard on the screen', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo', signedIn: true, size: 'phone' });
  await ask(page, Array.from({ length: 60 }, (_, i) => `Line ${i}`).join('\n\n'));
  await page.getByText('settled', { exact: true }).waitFor();
  const composer = page.locator('[data-composer]');
  const bottom = async () => { const r = await composer.boundingBox(); return Math.round(r.y + r.height); };
  const before = await bottom();
  // A keyboard makes what is seen of the page smaller, and nothing else.
  const seen = (height, scale = 1) => page.evaluate(([height, scale]) => {
    for (const [name, value] of Object.entries({ height, scale })) Object.defineProperty(window.visualViewport, name, { configurable: true, get: () => value });
    window.visualViewport.dispatchEvent(new Event('resize'));
  }, [height, scale]);
  await page.locator('[data-composer] textarea').tap();
  await seen(420);
  await becomes(bottom, 420);
  assert.ok((await page.getByRole('log').boundingBox()).height > 80, 'the answer is seen, too');
  await seen(422, 2);
  await becomes(bottom, before);
  await seen(420);
  await becomes(bottom, 420);
  await seen(844);
  await becomes(bottom, before);
  await page.done();
});
