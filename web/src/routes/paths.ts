/**
 * The paths of all pages. Pages ask here whether another one exists: the tables of routes import the pages, so that a page which
 * imported them would import itself. A test compares both.
 */
export const paths = [
  '/models',
  '/models/compare',
  '/models/$vendor/$model',
  '/welcome',
  '/unsubscribe',
  '/rankings',
  '/status',
  '/overview',
  '/activity',
  '/calls',
  '/calls/$id',
  '/money',
  '/money/top-up',
  '/money/invoices',
  '/jobs',
  '/jobs/$id',
  '/keys',
  '/keys/$hash',
  '/presets',
  '/presets/$name',
  '/settings/profile',
  '/settings/routing',
  '/settings/provider-keys',
  '/settings/data',
  '/settings/notifications',
  '/settings/security',
  '/playground',
  '/playground/image',
  '/playground/video',
  '/playground/audio',
  '/playground/embeddings',
  '/playground/$chat',
  '/admin',
  '/admin/audit',
  '/admin/calls',
  '/admin/calls/$id',
  '/admin/errors',
  '/admin/sales',
  '/admin/vouchers',
  '/admin/order',
  '/admin/people',
  '/admin/people/$id',
  '/admin/endpoints',
  '/admin/catalog',
  '/admin/providers',
  '/admin/providers/$id',
  '/admin/ledger',
  '/admin/reconciliation',
  '/admin/reconciliation/$id',
  '/admin/jobs',
  '/admin/alerts',
  '/admin/settings',
] as const
export type Path = (typeof paths)[number]

/** Whether a page is there: navigation shows only what exists. */
export function hasPage(to: string): boolean {
  return (paths as readonly string[]).includes(to)
}
