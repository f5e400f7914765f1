/** Pages for everybody. Each is one line. */
import type { PageRoute } from './page'

export const publicPages: readonly PageRoute[] = [
  { path: '/models', load: () => import('../pages/catalog/catalog'), areas: ['catalog'] },
  { path: '/models/compare', load: () => import('../pages/catalog/compare'), areas: ['catalog'] },
]
