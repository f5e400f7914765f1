import { createRootRoute, createRoute, createRouter, redirect, type AnyRoute } from '@tanstack/react-router'
import { meQuery, queries } from './api/query'
import { accountPages } from './routes/account'
import { makeRoute } from './routes/page'
import { hasPage } from './routes/paths'
import { playgroundPages } from './routes/playground'
import { publicPages } from './routes/public'
import { AccountFrame } from './shell/account-frame'
import { Crashed, NotFound } from './shell/errors'
import { Shell } from './shell/shell'

const pages = [...publicPages, ...accountPages, ...playgroundPages]

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: Crashed })
const account = createRoute({
  getParentRoute: () => root,
  id: 'account',
  component: AccountFrame,
  beforeLoad: async ({ location }) => {
    const me = await queries.ensureQueryData(meQuery)
    if (!me.user) {
      window.location.assign(`/sign-in?to=${encodeURIComponent(location.href)}`)
      await new Promise(() => {})
    }
  },
})
const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: async () => {
    const me = await queries.ensureQueryData(meQuery)
    throw redirect({
      to: (me.user && hasPage('/overview')
        ? '/overview'
        : (me.features.setup || me.features.demo) && !me.user && hasPage('/welcome')
          ? '/welcome'
          : '/models') as string,
      replace: true,
    })
  },
})
const inFrame = pages.filter((p) => p.frame === 'account')
const tree = root.addChildren([
  home,
  ...pages.filter((p) => p.frame !== 'account').map((p) => makeRoute(() => root, p)),
  account.addChildren(inFrame.map((p) => makeRoute(() => account as unknown as AnyRoute, p))),
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
