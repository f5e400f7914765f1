// Every page of the interface once, from within it: how many requests opening it makes, and that it reflows at 320 px (400 % of 1280).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, browser, demo, fitsWidth, open, settled } from './weir.js';
import { everyPage, go } from './pages.js';

const weir = await demo();
const b = await browser();

/** Opening a page asks the API at most so many different things. What the frame asks in each visit is there already, as is the catalog. */
const most = 3;
const frame = ['/api/me', '/api/v1/credits'];

test('opening any page asks the API at most three times, and every page reflows at 320 px', async () => {
  const { app: pages } = await everyPage(weir);
  const page = await open(b, weir, { signedIn: true, path: '/models' });
  await page.setViewportSize({ width: 320, height: 700 });
  let asked = new Set();
  page.on('request', (r) => { const { pathname, search } = new URL(r.url()); if (/^\/(api|v1)\//.test(pathname) && !frame.includes(pathname) && r.resourceType() !== 'eventsource') asked.add(`${r.method()} ${pathname}${search}`); });
  const over = [];
  for (const path of pages) {
    asked = new Set();
    await go(page, path);
    await settled(page);
    const title = { '/models/sim/anywhere': 'Sim Anywhere', '/models/sim/video': 'Sim Video' }[path];
    if (title) await becomes(() => page.locator('h1').innerText(), title); // a model is not shown for another
    if (asked.size > most) over.push(`${path}: ${[...asked].join(', ')}`);
    try { await fitsWidth(page, path); } catch (e) { over.push(e.message); }
  }
  assert.deepEqual(over, []);
  await page.done();
});
