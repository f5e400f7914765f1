/**
 * The bar that comes with the document, before any code: people see where they are, and can go on. The page's own bar, which looks the same,
 * takes its place. It is in both languages, of which the styles show the document's.
 */
import type en from '../messages/common.en'
import { wall, water } from '../ui/logo'
import { top } from './nav'

type Words = Pick<typeof en, 'product' | 'mainNav'> & { readonly [key: string]: unknown }

/** The classes of the bar and its links, as shell.tsx has them, too */
export const bar = {
  header:
    'sticky top-0 z-30 flex h-[52px] items-center gap-1 border-b border-line bg-surface px-5 max-md:px-4',
  home: 'mr-5 flex items-center gap-2 text-[16px] leading-5 font-semibold tracking-[-0.02em] text-ink no-underline max-md:mr-1',
  nav: 'hidden items-center gap-1 md:flex',
  link: 'rounded-control px-2.5 py-1.5 font-medium text-ink2 no-underline hover:text-ink aria-[current=page]:bg-sunken aria-[current=page]:text-ink',
} as const

export function firstBar(words: { readonly en: Words; readonly ru: Words }): string {
  const logo =
    `<svg viewBox="0 0 22 22" width="22" height="22" aria-hidden="true" ` +
    `class="flex-none"><path d="${water}" fill="none" stroke="var(--accent)" ` +
    `stroke-width="2" stroke-linecap="round"/><path d="${wall}" fill="var(--ink)"/></svg>`
  const links = (lang: 'en' | 'ru') =>
    `<nav lang="${lang}" aria-label="${words[lang].mainNav}" ` +
    `class="${bar.nav}">${top.map((p) => `<a href="${p.to}" class="${bar.link}">${String(words[lang][p.label])}</a>`).join('')}</nav>`
  return `<header data-first class="${bar.header}"><a href="/" class="${bar.home}">${logo}${words.en.product}</a>${links('en')}${links('ru')}</header>`
}
