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
