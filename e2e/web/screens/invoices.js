// The page of invoices: the organization that pays, and what was made out to it.
export const pages = [
  { name: 'invoices', path: '/money/invoices', signedIn: true },
];
