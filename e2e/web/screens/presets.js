const act = (page) => page.getByText('email-writer', { exact: true }).filter({ visible: true }).first().waitFor();
export const pages = [
  { name: 'presets', path: '/presets', signedIn: true, act },
  { name: 'preset', path: '/presets/email-writer', signedIn: true, act },
  { name: 'preset-changes', path: '/presets/email-writer', signedIn: true, act: async (page) => { await page.getByRole('button', { name: /What changed|Что изменилось/ }).first().click(); await page.getByRole('dialog').getByRole('region').waitFor(); } },
];
/** Two presets, one of them used and in three versions. */
export async function prepare(weir) {
  const send = (method, path, body) => fetch(`${weir.url}${path}`, { method, headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const says = { description: 'Polite answers to customers', model: 'sim/chat', models: ['sim/echo'], parameters: { temperature: 0.3, max_tokens: 400 } };
  await send('POST', '/api/presets', { name: 'email-writer', ...says, system_prompt: 'You write e-mails.' });
  await send('PUT', '/api/presets/email-writer', { ...says, system_prompt: 'You write short, polite e-mails.\nSign as Anna.' });
  await send('PUT', '/api/presets/email-writer', { ...says, parameters: { temperature: 0.2, max_tokens: 400, top_k: 40 }, system_prompt: 'You write short, polite e-mails.\nSign as Anna Petrova.', provider: { sort: 'price' } });
  await send('POST', '/api/presets', { name: 'classifier', model: 'sim/json', parameters: { temperature: 0 } });
  for (let i = 0; i < 3; i++) await weir.call('/v1/chat/completions', { model: '@preset/email-writer', messages: [{ role: 'user', content: `Hello ${i}` }] });
}
