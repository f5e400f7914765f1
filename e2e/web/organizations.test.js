// Several people in one organization: its link leads in, the switcher goes from account to account, each role sees what it may, and a member leaves.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, browser, demo, englishWords, fitsWidth, looks, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const headers = { origin: weir.url, 'x-weir': '1' };
const password = 'correct horse battery';
const owner = await open(b, weir, { signedIn: true });
const post = async (page, path, data) => {
  const r = await page.request.post(`${weir.url}${path}`, { headers, data });
  assert.ok(r.ok(), `${path}: ${r.status()} ${await r.text()}`);
  return r.status() === 204 ? null : (await r.json()).data;
};
/** Makes an account at the gateway; answers its address. */
async function person(name) {
  const email = `${name.toLowerCase()}@example.org`;
  const { url } = await post(owner, '/api/invitations', { role: 'user' });
  const page = await open(b, weir);
  await post(page, '/api/auth/sign-up', { email, name, password, invitation: url.split('#')[1] });
  await page.done();
  return email;
}
const org = await post(owner, '/api/organizations', { name: 'Strelka' });
const search = await post(owner, `/api/organizations/${org.id}/teams`, { name: 'Search' });
const invite = async (more) => new URL((await post(owner, `/api/organizations/${org.id}/invitations`, { role: 'member', ...more })).url);
const local = (link) => link.pathname + link.search + link.hash;

test('a link of an invitation is read before a sign-in, waits during it, and is accepted', async () => {
  const email = await person('Vera');
  const link = await invite({ team: search.id });
  const page = await open(b, weir, { path: local(link) });
  await page.getByRole('heading', { level: 1, name: 'Join Strelka' }).waitFor();
  const main = page.getByRole('main');
  for (const text of ['member', 'Search']) await main.getByText(text, { exact: true }).waitFor();
  assert.equal(await main.getByRole('button', { name: 'Join' }).count(), 0);
  assert.equal(new URL(page.url()).hash, ''); // no address holds the secret any more
  await accessible(page);
  await main.getByRole('link', { name: 'Sign in' }).click();
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await main.getByText(email).waitFor();
  await accessible(page);
  await main.getByRole('button', { name: 'Join' }).click();
  await page.waitForURL(new RegExp(`account=${org.id}`));
  await settled(page);
  assert.deepEqual((await (await page.request.get(`${weir.url}/api/me`)).json()).accounts.map((a) => [a.name, a.role]), [['Vera', 'owner'], ['Strelka', 'member']]);

  await page.goto(weir.url + local(link)); // its one place is taken
  await page.getByText('This link does not work').waitFor();
  await page.goto('about:blank');
  await page.goto(weir.url + local(await invite({ places: 2 })));
  await main.getByRole('button', { name: 'Join' }).click();
  await main.getByText('You are a member of this organization already').waitFor();
  await page.goto('about:blank');
  await page.goto(weir.url + local(await invite({ email: 'somebody@example.org' })));
  await main.getByRole('button', { name: 'Join' }).click();
  await main.getByText(/somebody@example.org.*Sign in with that address/).waitFor();
  await accessible(page);
  await main.getByRole('button', { name: 'Sign in with another account' }).click();
  await page.waitForURL('**/sign-in?to=/join');
  await page.done();
});

test('the page of an invitation in both languages and on a small screen; a link that is none', async () => {
  for (const look of looks) {
    const page = await open(b, weir, { ...look, size: 'small', path: local(await invite({ team: search.id })) });
    await page.getByRole('heading', { level: 1, name: 'Strelka' }).waitFor();
    await settled(page);
    await fitsWidth(page);
    await accessible(page);
    if (look.language === 'ru') assert.deepEqual(await englishWords(page, /^(Weir|EN)$/), []);
    await page.goto('about:blank');
    await page.goto(`${weir.url}/join#orgi_none`);
    await page.getByText(look.language === 'ru' ? 'Ссылка не действует' : 'This link does not work').waitFor();
    await accessible(page);
    await page.done();
  }
});

test('an organization is made, somebody comes by a link, may less than its owner, switches accounts, and leaves', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/overview' });
  const main = page.getByRole('main');
  const own = await page.getByRole('link', { name: 'Available' }).textContent();
  await page.getByRole('button', { name: /switch account/ }).click();
  await page.getByRole('menuitem', { name: 'New organization' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Hydrolab');
  await accessible(page);
  await page.getByRole('button', { name: 'Make it' }).click();
  await page.waitForURL(/\/org\/members\?account=org_/);
  await main.getByText('1 person, 0 teams').waitFor();
  await accessible(page);
  const made = new URL(page.url()).searchParams.get('account');

  await main.getByRole('button', { name: 'New team' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Data');
  await page.getByRole('button', { name: 'Make the team' }).click();
  await main.getByText('1 person, 1 team').waitFor();
  await main.getByRole('button', { name: 'Actions for Data' }).click();
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Data and reports');
  await page.getByRole('button', { name: 'Rename' }).click();
  await main.getByText('Data and reports').waitFor();

  await main.getByRole('button', { name: 'Invite' }).click();
  await page.getByLabel('Team').selectOption({ label: 'Data and reports' });
  await page.getByLabel('Places').fill('1000');
  await page.getByRole('button', { name: 'Make the link' }).click();
  await page.getByText(/places must be|at most 100/).waitFor(); // the gateway's own words stand at the field
  await page.getByLabel('Places').fill('2');
  await accessible(page);
  await page.getByRole('button', { name: 'Make the link' }).click();
  const link = new URL(await page.getByRole('textbox', { name: 'Link of the invitation' }).inputValue());
  await page.getByRole('button', { name: 'Done' }).click();
  await main.getByText(/0 of 2 places taken/).waitFor();

  // In another browser, who is invited comes, and sees no controls.
  const email = await person('Timur');
  const other = await open(b, weir);
  await post(other, '/api/auth/sign-in', { email, password });
  await other.goto(weir.url + local(link));
  await other.getByRole('main').getByRole('button', { name: 'Join' }).click();
  await other.waitForURL(new RegExp(`account=${made}`));
  await other.getByRole('button', { name: /Your account: Timur/ }).waitFor();
  await other.goto(`${weir.url}/org/members?account=${made}`);
  const theirs = other.getByRole('main');
  await theirs.getByText('2 people, 1 team').waitFor();
  await settled(other);
  for (const name of ['Invite', 'New team', 'Change', /^Actions for/]) assert.equal(await theirs.getByRole('button', { name }).count(), 0, String(name));
  assert.equal(await theirs.getByRole('heading', { name: 'Invitations' }).count(), 0);
  await accessible(other);
  await other.getByRole('link', { name: 'Money', exact: true }).click(); // links keep the account
  assert.equal(new URL(other.url()).searchParams.get('account'), made);
  await theirs.getByText('Your role in this organization does not show this page').first().waitFor();
  await other.goto(weir.url + '/?account=' + made);
  await other.waitForURL(/\/keys\?account=/); // where a member begins

  // The owner changes a role and sees another balance than the own.
  await page.reload();
  await main.getByText('2 people, 1 team').waitFor();
  await main.getByRole('button', { name: 'Actions for Timur' }).click();
  await page.getByRole('menuitem', { name: 'Role and team' }).click();
  await page.getByLabel('Role', { exact: true }).selectOption('manager');
  await page.getByRole('button', { name: 'Save' }).click();
  await main.getByRole('row', { name: /Timur/ }).getByText('manager').waitFor();
  const here = page.getByRole('link', { name: 'Available' });
  await here.waitFor();
  assert.notEqual(await here.textContent(), own);
  await page.getByRole('button', { name: /Hydrolab.*switch account/ }).click();
  await page.getByRole('menuitemcheckbox', { name: /personal/ }).click();
  await page.waitForURL((u) => !u.search.includes('account'));
  await settled(page);
  assert.equal(await page.getByRole('link', { name: 'Available' }).textContent(), own);
  await page.goBack(); // an address means its account, also in the history
  await page.getByRole('button', { name: /Hydrolab.*switch account/ }).waitFor();

  await other.goto(`${weir.url}/org/members?account=${made}`);
  await theirs.getByRole('button', { name: 'Invite' }).waitFor(); // managers invite
  await theirs.getByRole('button', { name: 'Leave' }).click();
  const sure = other.getByRole('alertdialog');
  await sure.getByText(/0 keys stop/).waitFor();
  await accessible(other);
  await sure.getByRole('button', { name: 'Leave' }).click();
  await other.waitForURL((u) => !u.search.includes('account'));
  await other.goto(`${weir.url}/keys?account=${made}`);
  await other.getByRole('heading', { level: 1, name: 'You have no part in this organization' }).waitFor();
  await page.goto(`${weir.url}/org/members?account=${made}`);
  await main.getByRole('button', { name: 'Leave' }).click(); // the last owner stays
  await page.getByRole('alertdialog').getByRole('button', { name: 'Leave' }).click();
  await page.getByRole('alertdialog').getByRole('alert').waitFor();
  await page.done();
  await other.done();
});

test('an owner connects a directory, sees what it has brought and what its groups give, makes another token, and disconnects it', async () => {
  const page = await open(b, weir, { signedIn: true, path: `/org/members?account=${org.id}` });
  const main = page.getByRole('main');
  await main.getByText('No directory is connected').waitFor();
  await accessible(page);
  await main.getByRole('button', { name: 'Connect' }).click();
  const make = async () => {
    const window = page.getByRole('dialog');
    await window.getByRole('button', { name: 'Make the token' }).click();
    const token = await window.getByLabel('Token of the directory').inputValue();
    assert.match(token, /^sk-weir-scim-v1-/);
    await accessible(page);
    await window.getByRole('button', { name: 'Done' }).click();
    await window.waitFor({ state: 'detached' });
    return token;
  };
  const first = await make();
  await main.getByText(`${weir.url}/scim/v2`).waitFor();
  await main.getByText('It has sent no request yet.').waitFor();
  const scim = (token, path, data) => page.request.post(`${weir.url}/scim/v2${path}`, { headers: { authorization: `Bearer ${token}` }, data });
  const added = await scim(first, '/Groups', { schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'], displayName: 'Research', members: [] });
  assert.equal(added.status(), 201, await added.text());
  await page.reload();
  await main.getByText(/→ member, Research, 0 people/).waitFor();
  await main.getByText(/0 people in it, 0 are members, 1 group\. Last request/).waitFor();
  await accessible(page);
  await main.getByRole('button', { name: 'New token' }).click();
  await page.getByRole('dialog').getByText('The former token stops working at once').waitFor();
  const second = await make();
  assert.notEqual(second, first);
  assert.equal((await scim(first, '/Groups', {})).status(), 401);
  for (const look of looks) {
    const small = await open(b, weir, { ...look, size: 'small', signedIn: true, path: `/org/members?account=${org.id}` });
    await small.getByText(`${weir.url}/scim/v2`).waitFor();
    await fitsWidth(small);
    await accessible(small);
    if (look.language === 'ru') assert.deepEqual(await englishWords(small, /^(Weir|EN)$/), []);
    await small.done();
  }
  await main.getByRole('button', { name: 'Disconnect' }).click();
  const sure = page.getByRole('alertdialog');
  await sure.getByText(/0 members from it stay.*1 group is forgotten/).waitFor();
  await accessible(page);
  await sure.getByRole('button', { name: 'Disconnect' }).click();
  await main.getByText('No directory is connected').waitFor();
  assert.equal((await scim(second, '/Groups', {})).status(), 401);
  await page.done();
});

test('a team and a member have bars of their budgets, for who sees budgets', async () => {
  const person = (await (await owner.request.get(`${weir.url}/api/organizations/${org.id}/members`)).json()).data.find((m) => m.you);
  await post(owner, `/api/budgets?account=${org.id}`, { scope: { kind: 'team', id: search.id }, period: 'month', amount: '120' });
  await post(owner, `/api/budgets?account=${org.id}`, { scope: { kind: 'member', id: person.id }, period: 'day', amount: '7' });
  const page = await open(b, weir, { signedIn: true, path: `/org/members?account=${org.id}` });
  const main = page.getByRole('main');
  await main.getByRole('img', { name: /0\s₽ spent and 0\s₽ on hold of 120\.00\s₽/ }).waitFor();
  await main.getByText(/^0\s₽ of 120\.00\s₽, month$/).waitFor();
  await main.getByText(/^0\s₽ of 7\.00\s₽, day$/).waitFor();
  await accessible(page);
  await page.done();
});

test('members and the switcher in both languages, on a small screen and by keyboard', async () => {
  for (const look of looks) {
    const page = await open(b, weir, { ...look, size: 'small', signedIn: true, path: `/org/members?account=${org.id}` });
    await fitsWidth(page);
    await accessible(page);
    if (look.language === 'ru') assert.deepEqual(await englishWords(page, /^(Weir|EN)$/), []);
    await page.getByRole('button', { name: look.language === 'ru' ? /Ваш аккаунт/ : /Your account/ }).press('Enter');
    const strelka = page.getByRole('menuitemcheckbox', { name: /Strelka/ });
    await strelka.waitFor();
    assert.equal(await strelka.getAttribute('aria-checked'), 'true');
    await accessible(page, 'the menu', { coloursOnly: true });
    await page.keyboard.press('Escape');
    await page.done();
  }
});
