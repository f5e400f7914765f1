const ask = async (page, text) => {
  const field = page.locator('[data-composer] textarea');
  await field.fill(text);
  await field.press('Enter');
  await page.waitForFunction(() => document.querySelectorAll('[data-composer] button[type=submit]').length === 1);
  await page.waitForTimeout(600);
};
const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==', 'base64');
const tools = async (page) => {
  await page.evaluate(() => document.querySelectorAll('aside details').forEach((d) => { d.open = true; }));
  const button = page.locator('aside').getByRole('button', { name: 'get_weather' });
  if (await button.isVisible()) await button.click();
  await ask(page, 'What is the weather in Samara?');
  await page.locator('input[data-attach]').setInputFiles([{ name: 'chart.png', mimeType: 'image/png', buffer: png }, { name: 'sales-w46.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b') }]);
  await page.waitForTimeout(300);
};
export const pages = [
  { name: 'playground-tools', path: '/playground?models=sim/tools,sim/chat-gigachat', signedIn: true, act: tools },
  { name: 'playground-table', path: '/playground?models=sim/echo', signedIn: true, act: (page) => ask(page, 'A table:\n\n| Region | Plan | Fact |\n|---|---|---|\n| Volga | 52.0 | **41.8** |\n| Ural | 18.2 | 15.1 |\n\n> Quoted') },
  { name: 'playground', path: '/playground?models=sim/reason,sim/echo', signedIn: true, act: (page) => ask(page, 'Check **first**:\n\n1. Stock-outs in *small appliances*\n2. The `depot` of Samara\n\n```python\nprint("hello")\n```\n\nhttps://example.com/') },
  { name: 'playground-empty', path: '/playground', signedIn: true },
  { name: 'playground-broken', path: '/playground?models=sim/chat', signedIn: true, act: (page) => ask(page, '[[sim fault=u6 after=12]] What is a weir?') },
];
