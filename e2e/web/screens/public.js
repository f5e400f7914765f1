export const pages = [
  { name: 'sign-in', path: '/sign-in' },
  { name: 'models', path: '/models' },
];
