import { Outlet, useRouterState } from '@tanstack/react-router'
import { useMe } from '../api/query'
import { useT } from '../i18n'
import { hasPage } from '../routes/paths'
import { Icon } from '../ui/icons'
import { Link } from '../ui/link'
import { isAt, settings, side, type Place } from './nav'

/** The account area: the sidebar, and the page beside it. */
export function AccountFrame() {
  const t = useT('common')
  const me = useMe()
  const path = useRouterState({ select: (s) => s.location.pathname })
  const item = (p: Place) =>
    hasPage(p.to) && (
      <Link
        key={p.to}
        to={p.to}
        aria-current={isAt(p, path) ? 'page' : undefined}
        className={
          'flex h-8 items-center gap-2.5 rounded-control px-2.5 font-medium text-ink2 ' +
          'no-underline hover:text-ink aria-[current=page]:bg-surface aria-[current=page]:text-ink ' +
          'aria-[current=page]:shadow-[0_0_0_1px_var(--line)]'
        }
      >
        <Icon name={p.icon} />
        {t(p.label)}
      </Link>
    )
  return (
    <div className="flex min-h-[calc(100dvh-52px)]">
      <nav
        aria-label={t('accountNav')}
        className="sticky top-[52px] hidden h-[calc(100dvh-52px)] w-[212px] flex-none flex-col gap-px overflow-y-auto border-r border-line p-3 md:flex"
      >
        {me?.user && (
          <p className="truncate px-2.5 pt-1 pb-3 text-small text-ink3" title={me.user.email ?? me.user.name}>
            {me.user.name}
          </p>
        )}
        {side.map(item)}
        <span className="flex-1" />
        {me?.features.docs && (
          <Link
            to="/docs"
            className="flex h-8 items-center gap-2.5 rounded-control px-2.5 font-medium text-ink2 no-underline hover:text-ink"
          >
            <Icon name="book" />
            {t('docs')}
          </Link>
        )}
        {item(settings)}
      </nav>
      <div className="min-w-0 flex-1">
        <Outlet />
      </div>
    </div>
  )
}
