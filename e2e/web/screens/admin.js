// Pictures of the console.
export const pages = [
  { name: 'admin-providers', path: '/admin/providers', signedIn: true },
  { name: 'admin-provider', path: '/admin/providers/sim', signedIn: true, act: async (page) => { await page.getByRole('button', { name: /^(Test|Проверить)$/ }).click(); await page.getByText(/answered in|: ответ за/).first().waitFor(); } },
];
