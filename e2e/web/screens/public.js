/** A new demo has had no day with five accounts, so the picture has figures of its own, of models of the catalog. */
async function rankings(page, weir) {
  const { models } = await (await weir.call('/api/catalog')).json();
  const shares = [31, 22, 14, 9, 7, 5, 4, 3, 2, 1, 1, 1], before = [2, 1, 3, null, 4, 9, 7, 6, 8, null, 14, 10];
  const ranked = models.filter((m) => m.in !== null).slice(0, shares.length).map((m, i) => ({ place: i + 1, before: before[i], id: m.id, name: m.name, vendor: m.vendor, vendor_name: 'Weir (simulator)', share: shares[i] }));
  const json = { range: '7d', from: '2026-11-19', to: '2026-11-25', least: 5, models: ranked, vendors: [{ id: 'sim', name: 'Weir (simulator)', share: 100 }] };
  await page.route('**/api/rankings?**', (route) => route.fulfill({ json }));
  await page.goto(`${weir.url}/rankings`);
}

export const pages = [
  { name: 'first-run', path: '/welcome', signedIn: true },
  { name: 'models', path: '/models?can=tools' },
  { name: 'compare', path: '/models/compare?m=sim/chat,sim/echo,sim/video', signedIn: true },
  { name: 'model', path: '/models/sim/anywhere' },
  { name: 'video-model', path: '/models/sim/video' },
  { name: 'rankings', path: '/models', signedIn: true, act: rankings },
  { name: 'status', path: '/status' },
  { name: 'sign-in', path: '/sign-in' },
];
/** A few calls, so that there is something to see. */
export async function prepare(weir) {
  for (let i = 0; i < 12; i++) await weir.call('/v1/chat/completions', { model: 'sim/anywhere', messages: [{ role: 'user', content: `Hello ${i}` }] });
}
