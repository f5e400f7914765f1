/** The accounts in which a person acts: their own, and those of organizations. */
import { lazy, Suspense, useState, type ReactNode } from 'react'
import { account } from '../api/client'
import { useMe, type Me } from '../api/query'
import { money } from '../format'
import { useT } from '../i18n'
import { hasPage } from '../routes/paths'
import { Notice } from '../ui/feedback'
import { Icon } from '../ui/icons'
import { Menu, type MenuItem } from '../ui/menu'
import { Page, PageHead } from '../ui/page'

const NewOrganization = lazy(() => import('./new-organization'))
export type Account = Me['accounts'][number]
/** Where a page of one account is in another one: what has an id there is not here. */
export function placeIn(to: Pick<Account, 'id' | 'kind'>, path: string): string {
  const list = `/${path.split('/')[1]}`
  const place = hasPage(path) ? path : hasPage(list) ? list : '/'
  if (to.kind === 'person') return place.startsWith('/org/') ? '/' : place
  return `${place}?account=${to.id}`
}

/** The entries of a menu, and the window that one of them opens. */
export function useAccounts(): { items: MenuItem[]; window: ReactNode } {
  const t = useT('accounts')
  const me = useMe()
  const [making, setMaking] = useState(false)
  const items = (me?.accounts ?? []).map(
    (a): MenuItem => ({
      checked: (account ?? me?.user?.id) === a.id,
      onSelect: () => location.assign(placeIn(a, location.pathname)),
      label: (
        <span className="block max-w-64 min-w-40 py-1">
          <span translate="no" className="block truncate">
            {a.name}
          </span>
          <span className="block text-label text-ink3">
            {a.kind === 'person' ? t('personal') : t(`role_${a.role}`)}
            {a.available !== null && a.available !== undefined && ` · ${money(a.available)}`}
          </span>
        </span>
      ),
    }),
  )
  return {
    items: [...items, { kind: 'line' }, { label: t('make'), icon: 'plus', onSelect: () => setMaking(true) }],
    window: making && (
      <Suspense fallback={null}>
        <NewOrganization onClose={() => setMaking(false)} />
      </Suspense>
    ),
  }
}

/** At the top of the sidebar: in which account the page acts, and the others. */
export function Switcher() {
  const t = useT('accounts')
  const me = useMe()
  const { items, window } = useAccounts()
  const now = me?.accounts.find((a) => a.id === (account ?? me.user?.id))
  return (
    <>
      <Menu
        align="start"
        items={items}
        trigger={
          <button
            type="button"
            className="mb-2 flex min-h-11 flex-none items-center gap-2 rounded-control px-2.5 py-1 text-left hover:bg-sunken"
          >
            <span className="min-w-0 flex-1">
              <span translate="no" className="block truncate font-medium">
                {now?.name ?? t('none')}
              </span>
              {now && (
                <span className="block truncate text-label text-ink3">
                  {now.kind === 'person'
                    ? t('personal')
                    : t('organizationAs', { role: t(`role_${now.role}`) })}
                </span>
              )}
            </span>
            <span className="sr-only">{t('switch')}</span>
            <Icon name="down" className="text-ink3" />
          </button>
        }
      />
      {window}
    </>
  )
}

/** The address names an organization in which the person has no part, or none any more. */
export function NoPart() {
  const t = useT('accounts')
  return (
    <Page width="text">
      <PageHead title={t('noPart')} />
      <Notice action={<a href="/">{t('ownAccount')}</a>}>{t('noPartText')}</Notice>
    </Page>
  )
}
