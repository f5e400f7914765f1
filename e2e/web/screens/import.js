// The import of keys and presets from another gateway: its window, and what would be made.
const file = (name, data) => ({ name, mimeType: 'application/json', buffer: Buffer.from(JSON.stringify({ data })) });
const files = [
  file('keys.json', [{ hash: '01', name: 'storefront', limit: 10, limit_reset: 'monthly', usage: 3 }, { hash: '02', name: 'ci-nightly', limit: 5 }, { hash: '03', name: 'old-laptop', expires_at: '2020-01-01T00:00:00Z' }]),
  file('support.json', { slug: 'support', status: 'active', designated_version: { system_prompt: 'Be polite.', config: { model: 'sim/chat', temperature: 0.5 } } }),
];
async function choose(page) {
  await page.getByRole('button', { name: /^(Import|Перенести)$/ }).click();
  await page.getByRole('dialog').waitFor();
}
export const pages = [
  { name: 'import', path: '/keys', signedIn: true, act: choose },
  { name: 'import-plan', path: '/keys', signedIn: true, act: async (page) => {
    await choose(page);
    await page.locator('[data-import]').setInputFiles(files);
    await page.getByRole('button', { name: /^(Show what would be made|Показать, что будет создано)$/ }).click();
    await page.getByRole('dialog').getByText('storefront').first().waitFor();
  } },
];
