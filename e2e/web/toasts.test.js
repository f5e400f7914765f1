// Short messages lie over nothing that is needed while they are there: the composer, the bar of a phone, the buttons of a window.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, demo, open, settled } from './weir.js';

const weir = await demo();
const b = await browser();

/** The controls within `where` that a press would not reach because a message is over them. */
const hidden = (page, where) => page.evaluate((selector) => [...document.querySelectorAll(`${selector} :is(a[href], button, input, textarea)`)].filter((e) => {
  const r = e.getBoundingClientRect();
  return r.width > 0 && document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2)?.closest('[data-toasts]');
}).map((e) => e.textContent || e.getAttribute('aria-label')), where);
const messages = (page) => page.locator('[data-toasts] > div');

for (const size of ['desk', 'laptop', 'small']) {
  test(`over neither the composer nor a bar, ${size}`, async () => {
    const page = await open(b, weir, { path: '/playground?models=sim/chat,sim/echo', signedIn: true, size });
    await page.getByRole('button', { name: 'Close Sim Chat' }).click();
    await messages(page).waitFor();
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello');
    await becomes(() => hidden(page, '[data-bar]'), []);
    if (size === 'small') assert.ok(await page.locator('nav[data-bar]').isVisible());
    await accessible(page);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('1 call settled').first().waitFor({ state: 'attached' });
    await page.done();
  });
}

for (const size of ['desk', 'small']) {
  test(`a window that opens under a message has all its buttons, and stays when the message is pressed, ${size}`, async () => {
    const page = await open(b, weir, { path: '/keys', signedIn: true, size });
    const act = async (name) => {
      await page.getByRole('button', { name: 'Actions for demo', exact: true }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await act(/^(Disable|Enable)$/);
    await messages(page).first().dispatchEvent('pointerover'); // it stays while a pointer is on it
    await act('Name and limits');
    const form = page.getByRole('dialog');
    await form.getByRole('button', { name: 'Save' }).waitFor();
    await settled(page);
    assert.equal(await messages(page).count(), 1);
    await becomes(() => hidden(page, '[role=dialog]'), []);
    await page.locator('[data-toasts]').getByLabel('Close').click();
    await becomes(() => messages(page).count(), 0);
    assert.ok(await form.getByRole('button', { name: 'Save' }).isVisible());
    await page.done();
  });
}
