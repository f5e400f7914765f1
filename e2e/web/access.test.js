// axe over every page in each theme and each language. A page is opened once; its theme follows the system and its language its own button, as
// with people, so that what a switch leaves behind is found, too. Every second page is walked the other way round: three switches for four looks.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, fitsWidth, open, settled, sizes } from './weir.js';
import { everyPage, go } from './pages.js';

/** make soak looks at every state that there is a picture of, too: windows, forms, answers. */
const everything = process.env.SOAK === '1';
const weir = await demo();
const b = await browser();
const every = await everyPage(weir);
/** Lists of which each row is like the others, and pages that are so long that two looks must do. */
const shorter = { '/models': '/models?q=sim/a' };
const long = ['/docs/conformance', '/docs/reference', '/docs/reference/catalog'];
const cross = [['light', 'en'], ['light', 'ru'], ['dark', 'ru'], ['dark', 'en']];

/** The page in each look; answers findings. Only the rules of contrast depend on the theme: the others are run once in each language. */
async function inEachLook(page, path, looks) {
  const findings = [], spoken = new Set();
  const found = (e) => { if (e.name !== 'AssertionError') throw e; findings.push(e.message); };
  for (const [theme, language] of looks) {
    await page.emulateMedia({ colorScheme: theme });
    if (await page.getAttribute('html', 'lang') !== language) {
      await page.locator(`button[lang=${language}], button#language`).filter({ visible: true }).first().click();
      await becomes(() => page.getAttribute('html', 'lang').catch(() => ''), language); // pages of the documentation load again
    }
    await settled(page);
    const what = `${path}, ${theme}, ${language}`;
    await accessible(page, what, { coloursOnly: spoken.has(language) }).catch(found);
    if (!spoken.has(language)) await fitsWidth(page, what).catch(found);
    spoken.add(language);
  }
  return findings;
}

for (const [kind, paths] of Object.entries(every)) {
  test(`axe finds nothing in any theme and language: ${kind}`, async () => {
    const page = await open(b, weir, { theme: 'system', signedIn: kind === 'app', path: kind === 'app' ? '/models' : '/sign-in' });
    const findings = [];
    for (const [i, listed] of paths.entries()) {
      const path = everything ? listed : shorter[listed] ?? listed;
      if (kind === 'app') await go(page, path);
      else await page.goto(weir.url + path);
      await settled(page);
      if (kind === 'app') assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, path);
      const briefly = !everything && long.includes(path);
      findings.push(...await inEachLook(page, path, briefly ? [cross[0], cross[2]] : i % 2 ? cross.toReversed() : cross));
      if (briefly) continue;
      // What the phone shows is another page. One look of each is enough: which one changes from page to page.
      await page.setViewportSize(sizes.small);
      await settled(page);
      findings.push(...await inEachLook(page, `${path}, phone`, everything ? cross : [i % 2 ? cross[0] : cross[3]]));
      await page.setViewportSize(sizes.desk);
    }
    assert.deepEqual(findings, [], findings.join('\n'));
    await page.done();
  });
}

test('every page that is registered is looked at', async () => {
  const paths = [];
  const routes = new URL('../../web/src/routes/', import.meta.url);
  for (const file of await readdir(routes)) paths.push(...[...(await readFile(new URL(file, routes), 'utf8')).matchAll(/\{\s*path: '([^']+)'/g)].map((m) => m[1]));
  assert.ok(paths.length > 30, paths.join());
  const missing = paths.filter((p) => { const form = new RegExp(`^${p.replace(/\$$/, '.+').replaceAll(/\$\w+/g, '[^/]+')}$`); return !every.app.some((at) => form.test(at.split('?')[0])); });
  assert.deepEqual(missing, []);
});

if (everything) {
  const folder = new URL('./screens/', import.meta.url);
  const groups = await Promise.all((await readdir(folder)).filter((f) => f.endsWith('.js')).sort().map((f) => import(new URL(f, folder))));
  test('axe finds nothing in any state that there is a picture of', async () => {
    const other = await demo();
    for (const { prepare } of groups) await prepare?.(other);
    const findings = [];
    for (const { name, path, signedIn = false, act } of groups.flatMap((g) => g.pages)) {
      for (const language of ['en', 'ru']) {
        const page = await open(b, other, { theme: 'system', language, signedIn, path: typeof path === 'function' ? path(other) : path });
        await act?.(page, other, { language });
        await settled(page);
        for (const theme of ['light', 'dark']) {
          await page.emulateMedia({ colorScheme: theme });
          await accessible(page, `${name}, ${theme}, ${language}`).catch((e) => { findings.push(e.message); });
        }
        await page.context().close();
      }
    }
    assert.deepEqual(findings, [], findings.join('\n'));
  });
}
