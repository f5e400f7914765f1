export const pages = [
  { name: 'keys', path: '/keys', signedIn: true },
  { name: 'keys-new', path: '/keys', signedIn: true, act: async (page) => { await filled(page); await page.locator('main summary').first().click(); } },
  { name: 'keys-made', path: '/keys', signedIn: true, act: async (page) => { await filled(page); await page.locator('main form button[type=submit]').click(); await page.getByRole('tabpanel').waitFor(); } },
  { name: 'key', path: (weir) => `/keys/${weir.keyOfScreens}`, signedIn: true },
];
/** The form, with a name and a limit. */
async function filled(page) {
  await page.keyboard.press('n');
  const fields = page.locator('main form input');
  await fields.nth(0).fill('backend');
  await fields.nth(1).fill('5000');
}
/** A key with limits, and calls of it. */
export async function prepare(weir) {
  const made = await (await fetch(`${weir.url}/api/keys`, { method: 'POST', headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, body: JSON.stringify({ name: 'backend', limit: '500', limit_reset: 'monthly', allowed_models: ['sim/*'], allowed_ips: ['127.0.0.0/8', '192.0.2.0/24'] }) })).json();
  weir.keyOfScreens = made.data.hash;
  for (const [i, model] of ['sim/chat', 'sim/anywhere', 'sim/chat', 'sim/echo', 'sim/chat'].entries()) await weir.call('/v1/chat/completions', { model, messages: [{ role: 'user', content: `Hello ${i} `.repeat(200) }] }, made.key);
}

