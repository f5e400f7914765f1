/** What this browser remembers of a person's wishes: two cookies that the server reads for the first paint, and small things in local storage. */
import { setLanguage, type Language } from './i18n'

export type Theme = 'system' | 'light' | 'dark'

function cookie(name: string, value: string): void {
  document.cookie = `${name}=${value}; Path=/; Max-Age=31536000; SameSite=Lax${location.protocol === 'https:' ? '; Secure' : ''}`
}
export function theme(): Theme {
  const t = document.documentElement.dataset.theme
  return t === 'light' || t === 'dark' ? t : 'system'
}
export function setTheme(t: Theme): void {
  document.documentElement.dataset.theme = t
  cookie('weir_theme', t)
  window.dispatchEvent(new Event('weir:theme'))
}
/** Follows the browser's language again, from the next page on. */
export function forgetLanguage(): void {
  document.cookie = 'weir_lang=; Path=/; Max-Age=0; SameSite=Lax'
}
export async function chooseLanguage(l: Language): Promise<void> {
  cookie('weir_lang', l)
  await setLanguage(l)
}

/** A small value under a name; storage that is switched off or full is as good as none. */
export function remembered(name: string): string | null {
  try {
    return localStorage.getItem('weir.' + name)
  } catch {
    return null
  }
}
export function remember(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem('weir.' + name)
    else localStorage.setItem('weir.' + name, value)
  } catch {
    /* as good as none */
  }
}
