// Charts: what was drawn for one width must fit another before it is drawn again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, browser, demo, fitsWidth, open, settled } from './weir.js';

const weir = await demo({ month: true });
const b = await browser();
for (let i = 0; i < 3; i++) assert.equal((await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: 'Hi' }] })).status, 200);

test('a chart that is not drawn again holds no page wider than its screen', async () => {
  for (const path of ['/overview', '/activity', '/admin', '/admin/sales', '/admin/endpoints/sim/sim/chat']) {
    const page = await open(b, weir, { signedIn: true });
    // The browser never reports that anything has changed its size, as if it had not come to it yet.
    await page.addInitScript(() => { window.ResizeObserver = class { observe() {} unobserve() {} disconnect() {} }; });
    await page.goto(weir.url + path);
    await settled(page);
    await page.locator('figure').first().scrollIntoViewIfNeeded();
    await becomes(async () => (await page.locator('figure canvas').count()) > 0, true);
    await page.setViewportSize({ width: 320, height: 700 });
    const drawn = await page.locator('figure canvas').evaluateAll((all) => Math.max(...all.map((e) => e.offsetWidth)));
    if (path === '/admin') assert.ok(drawn > 320, `the chart was drawn again: ${drawn} px`);
    await fitsWidth(page, path);
    await page.done();
  }
});
