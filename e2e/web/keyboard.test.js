// The keyboard alone, a finger, the system's own colours, and no motion. tab-order.txt has what Tab reaches on each main page, one stop a line:
// UPDATE=1 node --test keyboard.test.js writes it anew, and its difference is read like code.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { everyPage, go } from './pages.js';
import { becomes, browser, demo, open, settled } from './weir.js';

const weir = await demo();
const b = await browser(['--enable-blink-features=ComputedAccessibilityInfo']);

// Before anything else is there: the steps of a new account.
test('the first call and its line in the statement, with the keyboard alone', async () => {
  const page = await open(b, weir, { path: '/' });
  await page.waitForURL(/\/welcome$/);
  await tabTo(page, 'button', 'Look at the demo');
  await page.keyboard.press('Enter');
  await page.getByText('Waiting for the call').waitFor();
  await tabTo(page, 'radio', 'Well');
  while (await page.getByRole('radio', { name: 'Fails once' }).evaluate((e) => e !== document.activeElement)) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Space');
  await becomes(() => page.getByRole('radio', { name: 'Fails once' }).getAttribute('aria-checked'), 'true');
  const code = await page.getByRole('tabpanel').locator('code').innerText();
  const run = spawnSync('bash', ['-c', code.replace('curl ', 'curl -sS ')], { env: { PATH: process.env.PATH }, encoding: 'utf8' });
  assert.match(run.stdout, /data: \[DONE\]/, run.stdout + run.stderr);
  await page.getByText(/after 1 failed attempt$/).waitFor();
  await tabTo(page, 'link', /^Why/);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/calls\/gen-/);
  await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
  const call = new URL(page.url()).pathname;
  await page.keyboard.press('g');
  await page.keyboard.press('m');
  await page.waitForURL(/\/money$/);
  await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
  await tabTo(page, 'button', /1 call/);
  await page.keyboard.press('Enter');
  await tabTo(page, 'link', /./, call);
  await page.keyboard.press('Enter');
  await page.waitForURL((u) => u.pathname === call);
  await page.done();
});

/** Presses Tab until what has the focus is called so, and leads to `href` where one is given. */
async function tabTo(page, role, name, href) {
  const seen = [];
  for (let i = 0; i < 150; i++) {
    await page.keyboard.press('Tab');
    const at = await focused(page);
    seen.push(`${at.role} ${at.name}`);
    if (at.role === role && (typeof name === 'string' ? at.name === name : name.test(at.name)) && (!href || at.href === href)) return;
  }
  assert.fail(`Tab does not reach ${role} ${name} ${href ?? ''}:\n${[...new Set(seen)].join('\n')}`);
}
/** What has the focus: its role and name as a screen reader has them, and whether a line around it or around what stands for it shows that. */
const focused = (page) => page.evaluate(() => {
  const e = document.activeElement;
  if (!e || e === document.body) return { gone: true, role: '', name: '', href: '', shown: true, first: false, later: false };
  const lined = (x) => { const s = x && getComputedStyle(x); return Boolean(s) && s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2; };
  const row = e.closest('main :is(tbody tr, li)');
  return { role: e.computedRole || e.localName, name: e.computedName.replace(/\s+/g, ' ').trim(), href: e.getAttribute('href') ?? '', shown: lined(e) || lined(e.nextElementSibling) || lined(e.parentElement), first: e.tagName === 'A' && e.getAttribute('href') === '#content', later: Boolean(row?.previousElementSibling) };
});

const pages = ['/models?q=sim/a&sort=name', '/models/compare?m=sim/chat,sim/echo', '/models/sim/anywhere', '/overview', '/activity', '/calls', '/calls/ID', '/money', '/jobs', '/keys', '/presets', '/presets/tour', '/playground?models=sim/chat,sim/echo', '/settings/routing', '/settings/security'];

test('Tab reaches everything once, in order, and each stop is seen', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/models' });
  // Whatever ran before, the most is spent with one model, which has charts.
  for (let i = 0; i < 20; i++) assert.equal((await weir.call('/v1/chat/completions', { model: 'sim/anywhere', messages: [{ role: 'user', content: `Hello ${i}` }] })).status, 200);
  const call = (await everyPage(weir)).app.find((p) => p.startsWith('/calls/'));
  await becomes(async () => (await (await weir.call('/api/models/sim/anywhere/series?metric=tps&range=24h')).json()).series?.length > 0, true);
  const unseen = [], parts = [];
  for (const path of pages) {
    await go(page, path === '/calls/ID' ? call : path);
    await settled(page);
    await page.locator('a[href="#content"]').focus();
    const stops = [];
    for (let i = 0; ; i++) {
      assert.ok(i < 250, `${path}: Tab does not come to an end:\n${stops.slice(-20).join('\n')}`);
      const at = await focused(page);
      if (i > 0 && (at.gone || at.first)) break;
      // Numbers, days and ids differ from run to run; the second row of a table or list is like the first.
      const line = `${at.role} ${at.name}`.replace(/(gen|vj)-?_?[\w-]{8,}|sk-\S+/g, 'ID').replace(/\d[\d\s.,:%]*/g, '# ').replace(/# (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b(?: #)?/g, '# ').replace(/ +/g, ' ').replace(/^link (now|# min ago)$/, 'link MOMENT').replace(/# calls?$/, '# calls').trimEnd();
      if (!at.later) stops.push(line);
      if (!at.shown) unseen.push(`${path}: ${line}`);
      await page.keyboard.press('Tab');
    }
    parts.push(`## ${path}\n${stops.join('\n')}\n`);
  }
  assert.deepEqual(unseen, [], 'the focus is not seen');
  const file = new URL('./tab-order.txt', import.meta.url);
  if (process.env.UPDATE === '1') await writeFile(file, parts.join('\n'));
  const want = (await readFile(file, 'utf8')).split(/^(?=## )/m).map((part) => part.trim());
  for (const [i, part] of parts.entries()) assert.equal(part.trim(), want[i]);
  assert.equal(parts.length, want.length);
  await page.done();
});

test('Alt and a digit go to a column, the arrow up brings back what was written last', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/playground?models=sim/echo,sim/chat,sim/reason,sim/json' });
  const field = page.getByRole('textbox', { name: 'Message' });
  await field.fill('Not yet sent');
  await field.press('ArrowUp');
  assert.equal(await field.inputValue(), 'Not yet sent');
  await field.fill('Asked first');
  await field.press('Enter');
  await page.getByText('4 calls settled').waitFor();
  const columns = page.locator('[data-column]');
  for (const n of [3, 1, 4, 2]) {
    await page.keyboard.press(`Alt+Digit${n}`);
    await becomes(() => columns.nth(n - 1).getByRole('log').evaluate((e) => e === document.activeElement), true);
  }
  await page.getByRole('button', { name: 'Close Sim Json' }).click();
  await becomes(() => columns.count(), 3);
  await page.keyboard.press('Alt+Digit4'); // there is none any more
  assert.equal(await columns.locator('[role=log]:focus').count(), 0);
  await field.focus();
  await field.press('ArrowUp');
  assert.equal(await field.inputValue(), 'Asked first');
  await page.done();
});

test('on a phone a finger goes from model to model, one at a time', async () => {
  const page = await open(b, weir, { signedIn: true, size: 'phone', path: '/playground?models=sim/echo,sim/chat,sim/reason' });
  const columns = page.locator('[data-column]');
  const seen = () => columns.evaluateAll((all) => all.map((e) => Math.round(e.getBoundingClientRect().left) === 0));
  await becomes(seen, [true, false, false]);
  await columns.nth(0).getByText('1 of 3').waitFor();
  const cdp = await page.context().newCDPSession(page);
  const { x, y, width, height } = await columns.nth(0).boundingBox();
  const left = () => columns.nth(0).evaluate((e) => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(() => done(e.getBoundingClientRect().left))); }));
  // The finger rests for a second before it leaves: what a flick becomes in a busy browser is that browser's matter, so the style is looked at for
  // it. Such a browser may also see a long press or half of the way, and all is where it was: then the finger goes once more.
  const swipe = async (distance) => {
    const before = await left();
    for (let tries = 0; tries < 10 && await left() === before; tries++) {
      const begin = Date.now() / 1000;
      const touch = (type, after, share) => cdp.send('Input.dispatchTouchEvent', { type, timestamp: begin + after, touchPoints: share === null ? [] : [{ x: x + width / 2 + distance * (share - 0.5), y: y + height / 2 }] });
      await touch('touchStart', 0, 0);
      for (let i = 1; i <= 10; i++) await touch('touchMove', i / 50, i / 10);
      await touch('touchEnd', 1.2, null);
      await left();
      await becomes(async () => (await seen()).includes(true), true);
    }
  };
  assert.deepEqual(await columns.evaluateAll((all) => all.map((e) => getComputedStyle(e).scrollSnapStop)), ['always', 'always', 'always'], 'a flick stops at the next');
  await swipe(-0.6 * width);
  await becomes(seen, [false, true, false]);
  await swipe(-0.6 * width);
  await becomes(seen, [false, false, true]);
  await swipe(0.6 * width);
  await becomes(seen, [false, true, false]);
  assert.equal(await page.evaluate(() => document.scrollingElement.scrollLeft), 0, 'the page itself stays');
  await page.done();
});

test('with the system’s own colours what is on differs from what is off, and the focus is seen', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/models?q=sim/a' });
  await page.emulateMedia({ forcedColors: 'active' });
  /** Its picture without the focus and without the pointer. */
  const picture = async (what) => { await page.evaluate(() => document.activeElement?.closest('[role=dialog]') ?? document.activeElement?.blur()); await page.mouse.move(0, 0); return (await what.screenshot()).toString('base64'); };
  const differs = async (what, change, name) => { const before = await picture(what); await change(); await becomes(async () => [name, await picture(what) !== before], [name, true]); };
  const unit = page.getByRole('radio', { name: '₽ / 1k' });
  await differs(unit, () => unit.click(), 'one of a few');
  const tools = page.getByRole('complementary').getByRole('checkbox', { name: /^Tools/ });
  await differs(tools.locator('xpath=..'), () => tools.check({ force: true }), 'a checkbox');
  await go(page, '/models/compare?m=sim/chat,sim/echo');
  const only = page.getByRole('switch', { name: 'Differences only' });
  await only.waitFor();
  await differs(only, () => only.click(), 'a switch');
  await go(page, '/models/sim/anywhere');
  const tab = page.getByRole('tab', { name: 'Python', exact: true });
  await tab.waitFor();
  await differs(tab, () => tab.click(), 'a tab');
  await go(page, '/overview');
  const level = page.getByRole('main').getByRole('img').first();
  await level.waitFor();
  const inks = (what) => what.evaluate((e) => new Set([e, ...e.querySelectorAll('*')].map((x) => getComputedStyle(x).backgroundColor)).size);
  await becomes(async () => await inks(level) > 1, true); // the parts of a level have colours of their own
  // Each kind of control once: a line, since a shadow or a background would not be there.
  for (const path of ['/models?q=sim/a', '/playground?models=sim/chat', '/settings/routing']) {
    await go(page, path);
    await settled(page);
    await page.locator('a[href="#content"]').focus();
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press('Tab');
      const at = await focused(page);
      if (at.gone) break;
      assert.ok(at.shown, `${path}: the focus on ${at.role} ${at.name} is not seen`);
    }
  }
  await page.keyboard.press('Control+k');
  const options = page.getByRole('dialog').getByRole('option');
  await differs(options.nth(1), () => page.keyboard.press('ArrowDown'), 'the chosen line of the palette');
  await page.keyboard.press('Escape');
  await page.done();
});

test('who wants no motion gets none', async () => {
  const page = await open(b, weir, { signedIn: true, path: '/keys' });
  await page.evaluate(() => { window.moved = []; for (const kind of ['animationstart', 'transitionrun']) document.addEventListener(kind, (e) => window.moved.push(`${kind} ${e.animationName ?? e.propertyName} of ${e.target.className}`), true); });
  for (const reducedMotion of ['reduce', 'no-preference']) {
    await page.emulateMedia({ reducedMotion });
    await page.evaluate(() => { window.moved.length = 0; });
    await go(page, '/keys');
    await settled(page);
    await page.keyboard.press('?'); // a window
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: /Your account/ }).click(); // a menu
    await page.getByRole('menu').waitFor();
    await page.keyboard.press('Escape');
    await go(page, '/models/compare?m=sim/chat,sim/echo');
    await page.getByRole('switch').click();
    await settled(page);
    const moved = await page.evaluate(() => window.moved);
    if (reducedMotion === 'reduce') assert.deepEqual(moved, []);
    else assert.ok(moved.length >= 3, `with motion there is some: ${moved}`); // or the test would see nothing in either case
    await page.getByRole('switch').click();
  }
  await page.done();
});
