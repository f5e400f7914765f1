const ask = async (page, text) => {
  const field = page.getByRole('textbox').first();
  await field.fill(text);
  await field.press('Enter');
  await page.waitForFunction(() => document.querySelectorAll('form button[type=submit]').length === 1);
  await page.waitForTimeout(600);
};
export const pages = [
  { name: 'playground', path: '/playground?models=sim/reason,sim/echo', signedIn: true, act: (page) => ask(page, 'Check **first**:\n\n1. Stock-outs in *small appliances*\n2. The `depot` of Samara\n\n```python\nprint("hello")\n```\n\nhttps://example.com/') },
  { name: 'playground-empty', path: '/playground', signedIn: true },
  { name: 'playground-broken', path: '/playground?models=sim/chat', signedIn: true, act: (page) => ask(page, '[[sim fault=u6 after=12]] What is a weir?') },
];
