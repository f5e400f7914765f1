// Pictures of the pages for people with an account.
export const pages = [
  { name: 'money', path: '/money', signedIn: true },
];
