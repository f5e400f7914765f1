// What a browser fetches for each page before it shows it, against the budget: code, the messages of one language, styles, the font. Run after
// the build; a page over its budget fails. What comes later, on a press or when it comes near the screen, has budgets of its own.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const out = new URL('../../internal/webui/dist/', import.meta.url)
const budget = JSON.parse(readFileSync(new URL('../budget.json', import.meta.url), 'utf8'))
const chunks = new Map(
  JSON.parse(readFileSync(new URL('../node_modules/.weir/chunks.json', import.meta.url), 'utf8')).map((c) => [
    c.file,
    c,
  ]),
)
const size = (file) =>
  (existsSync(new URL(file + '.gz', out))
    ? readFileSync(new URL(file + '.gz', out))
    : file.endsWith('.woff2')
      ? readFileSync(new URL(file, out))
      : gzipSync(readFileSync(new URL(file, out)), { level: 9 })
  ).length
const closure = (file, seen = new Set()) => {
  if (seen.has(file) || !chunks.has(file)) return seen
  seen.add(file)
  for (const next of chunks.get(file).imports) closure(next, seen)
  return seen
}
const sum = (files) => [...new Set(files)].reduce((n, f) => n + size(f), 0)
const entry = (name) => [...chunks.values()].find((c) => c.entry && c.source?.endsWith(name)).file
const messages = (area, language) => [...chunks.keys()].filter((f) => f.includes(`/${area}.${language}-`))
const assets = (end) =>
  readdirSync(new URL('assets/', out))
    .map((f) => `assets/${f.replace(/\.gz$/, '')}`)
    .filter((f) => f.endsWith(end))
let over = 0
function report(what, bytes, kilobytes) {
  const kb = bytes / 1000
  if (kb > kilobytes) over++
  console.log(
    `${kb > kilobytes ? 'OVER ' : 'ok   '} ${what.padEnd(36)} ${kb.toFixed(1).padStart(6)} of ${kilobytes} KB`,
  )
}
const base = closure(entry('index.html'))
const styles = assets('.css')
const font = assets('.woff2')
report('shell', Math.max(...['en', 'ru'].map((l) => sum([...base, ...messages('common', l)]))), budget.shell)
report('styles', sum(styles), budget.css)
report('font', sum(font), budget.font)

// The list that the server names files from: what a page needs by its path, in each language.
const pages = readFileSync(new URL('pages.txt', out), 'utf8')
  .split(/^page /m)
  .slice(1)
for (const page of pages) {
  const [path, ...lines] = page.trim().split('\n')
  const needs = (l) => lines.filter((line) => line.startsWith(`${l} `)).map((line) => line.slice(3))
  const whole = (l) => sum([...base, ...needs(l), ...styles, ...font])
  report(path, Math.max(whole('en'), whole('ru')), budget.page)
}
const signIn = closure(entry('sign-in.html'))
for (const c of chunks.values()) if (c.source === 'src/signin/sign-in.tsx') closure(c.file, signIn)
report(
  '/sign-in',
  Math.max(
    ...['en', 'ru'].map((l) =>
      sum([...signIn, ...messages('common', l), ...messages('signin', l), ...styles, ...font]),
    ),
  ),
  budget.signIn,
)

// Parts of pages that are loaded when they are used.
const first = new Set(pages.flatMap((p) => p.split('\n').map((line) => line.slice(3))))
for (const c of [...chunks.values()].sort((a, b) => ((a.source ?? '') < (b.source ?? '') ? -1 : 1)))
  if (c.source?.startsWith('src/pages/') && !first.has(c.file))
    report(
      c.source.replace(/^src\/pages\/|\.tsx?$/g, ''),
      sum([...closure(c.file)].filter((f) => !base.has(f))),
      budget.part,
    )
if (over) {
  console.error(`${over} over the budget: web/budget.json`)
  process.exit(1)
}
console.log('all within the budgets')
