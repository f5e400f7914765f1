import type { Messages } from '../i18n'

const messages = {
  here: 'On this page',
  topUp: 'Top up',
  period: 'Earlier and later period',
  chartTable: 'The chart as a table',
  full: 'Open the whole page of the row',
  live: 'Follow new calls, or stop',
  cell: 'Filter by the cell',
  copyId: 'Copy the id',
  routeTable: 'The route as a table',
  newKey: 'Make a key',
  newPreset: 'Make a preset',
  file: 'Fetch the file',
  play: 'Play and pause',
  select: 'Choose the model for a comparison',
  compare: 'Compare what is chosen',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    shortcuts: typeof messages
  }
}
