// What an operator does with the browser alone: connects a provider, raises prices by 10 %, gives a person 100 rubles, finds out why a call failed, and
// rotates a leaked key. Each begins at /admin and goes by what the pages say: links, buttons and labels, never an address.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { becomes, browser, demo, open, program, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const run = async (...args) => (await promisify(execFile)(program, [...args, '--data', weir.data], { env: { PATH: process.env.PATH, HOME: weir.dir } })).stdout;
const [first, second] = ['the-first-key-of-the-mill-1111', 'the-second-key-of-the-mill-2222'];
const seen = [];
const mill = createServer((req, res) => {
  req.resume();
  req.on('end', () => {
    const key = (req.headers.authorization ?? '').replace('Bearer ', '');
    seen.push(key);
    const taken = key === first || key === second;
    res.writeHead(taken ? 200 : 401, { 'content-type': 'application/json' });
    res.end(JSON.stringify(taken ? {
      id: 'c1', object: 'chat.completion', created: 1, model: 'small', usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
      choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
    } : { error: { message: 'No such key' } }));
  });
});
await new Promise((done) => { mill.listen(0, '127.0.0.1', done); });
after(() => mill.close());
const chat = (model, text = 'Hi', key) => weir.call('/v1/chat/completions', { model, messages: [{ role: 'user', content: text }] }, key);

/** A person at the first page of the console, whose clicks and fields are counted. */
async function operator() {
  const page = await open(b, weir, { signedIn: true, path: '/admin' });
  const who = { page, steps: 0 };
  who.click = async (place) => { who.steps++; await place.click(); await settled(page); };
  who.fill = async (place, text) => { who.steps++; await place.fill(text); };
  who.go = (name) => who.click(page.getByRole('navigation', { name: 'Running the gateway' }).getByRole('link', { name, exact: true }));
  who.button = (name, within = page) => who.click(within.getByRole('button', { name, exact: true }));
  who.done = async (most) => {
    assert.ok(who.steps <= most, `${who.steps} steps, and ${most} were enough`);
    await page.done();
  };
  return who;
}

test('connects a provider', async () => {
  const o = await operator();
  const form = o.page.getByRole('dialog');
  await o.go('Providers');
  await o.button('Another server');
  await o.fill(form.getByLabel('Short name'), 'mill');
  await o.fill(form.getByLabel('Address'), `http://127.0.0.1:${mill.address().port}/v1`);
  await o.fill(form.getByLabel('Key'), first);
  await o.button('Add', form);
  await o.button('Add a model');
  await o.fill(form.getByLabel('Name of the model'), 'mill/small');
  await o.fill(form.getByLabel('Context, tokens'), '8000');
  await o.fill(form.getByLabel('Price of 1000 tokens in'), '0.5');
  await o.fill(form.getByLabel('Price of 1000 tokens out'), '1.5');
  await o.button('Add', form);
  await o.button('Test');
  await o.page.getByText('mill/small answered').waitFor();
  assert.equal((await chat('mill/small')).status, 200);
  await o.done(13);
});

test('raises prices by 10 %', async () => {
  const o = await operator();
  const form = o.page.getByRole('dialog');
  const cost = async () => (await (await chat('mill/small')).json()).usage.cost;
  assert.equal(await cost(), 0.0075); // 9 tokens at 0.5 and 2 at 1.5 for 1000
  await o.go('Models and prices');
  await o.button('Raise prices');
  await o.fill(form.getByLabel('By how many per cent'), '10');
  await o.button('Put into the draft', form);
  await o.button('Publish');
  await o.button('Publish', form);
  await o.page.getByText('The new prices are in effect').waitFor();
  await becomes(cost, 0.00825);
  await o.done(6);
});

test('gives a person 100 rubles', async () => {
  const id = /\((usr_\w+)\)/.exec(await run('user', 'add', 'Anna Pavlova'))[1];
  const o = await operator();
  const form = o.page.getByRole('dialog');
  await o.go('People');
  await o.fill(o.page.getByRole('search').getByRole('textbox'), 'anna');
  await o.click(o.page.getByRole('table', { name: 'People' }).getByRole('link', { name: 'Anna Pavlova' }));
  await o.button('Adjust');
  await o.fill(form.getByLabel('Amount'), '100');
  await o.fill(form.getByLabel('Reason, shown in the statement'), 'A gift');
  await o.click(form.getByRole('button', { name: /^Add 100/ }));
  await o.page.getByRole('term').filter({ hasText: 'Balance' }).locator('xpath=following-sibling::dd').getByText('100').waitFor();
  assert.match(await run('ledger', 'statement', id), /100.*A gift/);
  await o.done(7);
});

test('finds out why a call failed, from the id in a complaint', async () => {
  const failed = await chat('sim/chat', '[[sim fault=u12 times=100 id=five]] Hello');
  assert.equal(failed.status, 400);
  const o = await operator();
  await o.go('Calls');
  const find = o.page.getByRole('search').getByRole('textbox');
  await o.fill(find, `  ${failed.headers.get('x-request-id')}. `); // as it is copied from a mail
  o.steps++;
  await find.press('Enter');
  await o.page.getByRole('heading', { name: 'What the providers said' }).waitFor();
  await o.page.getByText('The simulator was told to find this request bad.').first().waitFor();
  await o.done(3);
});

test('rotates a key that leaked', async () => {
  const o = await operator();
  const asks = o.page.getByRole('alertdialog');
  await o.go('Providers');
  await o.click(o.page.getByRole('main').getByRole('link', { name: 'mill' }));
  await o.button('Rotate');
  await o.fill(o.page.getByLabel('Paste another key'), second);
  await o.button('Save and test');
  const steps = o.page.getByRole('region', { name: 'Rotate' });
  await o.button('Drain: …1111', steps);
  await o.button('Take out: …1111', steps);
  await o.button('Take out', asks);
  await o.page.getByRole('button', { name: 'Bring back: …1111' }).first().waitFor();
  seen.length = 0;
  for (let i = 0; i < 4; i++) assert.equal((await chat('mill/small')).status, 200);
  assert.deepEqual([...new Set(seen)], [second]);
  await o.done(8);
});

test('stops a key of a person that leaked, by its text alone', async () => {
  const id = /\((usr_\w+)\)/.exec(await run('user', 'add', 'Boris'))[1];
  await run('topup', id, '10');
  const key = /sk-weir-v1-\w+/.exec(await run('key', 'add', id, '--name', 'laptop'))[0];
  assert.equal((await chat('sim/chat', 'Hi', key)).status, 200);
  const o = await operator();
  await o.go('People');
  await o.fill(o.page.getByRole('search').getByRole('textbox'), key);
  await o.button('Disable: laptop');
  await o.button('Disable', o.page.getByRole('alertdialog'));
  await becomes(async () => (await chat('sim/chat', 'Hi', key)).status, 401);
  await o.done(4);
});
