// An answer of 100,000 tokens: the page takes it, paints it as it comes, answers the person meanwhile, and keeps no more than it needs. What is
// asserted is counted, not timed: elements that were made, the longest text that was drawn again, bytes that are held.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, browser, demo, open } from './weir.js';

const weir = await demo();
const b = await browser();
/** Of the simulator, whose tokens are somewhat smaller than those that Weir counts. */
const tokens = 110_000;
const letters = (s) => s.replace(/[^\p{L}\p{N}]/gu, '');
const ask = async (page, text) => { const field = page.locator('[data-composer] textarea'); await field.fill(text); await field.press('Enter'); };

/** Counts what is done to the log from now on. `states`: different lengths of the text that were painted; the faster the answer, the fewer. */
const watch = (page) => page.evaluate(() => {
  const log = document.querySelector('[role=log]');
  const seen = { made: 0, longest: 0, states: 0 };
  const elements = (n) => (n.nodeType === 1 ? 1 + n.querySelectorAll('*').length : 0);
  new MutationObserver((all) => {
    for (const m of all) {
      for (const n of m.addedNodes) seen.made += elements(n);
      if (m.type === 'characterData') seen.longest = Math.max(seen.longest, m.target.data.length);
    }
  }).observe(log, { childList: true, subtree: true, characterData: true });
  let last = 0;
  const look = () => { const now = log.scrollHeight; if (now !== last) { last = now; seen.states++; } requestAnimationFrame(look); };
  look();
  window.seen = seen;
});
const heap = async (page) => {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('HeapProfiler.collectGarbage');
  const { usedSize } = await cdp.send('Runtime.getHeapUsage');
  await cdp.detach();
  return usedSize;
};

test('100,000 tokens are whole, and painted as they come', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/chat', signedIn: true });
  await watch(page);
  const before = await heap(page);
  const prompt = `[[sim tokens=${tokens}]] Tell me everything about weirs`;
  await ask(page, prompt);
  await page.getByText('1 call settled').waitFor({ timeout: 120_000 });
  const { choices, usage } = await (await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: prompt }] })).json();
  assert.ok(usage.completion_tokens >= 100_000, `${usage.completion_tokens} tokens`);
  const text = await page.getByRole('log').textContent();
  assert.ok(letters(text).includes(letters(choices[0].message.content)), 'the text is whole');
  const [seen, elements, leaf] = await page.evaluate(() => {
    const log = document.querySelector('[role=log]');
    const walker = document.createTreeWalker(log, NodeFilter.SHOW_TEXT);
    let leaf = 0;
    while (walker.nextNode()) leaf = Math.max(leaf, walker.currentNode.data.length);
    return [window.seen, log.querySelectorAll('*').length, leaf];
  });
  const figures = JSON.stringify({ seen, elements, leaf });
  assert.ok(seen.states >= 3, `painted as it comes: ${figures}`);
  assert.ok(seen.made <= 3 * elements + 200, `nothing is made over and over: ${figures}`);
  assert.ok(seen.longest <= 4000 && leaf <= 4000, `no long text is drawn again: ${figures}`);
  const grown = (await heap(page)) - before;
  assert.ok(grown < 48 << 20, `the page holds ${grown} bytes more`);
  await page.done();
});

test('the page answers while they come, and stops them midway', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/chat', signedIn: true });
  await watch(page);
  const answered = page.waitForResponse((r) => r.url().endsWith('/chat/completions'));
  await ask(page, `[[sim tokens=${tokens} gap=1ms]] Tell me everything`);
  const id = (await answered).headers()['x-generation-id'];
  await becomes(() => page.evaluate(() => window.seen.states > 3), true);
  // A draft is taken, and the panel opened, while the answer comes.
  await page.locator('[data-composer] textarea').fill('What I ask next');
  await page.getByText('Tools', { exact: true }).click();
  await page.getByLabel('Tools as JSON').waitFor();
  await page.getByText('estimate', { exact: true }).waitFor();
  const then = await page.evaluate(() => window.seen.states);
  await becomes(() => page.evaluate((n) => window.seen.states > n, then), true);
  await page.keyboard.press('Escape');
  await page.getByText('Stopped by you.').waitFor();
  await page.getByText('settled', { exact: true }).waitFor();
  assert.equal(await page.locator('[data-composer] textarea').inputValue(), 'What I ask next');
  await becomes(async () => (await (await weir.call(`/v1/generation?id=${id}`)).json()).data.cancelled, true);
  const { data } = await (await weir.call(`/v1/generation?id=${id}`)).json();
  assert.ok(data.tokens_completion > 0 && data.tokens_completion < tokens, `${data.tokens_completion} tokens`);
  await page.done();
});
