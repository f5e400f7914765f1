// Own keys of providers: one in use, one that the provider refuses. They are made with the page, so that pictures before it show calls without them.
export const pages = [
  { name: 'own-keys-add', path: '/settings/provider-keys', signedIn: true, act: async (page) => { await page.getByRole('button', { name: /^(Add a key|Добавить ключ)$/ }).first().click(); await page.getByRole('dialog').waitFor(); } },
  { name: 'own-keys', path: '/settings/provider-keys', signedIn: true, act: ownKeys },
];
async function ownKeys(page, weir) {
  const call = (method, path, body) => fetch(`${weir.url}${path}`, { method, headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, ...(body ? { body: JSON.stringify(body) } : {}) }).then((r) => r.json());
  if ((await call('GET', '/api/provider-keys')).data.length === 0) {
    await call('POST', '/api/provider-keys', { provider: 'sim-bedrock', key: 'own-key-0123456789-7Qd2' });
    const refused = await call('POST', '/api/provider-keys', { provider: 'sim-cohere', key: 'own-key-0123456789-9Lka' });
    await fetch(`${weir.simulator_url}/sim/keys?revoke=own-key-0123456789-9Lka`, { method: 'POST' });
    await call('POST', `/api/provider-keys/${refused.data.id}/test`);
    await weir.call('/v1/chat/completions', { model: 'sim/chat-bedrock', messages: [{ role: 'user', content: 'Hello' }] });
  }
  await page.reload();
}
