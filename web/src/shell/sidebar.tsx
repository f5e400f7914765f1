import { useRouterState } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { hasPage } from '../routes/paths'
import { Icon, type IconName } from '../ui/icons'
import { Link } from '../ui/link'
import { isAt } from './nav'

const look =
  'flex h-8 flex-none items-center gap-2.5 rounded-control px-2.5 font-medium text-ink2 ' +
  'no-underline hover:text-ink aria-[current=page]:bg-surface aria-[current=page]:text-ink ' +
  'aria-[current=page]:shadow-[0_0_0_1px_var(--line)]'

/** An area with its places at the side, and the page beside them. */
export function Sidebar({
  label,
  marked = false,
  side,
  children,
}: {
  label: string
  /** For the area of operators: it must not be taken for the person's own. */
  marked?: boolean
  side: ReactNode
  children: ReactNode
}) {
  return (
    <div className="flex min-h-[calc(100dvh-52px-var(--mark,0px))]">
      <nav
        aria-label={label}
        className={
          'sticky top-[52px] hidden h-[calc(100dvh-52px-var(--mark,0px))] w-[212px] flex-none flex-col gap-px overflow-y-auto ' +
          `border-r border-line p-3 md:flex ${marked ? 'border-t-2 border-t-accent' : ''}`
        }
      >
        {side}
      </nav>
      <div className="min-w-0 flex-1">{children}</div>
    </div>
  )
}

/** A place of the sidebar; nothing where its page does not exist. */
export function SideLink({
  to,
  icon,
  under,
  beside,
  exact = false,
  children,
}: {
  to: string
  icon: IconName
  under?: string
  beside?: readonly string[] | undefined
  /** Current on its own page alone, not on those below it. */
  exact?: boolean
  children: ReactNode
}) {
  const path = useRouterState({ select: (s) => s.location.pathname })
  if (!hasPage(to) && !to.startsWith('/docs')) return null
  const here = exact ? path === to : isAt({ to, under, beside }, path)
  return (
    <Link to={to} aria-current={here ? 'page' : undefined} className={look}>
      <Icon name={icon} />
      {children}
    </Link>
  )
}
