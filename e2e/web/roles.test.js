// Every page of the console for every role: visitors are asked to sign in, users find nothing there, operators and administrators get a page whose
// every question is answered.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { everyPage } from './pages.js';
import { becomes, browser, demo, open, program, settled } from './weir.js';

const weir = await demo();
const b = await browser();
/** Without those of something that is not there, whose API says so with 404. */
const paths = (await everyPage(weir)).app.filter((p) => p.startsWith('/admin') && !p.endsWith('/none'));
const run = (...args) => promisify(execFile)(program, [...args, '--data', weir.data], { env: { PATH: process.env.PATH, HOME: weir.dir } });

// The last administrator stays one, so that another is made first.
await run('user', 'add', 'second', '--role', 'administrator');
const roleOf = async (page) => (await (await page.request.get(`${weir.url}/api/me`)).json()).user?.role;

/** Opens each page anew, and answers what it showed and what the console's routes answered it. */
async function walk(page) {
  const seen = [];
  let answers = [];
  page.on('response', (r) => { if (new URL(r.url()).pathname.startsWith('/api/admin/')) answers.push(r.status()); });
  for (const path of paths) {
    answers = [];
    await page.goto(weir.url + path);
    await settled(page);
    seen.push({ path, at: new URL(page.url()).pathname, title: (await page.getByRole('heading', { level: 1 }).textContent()).trim(), answers: [...new Set(answers)] });
  }
  return seen;
}

test('visitors are asked to sign in', async () => {
  const page = await open(b, weir);
  for (const s of await walk(page)) assert.deepEqual({ at: s.at, answers: s.answers }, { at: '/sign-in', answers: [] }, s.path);
  await page.done();
});

for (const role of ['administrator', 'operator', 'user']) {
  test(`pages of the console for the role ${role}`, async () => {
    const page = await open(b, weir, { signedIn: true });
    const me = (await (await page.request.get(`${weir.url}/api/me`)).json()).user.id;
    await run('user', 'role', me, role);
    await becomes(() => roleOf(page), role);
    await page.goto(`${weir.url}/nowhere`);
    await settled(page);
    const nothing = (await page.getByRole('heading', { level: 1 }).textContent()).trim();
    for (const s of await walk(page)) {
      if (role === 'user') assert.deepEqual({ title: s.title, answers: s.answers }, { title: nothing, answers: [] }, s.path);
      else {
        assert.notEqual(s.title, nothing, s.path);
        assert.deepEqual(s.answers, [200], s.path);
      }
    }
    await page.done();
  });
}
