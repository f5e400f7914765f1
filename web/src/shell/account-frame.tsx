import { Outlet } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { account } from '../api/client'
import { useMe } from '../api/query'
import { loadMessages, useT } from '../i18n'
import { consoleStart, members, settings, side, type Place } from './nav'
import { Sidebar, SideLink } from './sidebar'

const accounts = async () => (await Promise.all([import('./accounts'), loadMessages(['accounts'])]))[0]
const Switcher = lazy(async () => ({ default: (await accounts()).Switcher }))
const NoPart = lazy(async () => ({ default: (await accounts()).NoPart }))

/** The account area: the sidebar, and the page beside it. */
export function AccountFrame() {
  const t = useT('common')
  const me = useMe()
  const item = (p: Place) => (
    <SideLink key={p.to} to={p.to} icon={p.icon} under={p.under}>
      {t(p.label)}
    </SideLink>
  )
  return (
    <Sidebar
      label={t('accountNav')}
      side={
        <>
          {me?.user && (
            <Suspense fallback={<span data-waits className="mb-2 h-11 flex-none" />}>
              <Switcher />
            </Suspense>
          )}
          {side.map(item)}
          {account !== null && item(members)}
          <span className="flex-1" />
          {me?.operator && item(consoleStart)}
          {me?.features.docs && (
            <SideLink to="/docs" icon="book">
              {t('docs')}
            </SideLink>
          )}
          {item(settings)}
        </>
      }
    >
      {account === null || !me || me.accounts.some((a) => a.id === account) ? (
        <Outlet />
      ) : (
        <Suspense fallback={null}>
          <NoPart />
        </Suspense>
      )}
    </Sidebar>
  )
}
