// Writes a picture of each page: node screens.js FOLDER [PARTS,OF,NAMES]. Each group of pages lists its own in screens/.
import { mkdir, readdir } from 'node:fs/promises';
import { browser, demo, open, settled } from './weir.js';

const [folder = '/tmp/weir-screens', only = ''] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
// With its month, and as a seller who makes invoices out.
const weir = await demo({ month: true, env: {
  WEIR_INVOICES_ENABLED: 'true', WEIR_INVOICES_SELLER_NAME: 'ООО «Плотина»', WEIR_INVOICES_SELLER_INN: '0012345673', WEIR_INVOICES_SELLER_KPP: '001201001', WEIR_INVOICES_SELLER_ADDRESS: 'Москва', WEIR_INVOICES_SELLER_BANK: 'АО «Речной банк»',
  WEIR_INVOICES_SELLER_BIK: '000000225', WEIR_INVOICES_SELLER_ACCOUNT: '40702810400000000018', WEIR_INVOICES_SELLER_CORRESPONDENT_ACCOUNT: '30101810300000000225', WEIR_INVOICES_SELLER_DIRECTOR: 'Иванова А. П.',
} });
const b = await browser();
const looks = [
  ['', {}], ['-dark', { theme: 'dark' }], ['-ru', { language: 'ru' }], ['-phone', { size: 'phone' }], ['-phone-ru', { size: 'phone', language: 'ru', theme: 'dark' }],
];
const groups = await Promise.all((await readdir(new URL('./screens/', import.meta.url))).filter((f) => f.endsWith('.js')).sort().map((f) => import(`./screens/${f}`)));
for (const { prepare } of groups) await prepare?.(weir);
for (const { pages } of groups) {
  for (const { name, path, signedIn = false, act } of pages) {
    for (const [suffix, look] of looks) {
      if (!only.split(',').some((part) => (name + suffix).includes(part))) continue;
      const page = await open(b, weir, { ...look, signedIn, path: typeof path === 'function' ? path(weir) : path });
      try {
        await act?.(page, weir, look);
        await settled(page);
        await page.screenshot({ path: `${folder}/${name}${suffix}.png` });
      } catch (e) { // the others are made all the same
        console.error(`${name}${suffix}: ${e}`);
        process.exitCode = 1;
      }
      for (const complaint of page.complaints) console.error(`${name}${suffix}: ${complaint}`);
      await page.context().close();
    }
  }
}
await b.close();
await weir.stop();
process.exit();
