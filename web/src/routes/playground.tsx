/** The playground. */
import type { PageRoute } from './page'

export const playgroundPages: readonly PageRoute[] = [
  { path: '/playground', load: () => import('../pages/playground/playground'), areas: ['playground'] },
  { path: '/playground/image', load: () => import('../pages/playground/image'), areas: ['playground', 'media'] },
  { path: '/playground/video', load: () => import('../pages/playground/video'), areas: ['playground', 'media'] },
  { path: '/playground/audio', load: () => import('../pages/playground/audio'), areas: ['playground', 'media'] },
  { path: '/playground/embeddings', load: () => import('../pages/playground/embeddings'), areas: ['playground', 'media'] },
  { path: '/playground/$chat', load: () => import('../pages/playground/playground'), areas: ['playground'] },
]
