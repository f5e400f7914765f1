export const pages = [
  { name: 'docs', path: '/docs' },
  { name: 'docs-start', path: '/docs/start' },
  { name: 'docs-clients', path: '/docs/clients' },
  { name: 'docs-money', path: '/docs/money#what-is-held', signedIn: true },
  { name: 'docs-errors', path: '/docs/errors' },
  { name: 'docs-reference', path: '/docs/reference/inference' },
  { name: 'docs-settings', path: '/docs/settings' },
  { name: 'docs-search', path: '/docs/search?q=what+is+held' },
  { name: 'docs-none', path: '/docs/nothing' },
];
