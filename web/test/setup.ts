import '../src/renewed'
import { provide } from '../src/i18n'

// Moments are written by the clock of the zone: where tests run must not matter.
process.env.TZ = 'UTC'

// Every message of both languages, as pages would have loaded them.
const files = import.meta.glob<{ default: Parameters<typeof provide>[2] }>('../src/messages/*.ts', {
  eager: true,
})
for (const [path, file] of Object.entries(files)) {
  const [, area, language] = /([\w-]+)\.(en|ru)\.ts$/.exec(path) ?? []
  if (area && language) provide(area, language as 'en' | 'ru', file.default)
}
