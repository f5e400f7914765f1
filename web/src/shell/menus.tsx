import { useState } from 'react'
import { account, post } from '../api/client'
import { useT } from '../i18n'
import { hasPage } from '../routes/paths'
import { setTheme, theme, type Theme } from '../settings'
import { forgetDrafts } from '../ui/draft'
import { Icon } from '../ui/icons'
import { Menu, type MenuItem } from '../ui/menu'
import { setShortcuts, shortcutsOn } from '../ui/shortcuts'
import { toast } from '../ui/toast'
import { useAccounts } from './accounts'
import { consoleStart, initials, members, settings, side } from './nav'

const themes: readonly Theme[] = ['system', 'light', 'dark']
function useThemeItems(): MenuItem[] {
  const t = useT('common')
  const [now, set] = useState(theme)
  const names = { system: t('themeSystem'), light: t('themeLight'), dark: t('themeDark') }
  return themes.map((v) => ({
    label: names[v],
    checked: now === v,
    onSelect: () => {
      setTheme(v)
      set(v)
    },
  }))
}
/** The theme, for visitors. */
export function ThemeMenu() {
  const t = useT('common')
  return (
    <Menu
      items={useThemeItems()}
      trigger={
        <button
          type="button"
          aria-label={t('theme')}
          title={t('theme')}
          className="grid size-8 place-items-center rounded-control text-ink2 hover:bg-sunken max-md:size-11"
        >
          <Icon name="sun" />
        </button>
      }
    />
  )
}

/** The person's picture: places, theme, shortcuts, sign-out. */
export function PersonMenu({
  name,
  email,
  docs,
  operator,
  onKeys,
}: {
  name: string
  email: string | null
  docs: boolean
  operator: boolean
  onKeys: () => void
}) {
  const t = useT('common')
  const themeItems = useThemeItems()
  const accounts = useAccounts()
  const [shortcuts, setOn] = useState(shortcutsOn)
  const letters = initials(name)
  const signOut = async () => {
    try {
      await post('/api/auth/sign-out', { quiet: true })
    } catch {
      toast(t('error_offline'))
      return
    }
    forgetDrafts()
    location.assign('/')
  }
  return (
    <>
      <Menu
        trigger={
          <button
            type="button"
            aria-label={`${letters}, ${t('person')}: ${name}`}
            className={
              'grid size-8 place-items-center rounded-full bg-sunken text-label font-semibold ' +
              'text-ink2 hover:text-ink max-md:size-11 max-md:bg-transparent'
            }
          >
            <span className="grid size-7 place-items-center rounded-full bg-sunken">{letters}</span>
          </button>
        }
        items={[
          { kind: 'title', label: <span className="block max-w-56 truncate">{email ?? name}</span> },
          ...accounts.items,
          { kind: 'line' },
          ...[...side, ...(account === null ? [] : [members]), settings, ...(operator ? [consoleStart] : [])]
            .filter((p) => hasPage(p.to))
            .map((p): MenuItem => ({ label: t(p.label), icon: p.icon, to: p.to })),
          ...(docs ? [{ label: t('docs'), icon: 'book', to: '/docs' } satisfies MenuItem] : []),
          { kind: 'line' },
          { kind: 'title', label: t('theme') },
          ...themeItems,
          { kind: 'line' },
          { label: t('shortcuts'), onSelect: onKeys },
          {
            label: t('shortcutsOn'),
            checked: shortcuts,
            onSelect: () => {
              setShortcuts(!shortcuts)
              setOn(!shortcuts)
            },
          },
          { kind: 'line' },
          { label: t('signOut'), onSelect: () => void signOut() },
        ]}
      />
      {accounts.window}
    </>
  )
}
