/** How a page is registered: one entry in routes/<area>.tsx. */
import { createRoute, lazyRouteComponent, type AnyRoute } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { loadMessages, type Area } from '../i18n'
import type { Path } from './paths'

export interface PageRoute {
  /** `/models/$vendor/$model`: a part with $ is read with useParams; $ alone at the end is any rest, also none */
  readonly path: Path
  /** The chunk with the page, as its default export */
  readonly load: () => Promise<{ default: ComponentType }>
  /** Message areas that the page needs besides `common` */
  readonly areas: readonly Area[]
  /** What the page reads first, if its address needs nothing of the page's: it is on its way with the page's code */
  readonly data?: string
  /** `account`: with the sidebar, for people who are signed in. `admin`: for those who run the gateway. `plain`: for everybody. */
  readonly frame?: 'plain' | 'account' | 'admin'
}

export function makeRoute(parent: () => AnyRoute, p: PageRoute): AnyRoute {
  return createRoute({
    getParentRoute: parent,
    path: p.path,
    component: lazyRouteComponent(p.load),
    loader: () => loadMessages(p.areas),
    staleTime: Infinity,
  } as Parameters<typeof createRoute>[0]) as unknown as AnyRoute
}
