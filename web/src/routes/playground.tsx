/** The playground. */
import type { PageRoute } from './page'

export const playgroundPages: readonly PageRoute[] = [
  {
    path: '/playground',
    load: () => import('../pages/playground/playground'),
    areas: ['playground'],
    data: '/api/catalog',
  },
  {
    path: '/playground/image',
    load: () => import('../pages/playground/image'),
    areas: ['playground', 'media'],
    data: '/api/catalog',
  },
  {
    path: '/playground/video',
    load: () => import('../pages/playground/video'),
    areas: ['playground', 'media'],
    data: '/api/catalog',
  },
  {
    path: '/playground/audio',
    load: () => import('../pages/playground/audio'),
    areas: ['playground', 'media'],
    data: '/api/catalog',
  },
  {
    path: '/playground/embeddings',
    load: () => import('../pages/playground/embeddings'),
    areas: ['playground', 'media'],
    data: '/api/catalog',
  },
  {
    path: '/playground/$chat',
    load: () => import('../pages/playground/playground'),
    areas: ['playground'],
    data: '/api/catalog',
  },
]
