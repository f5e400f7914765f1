// The gallery: what was made in the playground, seen again after a reload.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, choose, demo, englishWords, fitsWidth, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();

const write = async (page, text) => { await page.locator('[data-composer] textarea').fill(text); await page.getByRole('button', { name: 'Make', exact: true }).click(); };
const charged = (page, text) => page.getByRole('article').filter({ hasText: text }).getByText('settled', { exact: true }).waitFor();
async function image(page, text, { model = 'sim/picture', count = '' } = {}) {
  await page.goto(`${weir.url}/playground/image`);
  await choose(page, 'Model', model);
  await page.getByLabel('How many').fill(count);
  await write(page, text);
  await charged(page, text);
}
async function speech(page, text) {
  await page.goto(`${weir.url}/playground/audio`);
  await page.getByText('Text to speech').click();
  await choose(page, 'Model', 'sim/speech');
  await page.getByPlaceholder('Text to speak…').fill(text);
  await page.getByRole('button', { name: 'Speak' }).click();
  await page.getByRole('article').first().locator('audio').waitFor();
  await charged(page, text);
}
async function video(page, text) {
  await page.goto(`${weir.url}/playground/video`);
  await choose(page, 'Model', 'sim/video');
  await write(page, text);
  await page.getByRole('article', { name: text }).getByText('done', { exact: true }).waitFor({ timeout: 60_000 });
}
const tiles = (page) => page.getByRole('list', { name: 'What you made' }).getByRole('listitem');
const names = (page) => tiles(page).getByRole('button').evaluateAll((all) => all.map((e) => e.getAttribute('aria-label')));
const gallery = async (page, path = '/gallery') => { await page.goto(weir.url + path); await settled(page); };
const data = async (page, body) => assert.equal((await page.request.put(`${weir.url}/api/account/data`, { headers: { origin: weir.url, 'x-weir': '1' }, data: body })).status(), 200);

test('images, speech and a video are there after a reload, newest first, and one opens large', async () => {
  const page = await open(b, weir, { path: '/gallery', signedIn: true });
  await page.getByText('Nothing made yet').waitFor();
  await page.getByText(/the newest 300 .* up to 300\s?MB, until you delete them/).waitFor();
  await accessible(page);
  await image(page, 'A weir in spring <img src=x onerror=alert(1)>');
  await image(page, 'Two herons', { model: 'sim/picture-queue', count: '2' });
  await speech(page, 'A weir steers a river.');
  await video(page, 'A heron takes off');
  await page.getByRole('link', { name: 'Gallery' }).filter({ visible: true }).first().click();
  await page.waitForURL(/\/gallery$/);
  await becomes(() => names(page), ['Video: A heron takes off', 'Recording: A weir steers a river.', 'Image: Two herons', 'Image: Two herons', 'Image: A weir in spring <img src=x onerror=alert(1)>']);
  await gallery(page);
  await becomes(() => tiles(page).locator('img').evaluateAll((all) => all.map((i) => i.naturalWidth > 0)), [true, true, true]);
  assert.equal(await tiles(page).locator('audio').count(), 1);
  await accessible(page);

  await page.getByRole('radio', { name: 'Images' }).click();
  await becomes(() => tiles(page).count(), 3);
  assert.match(page.url(), /kind=image$/);
  const tile = tiles(page).nth(1).getByRole('button');
  await tile.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('2 of 3').waitFor();
  await becomes(() => dialog.locator('img').evaluateAll((all) => all.map((i) => i.naturalWidth > 0)), [true]);
  await dialog.getByText('for 2 files').waitFor();
  await page.keyboard.press('ArrowRight');
  await dialog.getByText('3 of 3').waitFor();
  await dialog.getByText('A weir in spring <img src=x onerror=alert(1)>').waitFor();
  await page.keyboard.press('ArrowRight'); // there is no fourth
  await dialog.getByText('3 of 3').waitFor();
  await accessible(page);
  const href = await dialog.getByRole('link', { name: 'Open the call' }).getAttribute('href');
  const call = (await (await page.request.get(`${weir.url}/api${href}`)).json()).data;
  assert.equal((await dialog.locator('[title$="₽"]').getAttribute('title')).replace(/[^\d.]/g, ''), call.cost);
  assert.equal(call.model.id ?? call.model, 'sim/picture');
  const download = page.waitForEvent('download');
  await dialog.getByRole('button', { name: 'Download' }).click();
  assert.match((await download).suggestedFilename(), /^weir-\d{4}-\d\d-\d\d\.(png|jpg)$/);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  // The focus is on the tile of what was seen last.
  await becomes(() => page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Image: A weir in spring <img src=x onerror=alert(1)>');
  await page.done();
});

test('a recording and a video play, and a video is deleted from the gateway', async () => {
  const page = await open(b, weir, { signedIn: true });
  await speech(page, 'Water is measured here.');
  await video(page, 'A weir in the rain');
  await gallery(page, '/gallery?kind=audio');
  await tiles(page).first().getByRole('button').click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('audio').evaluate((a) => a.play());
  await becomes(() => dialog.locator('audio').evaluate((a) => a.currentTime > 0 || a.ended), true);
  await accessible(page);
  await page.keyboard.press('Escape');
  await gallery(page, '/gallery?kind=video');
  const all = page.locator('[id^="made "]'); // also while a window is over them
  const before = await all.count();
  await tiles(page).first().getByRole('button').click();
  await page.waitForFunction(() => document.querySelector('[role=dialog] video')?.readyState >= 1);
  await dialog.getByText('A weir in the rain').waitFor();
  await dialog.getByText('Kept until').waitFor();
  const address = await dialog.getByRole('link', { name: 'Download' }).getAttribute('href');
  assert.match(address, /^\/api\/v1\/videos\/vj_\w+\/content\?index=0$/);
  await accessible(page);
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('alertdialog').getByText('It is gone from the gateway. The call and its charge stay.').waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await becomes(() => all.count(), before - 1);
  assert.notEqual((await page.request.get(weir.url + address)).status(), 200);
  await page.done();
});

test('make another has the prompt and the settings; one and all are deleted', async () => {
  const page = await open(b, weir, { signedIn: true });
  await image(page, 'First');
  await page.getByLabel('Size').selectOption('1536x1024');
  await write(page, 'Second');
  await charged(page, 'Second');
  await speech(page, 'Third');
  await gallery(page, '/gallery?kind=image');
  await tiles(page).first().getByRole('button').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Make another' }).click();
  await becomes(() => page.url(), `${weir.url}/playground/image?models=sim/picture&size=1536x1024`);
  await becomes(() => page.locator('[data-composer] textarea').inputValue(), 'Second');
  await becomes(() => page.getByLabel('Size').inputValue(), '1536x1024');
  await page.goBack();
  await dialog.getByText('1 of 2').waitFor(); // what is open is in the address
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await dialog.getByText('First').waitFor(); // the next one is shown
  await page.keyboard.press('Escape');
  await becomes(() => names(page), ['Image: First']);
  await page.reload();
  await becomes(() => names(page), ['Image: First']);
  await page.getByRole('button', { name: 'Delete all images and audio' }).click();
  await page.getByRole('alertdialog').getByText('Delete 2 files?').waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Nothing of this kind').waitFor();
  await page.reload();
  await page.getByText('Nothing of this kind').waitFor();
  await page.done();
});

test('an account that stores nothing keeps nothing here, and a shorter time holds for what is kept', async () => {
  const page = await open(b, weir, { signedIn: true });
  await image(page, 'From before');
  await data(page, { responses: 'never' });
  await image(page, 'Not kept');
  await page.getByText('The data settings of this account forbid keeping it').waitFor();
  await speech(page, 'Not kept');
  await gallery(page);
  await page.getByText('The data settings of this account forbid keeping content').waitFor();
  await becomes(async () => (await names(page)).filter((n) => !n.startsWith('Video')), ['Image: From before']); // until it is deleted
  await data(page, { days: 1 });
  await page.clock.setFixedTime(Date.now() + 2 * 86_400_000);
  await gallery(page);
  await page.getByText('by the data settings of this account for 1 day.').waitFor();
  await becomes(async () => (await names(page)).filter((n) => !n.startsWith('Video')), []);
  await data(page, {});
  await page.done();
});

test('another person of the same browser sees nothing of it', async () => {
  const page = await open(b, weir, { signedIn: true });
  await image(page, 'Mine');
  await page.evaluate(() => new Promise((done, failed) => {
    const r = indexedDB.open('weir-made', 1);
    r.onsuccess = () => {
      const list = r.result.transaction('list', 'readwrite').objectStore('list');
      list.getAll().onsuccess = (e) => { for (const row of e.target.result) list.put({ ...row, id: `${row.id} other`, person: 'usr_other', account: 'usr_other' }); };
      list.transaction.oncomplete = done;
      list.transaction.onabort = failed;
    };
  }));
  await gallery(page, '/gallery?kind=image');
  await becomes(() => names(page), ['Image: Mine']);
  await page.done();
});

for (const size of ['desk', 'small']) {
  test(`Russian, dark: ${size}`, async () => {
    const page = await open(b, weir, { path: '/playground/image', signedIn: true, language: 'ru', theme: 'dark', size });
    await page.locator('[data-composer] textarea').fill('Цапля у плотины');
    await page.locator('[data-composer] button[type=submit]').click();
    await page.locator('article img').first().waitFor();
    await page.getByText('списано', { exact: true }).first().waitFor();
    await page.getByRole('link', { name: 'Галерея' }).filter({ visible: true }).first().click();
    await page.getByRole('button', { name: 'Изображение: Цапля у плотины' }).waitFor();
    await settled(page);
    await fitsWidth(page);
    await accessible(page);
    assert.deepEqual(await englishWords(page, /^(Sim|Weir|UTC)/), []);
    await page.getByRole('button', { name: 'Изображение: Цапля у плотины' }).click();
    await page.getByRole('dialog').locator('img').waitFor();
    await fitsWidth(page);
    await accessible(page);
    assert.deepEqual(await englishWords(page, /^(Sim|Weir|UTC)/), []);
    await page.done();
  });
}
