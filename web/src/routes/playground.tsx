/** The playground. */
import type { PageRoute } from './page'

export const playgroundPages: readonly PageRoute[] = []
