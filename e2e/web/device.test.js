// A program in a terminal is signed in with a code: it asks as Claude Code does, a person allows it in the browser, and it calls a model.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, browser, demo, englishWords, fitsWidth, open, signIn } from './weir.js';

const weir = await demo();
const b = await browser();
const grant = 'urn:ietf:params:oauth:grant-type:device_code';

const oauth = async (path, form) => {
  const r = await fetch(`${weir.url}${path}`, { method: 'POST', headers: { 'user-agent': 'claude-code/2.1.330' }, body: new URLSearchParams(form) });
  return { status: r.status, ...(r.headers.get('content-length') === '0' ? {} : await r.json()) };
};
const ask = () => oauth('/oauth/device_authorization', { surface: 'claude_code' });
const token = (asked) => oauth('/oauth/token', { grant_type: grant, device_code: asked.device_code });
const say = (access) => fetch(`${weir.url}/v1/messages?beta=true`, {
  method: 'POST', headers: { authorization: `Bearer ${access}`, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'sim/chat', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }),
});

test('a code is allowed after a sign-in, the program calls a model, and is ended among the keys', async () => {
  const meta = await (await fetch(`${weir.url}/.well-known/oauth-authorization-server`)).json();
  assert.equal(meta.device_authorization_endpoint, `${weir.url}/oauth/device_authorization`);
  const asked = await ask();
  const page = await open(b, weir, { path: new URL(asked.verification_uri_complete).pathname + new URL(asked.verification_uri_complete).search });
  await page.waitForURL(/\/sign-in\?to=/); // who is not signed in comes back here with the code
  assert.match(decodeURIComponent(page.url()), new RegExp(`/device\\?user_code=${asked.user_code}`));
  await signIn(page, weir);
  await page.goto(asked.verification_uri_complete);
  const code = page.getByRole('textbox', { name: 'Code' });
  assert.equal(await code.inputValue(), asked.user_code);
  assert.equal(await page.getByRole('button', { name: 'Allow' }).count(), 0); // the address alone shows and allows nothing
  await accessible(page);
  await page.getByRole('button', { name: 'Continue' }).click();
  const main = page.getByRole('main');
  await main.getByText('Claude Code', { exact: true }).waitFor();
  await main.getByText(asked.user_code).waitFor();
  await main.getByText('127.0.0.1').waitFor();
  await main.getByText('(the network of this browser)').waitFor();
  await accessible(page);
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByText('Claude Code is signed in').waitFor();
  await accessible(page);

  const tokens = await token(asked);
  assert.equal(tokens.status, 200);
  assert.equal((await say(tokens.access_token)).status, 200);
  assert.equal((await page.content()).includes(tokens.access_token), false);
  await main.getByRole('link', { name: 'Keys' }).last().click();
  const row = page.getByRole('table').getByRole('row', { name: /Claude Code, 127\.0\.0\.1/ });
  await row.getByText('signed in').waitFor();
  await row.getByRole('button', { name: /Actions/ }).click();
  assert.equal(await page.getByRole('menuitem', { name: 'Replace the secret' }).count(), 0);
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  const sure = page.getByRole('alertdialog');
  await sure.getByRole('textbox').fill('Claude Code, 127.0.0.1');
  await sure.getByRole('button', { name: 'Delete' }).click();
  await page.getByText(/is deleted/).waitFor();
  assert.equal((await say(tokens.access_token)).status, 401);
  const refused = await oauth('/oauth/token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token });
  assert.deepEqual([refused.status, refused.error], [401, 'invalid_grant']);
  await page.done();
});

test('a code is typed and refused; one that is none says so', async () => {
  const asked = await ask();
  const page = await open(b, weir, { path: '/device', signedIn: true });
  const code = page.getByRole('textbox', { name: 'Code' });
  await code.fill('BCDF-GHJK');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('No program is waiting with this code.').waitFor();
  await code.fill(asked.user_code.toLowerCase().replace('-', ' '));
  await code.press('Enter');
  await page.getByRole('button', { name: 'Refuse' }).click();
  await page.getByText('Claude Code was refused').waitFor();
  const refused = await token(asked);
  assert.deepEqual([refused.status, refused.error], [400, 'access_denied']);
  await page.done();
});

for (const size of ['phone', 'small']) {
  test(`the page fits a ${size} in both languages`, async () => {
    for (const language of ['en', 'ru']) {
      const asked = await ask();
      const page = await open(b, weir, { path: `/device?user_code=${asked.user_code}`, signedIn: true, size, language });
      await fitsWidth(page);
      await page.getByRole('main').getByRole('button').click();
      await page.getByRole('main').getByText(asked.user_code).waitFor();
      await fitsWidth(page);
      await accessible(page);
      if (language === 'ru') await englishWords(page, /Claude|Code|Weir/);
      await page.done();
    }
  });
}
