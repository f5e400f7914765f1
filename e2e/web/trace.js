// Traces the interface on a slow device (make web-trace): the processor four times slower, 3G of 1.6 Mbit/s with 150 ms for each request, an
// empty cache. First the way from a catalog of 500 models to a model and to the playground, then each of some pages by itself, then answers of
// TOKENS=100000 tokens. Prints the median of RUNS=5 runs of the way, of three of each page, and the long tasks of the last way and answer.
import { writeFile } from 'node:fs/promises';
import { browser, demo, open, settled } from './weir.js';

const runs = Number(process.env.RUNS ?? 5), latency = Number(process.env.LATENCY ?? 150), slower = Number(process.env.CPU ?? 4), count = Number(process.env.MODELS ?? 500);
const weir = await demo();
const b = await browser();
for (let i = 0; i < 4; i++) await weir.call('/v1/chat/completions', { model: 'sim/anywhere', messages: [{ role: 'user', content: `Hello ${i}` }] });
const catalog = await (await weir.call('/api/catalog')).json();
const models = Array.from({ length: Math.max(count, catalog.models.length) }, (_, i) => { const m = catalog.models[i % catalog.models.length]; return i < catalog.models.length ? m : { ...m, id: `${m.id}-${i}`, name: `${m.name} ${i}`, rank: i + 1 }; });
const median = (all) => all.toSorted((x, y) => x - y)[Math.floor(all.length / 2)];
const p95 = (all) => all.toSorted((x, y) => x - y)[Math.max(0, Math.ceil(all.length * 0.95) - 1)];

/** Times of the page itself: paints, shifts, events by interaction, tasks over 50 ms. */
const observe = () => {
  window.seen = { shift: 0, moved: [], events: new Map(), tasks: [] };
  const on = (type, f, more = {}) => new PerformanceObserver((list) => list.getEntries().forEach(f)).observe({ type, buffered: true, ...more });
  on('layout-shift', (e) => { if (!e.hadRecentInput) { window.seen.shift += e.value; window.seen.moved.push(`${e.value.toFixed(4)} at ${Math.round(e.startTime)}: ${e.sources.map((s) => (s.node?.outerHTML ?? s.node?.textContent ?? '').slice(0, 90)).join(' | ')}`); } });
  on('event', (e) => { if (e.interactionId) window.seen.events.set(e.interactionId, Math.max(window.seen.events.get(e.interactionId) ?? 0, e.duration)); }, { durationThreshold: 16 });
  on('longtask', (e) => window.seen.tasks.push([Math.round(e.startTime), Math.round(e.duration)]));
};

const figures = { content: [], whole: [], input: [], shift: [], blocked: [] };
let tasks = [], moved = [];
for (let run = 0; run < runs; run++) {
  const page = await open(b, weir, { signedIn: true });
  await page.addInitScript(observe);
  await page.route('**/api/catalog', (route) => route.fulfill({ json: { ...catalog, models } }));
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Network.enable');
  await cdp.send('Network.emulateNetworkConditions', { offline: false, latency, downloadThroughput: 1.6e6 / 8, uploadThroughput: 750e3 / 8 });
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: slower });
  await page.goto(`${weir.url}/models`);
  await page.locator('tbody tr').first().waitFor();
  figures.whole.push(await page.evaluate(() => performance.now()));
  await settled(page);
  figures.content.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
  const field = page.getByRole('searchbox').first();
  await field.click();
  for (const key of 'anywhere') { await page.keyboard.press(key); await page.waitForTimeout(120); }
  await page.getByRole('checkbox', { name: /^Tools/ }).first().click({ force: true });
  await page.waitForTimeout(300);
  await page.locator('tbody a').first().click();
  await page.getByRole('tabpanel').waitFor();
  await settled(page);
  await page.getByRole('tab', { name: 'Python', exact: true }).click();
  await page.getByRole('link', { name: 'Try it' }).click();
  await page.locator('[data-composer] textarea').waitFor();
  await settled(page);
  await page.locator('[data-composer] textarea').click();
  for (const key of 'What is a weir') { await page.keyboard.press(key === ' ' ? 'Space' : key); await page.waitForTimeout(60); }
  await page.keyboard.press('Enter');
  await page.getByText('settled', { exact: true }).waitFor({ timeout: 60_000 });
  const seen = await page.evaluate(() => ({ shift: window.seen.shift, events: [...window.seen.events.values()], tasks: window.seen.tasks, moved: window.seen.moved }));
  figures.input.push(p95(seen.events));
  figures.shift.push(seen.shift);
  figures.blocked.push(seen.tasks.reduce((sum, [, ms]) => sum + ms - 50, 0));
  ({ tasks, moved } = seen);
  await page.context().close();
}
const row = (name, all, digits, goal) => console.log(`${name.padEnd(36)} ${median(all).toFixed(digits).padStart(7)}   ${all.map((v) => v.toFixed(digits)).join(' ')}${goal ? `   (goal ${goal})` : ''}`);
row('first content, ms', figures.content, 0, 1800);
row('the first row of the catalog, ms', figures.whole, 0);
row('95th percentile of interactions, ms', figures.input, 0, 150);
row('layout shift', figures.shift, 4, 0.02);
row('beyond 50 ms in tasks, ms', figures.blocked, 0);
console.log(`tasks over 50 ms, at and for ms: ${tasks.map((t) => t.join('+')).join(' ')}`);
if (process.env.MOVED) console.log(moved.join('\n'));

/** The largest paint of a page, what moved on it, and how long it did not answer at a time. */
const glance = async (path) => {
  const page = await open(b, weir, { signedIn: true });
  await page.addInitScript(observe);
  await page.addInitScript(() => { new PerformanceObserver((list) => { window.seen.largest = list.getEntries().at(-1).startTime; }).observe({ type: 'largest-contentful-paint', buffered: true }); });
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Network.enable');
  await cdp.send('Network.emulateNetworkConditions', { offline: false, latency, downloadThroughput: 1.6e6 / 8, uploadThroughput: 750e3 / 8 });
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: slower });
  await page.goto(weir.url + path);
  await settled(page);
  const { largest, shift, tasks } = await page.evaluate(() => window.seen);
  await page.context().close();
  return { largest, shift, freeze: Math.max(0, ...tasks.map(([, ms]) => ms)) };
};
console.log('\n' + 'page'.padEnd(36) + ' largest paint, ms   layout shift   longest task, ms');
for (const path of ['/overview', '/activity', '/calls', '/money', '/keys', '/models', '/playground', '/admin']) {
  const seen = [];
  for (let i = 0; i < 3; i++) seen.push(await glance(path));
  const of = (name, digits, width) => median(seen.map((x) => x[name])).toFixed(digits).padStart(width);
  console.log(`${path.padEnd(36)} ${of('largest', 0, 17)} ${of('shift', 4, 14)} ${of('freeze', 0, 18)}`);
}

/** A long answer in the playground: how long the page does not answer at a time while it comes. */
const tokens = Number(process.env.TOKENS ?? 100_000);
console.log('\n' + `answer of ${tokens} tokens`.padEnd(36) + ' longest task, ms (goal 50)   beyond 50 ms, ms   in all, s');
for (const [name, more] of [['as fast as it comes', ''], ['1 ms between tokens', ' gap=1ms']]) {
  const page = await open(b, weir, { signedIn: true, path: '/playground?models=sim/chat' });
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: slower });
  await page.evaluate(observe);
  const field = page.locator('[data-composer] textarea');
  await field.fill(`[[sim tokens=${tokens}${more}]] Tell me everything`);
  if (process.env.PROFILE) { await cdp.send('Profiler.enable'); await cdp.send('Profiler.start'); }
  const began = Date.now();
  const over = page.waitForEvent('requestfinished', { predicate: (r) => r.url().endsWith('/chat/completions'), timeout: 600_000 }); // nothing is asked of the page meanwhile
  await field.press('Enter');
  await over;
  const took = (Date.now() - began) / 1000;
  if (process.env.PROFILE) await writeFile(`${process.env.PROFILE}-${more ? 'slow' : 'fast'}.cpuprofile`, JSON.stringify((await cdp.send('Profiler.stop')).profile));
  const seen = await page.evaluate(() => new Promise((done) => { setTimeout(() => done(window.seen.tasks), 1000); }));
  console.log(`${name.padEnd(36)} ${String(Math.max(0, ...seen.map(([, ms]) => ms))).padStart(16)} ${String(seen.reduce((sum, [, ms]) => sum + ms - 50, 0)).padStart(28)} ${took.toFixed(1).padStart(11)}`);
  console.log(`  the longest, at and for ms: ${seen.toSorted((x, y) => y[1] - x[1]).slice(0, 12).map((t) => t.join('+')).join(' ')}`);
  await page.context().close();
}
await b.close();
await weir.stop();
process.exit(0);
