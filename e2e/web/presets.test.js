// Presets: saved from the playground in one step, called by programs, edited, compared, restored and deleted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, browser, choose, demo, englishWords, fitsWidth, hostile, open } from './weir.js';

const weir = await demo();
const b = await browser();
const call = (model) => weir.call('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] });
const make = async (page, name) => {
  await page.getByLabel('Name of a new preset').fill(name);
  await page.getByRole('button', { name: 'Make a preset' }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
};

test('a preset is saved in the playground, called, saved again and opened there', async () => {
  const page = await open(b, weir, { path: '/playground?models=sim/echo', signedIn: true });
  await page.getByLabel('Instructions').fill('Answer as a river does.');
  await page.getByLabel('Temperature').fill('0,25');
  await page.getByText('Tools', { exact: true }).first().click();
  await page.getByLabel('Tools as JSON').fill('[{"name": "river_level"}]');
  await page.getByRole('button', { name: 'Save as preset' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('Bad Name');
  await dialog.getByRole('alert').or(dialog.getByText(/Lower-case Latin letters/)).first().waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Save', exact: true }).isDisabled());
  await dialog.getByLabel('Name', { exact: true }).fill('river');
  await accessible(page);
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('river is saved').waitFor();
  assert.equal((await call('@preset/river')).status, 200);

  await page.getByLabel('Maximum answer length').fill('64');
  await page.getByRole('button', { name: 'Save as preset' }).click();
  await dialog.getByLabel('Name', { exact: true }).fill('river');
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await dialog.getByText('There is a preset of this name.').waitFor();
  await dialog.getByRole('button', { name: 'Save as next version' }).click();
  await page.getByRole('button', { name: 'Open', exact: true }).last().click();
  await page.getByRole('heading', { level: 1, name: 'river' }).waitFor();
  await page.getByRole('list', { name: 'Versions' }).getByText('version 2').waitFor();
  await becomes(() => page.getByLabel('Maximum answer length').inputValue(), '64');
  assert.match(await page.getByLabel('Functions').inputValue(), /river_level/);
  await page.getByLabel('Plugins').fill('{');
  await page.getByText('This is not a list of objects.').waitFor();
  await page.getByLabel('Plugins').fill('[{"id": "response-healing"}]');
  await page.getByRole('button', { name: 'Save version 3' }).click();
  await page.getByText('Version 3 is saved').waitFor();
  await page.getByText('1 call by 1 key').waitFor();
  await page.getByRole('link', { name: 'Open in playground' }).click();
  await becomes(() => page.getByLabel('Instructions').inputValue(), 'Answer as a river does.');
  await becomes(() => page.getByLabel('Temperature').inputValue(), '0.25');
  await page.done();
});

test('versions are saved, compared and restored; what the form has no field for stays', async () => {
  const page = await open(b, weir, { path: '/presets', signedIn: true });
  await make(page, 'tone');
  await page.getByText('Nothing has changed').waitFor();
  await choose(page, 'Model', 'sim/chat');
  await choose(page, 'Add a fallback model', 'sim/echo');
  await page.getByLabel('Instructions').fill('First tone.');
  await page.getByLabel('Other parameters').fill('{"top_k": 40}');
  await accessible(page);
  await page.getByRole('button', { name: 'Save version 2' }).click();
  await page.getByText('Version 2 is saved').waitFor();
  await page.getByLabel('Instructions').fill('Second tone.');
  await page.getByLabel('Temperature').fill('9');
  await page.getByText('This value is not possible.').waitFor();
  await page.getByLabel('Temperature').fill('');
  await page.getByLabel('Other parameters').fill('{"messages": []}');
  await page.getByRole('button', { name: 'Save version 3' }).click();
  await page.getByText(/A preset has no parameter of this name/).waitFor();
  await page.getByLabel('Other parameters').fill('{"top_k": 40, "seed": 7}');
  await page.getByRole('button', { name: 'Save version 3' }).click();
  await page.getByText('Version 3 is saved').waitFor();
  const versions = page.getByRole('list', { name: 'Versions' });
  await versions.getByRole('listitem').filter({ hasText: 'version 3' }).getByRole('button', { name: 'What changed' }).click();
  const changes = page.getByRole('dialog').getByRole('region');
  await changes.getByText('removed: First tone.').waitFor();
  await changes.getByText('added: Second tone.').waitFor();
  await accessible(page);
  await page.keyboard.press('Escape');
  await versions.getByRole('listitem').filter({ hasText: 'version 2' }).getByRole('button', { name: 'Restore' }).click();
  await page.getByText('Version 2 is the current one again, as version 4').waitFor();
  await becomes(() => page.getByLabel('Instructions').inputValue(), 'First tone.');
  await becomes(() => page.getByLabel('Other parameters').inputValue(), '{\n  "top_k": 40\n}');

  // Somebody else saves meanwhile: nothing is lost, and nothing overwritten.
  const other = await open(b, weir, { path: '/presets/tone', signedIn: true });
  await other.getByLabel('Instructions').fill('Their tone.');
  await other.getByRole('button', { name: 'Save version 5' }).click();
  await other.getByText('Version 5 is saved').waitFor();
  await other.done();
  await page.getByLabel('Instructions').fill('My tone.');
  await page.getByRole('button', { name: 'Save version 5' }).click();
  await page.getByText('Somebody has saved another version meanwhile.').waitFor();
  assert.equal(await page.getByLabel('Instructions').inputValue(), 'My tone.');
  await page.getByRole('button', { name: 'Read the newest version' }).click();
  await becomes(() => page.getByLabel('Instructions').inputValue(), 'Their tone.');
  await page.done();
});

test('a preset is deleted, and its texts are text', async () => {
  const page = await open(b, weir, { path: '/presets', signedIn: true });
  await make(page, 'hostile');
  await page.getByLabel('Description').fill(hostile[0]);
  await page.getByLabel('Instructions').fill(hostile.join('\n'));
  await page.getByRole('button', { name: 'Save version 2' }).click();
  await page.getByText('Version 2 is saved').waitFor();
  await page.getByRole('list', { name: 'Versions' }).getByRole('button', { name: 'What changed' }).first().click();
  await page.getByRole('dialog').getByRole('region').getByText(hostile[0].slice(0, 12)).first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Presets' }).first().click();
  const table = page.getByRole('table');
  await table.getByText(hostile[0]).waitFor();
  await table.getByRole('button', { name: 'Actions for hostile' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Preset hostile is deleted').waitFor();
  assert.equal((await call('@preset/hostile')).status, 404);
  await page.goto(`${weir.url}/presets/hostile`);
  await page.getByText('There is no preset of this name').waitFor();
  await page.done();
});

test('it fits 360 px and is Russian', async () => {
  for (const path of ['/presets', '/presets/tone']) {
    const page = await open(b, weir, { path, size: 'small', language: 'ru', signedIn: true });
    await page.getByText('tone', { exact: true }).first().waitFor();
    await fitsWidth(page);
    assert.deepEqual(await englishWords(page, /Weir|Codex|Cursor|Continue|Cline|sim|Sim|preset|river|tone|Top|top|JSON|LangChain|Claude|UTC|email|writer|top_k|seed|only|acme|English|Their|First|answer|Answer|as|does|demo|Demo|[<>{}$@/_."']/i), []);
    await page.done();
  }
});
