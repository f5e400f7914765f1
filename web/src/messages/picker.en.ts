import type { Messages } from '../i18n'

const messages = {
  search: 'Name, vendor or slug of a model',
  list: 'Models',
  anyVendor: 'All vendors',
  anyContext: 'Any context',
  chosen: 'chosen',
  take: 'Use “{text}” as it is',
  prices: 'Input / output, {unit}',
} as const satisfies Messages
export default messages

declare module '../i18n' {
  interface Areas {
    picker: typeof messages
  }
}
