/** The playground. */
import type { PageRoute } from './page'

export const playgroundPages: readonly PageRoute[] = [
  { path: '/playground', load: () => import('../pages/playground/playground'), areas: ['playground'] },
  { path: '/playground/$chat', load: () => import('../pages/playground/playground'), areas: ['playground'] },
]
