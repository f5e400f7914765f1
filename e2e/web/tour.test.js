// Every page of the interface once, from within it: how many requests opening it makes, and that it reflows at 320 px (400 % of 1280).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, browser, demo, fitsWidth, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();
const manage = (path, method, body) => fetch(`${weir.url}${path}`, { method, headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, body: JSON.stringify(body) });

/** Opening a page asks the API at most so many different things. What the frame asks in each visit is there already, as is the catalog. */
const most = 3;
const frame = ['/api/me', '/api/v1/credits'];

test('opening any page asks the API at most three times, and every page reflows at 320 px', async () => {
  const called = await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: 'Hi' }] });
  const call = called.headers.get('x-generation-id');
  await manage('/api/presets', 'POST', { name: 'tour', system_prompt: 'Be brief.' });
  const job = (await (await weir.call('/v1/videos', { model: 'sim/video', prompt: 'A heron' })).json()).id;
  // A job that is under way would be asked for again and again. While it is being submitted its provider cannot cancel it.
  await becomes(async () => (await fetch(`${weir.url}/v1/videos/${job}`, { method: 'DELETE', headers: { authorization: `Bearer ${weir.api_key}` } })).status, 200);
  const key = (await (await manage('/api/keys', 'POST', { name: 'tour' })).json()).data.hash;
  const page = await open(b, weir, { signedIn: true, path: '/models' });
  await page.setViewportSize({ width: 320, height: 700 });
  await becomes(async () => (await page.request.get(`${weir.url}/api/calls/${call}`)).status(), 200);
  const pages = ['/models', '/models/compare?m=sim/chat,sim/echo', '/models/sim/anywhere', '/models/sim/video', '/rankings', '/status', '/welcome', '/overview', '/activity', '/calls', `/calls/${call}`, '/money', '/money/top-up', '/money/invoices', '/jobs', `/jobs/${job}`, '/keys', `/keys/${key}`, '/presets', '/presets/tour',
    '/settings/profile', '/settings/routing', '/settings/provider-keys', '/settings/data', '/settings/notifications', '/settings/security', '/playground?models=sim/chat', '/playground/image', '/playground/video', '/playground/audio', '/playground/embeddings', '/nowhere'];
  let asked = new Set();
  page.on('request', (r) => { const { pathname, search } = new URL(r.url()); if (/^\/(api|v1)\//.test(pathname) && !frame.includes(pathname) && r.resourceType() !== 'eventsource') asked.add(`${r.method()} ${pathname}${search}`); });
  const over = [];
  for (const path of pages) {
    asked = new Set();
    await page.evaluate((to) => history.pushState({}, '', to), path);
    await page.waitForURL((u) => u.pathname.startsWith(path.split('?')[0]));
    await settled(page);
    const title = { '/models/sim/anywhere': 'Sim Anywhere', '/models/sim/video': 'Sim Video' }[path];
    if (title) await becomes(() => page.locator('h1').innerText(), title); // a model is not shown for another
    if (asked.size > most) over.push(`${path}: ${[...asked].join(', ')}`);
    try { await fitsWidth(page, path); } catch (e) { over.push(e.message); }
  }
  assert.deepEqual(over, []);
  await page.done();
});
