/** Pages for those who run the gateway: operators and administrators. */
import type { PageRoute } from './page'

export const adminPages: readonly PageRoute[] = [
  { path: '/admin', load: () => import('../pages/admin/now'), areas: ['admin', 'adminnow'], frame: 'admin' },
  {
    path: '/admin/audit',
    load: () => import('../pages/admin/audit'),
    areas: ['admin', 'adminaudit'],
    frame: 'admin',
  },
  {
    path: '/admin/calls',
    load: () => import('../pages/admin/calls'),
    areas: ['admin', 'admincalls', 'calls'],
    frame: 'admin',
  },
  {
    path: '/admin/calls/$id',
    load: () => import('../pages/admin/call'),
    areas: ['admin', 'admincalls', 'calls', 'route'],
    frame: 'admin',
  },
  {
    path: '/admin/errors',
    load: () => import('../pages/admin/errors'),
    areas: ['admin', 'admincalls', 'calls', 'route'],
    frame: 'admin',
  },
  {
    path: '/admin/sales',
    load: () => import('../pages/admin/sales'),
    areas: ['admin', 'adminsales'],
    frame: 'admin',
  },
  {
    path: '/admin/vouchers',
    load: () => import('../pages/admin/vouchers'),
    areas: ['admin', 'vouchers'],
    frame: 'admin',
  },
  {
    path: '/admin/payments',
    load: () => import('../pages/admin/payments'),
    areas: ['admin', 'adminmoney'],
    frame: 'admin',
  },
  {
    path: '/admin/payments/$id',
    load: () => import('../pages/admin/payment'),
    areas: ['admin', 'adminmoney'],
    frame: 'admin',
  },
  {
    path: '/admin/people',
    load: () => import('../pages/admin/people'),
    areas: ['admin', 'people', 'keys', 'calls'],
    frame: 'admin',
  },
  {
    path: '/admin/people/$id',
    load: () => import('../pages/admin/people'),
    areas: ['admin', 'people', 'keys', 'calls'],
    frame: 'admin',
  },
  {
    path: '/admin/endpoints',
    load: () => import('../pages/admin/endpoints'),
    areas: ['admin', 'endpoints'],
    frame: 'admin',
  },
  {
    path: '/admin/endpoints/$provider/$',
    load: () => import('../pages/admin/endpoint'),
    areas: ['admin', 'endpoints', 'admincalls', 'calls', 'route'],
    frame: 'admin',
  },
  {
    path: '/admin/catalog',
    load: () => import('../pages/admin/prices'),
    areas: ['admin', 'adminprices'],
    frame: 'admin',
  },
  {
    path: '/admin/order',
    load: () => import('../pages/admin/order'),
    areas: ['admin', 'adminorder'],
    frame: 'admin',
  },
  {
    path: '/admin/providers',
    load: () => import('../pages/admin/providers'),
    areas: ['admin', 'providers'],
    frame: 'admin',
  },
  {
    path: '/admin/providers/$id',
    load: () => import('../pages/admin/provider'),
    areas: ['admin', 'providers', 'endpoints'],
    frame: 'admin',
  },
  {
    path: '/admin/ledger',
    load: () => import('../pages/admin/ledger'),
    areas: ['admin', 'adminledger'],
    frame: 'admin',
  },
  {
    path: '/admin/reconciliation',
    load: () => import('../pages/admin/reconciliations'),
    areas: ['admin', 'reconciliation'],
    frame: 'admin',
  },
  {
    path: '/admin/reconciliation/$id',
    load: () => import('../pages/admin/reconciliation'),
    areas: ['admin', 'reconciliation'],
    frame: 'admin',
  },
  {
    path: '/admin/jobs',
    load: () => import('../pages/admin/jobs'),
    areas: ['admin', 'adminjobs'],
    frame: 'admin',
  },
  {
    path: '/admin/alerts',
    load: () => import('../pages/admin/alerts'),
    areas: ['admin', 'adminalerts'],
    frame: 'admin',
  },
  {
    path: '/admin/settings',
    load: () => import('../pages/admin/settings'),
    areas: ['admin', 'adminsettings'],
    frame: 'admin',
  },
]
