// What each page makes a browser fetch, against the budget. Run after the build; a page over its budget fails.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const out = new URL('../../internal/webui/dist/', import.meta.url)
const { shell, signIn, css, font, page, pages } = JSON.parse(
  readFileSync(new URL('../budget.json', import.meta.url), 'utf8'),
)
const chunks = new Map(
  JSON.parse(readFileSync(new URL('../node_modules/.weir/chunks.json', import.meta.url), 'utf8')).map((c) => [
    c.file,
    c,
  ]),
)
const size = (file) =>
  (existsSync(new URL(file + '.gz', out))
    ? readFileSync(new URL(file + '.gz', out))
    : gzipSync(readFileSync(new URL(file, out)), { level: 9 })
  ).length
const closure = (file, seen = new Set()) => {
  if (seen.has(file) || !chunks.has(file)) return seen
  seen.add(file)
  for (const next of chunks.get(file).imports) closure(next, seen)
  return seen
}
const sum = (files) => [...files].reduce((n, f) => n + size(f), 0)
const entry = (name) => [...chunks.values()].find((c) => c.entry && c.source?.endsWith(name)).file
const messages = (area) =>
  Math.max(0, ...[...chunks.keys()].filter((f) => new RegExp(`/${area}\\.(en|ru)-`).test(f)).map(size))
let over = 0
function report(what, bytes, budget) {
  const kb = bytes / 1000
  if (kb > budget) over++
  console.log(
    `${kb > budget ? 'OVER ' : 'ok   '} ${what.padEnd(28)} ${kb.toFixed(1).padStart(6)} of ${budget} KB`,
  )
}
const base = closure(entry('index.html'))
report('shell', sum(base) + messages('common'), shell)
report(
  'sign-in',
  sum(closure(entry('sign-in.html'))) +
    sum(
      [...chunks.values()]
        .filter((c) => c.source === 'src/signin/sign-in.tsx')
        .map((c) => c.file)
        .filter((f) => !closure(entry('sign-in.html')).has(f)),
    ) +
    messages('common') +
    messages('signin'),
  signIn,
)
for (const c of [...chunks.values()]
  .filter((c) => c.source?.startsWith('src/pages/'))
  .sort((a, b) => (a.source < b.source ? -1 : 1))) {
  const name = c.source.replace(/^src\/pages\//, '').replace(/\.tsx?$/, '')
  const own = [...closure(c.file)].filter((f) => !base.has(f))
  report(name, sum(own) + messages(name.split('/')[0]), pages[name] ?? page)
}
for (const file of readdirSync(new URL('assets/', out))) {
  if (/\.css(\.gz)?$/.test(file))
    report(file.replace('.gz', ''), size('assets/' + file.replace('.gz', '')), css)
  if (file.endsWith('.woff2')) report(file, readFileSync(new URL('assets/' + file, out)).length, font)
}
if (over) {
  console.error(`${over} over the budget: web/budget.json`)
  process.exit(1)
}
console.log('all within the budgets')
