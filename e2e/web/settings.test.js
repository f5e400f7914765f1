// Settings: the profile, the ways to sign in, the sessions; and signing in with a passkey of a virtual device.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, choose, demo, englishWords, fitsWidth, hostile, open, settled, signIn } from './weir.js';

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
  await page.getByRole('heading', { level: 1 }).focus();
  await page.keyboard.press('n');
  await page.getByLabel('Name', { exact: true }).fill('backend');
  await page.getByRole('form').getByRole('button', { name: 'Make a key' }).click();
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

/** The button is off while the change is on its way, too. */
async function saved(page) {
  await page.getByText('Saved', { exact: true }).last().waitFor();
  await page.getByRole('button', { name: 'Save', disabled: true }).waitFor();
}

test('the profile is changed; its language and theme hold in every browser', async () => {
  const page = await open(b, weir, { path: '/settings/profile', signedIn: true });
  const name = page.getByLabel('Name', { exact: true });
  await name.fill(hostile[0]);
  await page.getByRole('button', { name: 'Save' }).click();
  await saved(page);
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
  await saved(page);
  await page.done();
});

test('what is wrong with a field is said in Russian', async () => {
  const page = await open(b, weir, { path: '/settings/profile', signedIn: true, language: 'ru', size: 'small' });
  await page.getByLabel('Имя', { exact: true }).fill('usr_demo');
  await page.getByRole('button', { name: 'Сохранить' }).click();
  await page.getByText('Нельзя начинать с usr_ или wal_').waitFor();
  await fitsWidth(page);
  await accessible(page);
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/field-ru.png` });
  await page.done();
});

const remain = (page, n) => page.locator(`[data-plan=now] [data-remain]`).getByText(n).waitFor();
const list = (page, label) => ({
  add: async (name) => { await page.getByLabel(label, { exact: true }).first().fill(name); await page.getByLabel(label, { exact: true }).first().press('Enter'); },
  notes: page.locator('div', { has: page.getByLabel(label, { exact: true }) }).locator('[data-notes]'),
});

test('wishes for routing show what they do before they are saved, at the field and beside the form', async () => {
  const page = await open(b, weir, { path: '/settings/routing', signedIn: true });
  const saved = async () => (await (await page.request.get(`${weir.url}/api/account/preferences`)).json()).data.provider;
  await choose(page, 'Model', 'sim/anywhere');
  await remain(page, 'Of 6 providers 6 remain');

  await list(page, 'Never these providers').add('sim-gemini');
  await remain(page, 'Of 6 providers 5 remain');
  await page.locator('[data-endpoint^=sim-gemini]').getByText('the call or the account ignores it').waitFor();
  await page.getByText('Leaves out 1 provider of the chosen model.').waitFor();
  assert.equal(await saved(), null);

  // what does not go together is said at the field
  await list(page, 'Only these providers').add('sim-gemini');
  await page.locator('[data-notes=ignore]').getByText('All allowed providers are ignored here: none is left.').waitFor();
  await remain(page, 'Of 6 providers 0 remain');
  await page.getByText('No provider would answer').waitFor();
  await list(page, 'Only these providers').add('sim, nobody-of-that-name');
  await page.locator('[data-notes=only]').getByText('nobody-of-that-name: no provider here has this name at present.').waitFor();
  await remain(page, 'Of 6 providers 1 remains');
  await page.getByRole('button', { name: 'Remove nobody-of-that-name' }).click();
  await list(page, 'Try these first').add('sim-bedrock');
  await page.locator('[data-notes=order]').getByText('sim-bedrock: not among the allowed providers').waitFor();

  // a figure that cannot be read is not sent, and takes the focus
  const input = page.getByLabel('Input', { exact: true });
  await input.fill('cheap');
  await page.getByText('A figure cannot be read.').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true');
  assert.equal(await saved(), null);
  await input.fill('1 000,5');
  await page.getByRole('switch', { name: 'Zero retention only' }).click();
  await page.getByLabel('Sort providers by').selectOption('price');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved. Calls follow it within five seconds.').waitFor();
  assert.deepEqual(await saved(), { order: ['sim-bedrock'], only: ['sim-gemini', 'sim'], ignore: ['sim-gemini'], zdr: true, sort: 'price', max_price: { prompt: '1.0005' } });

  // it is there in another page, and edits can be undone; the explanation is of the edits, not of what is saved
  await page.reload();
  assert.equal(await page.getByLabel('Input', { exact: true }).inputValue(), '1000.5');
  await page.getByRole('button', { name: 'Remove all' }).click();
  await remain(page, 'Of 6 providers 6 remain');
  await page.getByRole('button', { name: 'Undo changes' }).click();
  await remain(page, 'Of 6 providers 1 remains');
  await page.getByRole('button', { name: 'Remove all' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved. Calls follow it within five seconds.').waitFor();
  assert.equal(await saved(), null);
  await page.done();
});

test('what the server refuses is shown at its field, and plugins of the account stay', async () => {
  const page = await open(b, weir, { signedIn: true });
  const put = (data) => page.request.put(`${weir.url}/api/account/preferences`, { headers: { origin: weir.url, 'x-weir': '1' }, data });
  assert.equal((await put({ provider: null, plugins: [{ id: 'response-healing' }] })).status(), 200);
  await page.goto(`${weir.url}/settings/routing`);
  await settled(page);
  await list(page, 'Try these first').add('sim');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved. Calls follow it within five seconds.').waitFor();
  const kept = (await (await page.request.get(`${weir.url}/api/account/preferences`)).json()).data;
  assert.deepEqual(kept, { provider: { order: ['sim'] }, plugins: [{ id: 'response-healing' }] });
  await page.route('**/api/account/preferences', (route) => (route.request().method() === 'PUT' ? route.fulfill({ status: 400, contentType: 'application/json', body: JSON.stringify({ error: { code: 400, message: 'provider.order[0] is too long.', metadata: { error_type: 'invalid_request', param: 'provider.order[0]' } } }) }) : route.continue()));
  await list(page, 'Try these first').add(hostile[1]);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('provider.order[0] is too long.').waitFor();
  await page.unroute('**/api/account/preferences');
  assert.equal((await put({ provider: null })).status(), 200);
  await page.done();
});

test('what is stored of responses is chosen, counted and deleted', async () => {
  const respond = async (more = {}) => (await weir.call('/v1/responses', { model: 'sim/chat', input: 'Hello', ...more })).json();
  const page = await open(b, weir, { path: '/settings/data', signedIn: true });
  await page.locator('[data-stored]').getByText('Nothing is stored.').waitFor();
  assert.equal((await respond()).store, true);
  await page.reload();
  await page.locator('[data-stored]').getByText('1 response stored').waitFor();

  await page.getByRole('radio', { name: 'Store only what asks for it' }).check();
  await page.getByLabel('Keep for').selectOption('7');
  await page.getByText('This holds for stored responses, too').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved. Calls follow it within five seconds.').waitFor();
  await page.reload();
  await page.getByRole('radio', { name: 'Store only what asks for it', checked: true }).waitFor();
  assert.equal(await page.getByLabel('Keep for').inputValue(), '7');
  await becomes(async () => (await respond()).store === false, true);
  assert.equal((await respond({ store: true })).store, true);

  await page.getByRole('radio', { name: 'Never store' }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved. Calls follow it within five seconds.').first().waitFor();
  await page.getByText('What is stored stays until its time is over.').waitFor();
  await becomes(async () => (await respond({ store: true })).error?.code === 400, true);
  await page.getByRole('button', { name: 'Delete all', exact: true }).click();
  await page.getByRole('alertdialog').getByText('Calls can no longer continue them.').waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete all' }).click();
  await page.locator('[data-stored]').getByText('Nothing is stored.').waitFor();

  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Calls', exact: true }).last().click()]);
  assert.match(file.suggestedFilename(), /\.csv$/);
  await page.getByRole('radio', { name: 'Store unless the request says otherwise' }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Save', disabled: true }).waitFor();
  await page.done();
});

for (const path of ['/settings/profile', '/settings/security', '/settings/routing', '/settings/provider-keys', '/settings/data', '/settings/notifications']) {
  test(`${path} fits 360 px, and is Russian`, async () => {
    const page = await open(b, weir, { path, size: 'small', language: 'ru', signedIn: true });
    await page.getByRole('heading', { level: 2 }).first().waitFor();
    await fitsWidth(page);
    assert.deepEqual(await englishWords(page, /^(Weir|English|demo|UTC|EN)$|Chrome/), []);
    await page.done();
  });
}

test('days are counted where the account is, from the next midnight there, and a zone that does not exist is refused by its field', async () => {
  const page = await open(b, weir, { path: '/settings/profile', signedIn: true });
  await page.getByText('Days are counted in UTC.').waitFor();
  const zone = page.getByLabel('Time zone', { exact: true });
  const form = page.locator('form').filter({ has: zone });
  await zone.fill('Moscow');
  await form.getByRole('button', { name: 'Change the time zone' }).click();
  await form.getByText('must be the name of a time zone').waitFor();
  await zone.fill('Europe/Moscow');
  await form.getByRole('button', { name: 'Change the time zone' }).click();
  await form.getByText(/^Days are counted in UTC, and in Europe\/Moscow from .* 21:00:00\.$/).waitFor();
  await accessible(page);
  await zone.fill('UTC'); // what does not hold yet is taken back
  await form.getByRole('button', { name: 'Change the time zone' }).click();
  await page.getByText('Days are counted in UTC.').waitFor();
  await page.done();
});
