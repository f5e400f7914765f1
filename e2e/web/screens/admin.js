// Pictures of the console.
export const pages = [
  { name: 'admin-now', path: '/admin', signedIn: true },
  { name: 'admin-audit', path: '/admin/audit', signedIn: true },
  { name: 'admin-calls', path: '/admin/calls', signedIn: true },
  { name: 'admin-call', path: '/admin/calls', signedIn: true, act: async (page) => { await page.getByRole('row').nth(1).getByRole('link').first().click(); await page.waitForURL(/calls\/gen-/); } },
  { name: 'admin-errors', path: '/admin/errors', signedIn: true },
  { name: 'admin-jobs', path: '/admin/jobs', signedIn: true },
  { name: 'admin-ledger', path: '/admin/ledger', signedIn: true },
  { name: 'admin-vouchers', path: '/admin/vouchers', signedIn: true },
  { name: 'admin-payments', path: '/admin/payments', signedIn: true },
  { name: 'admin-endpoints', path: '/admin/endpoints', signedIn: true },
  { name: 'admin-catalog', path: '/admin/catalog', signedIn: true },
  { name: 'admin-settings', path: '/admin/settings', signedIn: true },
  { name: 'admin-people', path: '/admin/people', signedIn: true, act: async (page) => { await page.getByRole('row').nth(1).getByRole('link').click(); await page.waitForURL(/people\/usr_/); } },
  { name: 'admin-providers', path: '/admin/providers', signedIn: true },
  { name: 'admin-provider', path: '/admin/providers/sim', signedIn: true, act: async (page) => { await page.getByRole('button', { name: /^(Test|Проверить)$/ }).click(); await page.getByText(/answered in|: ответ за/).first().waitFor(); } },
];
