// Pictures of paying: the form, the consent, the wait, the end.
export async function prepare(weir) {
  const call = (amount) => fetch(`${weir.url}/api/payments`, { method: 'POST', headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, body: JSON.stringify({ amount }) }).then((r) => r.json());
  const [paid, open] = [await call('500'), await call('1000')];
  await fetch(paid.data.url, { method: 'POST', body: new URLSearchParams({ do: 'pay' }), redirect: 'manual' });
  pages[1].path = `/money/top-up?payment=${open.data.id}`;
  pages[2].path = `/money/top-up?payment=${paid.data.id}`;
}

export const pages = [
  { name: 'top-up', path: '/money/top-up', signedIn: true, act: (page) => page.getByRole('checkbox').check({ force: true }) },
  { name: 'top-up-waiting', path: '/money/top-up', signedIn: true },
  { name: 'top-up-arrived', path: '/money/top-up', signedIn: true },
  { name: 'money-payments', path: '/money', signedIn: true },
];
