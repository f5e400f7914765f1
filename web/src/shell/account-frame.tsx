import { Outlet } from '@tanstack/react-router'
import { useMe } from '../api/query'
import { useT } from '../i18n'
import { consoleStart, settings, side, type Place } from './nav'
import { Sidebar, SideLink } from './sidebar'

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
            <p
              className="truncate px-2.5 pt-1 pb-3 text-small text-ink3"
              title={me.user.email ?? me.user.name}
            >
              {me.user.name}
            </p>
          )}
          {side.map(item)}
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
      <Outlet />
    </Sidebar>
  )
}
