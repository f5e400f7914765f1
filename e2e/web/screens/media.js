// The kinds of the playground beside chat.
const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==', 'base64');
function wav(hz = 8000, length = 48_000) {
  const d = Buffer.alloc(44 + length * 2);
  d.write('RIFF'); d.writeUInt32LE(36 + length * 2, 4); d.write('WAVEfmt ', 8); d.writeUInt32LE(16, 16); d.writeUInt16LE(1, 20); d.writeUInt16LE(1, 22);
  d.writeUInt32LE(hz, 24); d.writeUInt32LE(hz * 2, 28); d.writeUInt16LE(2, 32); d.writeUInt16LE(16, 34); d.write('data', 36); d.writeUInt32LE(length * 2, 40);
  for (let i = 0; i < length; i++) d.writeInt16LE(Math.round(8000 * Math.sin(i / 3)), 44 + i * 2);
  return d;
}
const setting = (page, value) => page.evaluate((v) => { for (const s of document.querySelectorAll('aside select')) if ([...s.options].some((o) => o.value === v)) { s.value = v; s.dispatchEvent(new Event('change', { bubbles: true })); return; } }, value);
const write = async (page, text) => { await page.locator('[data-composer] textarea').fill(text); await page.locator('[data-composer] button[type=submit]').click(); };
async function image(page) {
  await setting(page, 'sim/picture-queue');
  await page.locator('input[data-attach]').setInputFiles([{ name: 'river.png', mimeType: 'image/png', buffer: png }]);
  await write(page, 'A heron on a weir, in the manner of an old map');
  await page.locator('article img[alt^="A heron"]').first().waitFor();
  await page.waitForTimeout(800);
}
async function video(page) {
  // Two at a time: the third page shows those of the first.
  await page.locator('[data-composer] textarea').fill('[[sim takes=90s]] A weir in spring, the water is high');
  await page.waitForTimeout(500);
  const button = page.locator('[data-composer] button[type=submit]');
  if (await button.isEnabled()) await button.click();
  await page.locator('article').first().waitFor();
  await page.waitForTimeout(2500);
}
async function audio(page) {
  await setting(page, 'sim/diarize');
  await setting(page, 'diarized_json');
  await page.locator('input[data-sound]').setInputFiles({ name: 'interview.wav', mimeType: 'audio/wav', buffer: wav() });
  await page.locator('form button[type=submit]').click();
  await page.locator('article ol').waitFor();
  await page.waitForTimeout(500);
}
async function vectors(page) {
  const texts = ['A weir steers a river.', 'A weir measures water.', 'Bread is baked in an oven.'];
  await page.locator('form button:not([type=submit])').last().click();
  for (let i = 0; i < 3; i++) await page.locator('form textarea').nth(i).fill(texts[i]);
  await page.locator('form button[type=submit]').click();
  await page.locator('table').waitFor();
  await page.waitForTimeout(500);
}
/** What the composers made, and a video, in the order of the page. */
async function made(page, weir) {
  await image(page);
  await page.locator('article button[type=button]').first().waitFor();
  await page.goto(`${weir.url}/playground/audio?models=sim/speech`);
  await page.locator('form textarea').fill('A weir steers a river, and measures it.');
  await page.locator('form button[type=submit]').click();
  await page.locator('article audio').waitFor();
  const { id } = await (await weir.call('/v1/videos', { model: 'sim/video', prompt: 'A heron takes off' })).json();
  for (let n = 0; n < 100 && (await (await weir.call(`/v1/videos/${id}`)).json()).status !== 'completed'; n++) await page.waitForTimeout(200);
  await page.goto(`${weir.url}/gallery`);
  await page.locator('[id^="made "] img').first().waitFor();
}
async function large(page, weir) {
  await made(page, weir);
  await page.locator('[id^="made "]').filter({ has: page.locator('img') }).first().click();
  await page.locator('[role=dialog] img').waitFor();
}
export const pages = [
  { name: 'gallery', path: '/playground/image', signedIn: true, act: made },
  { name: 'gallery-large', path: '/playground/image', signedIn: true, act: large },
  { name: 'gallery-none', path: '/gallery', signedIn: true },
  { name: 'media-image', path: '/playground/image', signedIn: true, act: image },
  { name: 'media-image-empty', path: '/playground/image', signedIn: true },
  { name: 'media-video', path: '/playground/video', signedIn: true, act: video },
  { name: 'media-audio', path: '/playground/audio', signedIn: true, act: audio },
  { name: 'media-vectors', path: '/playground/embeddings', signedIn: true, act: vectors },
];
