// Pictures of the console: each page, and the windows that say what an act does.
const button = (page, en, ru, more = {}) => page.getByRole('button', { name: new RegExp(`^(${en}|${ru})$`), ...more }).filter({ visible: true }).first();
const opens = (en, ru) => async (page) => { await button(page, en, ru).click(); await page.getByRole('dialog').waitFor(); };
const made = {};

export const pages = [
  { name: 'admin-now', path: '/admin' },
  { name: 'admin-audit', path: '/admin/audit' },
  { name: 'admin-calls', path: '/admin/calls' },
  { name: 'admin-call', path: '/admin/calls', act: async (page) => { await page.locator('main a[href^="/admin/calls/gen-"]').filter({ visible: true }).first().click(); await page.waitForURL(/calls\/gen-/); } },
  { name: 'admin-errors', path: '/admin/errors' },
  { name: 'admin-jobs', path: '/admin/jobs' },
  { name: 'admin-ledger', path: '/admin/ledger' },
  { name: 'admin-sales', path: '/admin/sales' },
  { name: 'admin-reconciliations', path: '/admin/reconciliation' },
  { name: 'admin-reconciliation', path: () => `/admin/reconciliation/${made.reconciliation}` },
  { name: 'admin-vouchers', path: '/admin/vouchers' },
  { name: 'admin-payments', path: '/admin/payments' },
  { name: 'admin-payment', path: () => `/admin/payments/${made.payment}` },
  { name: 'admin-invoices', path: '/admin/invoices' },
  { name: 'admin-invoice', path: () => `/admin/invoices/${made.invoice}` },
  { name: 'admin-statements', path: '/admin/statements' },
  { name: 'admin-statement', path: () => `/admin/statements/${made.statement}` },
  { name: 'admin-acts', path: '/admin/acts' },
  { name: 'admin-endpoints', path: '/admin/endpoints' },
  { name: 'admin-endpoint', path: '/admin/endpoints/demo-vertex/sim/claude-sonnet-4.5?hours=168' },
  { name: 'admin-take-out', path: '/admin/endpoints/demo-vertex/sim/claude-sonnet-4.5', act: opens('Take out', 'Вывести') },
  { name: 'admin-catalog', path: '/admin/catalog?q=claude' },
  { name: 'admin-order', path: '/admin/order' },
  { name: 'admin-alerts', path: '/admin/alerts' },
  { name: 'admin-settings', path: '/admin/settings' },
  { name: 'admin-people', path: '/admin/people' },
  { name: 'admin-person', path: () => `/admin/people/${made.person}` },
  { name: 'admin-adjust', path: () => `/admin/people/${made.person}`, act: async (page) => { await opens('Adjust', 'Корректировка')(page); await page.getByRole('dialog').getByRole('textbox').first().fill('100'); } },
  { name: 'admin-providers', path: '/admin/providers' },
  { name: 'admin-provider', path: '/admin/providers/sim', act: async (page) => { await button(page, 'Test', 'Проверить').click(); await page.getByText(/answered in|: ответ за/).first().waitFor(); } },
].map((p) => ({ ...p, signedIn: true }));

const today = new Date().toLocaleDateString('ru-RU', { timeZone: 'Europe/Moscow' });
const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);

/** What a month of calls alone does not bring: invoices and a statement of the bank, a bill to compare, an endpoint that is out, prices in a draft. */
export async function prepare(weir) {
  const send = async (method, path, body) => {
    const r = await fetch((path.startsWith('/api/admin') ? weir.admin_url : weir.url) + path, { method, headers: { authorization: `Bearer ${weir.management_key}`, 'content-type': 'application/json' }, ...(body ? { body: JSON.stringify(body) } : {}) });
    if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${await r.text()}`);
    return r.status === 204 ? null : r.json();
  };
  const people = (await send('GET', '/api/admin/users')).data;
  made.person = people.find((p) => p.role === 'user').id;
  await send('PUT', '/api/invoices/buyer', { name: 'ООО «Ромашка»', inn: '0076543215', kpp: '007601001', address: 'Красногорск' });
  const bills = [];
  for (const amount of ['1000', '25000', '3000']) bills.push((await send('POST', '/api/invoices', { amount })).data);
  made.invoice = bills[0].id;
  const documents = [['7', '1000.00', `Оплата ${bills[0].number}`], ['9', '3000.00', 'За услуги']].flatMap(([number, amount, purpose]) => ['СекцияДокумент=Платежное поручение', `Номер=${number}`, `Дата=${today}`, `Сумма=${amount}`,
    'ПлательщикСчет=40702810500000000001', 'Плательщик1=ООО Ромашка', 'ПлательщикИНН=0076543215', 'ПолучательСчет=40702810400000000018', `ДатаПоступило=${today}`, `НазначениеПлатежа=${purpose}`, 'КонецДокумента']);
  const text = ['1CClientBankExchange', 'ВерсияФормата=1.03', 'Кодировка=Windows', ...documents, 'КонецФайла', ''].join('\r\n');
  const bytes = Buffer.from([...text].map((c) => { const n = c.codePointAt(0); return n < 0x80 ? n : n >= 0x410 && n <= 0x44f ? n - 0x350 : 0x3f; }));
  await send('POST', '/api/admin/invoices/import', { statement: bytes.toString('base64'), name: 'kl_to_1c.txt' });
  made.statement = (await send('GET', '/api/admin/statements')).data[0].id;
  const bill = `date,model,requests,prompt_tokens,completion_tokens,cost\n${yesterday},gpt-5-mini,3,6000,900,1.25\n${yesterday},gpt-5,2,300,30,0.01\n`;
  made.reconciliation = (await send('POST', '/api/admin/reconciliations', { provider: 'demo-openai', files: [{ name: 'costs.csv', content: Buffer.from(bill).toString('base64') }] })).data.id;
  await send('POST', '/api/admin/vouchers', { amount: '50', codes: 3, note: 'Conference' });
  await send('PUT', `/api/admin/absences/${encodeURIComponent('endpoint:sim/sim/echo')}`, { mode: 'drain', reason: 'The provider moves to another region' });
  await weir.call('/v1/chat/completions', { model: 'sim/chat', messages: [{ role: 'user', content: '[[sim fault=u12 times=100 id=five]] Hello' }] });
  made.payment = (await send('GET', '/api/admin/payments')).data[0].id;
}
