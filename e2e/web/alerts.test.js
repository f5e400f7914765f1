// Alerts: a channel is added and tried, a threshold begins an incident that is said once and is in the list, and a receiver that refuses is shown with its words.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { accessible, becomes, browser, demo, englishWords, fitsWidth, looks, open } from './weir.js';

const token = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw';
const telegram = await bots();
const weir = await demo({ env: { WEIR_ALERTS_TELEGRAM_URL: telegram.url } });
const b = await browser();

/** A Bot API over loopback. */
async function bots() {
  const said = { posts: [], refuses: null };
  const s = createServer((req, res) => {
    let body = '';
    req.on('data', (piece) => { body += piece; });
    req.on('end', () => {
      const no = (code, description) => res.writeHead(code).end(JSON.stringify({ ok: false, error_code: code, description }));
      if (req.url !== `/bot${token}/sendMessage`) no(404, 'Not Found');
      else if (said.refuses) no(403, said.refuses);
      else { said.posts.push(JSON.parse(body)); res.end('{"ok":true,"result":{"message_id":1}}'); }
    });
  });
  await new Promise((done) => { s.listen(0, '127.0.0.1', done); });
  after(() => new Promise((done) => { s.close(done); s.closeAllConnections(); }));
  return Object.assign(said, { url: `http://127.0.0.1:${s.address().port}` });
}

test('a channel is tried, a threshold begins an incident that is said once, and a refusal is shown', async () => {
  const page = await open(b, weir, { path: '/admin/alerts', signedIn: true });
  await page.getByText('Alerts go nowhere yet').waitFor();
  await page.getByRole('button', { name: 'Add a channel' }).click();
  const window = page.getByRole('dialog');
  await window.getByLabel('Name').fill('ops');
  await window.getByLabel('Way').selectOption('telegram');
  await window.getByLabel('Chat').fill('-1001234567890');
  await window.getByLabel('Token of the bot').fill('nonsense');
  await window.getByRole('button', { name: 'Save' }).click();
  await window.getByText('The secret of Telegram is the token of a bot').waitFor();
  await window.getByLabel('Token of the bot').fill(token);
  await accessible(page);
  await window.getByRole('button', { name: 'Save' }).click();
  const channel = page.getByRole('table', { name: 'Channels' }).getByRole('row').filter({ hasText: 'ops' });
  await channel.getByText('not tried yet').waitFor();
  await channel.getByRole('button', { name: 'Send a test to ops' }).click();
  await page.getByText('The test arrived at ops.').waitFor();
  await channel.getByText('works').waitFor();
  assert.match(telegram.posts[0].text, /^A test of alerts\n\n.*\nhttp:\/\/\S+\/admin\/alerts$/s);
  assert.equal(telegram.posts[0].chat_id, '-1001234567890');

  const rule = page.getByRole('table', { name: 'Rules' }).getByRole('row').filter({ hasText: 'A disk is full' });
  await rule.getByText('90 % full').waitFor();
  await rule.getByRole('button', { name: 'Change' }).click();
  await window.getByLabel('Limit, %').fill('0');
  await window.getByRole('button', { name: 'Save' }).click();
  await window.locator('[aria-invalid=true]').waitFor();
  await window.getByLabel('Limit, %').fill('1');
  await window.getByRole('button', { name: 'Save' }).click();
  await rule.getByText('1 % full').waitFor();
  await becomes(() => Promise.resolve(telegram.posts.length), 2);
  assert.match(telegram.posts[1].text, /^The disk of node \S+ is \d+ % full\n\nThe limit is 1 %.*\nSince .*\nWhat to do: .*\nhttp/s);
  await page.reload();
  const incident = page.getByRole('table', { name: 'Incidents' }).getByRole('row').filter({ hasText: /Disk of \S+ is \d+\s% full/ });
  await incident.getByText('it lasts').waitFor();
  await incident.getByText('ops: beginning').waitFor();
  await page.getByText('1 incident lasts').waitFor();
  await accessible(page);

  telegram.refuses = `Forbidden: bot was kicked from the supergroup chat, ${telegram.url}/bot${token}/sendMessage`;
  await channel.getByRole('button', { name: 'Send a test to ops' }).click();
  await page.getByText(/The test did not arrive at ops. Forbidden: bot was kicked/).waitFor();
  await channel.getByText('failed', { exact: true }).waitFor();
  assert.ok(!(await page.content()).includes(token.slice(10)), 'the token is shown');
  telegram.refuses = null;
  await channel.getByRole('button', { name: 'Send a test to ops' }).click();
  await channel.getByText('works').waitFor();

  await channel.getByText('all alerts').waitFor();
  await channel.getByRole('button', { name: 'Change ops' }).click();
  await window.getByLabel('Severity').selectOption('critical');
  await window.getByLabel('A money check failed').check();
  await window.getByLabel('A node differs or is gone').check();
  await accessible(page);
  await window.getByRole('button', { name: 'Save' }).click();
  await channel.getByText('critical only; A money check failed; A node differs or is gone').waitFor();

  await rule.getByRole('button', { name: 'Change' }).click();
  await window.getByRole('button', { name: 'As before' }).click();
  await rule.getByText('90 % full').waitFor();
  await page.getByRole('link', { name: 'Audit' }).click();
  await page.getByText('Alert channel added').waitFor();
  await page.getByText('Test sent to an alert channel').first().waitFor();
  await page.done();
});

for (const look of looks)
  test(`it fits a phone, ${look.theme}, ${look.language}`, async () => {
    const russian = look.language === 'ru';
    for (const size of ['small', 'desk']) {
      const page = await open(b, weir, { path: '/admin/alerts', size, signedIn: true, ...look });
      await page.getByRole('heading', { name: russian ? 'Происшествия' : 'Incidents' }).waitFor();
      await page.getByText(russian ? /^ops: начало/ : /^ops: beginning/).waitFor();
      await fitsWidth(page);
      if (russian) assert.deepEqual(await englishWords(page, /^(ops|Weir|Slack|Telegram|…Dsaw|n_\S+|node\S*)$/), []);
      await accessible(page);
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/alerts-${look.theme}-${size}.png`, fullPage: true });
      await page.done();
    }
  });

// A channel that cannot be reached says so in the reader's language, and a provider's words stay as they are.
test('why a message did not arrive is said in the language of the reader', async () => {
  const page = await open(b, weir, { path: '/admin/alerts', signedIn: true, language: 'ru' });
  const put = await page.request.put(`${weir.url}/api/admin/alerts/channels/post`, { headers: { origin: weir.url, 'x-weir': '1' }, data: { way: 'mail', address: 'ops@example.org' } });
  assert.equal(put.status(), 200, await put.text());
  await page.reload();
  await page.getByRole('button', { name: 'Проверить post' }).click();
  await page.getByText('Проверка не дошла до post. У этого шлюза нет почтового сервера: задайте mail.host.').waitFor();
  await page.getByRole('table', { name: 'Каналы' }).getByRole('row').filter({ hasText: 'post' }).getByText('У этого шлюза нет почтового сервера').waitFor();
  assert.equal((await page.request.delete(`${weir.url}/api/admin/alerts/channels/post`, { headers: { origin: weir.url, 'x-weir': '1' } })).status(), 200);
  await page.done();
});

test('a channel is removed, with what that does', async () => {
  const page = await open(b, weir, { path: '/admin/alerts', signedIn: true });
  await page.getByRole('button', { name: 'Remove ops' }).click();
  await page.getByRole('alertdialog').getByText('Alerts do not go there any more').waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Alerts go nowhere yet').waitFor();
  await page.done();
});
