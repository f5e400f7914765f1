// A gateway without a demo: its first administrator, invitations, signing in at another provider, linking it, and what goes wrong on the way.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { mailbox } from './mail.js';
import { provider } from './provider.js';
import { accessible, browser, fitsWidth, open, program, settled } from './weir.js';

const other = await provider();
const post = await mailbox();
const weir = await serve();
const b = await browser();

async function freePort() {
  const s = createServer();
  await new Promise((done) => { s.listen(0, '127.0.0.1', done); });
  const { port } = s.address();
  await new Promise((done) => { s.close(done); });
  return port;
}
async function serve() {
  const dir = await mkdtemp(join(tmpdir(), 'weir-e2e-signin-'));
  const port = await freePort(), url = `http://localhost:${port}`;
  other.redirects = [`${url}/api/auth/oidc/acme/callback`];
  const data = join(dir, 'data');
  await writeFile(join(dir, 'weir.yaml'), `data_dir: ${data}
server:
  listen: 127.0.0.1:${port}
  admin_listen: "off"
  public_url: ${url}
  shutdown_delay: 0s
builtin: false
providers:
  - id: groq
mail:
  host: 127.0.0.1
  port: ${post.port}
  encryption: none
  from: Weir <weir@example.org>
sign_in:
  sign_up: invitation
  providers:
    - id: acme
      name: Acme
      issuer: ${other.url}
      client_id: ${other.clientId}
      client_secret: ${other.secret}
log:
  level: warn
`, { mode: 0o600 });
  const child = spawn(program, ['serve', '--config', join(dir, 'weir.yaml')], { env: { PATH: process.env.PATH, HOME: dir, TZ: 'UTC' }, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  child.stdout.on('data', (piece) => { log += piece; });
  child.stderr.on('data', (piece) => { log += piece; });
  const exited = new Promise((done) => { child.once('exit', done); });
  after(async () => { child.kill('SIGTERM'); assert.equal(await exited, 0, log); await rm(dir, { recursive: true, force: true }); });
  for (let i = 0; ; i++) {
    const ready = await fetch(`${url}/readyz`).then((r) => r.ok, () => false);
    if (ready && existsSync(join(data, 'setup-link'))) break;
    assert.ok(i < 600 && child.exitCode === null, `weir serve is not ready\n${log}`);
    await new Promise((done) => { setTimeout(done, 100); });
  }
  return { url, setup: (await readFile(join(data, 'setup-link'), 'utf8')).trim(), log: () => log };
}
/** Visits at the provider are no complaint. */
async function done(page) {
  page.complaints = page.complaints.filter((c) => !c.startsWith(`request elsewhere: ${other.url}/`));
  await page.done();
}
const password = 'correct horse battery';
const through = async (page) => { await page.getByRole('button', { name: 'Continue with Acme' }).click(); await page.getByRole('link', { name: /^Go on as/ }).click(); };
/** A browser of somebody with a password. */
async function enter(email) {
  const page = await open(b, weir, { path: '/sign-in' });
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor({ state: 'detached' });
  assert.equal((await (await page.request.get(`${weir.url}/api/me`)).json()).user.email, email);
  return page;
}
let admin;

test('the link of the first start works in a tab that has the gateway open', async () => {
  const { hash, pathname } = new URL(weir.setup);
  for (const [at, to] of [['/models', pathname], [pathname, pathname], ['/setup', '/setup'], ['/welcome', '/welcome']]) {
    const page = await open(b, weir, { path: at });
    assert.equal(await page.getByRole('button', { name: 'Become the administrator' }).count(), 0, at);
    await page.evaluate((link) => { location.href = link; }, weir.url + to + hash); // as a paste into the address bar: between equal paths the hash alone changes
    await page.getByRole('button', { name: 'Become the administrator' }).waitFor();
    await page.waitForURL((u) => u.pathname === '/setup' && u.hash === ''); // the token is gone from the address
    await page.done();
  }
});

test('the link of the first start makes the administrator, who links a provider and signs in with it', async () => {
  admin = await open(b, weir, { path: new URL(weir.setup).pathname + new URL(weir.setup).hash });
  await admin.getByLabel('E-mail').fill('root@example.org');
  await admin.getByLabel('Password', { exact: true }).fill(password);
  const answered = admin.waitForResponse((r) => r.url().endsWith('/api/auth/setup'));
  await admin.getByRole('button', { name: 'Become the administrator' }).click();
  assert.equal((await answered).status(), 200);
  await admin.getByRole('button', { name: 'Become the administrator' }).waitFor({ state: 'detached' });
  await settled(admin);
  await admin.goto(`${weir.url}/settings/security`);
  await admin.getByText('No sign-ins are linked.').waitFor();
  await admin.getByRole('button', { name: 'Link Acme' }).click();
  await admin.getByRole('link', { name: 'Go on as Anna' }).click();
  await admin.getByText('Acme is linked.').waitFor();
  await admin.getByText('anna@example.org').waitFor();
  const page = await open(b, weir, { path: '/sign-in?to=/settings/security' });
  await through(page);
  await page.waitForURL(/\/settings\/security$/);
  await page.getByText('through Acme').first().waitFor();
  await done(page);
});

test('a provider that is declared without a key is said in the log at start, in the list and on its page', async () => {
  const said = weir.log().split('\n').find((l) => l.includes('has no key'));
  assert.match(said ?? '', /provider groq/);
  assert.match(said, /GROQ_API_KEY/);
  await admin.goto(`${weir.url}/admin/providers`);
  const row = admin.getByRole('table', { name: 'Connected' }).getByRole('row').filter({ hasText: 'Groq' });
  await row.getByText('has no key').waitFor();
  await row.getByRole('link', { name: 'Groq' }).click();
  await admin.getByText('has no key').first().waitFor();
  await admin.getByText('GROQ_API_KEY').waitFor();
});

test('an invitation is accepted with the provider', async () => {
  const made = await admin.request.post(`${weir.url}/api/invitations`, { headers: { origin: weir.url, 'x-weir': '1' }, data: { role: 'user' } });
  const link = (await made.json()).data.url;
  other.who = { sub: '43', email: 'boris@example.org', email_verified: true, name: 'Boris' };
  const page = await open(b, weir, { path: link.slice(weir.url.length) });
  await page.getByRole('heading', { level: 1, name: 'You are invited' }).waitFor();
  await through(page);
  await page.waitForURL(`${weir.url}/**`);
  const me = await (await page.request.get(`${weir.url}/api/me`)).json();
  assert.deepEqual([me.user?.name, me.user?.role, me.user?.has_password], ['Boris', 'user', false]);
  // their only way to sign in cannot be removed
  await page.goto(`${weir.url}/settings/security`);
  await page.getByRole('listitem').filter({ hasText: 'boris@example.org' }).getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('This is your last way to sign in').waitFor();
  await done(page);
});

test('an invitation is accepted with a password', async () => {
  const made = await admin.request.post(`${weir.url}/api/invitations`, { headers: { origin: weir.url, 'x-weir': '1' }, data: { role: 'operator', email: 'dora@example.org' } });
  const page = await open(b, weir, { path: (await made.json()).data.url.slice(weir.url.length) });
  await page.getByText('an operator').waitFor();
  assert.equal(await page.getByLabel('E-mail').inputValue(), 'dora@example.org');
  await page.getByLabel('Password', { exact: true }).fill(password);
  const answered = page.waitForResponse((r) => r.url().endsWith('/api/auth/sign-up'));
  await page.getByRole('button', { name: 'Accept the invitation' }).click();
  assert.equal((await answered).status(), 200);
  await page.getByRole('button', { name: 'Accept the invitation' }).waitFor({ state: 'detached' });
  assert.equal((await (await page.request.get(`${weir.url}/api/me`)).json()).user.role, 'operator');
  await done(page);
});

test('the password goes while the provider is left, and comes back; other browsers are signed out', async () => {
  const other = await enter('root@example.org');
  await admin.goto(`${weir.url}/settings/security`);
  await admin.getByRole('button', { name: 'Remove the password' }).click();
  await admin.getByRole('alertdialog').getByRole('button', { name: 'Remove', exact: true }).click();
  await admin.getByText('The password is removed.').waitFor();
  await admin.getByText('You have no password.').waitFor();
  assert.equal((await other.request.get(`${weir.url}/api/auth/sessions`)).status(), 401);
  await admin.getByRole('listitem').filter({ hasText: 'anna@example.org' }).getByRole('button', { name: 'Remove' }).click();
  await admin.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
  await admin.getByText('This is your last way to sign in').waitFor();
  await admin.getByLabel('New password').fill(password);
  await admin.getByRole('button', { name: 'Set a password' }).click();
  await admin.getByRole('button', { name: 'Change the password' }).waitFor();
  await accessible(admin);
  await done(other);
});

/** Asks for another address on the page of the profile. */
async function askForEmail(page, email) {
  await page.goto(`${weir.url}/settings/profile`);
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await page.getByLabel('New e-mail address').fill(email);
  await page.getByRole('button', { name: 'Send the link' }).click();
  await page.getByText(`A mail went to ${email}`).waitFor();
}

test('the address changes with the link that goes to the new one, and comes back with that to the former one', async () => {
  await askForEmail(admin, 'root.new@example.org');
  await accessible(admin);
  const { link } = await post.to('root.new@example.org', /Your new address/);
  // another person opens it, and a browser in which nobody is signed in: nothing changes
  const dora = await enter('dora@example.org');
  await dora.goto(link);
  await dora.getByRole('button', { name: 'Use this address' }).click();
  await dora.getByRole('alert').getByText('The link is for another account').waitFor();
  const nobody = await open(b, weir, { path: link.slice(weir.url.length), size: 'small', language: 'ru' });
  await nobody.getByText('откройте ссылку из письма ещё раз').waitFor();
  await fitsWidth(nobody);
  await accessible(nobody);

  await admin.goto(link);
  await admin.getByText('root.new@example.org').waitFor();
  await accessible(admin);
  if (process.env.SHOTS) await admin.screenshot({ path: `${process.env.SHOTS}/new-email.png` });
  await admin.getByRole('button', { name: 'Use this address' }).click();
  await admin.getByText('is your address now').waitFor();
  assert.equal(new URL(admin.url()).hash, '');
  await admin.getByRole('link', { name: 'To your profile' }).click();
  await admin.getByText('root.new@example.org').waitFor();
  await admin.goto(link);
  await admin.getByText('This link does not work').waitFor();

  // the notice to the former address: of the request, and of the change
  const [asked, changed] = [await post.to('root@example.org', /is about to change/), await post.to('root@example.org', /has changed/)];
  assert.notEqual(asked.link, changed.link);
  const owner = await open(b, weir, { path: changed.link.slice(weir.url.length), theme: 'dark' });
  await owner.getByRole('button', { name: 'Keep this address' }).waitFor();
  await accessible(owner);
  await owner.getByRole('button', { name: 'Keep this address' }).click();
  await owner.getByText('Choose a new password: somebody may know yours').waitFor();
  if (process.env.SHOTS) await owner.screenshot({ path: `${process.env.SHOTS}/kept-email.png` });
  assert.equal((await admin.request.get(`${weir.url}/api/auth/sessions`)).status(), 401);
  await owner.getByRole('button', { name: 'Choose a new password' }).click();
  await owner.getByLabel('E-mail').fill('root@example.org');
  await owner.getByRole('button', { name: 'Send the link' }).click();
  await owner.goto((await post.to('root@example.org', /A new password/)).link);
  await owner.getByLabel('New password').fill(`${password} again`);
  await owner.getByRole('button', { name: 'Set password and sign in' }).click();
  await owner.waitForURL(`${weir.url}/**`);
  await owner.getByRole('button', { name: 'Set password and sign in' }).waitFor({ state: 'detached' });
  assert.equal((await (await owner.request.get(`${weir.url}/api/me`)).json()).user.email, 'root@example.org');
  for (const p of [dora, nobody, owner]) await done(p);
});

test('an address with an account looks like any other, and its owner reads of it', async () => {
  const page = await enter('dora@example.org');
  await askForEmail(page, 'root@example.org');
  const told = await post.to('root@example.org', /You have an account/);
  assert.equal(told.link, null);
  await done(page);
});

test('what goes wrong is said in words, and nobody is signed in', async () => {
  other.who = { sub: '44', email: 'carla@example.org', email_verified: true, name: 'Carla' };
  const page = await open(b, weir, { path: '/sign-in?to=/keys' });
  await through(page);
  await page.getByRole('alert').getByText('No account here has linked this identity of Acme').waitFor();
  other.fault = 'nonce';
  await through(page);
  await page.getByRole('alert').getByText(/Acme does not answer as it should.*req_/).waitFor();
  await accessible(page);
  other.fault = null;
  other.refuses = true;
  await through(page);
  await page.getByRole('alert').getByText('Acme has not let you in').waitFor();
  other.refuses = false;
  other.who = { sub: '45', email: 'root@example.org', email_verified: true, name: 'Not root' };
  await through(page);
  await page.getByRole('alert').getByText('There is an account with your address').waitFor();
  assert.match(page.url(), /[?&]to=%2Fkeys/);
  assert.equal((await (await page.request.get(`${weir.url}/api/me`)).json()).user, null);
  // the address to which one browser was sent back opens nothing in another
  const [a, c] = await Promise.all([open(b, weir, { path: '/sign-in' }), open(b, weir, { path: '/sign-in' })]);
  other.who = { sub: '42', email: 'anna@example.org', email_verified: true, name: 'Anna' };
  await a.getByRole('button', { name: 'Continue with Acme' }).click();
  const stolen = await a.getByRole('link', { name: 'Go on as Anna' }).getAttribute('href');
  await c.goto(stolen);
  await c.getByRole('alert').getByText('began in another browser').waitFor();
  assert.equal((await (await c.request.get(`${weir.url}/api/me`)).json()).user, null);
  for (const p of [page, a, c]) await done(p);
});

test('the page of sign-in fits 360 px in Russian, with a password, a passkey and a provider', async () => {
  const page = await open(b, weir, { path: '/sign-in?problem=exists&provider=acme', size: 'small', language: 'ru' });
  await page.getByRole('button', { name: 'Войти через Acme' }).waitFor();
  await page.getByRole('alert').getByText('Аккаунт с вашим адресом уже есть').waitFor();
  await fitsWidth(page);
  await accessible(page);
  await page.screenshot({ path: process.env.SHOTS ? `${process.env.SHOTS}/sign-in-oidc.png` : undefined });
  await done(page);
});

test('a passkey that the account requires is asked for after the password, a link by mail and another provider', async () => {
  const boss = await open(b, weir, { path: '/sign-in' });
  await boss.request.post(`${weir.url}/api/auth/sign-in`, { headers: { origin: weir.url, 'x-weir': '1' }, data: { email: 'root@example.org', password: `${password} again` } });
  const made = await boss.request.post(`${weir.url}/api/invitations`, { headers: { origin: weir.url, 'x-weir': '1' }, data: { role: 'user', email: 'egor@example.org' } });
  const page = await open(b, weir, { path: (await made.json()).data.url.slice(weir.url.length) });
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Accept the invitation' }).click();
  await page.getByRole('button', { name: 'Accept the invitation' }).waitFor({ state: 'detached' });
  // A page that another follows may end the browser's device; its passkeys are carried into a new one.
  let cdp, authenticatorId, credentials = [], count = 0;
  const device = async () => {
    cdp = await page.context().newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    ({ authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true } }));
    count += 1000; // a counter that goes back is refused
    for (const credential of credentials) await cdp.send('WebAuthn.addCredential', { authenticatorId, credential: { ...credential, signCount: count } });
  };
  const user = async () => (await (await page.request.get(`${weir.url}/api/me`)).json()).user;
  const out = async () => { await page.request.post(`${weir.url}/api/auth/sign-out`, { headers: { origin: weir.url, 'x-weir': '1' }, data: {} }); };

  // A provider is linked, a passkey added, and required with the passkey itself.
  other.who = { sub: '46', email: 'egor@example.org', email_verified: true, name: 'Egor' };
  await page.goto(`${weir.url}/settings/security`);
  await page.getByRole('button', { name: 'Link Acme' }).click();
  await page.getByRole('link', { name: 'Go on as Egor' }).click();
  await page.getByText('Acme is linked.').waitFor();
  await device();
  assert.equal(await page.getByRole('button', { name: 'Require', exact: true }).count(), 0);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click();
  await page.getByText('not used yet').waitFor();
  ({ credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId }));
  await page.getByRole('button', { name: 'Require', exact: true }).click();
  await page.getByRole('button', { name: 'Stop requiring' }).waitFor();
  await accessible(page);
  assert.equal((await user()).second_step, true);
  await post.to('egor@example.org', /A passkey is required/);

  // The last passkey stays.
  await page.getByRole('button', { name: /^Actions for/ }).click();
  await page.getByRole('menuitem', { name: 'Remove' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('this is the last one').waitFor();

  // The password: half a sign-in is no sign-in.
  await out();
  await page.goto(`${weir.url}/sign-in?to=/settings/security`);
  await page.getByLabel('E-mail').fill('egor@example.org');
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Now your passkey' }).waitFor();
  await accessible(page);
  await device();
  assert.equal(await user(), null);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.waitForURL(`${weir.url}/settings/security`);
  assert.equal((await user()).email, 'egor@example.org');
  // Freshness: the page offers the passkey and nothing else.
  await page.route('**/api/auth/second-step', (route) => (route.request().method() === 'DELETE' ? route.fulfill({ status: 403, contentType: 'application/json', body: JSON.stringify({ error: { code: 403, message: 'This needs a recent sign-in.', metadata: { error_type: 'permission_denied', sign_in: 'again' } } }) }) : route.continue()), { times: 1 });
  await page.getByRole('button', { name: 'Stop requiring' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Stop requiring' }).click();
  const gate = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await gate.getByText('This account requires a passkey.').waitFor();
  assert.equal(await gate.getByLabel('Password').count(), 0);
  await page.keyboard.press('Escape');

  // Another provider.
  await out();
  await page.goto(`${weir.url}/sign-in?to=/settings/security`);
  await page.getByRole('button', { name: 'Continue with Acme' }).click();
  await page.getByRole('link', { name: /^Go on as/ }).click();
  await page.getByRole('heading', { level: 1, name: 'Now your passkey' }).waitFor();
  assert.doesNotMatch(page.url(), /#/);
  assert.equal(await user(), null);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.waitForURL(`${weir.url}/settings/security`);

  // A link by mail.
  await out();
  await page.request.post(`${weir.url}/api/auth/recover`, { headers: { origin: weir.url, 'x-weir': '1' }, data: { email: 'egor@example.org', locale: 'en' } });
  const { link } = await post.to('egor@example.org', /^A new password/);
  await page.goto(link);
  await page.getByLabel('New password').fill('three unrelated words');
  await page.getByRole('button', { name: 'Set password and sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Now your passkey' }).waitFor();
  assert.equal(await user(), null);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByRole('heading', { level: 1, name: 'Now your passkey' }).waitFor({ state: 'detached' });
  assert.equal((await user()).email, 'egor@example.org');

  // It is required no more, and the password is enough.
  await page.goto(`${weir.url}/settings/security`);
  await page.getByRole('button', { name: 'Stop requiring' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Stop requiring' }).click();
  await page.getByRole('button', { name: 'Require', exact: true }).waitFor();
  await out();
  await page.goto(`${weir.url}/sign-in`);
  await page.getByLabel('E-mail').fill('egor@example.org');
  await page.getByLabel('Password', { exact: true }).fill('three unrelated words');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor({ state: 'detached' });
  assert.equal((await user()).second_step, false);
  for (const p of [page, boss]) await done(p);
});
