/** Pages for people with an account. */
import type { PageRoute } from './page'

export const accountPages: readonly PageRoute[] = [
  {
    path: '/overview',
    load: () => import('../pages/overview/overview'),
    areas: ['overview', 'activity', 'calls'],
    frame: 'account',
  },
  {
    path: '/activity',
    load: () => import('../pages/activity/activity'),
    areas: ['activity', 'calls', 'views'],
    frame: 'account',
  },
  {
    path: '/calls',
    load: () => import('../pages/calls/calls'),
    areas: ['calls', 'route', 'views'],
    frame: 'account',
  },
  {
    path: '/calls/$id',
    load: () => import('../pages/calls/call'),
    areas: ['calls', 'route'],
    frame: 'account',
  },
  {
    path: '/money',
    load: () => import('../pages/money/money'),
    areas: ['money', 'pay', 'invoices'],
    frame: 'account',
  },
  { path: '/money/top-up', load: () => import('../pages/money/topup'), areas: ['pay'], frame: 'account' },
  {
    path: '/money/invoices',
    load: () => import('../pages/money/invoices'),
    areas: ['invoices'],
    frame: 'account',
  },
  { path: '/jobs', load: () => import('../pages/jobs/jobs'), areas: ['jobs'], frame: 'account' },
  { path: '/jobs/$id', load: () => import('../pages/jobs/job'), areas: ['jobs'], frame: 'account' },
  { path: '/keys', load: () => import('../pages/account/keys'), areas: ['keys'], frame: 'account' },
  {
    path: '/keys/$hash',
    load: () => import('../pages/account/key'),
    areas: ['keys', 'calls'],
    frame: 'account',
  },
  { path: '/device', load: () => import('../pages/device/device'), areas: ['device'], frame: 'account' },
  { path: '/presets', load: () => import('../pages/presets/presets'), areas: ['presets'], frame: 'account' },
  {
    path: '/presets/$name',
    load: () => import('../pages/presets/preset'),
    areas: ['presets'],
    frame: 'account',
  },
  {
    path: '/org/members',
    load: () => import('../pages/organization/members'),
    areas: ['organization', 'budgets'],
    frame: 'account',
  },
  {
    path: '/budgets',
    load: () => import('../pages/budgets/budgets'),
    areas: ['budgets'],
    frame: 'account',
  },
  { path: '/agents', load: () => import('../pages/agents/agents'), areas: ['agents'], frame: 'account' },
  {
    path: '/agents/$hash',
    load: () => import('../pages/agents/agent'),
    areas: ['agents'],
    frame: 'account',
  },
  {
    path: '/settings/profile',
    load: () => import('../pages/settings/profile'),
    areas: ['settings'],
    frame: 'account',
  },
  {
    path: '/settings/routing',
    load: () => import('../pages/settings/routing'),
    areas: ['settings', 'preferences', 'route'],
    frame: 'account',
  },
  {
    path: '/settings/provider-keys',
    load: () => import('../pages/settings/own-keys'),
    areas: ['settings', 'ownkeys'],
    frame: 'account',
  },
  {
    path: '/settings/data',
    load: () => import('../pages/settings/data'),
    areas: ['settings', 'storing'],
    frame: 'account',
  },
  {
    path: '/settings/notifications',
    load: () => import('../pages/settings/notifications'),
    areas: ['settings', 'notifications'],
    frame: 'account',
  },
  {
    path: '/settings/security',
    load: () => import('../pages/settings/security'),
    areas: ['settings', 'elsewhere'],
    frame: 'account',
  },
]
