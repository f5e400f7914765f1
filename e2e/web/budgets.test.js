// Budgets and agents of an organization: what stops calls first, what a change does before it is made, who may see and change, a tree of agents that is stopped.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, choose, demo, englishWords, fitsWidth, looks, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const headers = { origin: weir.url, 'x-weir': '1' };
const owner = await open(b, weir, { signedIn: true });
const ask = async (page, method, path, data) => {
  const r = await page.request.fetch(`${weir.url}${path}`, { method, headers, data });
  assert.ok(r.ok(), `${path}: ${r.status()} ${await r.text()}`);
  return r.status() === 204 ? null : r.json();
};
const org = (await ask(owner, 'POST', '/api/organizations', { name: 'Strelka' })).data;
const at = `account=${org.id}`;
await ask(owner, 'POST', '/api/admin/adjustments', { user: org.id, amount: '100', reason: 'To begin with', reference: 'begin' });
const chat = (key, tags) => fetch(`${weir.api.replace('localhost', '127.0.0.1')}/chat/completions`, {
  method: 'POST', headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...(tags ? { 'x-weir-tags': tags } : {}) }, body: JSON.stringify({ model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 }),
});
const child = async (key, body) => {
  const r = await weir.call('/v1/keys/child', body, key);
  assert.equal(r.status, 201, await r.clone().text());
  return r.json();
};
/** Somebody with an account of their own, who becomes a member; answers a page that is signed in as them. */
async function member(name, role) {
  const { url } = (await ask(owner, 'POST', '/api/invitations', { role: 'user' })).data;
  const page = await open(b, weir);
  await ask(page, 'POST', '/api/auth/sign-up', { email: `${name.toLowerCase()}@example.org`, name, password: 'correct horse battery', invitation: url.split('#')[1] });
  const link = new URL((await ask(owner, 'POST', `/api/organizations/${org.id}/invitations`, { role })).data.url);
  await ask(page, 'POST', '/api/organizations/join', { token: link.hash.slice(1) });
  return page;
}
const plain = (text) => text.replace(/[\s\u202f\u00a0]+/g, ' ').trim();

test('services have keys, a team and an end; what they spend is shown', async () => {
  const page = await open(b, weir, { signedIn: true, path: `/org/members?${at}` });
  const main = page.getByRole('main');
  await main.getByRole('button', { name: 'New team' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Search');
  await page.getByRole('button', { name: 'Make the team' }).click();
  await main.getByRole('button', { name: 'Actions for Search' }).waitFor();
  await main.getByRole('button', { name: 'New service' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('ci-agents');
  await page.getByLabel('Team').selectOption({ label: 'Search' });
  await accessible(page);
  await page.getByRole('button', { name: 'Make the service' }).click();
  await main.getByRole('button', { name: 'Actions for ci-agents' }).click();
  await page.getByRole('menuitem', { name: 'Make a key' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('ci');
  await page.getByRole('button', { name: 'Make a key' }).click();
  const key = await page.getByRole('textbox', { name: 'Key of the service' }).inputValue();
  await accessible(page);
  await page.getByRole('button', { name: 'Done' }).click();
  await main.getByText(/1 key, Search, 0\s₽ this month/).waitFor();
  assert.equal((await chat(key)).status, 200);
  await becomes(async () => { await page.reload(); await settled(page); return main.getByText(/1 key, Search, 0\.\d+\s₽ this month, last call/).count(); }, 1);

  // Grouped by member, the service has its name.
  await page.goto(`${weir.url}/activity?by=member&${at}`);
  await page.getByRole('main').getByText('ci-agents').first().waitFor();
  await page.goto(`${weir.url}/activity?by=team&${at}`);
  await page.getByRole('main').getByText('Search', { exact: true }).first().waitFor();

  await page.goto(`${weir.url}/org/members?${at}`);
  await main.getByRole('button', { name: 'Actions for ci-agents' }).click();
  await page.getByRole('menuitem', { name: 'End' }).click();
  await page.getByRole('alertdialog').getByText('1 key stops').waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'End' }).click();
  await main.getByText('No services yet').waitFor();
  assert.equal((await chat(key)).status, 401);
  await page.done();
});

test('budgets are made and nest, the strictest wins, and its refusal is the one that the page says', async () => {
  const page = await open(b, weir, { signedIn: true, path: `/budgets?${at}` });
  const main = page.getByRole('main'), form = page.getByRole('dialog');
  const laptop = await ask(owner, 'POST', `/api/keys?${at}`, { name: 'laptop' });
  await main.getByText(/No budget: the wallet is the only limit, \d+\.\d+\s₽/).waitFor();
  await accessible(page);
  const make = async (kind, amount, more = async () => {}) => {
    await main.getByRole('button', { name: 'New budget' }).first().click();
    await form.getByLabel('Of what').selectOption({ label: kind });
    await form.getByLabel('Amount', { exact: true }).fill(amount);
    await more();
    await form.getByRole('button', { name: 'Make the budget' }).click();
    await form.waitFor({ state: 'detached' });
  };
  await make('the whole account', '50');
  await make('a key, with those that come from it', '0,01', async () => {
    await form.getByRole('button', { name: 'Make the budget' }).click();
    await form.getByText('Choose').last().waitFor(); // nobody is chosen
    await form.getByLabel('Key', { exact: true }).selectOption({ label: `laptop ${laptop.data.label}` });
    await form.getByLabel('Name', { exact: true }).fill('Small change');
    await accessible(page);
  });
  await make('a tag', '5', async () => {
    await form.getByLabel('Tag', { exact: true }).fill('project=atlas');
    await form.getByRole('radio', { name: 'Only alarm' }).click();
    await form.getByLabel('Alarms').fill('1, 200');
    await form.getByText('Up to five whole numbers from 1 to 100, separated by commas.').waitFor();
    await form.getByLabel('Alarms').fill('1');
    await form.getByText('Rules: what calls may use').click();
    await choose(page, 'Only these models', 'sim/*', form);
  });
  await make('each session for itself', '20');
  await main.getByRole('button', { name: 'Small change', exact: true }).click();
  const may = main.locator('[data-spendable]');
  await becomes(async () => plain(await may.textContent()), '0.01 ₽');
  const line = main.getByRole('listitem').filter({ has: page.getByRole('button', { name: 'Small change', exact: true }) });
  await line.getByText('strictest').waitFor();
  await accessible(page);

  let last;
  for (let i = 0; i < 100; i++) { last = await chat(laptop.key, 'project=atlas'); if (last.status !== 200) break; }
  assert.equal(last.status, 402);
  const { error } = await last.json();
  assert.match(error.message, /^The budget "Small change" \(key key_/);
  await becomes(async () => { await page.reload(); await settled(page); return plain(await may.locator('[title]').getAttribute('title')); }, `${error.metadata.available} ₽`);
  await main.getByText(/^A call that may cost more gets 402\. It names the budget Small change, with 0\.0\d+\s₽ of 0\.01\s₽ left\. It renews /).waitFor();

  // What a change does is said before it is made.
  await main.getByRole('button', { name: 'Raise Small change' }).click();
  await form.getByLabel('Amount', { exact: true }).fill('0.001');
  await form.getByText('That is less than is spent already: new calls are refused at once.').waitFor();
  await form.getByLabel('Amount', { exact: true }).fill('10');
  await form.getByText(/9\.99\s₽ more may be spent\. The strictest one above it has room for 49\.\d+\s₽/).waitFor();
  await accessible(page);
  await form.getByRole('button', { name: 'Save' }).click();
  await form.waitFor({ state: 'detached' });
  assert.equal((await chat(laptop.key)).status, 200);

  // Each line leads to its calls.
  await main.getByRole('button', { name: 'Actions for Small change' }).click();
  await page.getByRole('menuitem', { name: 'Its calls' }).click();
  await page.waitForURL(new RegExp(`/calls.*key=${laptop.data.hash}`));
  assert.equal(new URL(page.url()).searchParams.get('account'), org.id);
  await page.goBack();
  await main.getByRole('button', { name: 'Actions for project=atlas' }).press('Enter');
  await page.getByRole('menuitem', { name: 'Delete' }).press('Enter');
  const sure = page.getByRole('alertdialog');
  await sure.getByText(/It binds no call any more.*what it has counted, 0\.0\d+\s₽ so far.*Its rules/).waitFor();
  await accessible(page);
  await sure.getByRole('button', { name: 'Delete' }).press('Enter');
  const atlas = main.getByRole('button', { name: 'Actions for project=atlas' });
  await atlas.waitFor({ state: 'detached' });
  await accessible(page);

  // It comes back as it was, with what was spent in it.
  await page.getByRole('button', { name: 'Undo' }).press('Enter');
  await atlas.waitFor();
  const { data } = await ask(owner, 'GET', `/api/budgets?${at}`);
  const back = data.find((x) => x.scope.id === 'project=atlas');
  assert.deepEqual([Number(back.spent) > 0, back.alarms, back.rules.models, back.deleted_at], [true, [1], ['sim/*'], null]);
  await page.done();
});

test('a manager sees budgets without controls, a member is told that the role does not show them', async () => {
  const manager = await member('Timur', 'manager');
  await manager.goto(`${weir.url}/budgets?${at}`);
  await manager.getByRole('main').getByText('Whole organization').first().waitFor();
  await settled(manager);
  assert.equal(await manager.getByRole('main').getByRole('button', { name: /New budget|^Raise/ }).count(), 0);
  await manager.getByRole('main').getByRole('button', { name: 'Actions for Whole organization' }).click();
  assert.equal(await manager.getByRole('menuitem').count(), 1);
  const person = await member('Vera', 'member');
  await person.goto(`${weir.url}/budgets?${at}`);
  await person.getByRole('main').getByText(/[Yy]our role (in this organization )?does not show this page/).first().waitFor();
  await accessible(person);
  await person.goto(`${weir.url}/agents?${at}`); // the own ones
  await person.getByRole('main').getByText('No agent has a key of its own').waitFor();
  await accessible(person);
  await manager.done();
  await person.done();
});

test('a tree of agents adds up in every line; one agent and then the whole tree are stopped, with numbers said before', async () => {
  const runs = await ask(owner, 'POST', `/api/keys?${at}`, { name: 'runs' });
  const bot = await child(runs.key, { name: 'release-bot', amount: '5', depth: 3, tools: ['read_file', 'run_tests'] });
  const coder = await child(bot.key, { name: 'coder', amount: '2', depth: 1 });
  const tester = await child(coder.key, { name: 'tester', amount: '1' });
  await child(bot.key, { name: 'planner', amount: '1' });
  for (const k of [bot, coder, coder, tester]) assert.equal((await chat(k.key)).status, 200);
  const page = await open(b, weir, { signedIn: true, path: `/agents?${at}` });
  const main = page.getByRole('main');
  await main.getByRole('link', { name: 'release-bot' }).waitFor();
  await accessible(page);
  await main.getByRole('link', { name: 'release-bot' }).click();
  await page.getByRole('heading', { level: 1, name: 'release-bot' }).waitFor();
  await main.getByText('4 running').waitFor();
  const number = (text) => Number(plain(text).replace(/[^\d.-]/g, ''));
  await becomes(async () => number(await main.getByRole('row', { name: /release-bot/ }).locator('[data-col=calls]').textContent()), 1);
  const lines = await main.locator('tbody tr').evaluateAll((rows) => rows.map((r) => ['amount', 'own', 'children', 'held', 'left'].map((c) => r.querySelector(`[data-col=${c}] [title]`).getAttribute('title'))));
  assert.equal(lines.length, 4);
  for (const cells of lines) {
    const [amount, ...parts] = cells.map((x) => BigInt(Math.round(number(x) * 1e9)));
    assert.equal(parts.reduce((a, p) => a + p, 0n), amount, cells.join(' '));
  }
  await accessible(page);

  // Its amount is raised within the one above it, and lowered, with the keyboard.
  const amount = page.getByRole('dialog'), rubles = amount.getByLabel('Amount', { exact: true });
  const shown = async () => number(await main.getByRole('row', { name: /tester/ }).locator('[data-col=amount] span[title]').getAttribute('title'));
  await main.getByRole('button', { name: 'Change the amount of tester' }).press('Enter');
  await rubles.fill('much');
  await amount.getByText('Rubles, such as 100 or 0.5').waitFor();
  await rubles.fill('2');
  await amount.getByText(/^[12]\.\d+\s₽ will be left/).waitFor();
  await accessible(page);
  await rubles.press('Enter');
  await amount.getByText(/at most 1\.99\d*/).waitFor(); // coder has spent of its 2
  await accessible(page);
  await rubles.fill('1,5');
  await rubles.press('Enter');
  await amount.waitFor({ state: 'detached' });
  await becomes(shown, 1.5);
  await main.getByRole('button', { name: 'Change the amount of tester' }).press('Enter');
  await rubles.fill('0.000001');
  await amount.getByText(/less than the .* spent and on hold/).waitFor();
  await rubles.press('Enter');
  await amount.waitFor({ state: 'detached' });
  assert.equal((await chat(tester.key)).status, 402);
  await becomes(shown, 0.000001);
  await main.getByRole('button', { name: 'Stop coder' }).click();
  const sure = page.getByRole('alertdialog');
  await sure.getByText('2 agents stop with their running calls within one second, on all nodes.').waitFor();
  await accessible(page);
  await sure.getByRole('button', { name: 'Stop' }).click();
  await main.getByText('2 running').waitFor();
  for (const k of [coder, tester]) assert.equal((await chat(k.key)).status, 401);
  assert.equal((await chat(bot.key)).status, 200);
  await main.getByText('2 agents stop with their running calls within one second, on all nodes.').waitFor();
  await main.getByRole('button', { name: 'Stop release-bot and 1 below' }).press('Enter');
  await sure.getByRole('button', { name: 'Stop' }).press('Enter');
  await main.getByText('The tree has ended. Its report stays.').waitFor();
  assert.equal((await chat(bot.key)).status, 401);
  await main.getByRole('link', { name: 'coder' }).click();
  await page.waitForURL(new RegExp(`/calls.*key=${coder.data.hash}`));
  await page.goto(`${weir.url}/agents/${'0'.repeat(64)}?${at}`);
  await main.getByText('There is no such agent').waitFor();
  await accessible(page);
  await page.done();
});

test('budgets, agents and members in both languages, both themes and on small screens', async () => {
  const { data: [tree] } = await ask(owner, 'GET', `/api/agents?${at}`);
  for (const look of looks) {
    const page = await open(b, weir, { ...look, size: 'small', signedIn: true });
    for (const path of [`/budgets?${at}`, `/agents?${at}`, `/agents/${tree.hash}?${at}`, `/org/members?${at}`, '/budgets', '/agents']) {
      await page.goto(weir.url + path);
      await settled(page);
      for (const width of [320, 360, 390]) {
        await page.setViewportSize({ width, height: 740 });
        await fitsWidth(page);
      }
      await accessible(page);
      if (look.language === 'ru') assert.deepEqual(await englishWords(page, /^(Weir|EN|UTC)$/), [], path);
    }
    await page.goto(`${weir.url}/budgets?${at}`);
    await page.getByRole('button', { name: look.language === 'ru' ? 'Новый бюджет' : 'New budget' }).first().click();
    await page.getByRole('dialog').waitFor();
    await fitsWidth(page);
    await accessible(page);
    await page.done();
  }
});

test('an organization is closed once its name is typed', async () => {
  const other = (await ask(owner, 'POST', '/api/organizations', { name: 'Short-lived' })).data;
  const key = await ask(owner, 'POST', `/api/keys?account=${other.id}`, { name: 'one' });
  const page = await open(b, weir, { signedIn: true, path: `/org/members?account=${other.id}` });
  await page.getByRole('button', { name: 'Close the organization' }).click();
  const sure = page.getByRole('alertdialog');
  await sure.getByText(/1 member leaves, and 1 keys stop/).waitFor();
  const close = sure.getByRole('button', { name: 'Close the organization' });
  assert.equal(await close.isDisabled(), true);
  await sure.getByRole('textbox').fill('Short-lived');
  await accessible(page);
  await close.click();
  await page.waitForURL((u) => !u.search.includes('account'));
  assert.equal((await chat(key.key)).status, 401);
  await page.goto(`${weir.url}/keys?account=${other.id}`);
  await page.getByRole('heading', { level: 1, name: 'You have no part in this organization' }).waitFor();
  await page.done();
});
