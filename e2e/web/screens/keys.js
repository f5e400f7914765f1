export const pages = [
  { name: 'keys', path: '/keys', signedIn: true },
  { name: 'keys-made', path: '/keys', signedIn: true, act: async (page) => { await page.locator('main form input').fill('backend'); await page.locator('main form button').click(); await page.getByRole('tabpanel').waitFor(); } },
];
