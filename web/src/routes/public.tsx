/** Pages for everybody. */
import type { PageRoute } from './page'

export const publicPages: readonly PageRoute[] = [
  {
    path: '/models',
    load: () => import('../pages/catalog/catalog'),
    areas: ['catalog'],
    data: '/api/catalog',
  },
  {
    path: '/models/compare',
    load: () => import('../pages/catalog/compare'),
    areas: ['catalog'],
    data: '/api/catalog',
  },
  { path: '/models/$vendor/$model', load: () => import('../pages/model/model'), areas: ['catalog', 'model'] },
  { path: '/welcome', load: () => import('../pages/welcome/welcome'), areas: ['welcome'] },
  { path: '/unsubscribe', load: () => import('../pages/unsubscribe/unsubscribe'), areas: ['notifications'] },
  { path: '/join', load: () => import('../pages/join/join'), areas: ['join'] },
  { path: '/rankings', load: () => import('../pages/rankings/rankings'), areas: ['rankings'] },
  { path: '/status', load: () => import('../pages/status/status'), areas: ['status'] },
]
