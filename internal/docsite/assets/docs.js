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
language.addEventListener('click', () => { cookie('weir_lang', language.value); location.reload() })

const said = document.createElement('span')
said.className = 'hidden'
said.setAttribute('role', 'status')
document.body.append(said)
const copied = (button, label) => {
  button.textContent = texts.copied
  said.textContent = texts.copied
  setTimeout(() => { button.textContent = label; said.textContent = '' }, 1500)
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
