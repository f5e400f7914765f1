// Settings: the profile, the ways to sign in, the sessions; and signing in with a passkey of a virtual device.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, hostile, open, settled, signIn } from './weir.js';

const weir = await demo();
const b = await browser();

/** A device with passkeys, of the browser's developer tools. */
async function device(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true } });
  const keys = async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
  return { keys, verified: (isUserVerified) => cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }), forget: async () => { for (const k of await keys()) await cdp.send('WebAuthn.removeCredential', { authenticatorId, credentialId: k.credentialId }); } };
}
async function add(page, name) {
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill(name);
  await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click();
}
const row = (page, name) => page.getByRole('listitem').filter({ hasText: name });

test('a passkey is added, signs in without a name, and is renamed and removed', async () => {
  const page = await open(b, weir, { path: '/settings/security', signedIn: true });
  const d = await device(page);
  await add(page, 'Laptop');
  await row(page, 'Laptop').getByText('not used yet').waitFor();
  assert.equal((await d.keys()).length, 1);

  await page.request.post(`${weir.url}/api/auth/sign-out`, { headers: { origin: weir.url, 'x-weir': '1' }, data: {} });
  await page.goto(`${weir.url}/sign-in?to=/settings/security`);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.waitForURL(/\/settings\/security$/);
  await row(page, 'this browser').getByText('with a passkey').waitFor();
  await row(page, 'Laptop').getByText('last used').waitFor();

  // the device does not offer the same account twice
  await add(page, 'Laptop again');
  await page.getByRole('alert').getByText('This device has a passkey of this account already').waitFor();
  await page.keyboard.press('Escape');

  await row(page, 'Laptop').getByRole('button', { name: 'Actions for Laptop' }).click();
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Ключ от дома');
  await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
  await row(page, 'Ключ от дома').waitFor();
  await row(page, 'Ключ от дома').getByRole('button', { name: 'Actions for' }).click();
  await page.getByRole('menuitem', { name: 'Remove' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('You have no passkey yet').waitFor();

  // a passkey that the gateway has forgotten signs nobody in, and the page says so
  await page.request.post(`${weir.url}/api/auth/sign-out`, { headers: { origin: weir.url, 'x-weir': '1' }, data: {} });
  await page.goto(`${weir.url}/sign-in`);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByRole('alert').getByText('This passkey does not work here').waitFor();
  await page.done();
});

test('a device that cannot check the person adds no passkey, and the page says so', async () => {
  const page = await open(b, weir, { path: '/settings/security', signedIn: true });
  const d = await device(page);
  await d.verified(false);
  await add(page, 'Nobody');
  await page.getByRole('alert').getByText('No passkey was used').waitFor();
  assert.equal((await d.keys()).length, 0);
  await page.done();
});

test('an old sign-in is proved again with a passkey, over the page', async () => {
  const page = await open(b, weir, { path: '/settings/security', signedIn: true });
  await device(page);
  await add(page, 'Phone');
  await row(page, 'Phone').waitFor();
  // the first answer says that the sign-in is old, as after ten minutes
  let old = true;
  await page.route('**/api/keys', async (route) => {
    if (route.request().method() !== 'POST' || !old) return route.continue();
    old = false;
    return route.fulfill({ status: 403, contentType: 'application/json', body: JSON.stringify({ error: { code: 403, message: 'This needs a recent sign-in.', metadata: { error_type: 'permission_denied', sign_in: 'again' } } }) });
  });
  await page.goto(`${weir.url}/keys`);
  await settled(page);
  await page.locator('main form input').fill('backend');
  await page.locator('main form button').click();
  await page.getByRole('dialog', { name: 'Confirm that it is you' }).getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByRole('tabpanel').waitFor();
  await page.done();
});

test('sessions are listed and ended, one and all others', async () => {
  const page = await open(b, weir, { path: '/settings/security', signedIn: true });
  const other = await open(b, weir, { path: '/overview', signedIn: true });
  await page.reload();
  await row(page, 'this browser').waitFor();
  await page.getByRole('button', { name: 'End', exact: true }).first().click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'End', exact: true }).click();
  await page.getByText('1 session ended.').waitFor();
  await signIn(other, weir);
  await page.reload();
  await page.getByRole('button', { name: 'End all others' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'End all others' }).click();
  await page.getByText(/sessions? ended\./).waitFor();
  assert.equal((await other.request.get(`${weir.url}/api/auth/sessions`)).status(), 401);
  await other.done();
  await page.done();
});

test('the profile is changed; its language and theme hold in every browser', async () => {
  const page = await open(b, weir, { path: '/settings/profile', signedIn: true });
  const name = page.getByLabel('Name', { exact: true });
  await name.fill(hostile[0]);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Save', disabled: true }).waitFor();
  await page.reload();
  await becomes(() => name.inputValue(), hostile[0]);
  await page.getByRole('radio', { name: 'Dark' }).click();
  await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
  await page.getByRole('radio', { name: 'Русский' }).click();
  await page.getByRole('heading', { level: 1, name: 'Настройки' }).waitFor();
  const me = await (await page.request.get(`${weir.url}/api/me`)).json();
  assert.deepEqual([me.locale, me.theme, me.user.name], ['ru', 'dark', hostile[0]]);
  await page.getByRole('radio', { name: 'Как в браузере' }).click();
  await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
  await page.getByRole('radio', { name: 'System' }).click();
  await name.fill('demo');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Save', disabled: true }).waitFor();
  await page.done();
});

for (const path of ['/settings/profile', '/settings/security']) {
  for (const theme of ['light', 'dark']) {
    for (const language of ['en', 'ru']) {
      test(`axe finds nothing at ${path}, ${theme}, ${language}`, async () => {
        const page = await open(b, weir, { path, theme, language, signedIn: true });
        await page.getByRole('heading', { level: 2 }).first().waitFor();
        await accessible(page);
        await page.done();
      });
    }
  }
  test(`${path} fits 360 px, and is Russian`, async () => {
    const page = await open(b, weir, { path, size: 'small', language: 'ru', signedIn: true });
    await page.getByRole('heading', { level: 2 }).first().waitFor();
    await fitsWidth(page);
    assert.deepEqual(await englishWords(page, /^(Weir|English|demo|UTC|EN)$|Chrome/), []);
    await page.done();
  });
}
