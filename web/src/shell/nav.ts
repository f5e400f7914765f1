/** Where navigation leads. A page that is not registered is not shown. */
import type { Areas } from '../i18n'
import type { IconName } from '../ui/icons'

export interface Place {
  readonly to: string
  readonly label: keyof Areas['common'] & string
  readonly icon: IconName
  readonly key?: string
  readonly under?: string
}
export const top: readonly Place[] = [
  { to: '/models', label: 'models', icon: 'box' },
  { to: '/playground', label: 'playground', icon: 'play', key: 'p' },
]
export const side: readonly Place[] = [
  { to: '/overview', label: 'overview', icon: 'home', key: 'o' },
  { to: '/activity', label: 'activity', icon: 'chart', key: 'a' },
  { to: '/calls', label: 'calls', icon: 'list', key: 'c' },
  { to: '/keys', label: 'keys', icon: 'key', key: 'k' },
  { to: '/budgets', label: 'budgets', icon: 'level' },
  { to: '/agents', label: 'agents', icon: 'tree' },
  { to: '/presets', label: 'presets', icon: 'sliders' },
  { to: '/money', label: 'money', icon: 'wallet', key: 'm' },
  { to: '/jobs', label: 'jobs', icon: 'video' },
  { to: '/gallery', label: 'gallery', icon: 'image' },
]
/** What the bell leads to. */
export const notices: Place = { to: '/notices', label: 'notices', icon: 'bell' }
/** In the account of an organization. */
export const members: Place = { to: '/org/members', label: 'members', icon: 'people' }
export const settings: Place = {
  to: '/settings/profile',
  label: 'settings',
  icon: 'gear',
  under: '/settings',
}
/** The console, for those who run the gateway. */
export const consoleStart: Place = {
  to: '/admin',
  label: 'console',
  icon: 'pulse',
  under: '/admin',
}
export const phone: readonly Place[] = [
  { to: '/overview', label: 'overview', icon: 'home' },
  { to: '/models', label: 'models', icon: 'box' },
  { to: '/playground', label: 'chat', icon: 'play' },
  { to: '/calls', label: 'calls', icon: 'list' },
  { to: '/money', label: 'money', icon: 'wallet' },
]
/** The same for those who run the gateway, on the pages of the console */
export const phoneConsole: readonly Place[] = [
  { to: '/admin', label: 'now', icon: 'pulse' },
  { to: '/admin/endpoints', label: 'endpoints', icon: 'link' },
  { to: '/admin/calls', label: 'calls', icon: 'list' },
  { to: '/admin/people', label: 'people', icon: 'people' },
  { to: '/overview', label: 'account', icon: 'person' },
]
/** What a visitor reaches on a phone. */
export const visitorPhone: readonly Place[] = [
  ...top,
  { to: '/docs', label: 'docs', icon: 'book' },
  { to: '/status', label: 'status', icon: 'pulse' },
]
export const isAt = (
  p: Pick<Place, 'to' | 'under'> & { beside?: readonly string[] | undefined },
  path: string,
) => [p.under ?? p.to, ...(p.beside ?? [])].some((base) => path === base || path.startsWith(base + '/'))
/** One or two letters for a person */
export function initials(name: string): string {
  return (
    name
      .split(/[\s.@_-]+/)
      .filter(Boolean)
      .slice(0, 2)
      .map((w) => [...w][0]!.toUpperCase())
      .join('') || '?'
  )
}
