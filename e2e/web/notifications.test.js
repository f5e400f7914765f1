// Notifications: switches, the threshold and a test on the page of the settings; a mail of a real account, and its link that stops such mails.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { mailbox } from './mail.js';
import { accessible, becomes, browser, englishWords, fitsWidth, hostile, looks, open, program, settled } from './weir.js';

const post = await mailbox();
const weir = await serve();
const b = await browser();

async function serve() {
  const dir = await mkdtemp(join(tmpdir(), 'weir-e2e-notify-'));
  const s = createServer();
  await new Promise((done) => { s.listen(0, '127.0.0.1', done); });
  const { port } = s.address();
  await new Promise((done) => { s.close(done); });
  const url = `http://localhost:${port}`, data = join(dir, 'data'), config = join(dir, 'weir.yaml');
  await writeFile(join(dir, 'master.key'), randomBytes(32).toString('hex'), { mode: 0o600 });
  await writeFile(config, `data_dir: ${data}
server:
  listen: 127.0.0.1:${port}
  admin_listen: "off"
  public_url: ${url}
  shutdown_delay: 0s
builtin: false
mail:
  host: 127.0.0.1
  port: ${post.port}
  encryption: none
  from: Weir <weir@example.org>
sign_in:
  sign_up: open
notifications:
  check_every: 10s
secrets:
  master_key_file: ${join(dir, 'master.key')}
log:
  level: warn
`, { mode: 0o600 });
  const env = { PATH: process.env.PATH, HOME: dir, TZ: 'UTC' };
  const child = spawn(program, ['serve', '--config', config], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  child.stdout.on('data', (piece) => { log += piece; });
  child.stderr.on('data', (piece) => { log += piece; });
  const exited = new Promise((done) => { child.once('exit', done); });
  after(async () => { child.kill('SIGTERM'); assert.equal(await exited, 0, log); await rm(dir, { recursive: true, force: true }); });
  for (let i = 0; !(await fetch(`${url}/readyz`).then((r) => r.ok, () => false)); i++) {
    assert.ok(i < 600 && child.exitCode === null, `weir serve is not ready\n${log}`);
    await new Promise((done) => { setTimeout(done, 100); });
  }
  const run = async (...args) => (await promisify(execFile)(program, [...args, '--config', config], { env })).stdout;
  return { url, run, log: () => log };
}

const headers = { 'x-weir': '1', origin: weir.url };
/** A browser of somebody who has confirmed an address. */
async function person(name, look = {}) {
  const page = await open(b, weir, look);
  const email = `${name}@example.org`;
  assert.ok((await page.request.post(`${weir.url}/api/auth/sign-up`, { headers, data: { email, locale: look.language ?? 'en' } })).ok());
  const { link } = await post.to(email, /./);
  assert.ok((await page.request.post(`${weir.url}/api/auth/confirm`, { headers, data: { token: link.split('#')[1], name, password: 'correct horse battery' } })).ok());
  await page.goto(`${weir.url}/settings/notifications`);
  await page.getByRole('table').waitFor();
  await settled(page);
  return { page, email };
}
test('signing up asks for the address alone; the link of the mail for a name and a password, with a button', async () => {
  const page = await open(b, weir, { path: '/sign-up' });
  await page.getByLabel('E-mail').fill('petra@example.org');
  assert.equal(await page.getByLabel('Password', { exact: true }).count(), 0);
  await page.getByRole('button', { name: 'Send the link' }).click();
  await page.getByText('petra@example.org').waitFor();
  const { link } = await post.to('petra@example.org', /./);
  const opened = await open(b, weir, { path: link.slice(weir.url.length), size: 'small', language: 'ru' });
  await opened.getByRole('heading', { level: 1, name: 'Почта подтверждена' }).waitFor();
  await accessible(opened);
  await fitsWidth(opened);
  assert.equal((await (await opened.request.get(`${weir.url}/api/me`)).json()).user, null); // a program that looks into mails opens it, too
  assert.equal(await opened.getByLabel('Почта').inputValue(), 'petra@example.org');
  await opened.getByLabel('Имя').fill('Petra');
  await opened.getByLabel('Пароль', { exact: true }).fill('correct horse battery');
  if (process.env.SHOTS) await opened.screenshot({ path: `${process.env.SHOTS}/confirm.png` });
  await opened.getByRole('button', { name: 'Создать аккаунт' }).click();
  await opened.waitForURL(`${weir.url}/`);
  const me = await (await opened.request.get(`${weir.url}/api/me`)).json();
  assert.deepEqual([me.user.name, me.user.email, me.user.confirmed], ['Petra', 'petra@example.org', true]);
  await page.goto(link); // it worked once
  await page.getByText('This link does not work').waitFor();
  await opened.done();
  await page.done();
});

const told = async (page) => (await page.request.get(`${weir.url}/api/notifications`)).json().then((a) => a.data);

test('a switch, the threshold and the webhook are kept; what cannot be called is refused at its field', async () => {
  const { page } = await person('anna');
  await page.getByRole('checkbox', { name: 'Payments: E-mail' }).uncheck();
  await becomes(async () => (await told(page)).causes.payment, { email: false, webhook: true });
  await page.getByLabel('A balance is low below').fill('1 500,5');
  await page.getByRole('button', { name: 'Save' }).first().click();
  await becomes(async () => (await told(page)).threshold, '1500.5');
  const tags = page.getByLabel('Tags watched by themselves'), watch = page.locator('form').filter({ has: tags }).getByRole('button', { name: 'Save' });
  await tags.fill('project, project');
  await watch.click();
  await page.getByText('At most 20 different tags').waitFor();
  await tags.fill('project, env=prod test,');
  await watch.click();
  await becomes(async () => (await told(page)).watched_tags, ['project', 'env=prod test']);
  const address = page.getByLabel('Webhook address'), save = page.getByRole('button', { name: 'Save' }).last();
  for (const wrong of ['http://example.org/', 'https://127.0.0.1/', 'https://[::1]/', 'javascript:alert(1)', hostile[0]]) {
    await address.fill(wrong);
    await save.click();
    await page.getByText('This address cannot be called').waitFor();
    await address.fill('');
  }
  assert.equal((await told(page)).webhook.url, null);
  await address.fill('https://93.184.215.14/hook');
  await save.click();
  await becomes(async () => (await told(page)).webhook.url, 'https://93.184.215.14/hook');
  await page.getByLabel('A balance is low below').fill(hostile[0]);
  await page.getByRole('button', { name: 'Save' }).first().click();
  await page.getByText('A sum in rubles').waitFor();
  await page.reload();
  await page.getByRole('checkbox', { name: 'Payments: E-mail' }).waitFor();
  assert.equal(await page.getByRole('checkbox', { name: 'Payments: E-mail' }).isChecked(), false);
  assert.equal(await page.getByLabel('A balance is low below').inputValue(), '1500.5');
  await page.getByRole('button', { name: 'Make a secret' }).click();
  const secret = page.getByRole('textbox', { name: 'Secret of webhooks' });
  await secret.waitFor();
  assert.match(await secret.inputValue(), /^whsec_/);
  await page.done();
});

test('a test arrives, and no more of them than allowed', async () => {
  const { page, email } = await person('boris');
  for (const n of [1, 2, 3, 4, 5]) {
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByRole('status').getByText('A mail is on its way').waitFor();
    assert.match((await post.to(email, /A test from/, n)).text, /Notifications by e-mail work/);
  }
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('That was the last test of today').waitFor();
  await page.done();
});

test('a low balance is told by mail and on the overview; its link stops such mails, and only those', async () => {
  const { page, email } = await person('vera');
  await weir.run('topup', 'vera', '12.4');
  await page.getByLabel('A balance is low below').fill('50');
  await page.getByRole('button', { name: 'Save' }).first().click();
  const mail = await post.to(email, /^12\.40.₽ left$/);
  assert.match(mail.text, /12\.40/);
  assert.match(mail.text, /List-Unsubscribe-Post: List-Unsubscribe=One-Click/);
  await page.goto(`${weir.url}/overview`);
  await page.getByText('That is less than the amount that you chose.').waitFor();
  await page.done();

  const link = /https?:\/\/\S+\/unsubscribe#\S+/.exec(mail.text)[0];
  const visitor = await open(b, weir); // nobody is signed in here
  await visitor.goto(link);
  await visitor.getByRole('button', { name: 'Stop them' }).waitFor();
  for (const { theme, language } of looks) {
    const other = await open(b, weir, { theme, language, size: 'small' });
    await other.goto(link);
    await settled(other);
    await accessible(other);
    await fitsWidth(other);
    await other.done();
  }
  await visitor.getByRole('button', { name: 'Stop them' }).click();
  await visitor.getByText('Mails about “Low balance” are off').waitFor();
  await visitor.done();
  for (const wrong of ['', '#', '#x.y', `#${hostile[0]}`, '#%E0%A4%A', link.slice(link.indexOf('#'), -1)]) {
    const lost = await open(b, weir);
    await lost.goto(`${weir.url}/unsubscribe${wrong}`);
    await settled(lost);
    if (wrong.length > 1 && wrong !== '#%E0%A4%A') await lost.getByRole('button', { name: 'Stop them' }).click();
    await lost.getByText('This link is not valid').waitFor();
    await lost.done();
  }
  const again = await open(b, weir);
  assert.ok((await again.request.post(`${weir.url}/api/auth/sign-in`, { headers, data: { email, password: 'correct horse battery' } })).ok());
  const { causes } = await told(again);
  for (const [cause, by] of Object.entries(causes)) assert.deepEqual(by, { email: cause !== 'low_balance', webhook: true }, cause);
  await again.done();
  assert.doesNotMatch(weir.log(), /@example\.org|whsec_/);
});

for (const { theme, language } of looks) {
  test(`the page is for everybody: ${theme}, ${language}`, async () => {
    const { page } = await person(`p-${theme}`, { theme, language });
    await accessible(page);
    await page.setViewportSize({ width: 360, height: 740 });
    await fitsWidth(page);
    if (language === 'ru') assert.deepEqual(await englishWords(page, /^(Weir|UTC|EN|https|p-|example)/i), []);
    await page.done();
  });
}
