import { Link as RouterLink, useNavigate, useRouter, useRouterState } from '@tanstack/react-router'
import { forwardRef, type AnchorHTMLAttributes, type ReactNode } from 'react'
import { buttonClass, type Look } from './button'
import { Icon, type IconName } from './icons'

export type Search = { readonly [name: string]: string | undefined }
export interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  /** A path of a page. Addresses that are no pages of the app (docs, files) are followed by the browser. */
  to: string
  search?: Search
  hash?: string
  replace?: boolean
}

/** Whether an address is a page of this app. */
export function useIsPage(): (path: string) => boolean {
  const router = useRouter()
  return (path) => router.getMatchedRoutes(path)[2] !== undefined
}

/** A link to a page; it is fetched before the click, on hover and focus. */
export const Link = forwardRef<HTMLAnchorElement, LinkProps>(function Link(
  { to, search, hash, replace, ...rest },
  ref,
) {
  const isPage = useIsPage()
  if (!to.startsWith('/') || !isPage(to)) {
    const outside = /^https?:/.test(to)
    return (
      <a
        ref={ref}
        href={to}
        {...(outside ? { rel: 'noopener noreferrer nofollow', target: '_blank' } : {})}
        {...rest}
      />
    )
  }
  // The router marks the page itself; the pages above it are marked by whoever wants that, with aria-current.
  const activeOptions = { exact: true }
  const props = { to, search: search ?? {}, hash, replace, preload: 'intent', activeOptions, ref, ...rest }
  return <RouterLink {...(props as unknown as Parameters<typeof RouterLink>[0])} />
})

/** A link that looks like a button. */
export function LinkButton({
  look = 'plain',
  small,
  wide,
  icon,
  children,
  className = '',
  ...rest
}: LinkProps & { look?: Look; small?: boolean; wide?: boolean; icon?: IconName; children?: ReactNode }) {
  return (
    <Link {...rest} className={`${buttonClass(look, small, wide)} no-underline ${className}`}>
      {icon && <Icon name={icon} size={small ? 14 : 16} />}
      {children}
    </Link>
  )
}

/** Goes to a page. `search` replaces the whole query. */
export function useGo(): (to: string, o?: { search?: Search; replace?: boolean; hash?: string }) => void {
  const navigate = useNavigate()
  return (to, o = {}) => {
    void navigate({
      to,
      search: (o.search ?? {}) as never,
      replace: o.replace ?? false,
      ...(o.hash ? { hash: o.hash } : {}),
    })
  }
}

/** How a page reads and writes its query string: the one place where the short names are. */
export interface SearchShape<T> {
  read(raw: { readonly [name: string]: string }): T
  write(value: T): Search
}
/** The order of the page's table, which is no part of any shape. */
const orderOf = (search: object): Search => {
  const { order } = search as { order?: string }
  return order === undefined ? {} : { order }
}
/** The state of a page that is in its address, and how to change it. */
export function usePageSearch<T>(
  shape: SearchShape<T>,
): [T, (change: Partial<T> | ((now: T) => T), o?: { push?: boolean }) => void] {
  const raw = useRouterState({ select: (s) => s.location.search }) as unknown as {
    readonly [name: string]: string
  }
  const router = useRouter()
  const value = shape.read(raw)
  return [
    value,
    (change, o = {}) => {
      const now = shape.read(router.state.location.search as { readonly [name: string]: string })
      const next = typeof change === 'function' ? change(now) : { ...now, ...change }
      void router.navigate({
        to: router.state.location.pathname,
        search: { ...orderOf(router.state.location.search), ...shape.write(next) } as never,
        replace: !o.push,
        resetScroll: false,
      })
    },
  ]
}
