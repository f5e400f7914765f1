import { Outlet, useRouterState } from '@tanstack/react-router'
import { useMe } from '../api/query'
import { useT, type Areas } from '../i18n'
import { hasPage } from '../routes/paths'
import type { IconName } from '../ui/icons'
import { Link } from '../ui/link'
import { isAt } from './nav'
import { Sidebar, SideLink } from './sidebar'

interface Place {
  readonly to: string
  readonly label: keyof Areas['admin'] & string
  readonly icon: IconName
  /** Pages that belong to it, and lie elsewhere. */
  readonly beside?: readonly string[]
}

/** The places of the console, in groups. A place without a page is not shown. */
const groups: readonly {
  readonly label?: keyof Areas['admin'] & string
  readonly places: readonly Place[]
}[] = [
  { places: [{ to: '/admin', label: 'now', icon: 'pulse' }] },
  {
    label: 'traffic',
    places: [
      { to: '/admin/calls', label: 'calls', icon: 'list' },
      { to: '/admin/errors', label: 'errors', icon: 'warning' },
      { to: '/admin/jobs', label: 'jobs', icon: 'video' },
    ],
  },
  {
    label: 'supply',
    places: [
      { to: '/admin/providers', label: 'providers', icon: 'box' },
      { to: '/admin/endpoints', label: 'endpoints', icon: 'link' },
      { to: '/admin/catalog', label: 'catalog', icon: 'sliders' },
      { to: '/admin/order', label: 'order', icon: 'list' },
    ],
  },
  {
    label: 'customers',
    places: [
      { to: '/admin/people', label: 'people', icon: 'people' },
      { to: '/admin/payments', label: 'payments', icon: 'wallet' },
      {
        to: '/admin/invoices',
        label: 'invoices',
        icon: 'book',
        beside: ['/admin/statements', '/admin/acts'],
      },
      { to: '/admin/sales', label: 'sales', icon: 'chart' },
      { to: '/admin/ledger', label: 'ledger', icon: 'file' },
      { to: '/admin/reconciliation', label: 'reconciliation', icon: 'check' },
    ],
  },
  {
    label: 'installation',
    places: [
      { to: '/admin/audit', label: 'audit', icon: 'shield' },
      { to: '/admin/alerts', label: 'alerts', icon: 'send' },
      { to: '/admin/settings', label: 'settings', icon: 'gear' },
    ],
  },
]
/** The places of the console that have a page. */
export const places = groups.flatMap((g) => g.places).filter((p) => hasPage(p.to))

/** The area of those who run the gateway: the same product with a marked sidebar. On the phone its places are a row above the page. */
export function AdminFrame() {
  const t = useT('admin')
  const c = useT('common')
  const me = useMe()
  const path = useRouterState({ select: (s) => s.location.pathname })
  const here = (p: Place) => (p.to === '/admin' ? path === p.to : isAt(p, path))
  return (
    <Sidebar
      marked
      label={t('nav')}
      side={
        <>
          <p className="px-2.5 pt-1 pb-3 text-small font-semibold text-accent-ink">
            {me?.user?.role === 'administrator' ? t('administrator') : t('operator')}
          </p>
          {groups.map((g, i) => {
            const there = g.places.filter((p) => hasPage(p.to))
            return (
              there.length > 0 && (
                <div key={g.label ?? i} className="flex flex-none flex-col gap-px">
                  {g.label && <p className="px-2.5 pt-3 pb-1 text-label text-ink3">{t(g.label)}</p>}
                  {there.map((p) => (
                    <SideLink key={p.to} to={p.to} icon={p.icon} beside={p.beside} exact={p.to === '/admin'}>
                      {t(p.label)}
                    </SideLink>
                  ))}
                </div>
              )
            )
          })}
          <span className="flex-1" />
          <SideLink to="/overview" icon="person">
            {t('back')}
          </SideLink>
          {me?.features.docs && (
            <SideLink to="/docs/run" icon="book">
              {c('docs')}
            </SideLink>
          )}
        </>
      }
    >
      <nav
        aria-label={t('nav')}
        className="flex gap-1 overflow-x-auto border-t-2 border-b border-t-accent border-b-line px-3 py-1.5 md:hidden"
      >
        {places.map((p) => (
          <Link
            key={p.to}
            to={p.to}
            aria-current={here(p) ? 'page' : undefined}
            className={
              'flex h-11 flex-none items-center rounded-control px-3 font-medium text-ink2 no-underline ' +
              'aria-[current=page]:bg-surface aria-[current=page]:text-ink'
            }
          >
            {t(p.label)}
          </Link>
        ))}
      </nav>
      <Outlet />
    </Sidebar>
  )
}
