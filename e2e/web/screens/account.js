// Pictures of the pages for people with an account.
export const pages = [
  { name: 'overview', path: '/overview', signedIn: true },
  { name: 'activity', path: '/activity', signedIn: true },
  { name: 'money', path: '/money', signedIn: true },
  { name: 'jobs', path: '/jobs', signedIn: true },
];
