// Every page of the interface, with something to see on each. Tests that walk through all of them share this list.
import assert from 'node:assert/strict';
import { becomes } from './weir.js';

/** Fills the demo's account: a call, a preset, a job that has ended, a key. Answers the paths by who may see them and by what shows them. */
export async function everyPage(weir) {
  const manage = (path, method, body) => fetch(`${weir.url}${path}`, { method, headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const called = await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: 'Hi' }] });
  const call = called.headers.get('x-generation-id');
  await manage('/api/presets', 'POST', { name: 'tour', system_prompt: 'Be brief.' });
  const job = (await (await weir.call('/v1/videos', { model: 'sim/video', prompt: 'A heron' })).json()).id;
  // A job that is under way would be asked for again and again. While it is being submitted its provider cannot cancel it.
  await becomes(async () => (await fetch(`${weir.url}/v1/videos/${job}`, { method: 'DELETE', headers: { authorization: `Bearer ${weir.api_key}` } })).status, 200);
  const key = (await (await manage('/api/keys', 'POST', { name: 'tour' })).json()).data.hash;
  await manage('/api/budgets', 'POST', { scope: { kind: 'organization' }, period: 'month', amount: '900' });
  const agent = (await (await weir.call('/v1/keys/child', { name: 'planner', amount: '5' })).json()).data.hash;
  await becomes(async () => (await fetch(`${weir.url}/api/calls/${call}`, { headers: { authorization: `Bearer ${weir.management_key}` } })).status, 200);
  const { data: [person] } = await (await fetch(`${weir.admin_url}/api/admin/users`, { headers: { authorization: `Bearer ${weir.management_key}` } })).json();
  assert.ok(call && job && key && person && agent);
  return {
    /** For people who are signed in; those before /overview for everybody. */
    app: ['/models', '/models/compare?m=sim/chat,sim/echo', '/models/sim/anywhere', '/models/sim/video', '/rankings', '/status', '/unsubscribe', '/join', '/welcome', '/overview', '/device', '/activity', '/notices', '/calls', `/calls/${call}`, '/money', '/money/top-up', '/money/invoices', '/jobs', `/jobs/${job}`, '/gallery', '/keys', `/keys/${key}`, '/presets', '/presets/tour', '/org/members', '/budgets', '/agents', `/agents/${agent}`,
      '/settings/profile', '/settings/routing', '/settings/provider-keys', '/settings/data', '/settings/notifications', '/settings/security', '/playground?models=sim/chat', '/playground/image', '/playground/video', '/playground/audio', '/playground/embeddings', '/playground/none', '/nowhere', '/admin', '/admin/audit', '/admin/calls', `/admin/calls/${call}`, '/admin/errors', '/admin/jobs', '/admin/ledger', '/admin/reconciliation', '/admin/reconciliation/none', '/admin/sales', '/admin/vouchers', '/admin/payments', '/admin/payments/none', '/admin/invoices', '/admin/invoices/none', '/admin/statements', '/admin/statements/none', '/admin/acts', '/admin/order', '/admin/endpoints', '/admin/endpoints/sim/sim/chat', '/admin/catalog', '/admin/alerts', '/admin/settings', '/admin/people', `/admin/people/${person.id}`, '/admin/providers', '/admin/providers/openai'],
    /** The application of those who are not signed in, which is another document. */
    doors: ['/sign-in', '/sign-up', '/reset', '/invite', '/setup'],
    /** One page of each kind; every page of a kind has the same form. */
    docs: ['/docs', '/docs/start', '/docs/clients', '/docs/conformance', '/docs/reference', '/docs/reference/catalog', '/docs/errors', '/docs/search?q=hold', '/docs/nothing'],
  };
}

/** Goes to a path from within the interface, without a new document. */
export async function go(page, path) {
  await page.evaluate((to) => history.pushState({}, '', to), path);
  await page.waitForURL((u) => u.pathname.startsWith(path.split('?')[0]));
}
