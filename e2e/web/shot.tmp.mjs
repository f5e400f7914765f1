import { chromium } from 'playwright-core'
const [base, out, path, ...opts] = process.argv.slice(2)
const o = Object.fromEntries(opts.map((x) => x.split('=')))
const sizes = { desk: [1440, 900], phone: [390, 844], laptop: [1024, 768], tall: [1440, 1700], small: [360, 740] }
const [width, height] = sizes[o.size ?? 'desk']
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
const c = await b.newContext({ viewport: { width, height }, hasTouch: (o.size ?? '') === 'phone', reducedMotion: 'reduce' })
await c.addCookies([{ name: 'weir_lang', value: o.lang ?? 'en', url: base }, { name: 'weir_theme', value: o.theme ?? 'light', url: base }])
const p = await c.newPage()
p.on('pageerror', (e) => console.log('ERR', e.message)); p.on('console', (m) => { if (m.type() === 'error') console.log('CONSOLE', m.text()) })
if (o.signin) console.log((await p.request.post(base + '/api/auth/demo', { headers: { origin: base, 'x-weir': '1' }, data: {} })).status())
if (o.mock) await p.route('**/api/setup', async (r) => r.fulfill({ json: JSON.parse((await import('node:fs')).readFileSync(o.mock)) }))
await p.goto(base + path); await p.waitForLoadState('networkidle'); await p.waitForTimeout(Number(o.wait ?? 500))
if (o.eval) await p.evaluate(o.eval)
if (o.click) await p.click(o.click)
await p.waitForTimeout(300)
await p.screenshot({ path: out, fullPage: o.full === '1' })
await b.close()
