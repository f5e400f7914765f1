import type { Messages } from '../i18n'

const messages = {
  title: 'Models',
  context: 'Context',
  input: 'Input ₽ / 1M',
  output: 'Output ₽ / 1M',
} as const satisfies Messages
export default messages
declare module '../i18n' { interface Areas { catalog: typeof messages } }
