// Starts the built binary with its simulator in a temporary folder, and a browser; both end with the test file. A page that reports a breach of
// the content policy, throws, or asks another host for anything fails its test.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { chromium } from 'playwright-core';

export const program = process.env.WEIR_BIN ?? new URL('../../bin/weir', import.meta.url).pathname;
// The one without windows first: the tests take two thirds of the time with it.
const executablePath = process.env.CHROMIUM ?? ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`).find(existsSync);

/** Starts `weir demo`, empty unless it is to have its `month`. Answers what it printed, `api` (…/v1), `url` (the interface), `call` (a request with the demo's key) and the data folder. */
export async function demo({ args = [], env = {}, month = false } = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'weir-e2e-web-'));
  const data = join(dir, 'data');
  const child = spawn(program, ['demo', '--json', '--listen', '127.0.0.1:0', '--data', data, ...(month ? [] : ['--empty']), ...args], {
    env: { PATH: process.env.PATH, HOME: dir, TZ: 'UTC', ...env }, stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (piece) => { log += piece; });
  const exited = new Promise((resolve) => { child.once('exit', resolve); child.once('error', resolve); });
  const line = await Promise.race([
    new Promise((resolve) => createInterface(child.stdout).once('line', resolve)),
    exited.then((code) => { throw new Error(`weir demo ended with ${code} before it was ready\n${log}`); }),
  ]);
  const said = JSON.parse(line);
  const url = said.base_url.replace(/\/(v1\/?)?$/, '').replace('127.0.0.1', 'localhost'); // browsers take secure cookies of localhost
  const stop = async () => { child.kill('SIGTERM'); const code = await exited; await rm(dir, { recursive: true, force: true }); return code; };
  after(async () => { if (child.exitCode === null) assert.equal(await stop(), 0, `weir demo ended badly\n${log}`); });
  const call = (path, body, key = said.api_key) => fetch(`${said.base_url.replace(/\/(v1\/?)?$/, '')}${path}`, {
    method: body === undefined ? 'GET' : 'POST', headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }, ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { ...said, url, api: `${url}/v1`, data, dir, call, stop, log: () => log };
}

/** One browser for the file; `args` are switches of Chromium. */
export async function browser(args = []) {
  assert.ok(executablePath, 'Chromium is missing; on Debian: apt-get install chromium-headless-shell');
  const b = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', ...args] });
  after(() => b.close());
  return b;
}

/** SLOW=6 makes each page that many times slower: a test that races with the page then fails here, not on a busy machine. */
const slowness = Number(process.env.SLOW ?? 1);

/** For how long what a quiet machine does at once is waited for, in milliseconds. */
const patience = 45_000;

/** Each theme and each language once: contrast does not depend on words, nor names on colours. */
export const looks = [{ theme: 'light', language: 'en' }, { theme: 'dark', language: 'ru' }];

export const sizes = { desk: { width: 1440, height: 900 }, laptop: { width: 1024, height: 768 }, phone: { width: 390, height: 844 }, small: { width: 360, height: 740 } };

/**
 * A page of its own context. `language` en|ru, `theme` light|dark, `size` one of `sizes`, `signedIn` as the demo's person.
 * `page.complaints` are policy reports, exceptions and requests elsewhere; close() fails when there are any.
 */
export async function open(b, weir, { language = 'en', theme = 'light', size = 'desk', zone = 'UTC', signedIn = false, path } = {}) {
  const context = await b.newContext({ viewport: sizes[size], hasTouch: size === 'phone' || size === 'small', reducedMotion: 'reduce', timezoneId: zone, locale: language === 'ru' ? 'ru-RU' : 'en-US' });
  await context.addCookies([{ name: 'weir_lang', value: language, url: weir.url }, { name: 'weir_theme', value: theme, url: weir.url }]);
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  if (slowness > 1) await (await context.newCDPSession(page)).send('Emulation.setCPUThrottlingRate', { rate: slowness });
  page.complaints = [];
  page.onTheWay = new Set();
  page.on('request', (r) => { if (r.resourceType() !== 'eventsource') page.onTheWay.add(r); });
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (r) => page.onTheWay.delete(r));
  await page.exposeFunction('reportPolicy', (text) => { page.complaints.push(text); });
  await page.addInitScript(() => { document.addEventListener('securitypolicyviolation', (e) => { window.reportPolicy(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`); }); });
  page.on('pageerror', (e) => page.complaints.push(`exception: ${e.message}`));
  page.on('dialog', (d) => { page.complaints.push(`dialog: ${d.message()}`); void d.dismiss(); });
  page.on('request', (r) => { if (!r.url().startsWith(weir.url) && !/^(data|blob):/.test(r.url())) page.complaints.push(`request elsewhere: ${r.url()}`); });
  if (signedIn) await signIn(page, weir);
  if (path !== undefined) { await page.goto(weir.url + path); await settled(page); }
  page.done = async () => { assert.deepEqual(page.complaints, [], 'the page complained'); await context.close(); };
  return page;
}

/** Signs the page's context in to the demo, as its button does. */
export async function signIn(page, weir) {
  const answer = await page.request.post(`${weir.url}/api/auth/demo`, { headers: { origin: weir.url, 'x-weir': '1' }, data: {} });
  assert.equal(answer.status(), 200, await answer.text());
}

/**
 * Waits until the page is whole: every request has ended (save the stream of events), nothing on the screen stands in for what is still on
 * its way (class "late" near the screen, "data-waits" anywhere), and what came has been drawn. (Charts further down load when they come near the screen.) Unlike Playwright's 'networkidle', it holds after a step within the interface, too, which loads no document.
 */
export async function settled(page) {
  const deadline = Date.now() + patience;
  for (let missing = [];;) {
    assert.ok(Date.now() < deadline, `${page.url()} did not settle: ${missing.join(' ')}`);
    try {
      await page.waitForSelector('h1', { state: 'attached' });
      await page.evaluate(() => document.fonts.ready.then(() => new Promise((drawn) => { requestAnimationFrame(() => requestAnimationFrame(() => drawn())); })));
      missing = [...[...page.onTheWay].map((r) => r.url()), ...await page.locator('.late, [data-waits]').evaluateAll((all) => all.filter((e) => e.dataset.waits !== undefined || e.getBoundingClientRect().top < innerHeight).map((e) => e.outerHTML.slice(0, 200)))];
      if (missing.length === 0) return;
    } catch (e) {
      if (/context was destroyed|navigat/i.test(e.message)) continue; // the page has just moved on
      e.message += `\n${page.url()} shows: ${(await page.content().catch(String)).slice(0, 500)}`;
      throw e;
    }
  }
}

/** Waits until `read` answers `want`, and fails with what it answered last. */
export async function becomes(read, want) {
  const deadline = Date.now() + patience;
  for (;;) {
    const got = await read();
    if (isDeepStrictEqual(got, want) || Date.now() > deadline) { assert.deepEqual(got, want); return; }
    await new Promise((again) => { setTimeout(again, 20); });
  }
}

/** Chooses a model, or what is typed in its place, where `label` is the name of the choice; `where` is the page or a window of it. */
export async function choose(page, label, id, where = page) {
  await where.getByRole('combobox', { name: label, exact: true }).click();
  await page.getByRole('combobox', { name: 'Name, vendor or slug of a model' }).fill(id);
  await page.locator(`[role=option][data-value="${id}"]`).click();
}

const axeSource = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Runs axe over the page and fails on any finding. `coloursOnly`: the rules that see colours, for another theme of what was looked at. */
export async function accessible(page, what = page.url(), { coloursOnly = false } = {}) {
  if (!await page.evaluate(() => 'axe' in window)) {
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Page.setBypassCSP', { enabled: false }).catch(() => {});
    await cdp.send('Runtime.evaluate', { expression: axeSource });
    await cdp.detach();
  }
  const findings = await page.evaluate(async (only) => {
    const rules = only ? { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } } : { rules: { 'color-contrast-enhanced': { enabled: false } } };
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'], ...rules });
    return violations.map((v) => `${v.impact} ${v.id}: ${v.help}\n${v.nodes.slice(0, 5).map((n) => `    ${n.html.slice(0, 200)}\n      ${(n.any[0] ?? n.all[0] ?? n.none[0])?.message ?? ''}`).join('\n')}`);
  }, coloursOnly);
  assert.deepEqual(findings, [], `axe, ${what}:\n${findings.join('\n')}`);
}

/** The page itself must not scroll sideways. */
export async function fitsWidth(page, what = page.url()) {
  const [width, view, who] = await page.evaluate(() => {
    const view = document.documentElement.clientWidth;
    const scrolls = (e) => { for (let p = e.parentElement; p; p = p.parentElement) { if (/auto|scroll|hidden|clip/.test(getComputedStyle(p).overflowX)) return true; } return false; };
    const wide = [...document.body.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > view + 1 && !scrolls(e)).map((e) => e.outerHTML.slice(0, 160));
    return [document.documentElement.scrollWidth, view, wide.slice(0, 4)];
  });
  assert.ok(width <= view, `${what} is ${width} px wide in ${view} px: ${who.join('\n')}`);
}

/** Names of what code is shown for, which are the same in each language. */
const codeNames = /^(curl|Python|Node|Go|PHP)$/;

/** Every text that is shown must be Russian, save names and code. Answers English-looking words of labels and texts. */
export async function englishWords(page, allowed = /./) {
  return page.evaluate(([allowedSource, namesSource]) => {
    const [allowed, names] = [new RegExp(allowedSource), new RegExp(namesSource)];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let n = walker.nextNode(); n; n = walker.nextNode()) {
      const e = n.parentElement;
      if (!e || e.closest('code,pre,kbd,[lang=en],script,style,[translate=no]') || !e.checkVisibility()) continue;
      const text = n.textContent.trim();
      if (/[A-Za-z]{3}/.test(text) && !/[А-Яа-яЁё]/.test(text) && !names.test(text) && !allowed.test(text)) found.push(text);
    }
    return [...new Set(found)];
  }, [allowed.source, codeNames.source]);
}

/** Texts that would do harm if anything took them for more than texts. */
export const hostile = [
  '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '"><svg onload=alert(1)>', "'-alert(1)-'", 'javascript:alert(1)', '{{constructor.constructor("alert(1)")()}}', '${alert(1)}',
  '<iframe src="https://evil.example/"></iframe>', '<a href="javascript:alert(1)">x</a>', '</title><script>alert(1)</script>', '\u202Egnp.exe', '<style>*{display:none}</style>', '<base href="https://evil.example/">', '&lt;script&gt;alert(1)&lt;/script&gt;',
];
