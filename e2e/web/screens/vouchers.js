// The window that redeems a code.
export const pages = [
  { name: 'voucher', path: '/money', signedIn: true, act: (page) => page.getByRole('button', { name: /Redeem a code|Ввести код/ }).click() },
];
