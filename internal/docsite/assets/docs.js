// What pages can do besides being read. Each works, or is absent, without this file.
'use strict'
const texts = document.body.dataset
const cookie = (name, value) => { document.cookie = `${name}=${value}; Path=/; Max-Age=31536000; SameSite=Lax${location.protocol === 'https:' ? '; Secure' : ''}` }

const theme = document.getElementById('theme')
const themes = ['system', 'light', 'dark']
const nameTheme = () => {
  const now = document.documentElement.dataset.theme
  theme.title = `${texts.themeName}: ${texts[now] ?? texts.system}`
  theme.setAttribute('aria-label', theme.title)
}
theme.hidden = false
nameTheme()
theme.addEventListener('click', () => {
  const next = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length]
  document.documentElement.dataset.theme = next
  cookie('weir_theme', next)
  nameTheme()
})

const language = document.getElementById('language')
language.hidden = false
language.addEventListener('click', () => {
  cookie('weir_lang', language.value)
  // A browser writes cookies on the side, and a reload may overtake it. Reading one waits for what was written.
  if (document.cookie !== '') location.reload()
})

const said = document.createElement('span')
said.className = 'hidden'
said.setAttribute('role', 'status')
document.body.append(said)
const copied = (button, label) => {
  button.textContent = texts.copied
  said.textContent = texts.copied
  setTimeout(() => { button.textContent = label; said.textContent = '' }, 1500)
}
const store = {
  get: (name) => { try { return localStorage.getItem('weir.' + name) } catch { return null } },
  set: (name, value) => { try { localStorage.setItem('weir.' + name, value) } catch { /* as good as none */ } },
}
const element = (name, set = {}, ...inside) => {
  const e = document.createElement(name)
  for (const [k, v] of Object.entries(set)) e.setAttribute(k, v)
  e.append(...inside)
  return e
}

// The same thing in several languages is one block with a choice, which is remembered for all pages and for the interface.
const choices = []
const chooseLanguage = (id) => { for (const f of choices) f(id) }
const idOf = (block) => block.dataset.tab.toLowerCase()
const makeTabs = (blocks) => {
  const list = element('div', { role: 'tablist', 'aria-label': texts.codeIn })
  const box = element('div', { class: 'tabs' }, list)
  blocks[0].before(box)
  const all = blocks.map((block, i) => {
    const id = `code-${choices.length}-${i}`
    const tab = element('button', { type: 'button', role: 'tab', id: `${id}-tab`, 'aria-controls': id }, block.dataset.tab)
    for (const [k, v] of Object.entries({ id, role: 'tabpanel', 'aria-labelledby': `${id}-tab` })) block.setAttribute(k, v)
    list.append(tab)
    box.append(block)
    tab.addEventListener('click', () => { const top = box.getBoundingClientRect().top; const id = idOf(block); store.set('code', id); chooseLanguage(id); window.scrollBy(0, box.getBoundingClientRect().top - top) })
    return { block, tab }
  })
  list.addEventListener('keydown', (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key]
    const at = all.findIndex((x) => x.tab === document.activeElement)
    if (!step || at < 0) return
    e.preventDefault()
    const next = all[(at + step + all.length) % all.length].tab
    next.focus()
    next.click()
  })
  const show = (id) => {
    const now = all.find((x) => idOf(x.block) === id) ?? all[0]
    for (const x of all) { x.block.hidden = x !== now; x.tab.setAttribute('aria-selected', String(x === now)); x.tab.tabIndex = x === now ? 0 : -1 }
  }
  choices.push(show)
  show(store.get('code'))
}
let run = []
for (const block of document.querySelectorAll('.code[data-tab]')) {
  const last = run[run.length - 1]
  if (last && (last.nextElementSibling !== block || run.some((b) => b.dataset.tab === block.dataset.tab))) { if (run.length > 1) makeTabs(run); run = [] }
  run.push(block)
}
if (run.length > 1) makeTabs(run)

// Examples name one of the reader's keys. Its text is known to nobody but the reader: it was shown once.
const written = 'sk-weir-v1-...', yours = '# your key'
if (texts.key) {
  const spots = []
  const walk = document.createTreeWalker(document.querySelector('article') ?? document.body, NodeFilter.SHOW_TEXT)
  for (let n; (n = walk.nextNode());) if (n.parentElement.closest('pre') && (n.data.includes(written) || n.data.includes(yours))) spots.push({ node: n, text: n.data })
  if (spots.length) fetch('/api/keys', { headers: { Accept: 'application/json' } }).then((r) => (r.ok ? r.json() : Promise.reject(r))).then(({ data }) => {
    const keys = data.filter((k) => !k.management && !k.disabled)
    if (!keys.length) return
    const select = element('select', { id: 'key' }, ...keys.map((k) => element('option', { value: k.hash }, k.name)))
    select.value = keys.some((k) => k.hash === store.get('docs-key')) ? store.get('docs-key') : keys[0].hash
    const fill = () => {
      const k = keys.find((x) => x.hash === select.value)
      const name = k.name.replace(/[^\p{L}\p{N} ._-]+/gu, ' ').replace(/ +/g, ' ').trim()
      for (const s of spots) s.node.data = s.text.replaceAll(written, () => k.label).replaceAll(yours, () => `${yours} ${name}`.trim())
    }
    select.addEventListener('change', () => { store.set('docs-key', select.value); fill() })
    spots[0].node.parentElement.closest('.code').before(element('p', { class: 'key' }, element('label', { for: 'key' }, texts.key), select))
    fill()
  }).catch(() => {}) // the session is over: the examples stay as they are written
}

if (navigator.clipboard) {
  for (const block of document.querySelectorAll('.code')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = texts.copy
    button.addEventListener('click', () => { navigator.clipboard.writeText(block.querySelector('pre').textContent.trimEnd()).then(() => copied(button, texts.copy), () => {}) })
    block.append(button)
  }
  const twin = document.getElementById('twin')
  twin?.addEventListener('click', (e) => {
    if (e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return
    e.preventDefault()
    const label = twin.textContent
    fetch(twin.href).then((r) => (r.ok ? r.text() : Promise.reject(r))).then((text) => navigator.clipboard.writeText(text)).then(() => copied(twin, label), () => { location.href = twin.href })
  })
}

document.getElementById('contents')?.addEventListener('click', (e) => {
  if (e.target.closest('a') && e.currentTarget.matches(':popover-open')) e.currentTarget.hidePopover()
})
document.querySelector('.side [aria-current]')?.scrollIntoView({ block: 'nearest' })

document.addEventListener('keydown', (e) => {
  const typing = e.target instanceof Element && e.target.closest('input,textarea,select')
  const asked = e.key === '/' && !typing && !e.ctrlKey && !e.metaKey && !e.altKey || e.key.toLowerCase() === 'k' && (e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey
  if (!asked) return
  const field = [...document.querySelectorAll('input[type=search]')].find((f) => f.checkVisibility())
  e.preventDefault()
  if (field) { field.focus(); field.select() } else location.href = '/docs/search'
})
