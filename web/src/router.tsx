import {
  createRootRoute,
  createRoute,
  createRouter,
  retainSearchParams,
  notFound,
  redirect,
  type AnyRoute,
} from '@tanstack/react-router'
import { account as acting, accountIn } from './api/client'
import { meQuery, queries, type Me } from './api/query'
import { loadMessages } from './i18n'
import { accountPages } from './routes/account'
import { adminPages } from './routes/admin'
import { makeRoute, type PageRoute } from './routes/page'
import { hasPage } from './routes/paths'
import { playgroundPages } from './routes/playground'
import { publicPages } from './routes/public'
import { AccountFrame } from './shell/account-frame'
import { AdminFrame } from './shell/admin-frame'
import { Crashed, NotFound } from './shell/errors'
import { Shell } from './shell/shell'

const pages = [...publicPages, ...accountPages, ...playgroundPages, ...adminPages]

/** Who is signed in. A visitor is taken to the sign-in, and from there back. */
async function signedIn(href: string): Promise<Me> {
  const me = await queries.ensureQueryData(meQuery)
  if (!me.user) {
    window.location.assign(`/sign-in?to=${encodeURIComponent(href)}`)
    await new Promise(() => {})
  }
  return me
}

/** Links keep the account in which the page acts. */
const root = createRootRoute({
  search: { middlewares: [retainSearchParams(['account' as never])] },
  component: Shell,
  notFoundComponent: NotFound,
  errorComponent: Crashed,
})
const account = createRoute({
  getParentRoute: () => root,
  id: 'account',
  component: AccountFrame,
  beforeLoad: ({ location }) => signedIn(location.href),
})
/** Who runs the gateway. Others learn nothing of these pages. */
const admin = createRoute({
  getParentRoute: () => root,
  id: 'admin',
  component: AdminFrame,
  beforeLoad: async ({ location }) => {
    const me = await signedIn(location.href)
    if (!me.operator) throw notFound()
    await loadMessages(['admin'])
  },
})
const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: async () => {
    const me = await queries.ensureQueryData(meQuery)
    throw redirect({
      to: (me.user && me.accounts.some((a) => a.id === acting && !a.whole && a.role !== 'billing')
        ? '/keys'
        : me.user && hasPage('/overview')
          ? '/overview'
          : (me.features.setup || me.features.demo) && !me.user && hasPage('/welcome')
            ? '/welcome'
            : '/models') as string,
      replace: true,
    })
  },
})
const within = (frame: AnyRoute, name: PageRoute['frame']) =>
  frame.addChildren(pages.filter((p) => p.frame === name).map((p) => makeRoute(() => frame, p)))
const tree = root.addChildren([
  home,
  ...pages.filter((p) => (p.frame ?? 'plain') === 'plain').map((p) => makeRoute(() => root, p)),
  within(account as unknown as AnyRoute, 'account'),
  within(admin as unknown as AnyRoute, 'admin'),
] as AnyRoute[])

/** Query strings are plain names and texts; nothing is encoded as JSON. */
function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text))
}
function stringifySearch(search: Record<string, unknown>): string {
  const query = new URLSearchParams()
  for (const [k, v] of Object.entries(search))
    if (v !== undefined && v !== null && v !== '') query.set(k, String(v))
  const text = query.toString().replaceAll('%2C', ',').replaceAll('%2F', '/').replaceAll('%3A', ':')
  return text ? '?' + text : ''
}

export const router = createRouter({
  routeTree: tree,
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
  defaultErrorComponent: Crashed,
  defaultPendingMs: 200,
})

// An address that names another account begins another document.
router.subscribe('onBeforeLoad', ({ toLocation }) => {
  if (accountIn(toLocation.searchStr) !== acting) location.reload()
})
