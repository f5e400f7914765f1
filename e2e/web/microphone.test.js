// Recordings from the microphone, with the device that Chromium makes up (a beep every second), without one, and without leave.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, choose, demo, open, settled } from './weir.js';

const weir = await demo();
const device = '--use-fake-device-for-media-stream', leave = '--use-fake-ui-for-media-stream';
const record = (page) => page.getByRole('button', { name: 'Record', exact: true });
const stopIt = (page) => page.getByRole('button', { name: /^Stop, / });

test('what is said into the microphone is transcribed, and goes with a message', async () => {
  const b = await browser([device, leave]);
  const page = await open(b, weir, { path: '/playground/audio', signedIn: true });
  await choose(page, 'Model', 'sim/whisper');
  const sent = page.waitForRequest((r) => r.url().endsWith('/audio/transcriptions'));
  await record(page).click();
  // The button says a second from the beginning. When it says two, there is something to keep.
  // The device beeps once a second.
  await becomes(async () => Number(await page.getByRole('meter', { name: 'Level of the microphone' }).getAttribute('aria-valuenow')) > 0, true);
  await page.getByRole('button', { name: /^Stop, 2/ }).waitFor();
  await accessible(page);
  await stopIt(page).click();
  await page.getByText('recording.webm').waitFor();
  await page.getByRole('button', { name: 'Transcribe' }).click();
  assert.match((await sent).headers()['content-type'], /^multipart\/form-data/);
  const article = page.getByRole('article').first();
  await article.getByText('settled').waitFor();
  await article.locator('audio').waitFor();
  await article.getByText('recording.webm').waitFor();
  await page.goto(`${weir.url}/playground?models=sim/vision`);
  await settled(page);
  await record(page).click();
  await page.getByRole('button', { name: /^Stop, 2/ }).waitFor();
  await stopIt(page).click();
  await page.getByRole('list', { name: 'Files' }).getByText('recording.webm').waitFor();
  // Who leaves the page while it records is not heard any longer.
  await record(page).click();
  await stopIt(page).waitFor();
  const live = () => page.evaluate(() => window.tracks.filter((t) => t.readyState === 'live').length);
  await page.evaluate(() => { const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices); window.tracks = []; navigator.mediaDevices.getUserMedia = async (x) => { const s = await ask(x); window.tracks.push(...s.getTracks()); return s; }; });
  await stopIt(page).click();
  await record(page).click();
  await stopIt(page).waitFor();
  assert.equal(await live(), 1);
  await page.getByRole('link', { name: 'Models', exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
  await becomes(live, 0);
  await page.done();
});

for (const [what, args, says] of [
  ['the person refuses', [device, `${leave}=deny`], 'The browser does not let this page use the microphone.'],
  ['there is no microphone', [leave], 'No microphone is connected.'],
]) {
  test(`${what}: the page says so, and a file still goes`, async () => {
    const b = await browser(args);
    const page = await open(b, weir, { path: '/playground/audio', signedIn: true });
    await record(page).click();
    await page.getByText(says).waitFor();
    await record(page).waitFor();
    await page.locator('input[data-sound]').setInputFiles({ name: 'tone.mp3', mimeType: 'audio/mpeg', buffer: Buffer.alloc(900, 1) });
    await page.getByText('tone.mp3').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Transcribe' }).isEnabled());
    await page.done();
  });
}
