// Pictures of the pages for people with an account.
export const pages = [
  { name: 'overview', path: '/overview', signedIn: true },
  { name: 'activity', path: '/activity', signedIn: true },
  { name: 'activity-views', path: '/activity?by=key&show=calls&days=7', signedIn: true, act: async (page) => { await page.getByRole('button', { name: /^(Views|Наборы фильтров)$/ }).click(); await page.getByRole('dialog').getByRole('link').first().waitFor(); } },
  { name: 'money', path: '/money', signedIn: true },
  { name: 'jobs', path: '/jobs', signedIn: true },
];
/** Three saved views, one of which is shown. */
export async function prepare(weir) {
  for (const [name, query] of [['Keys, this week', 'by=key&days=7&show=calls'], ['Расход по моделям за 90 дней', 'days=90'], ['Failed calls by provider', 'by=provider&show=errors']]) {
    await fetch(`${weir.url}/api/views`, { method: 'POST', headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, body: JSON.stringify({ page: 'activity', name, query }) });
  }
}
