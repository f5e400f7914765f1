import type { Messages } from '../i18n'

const messages = {
  button: 'Views',
  title: 'Saved views',
  empty: 'Set the filters, give them a name, and open them from here next time.',
  name: 'Name of a new view',
  hint: 'By key, this week',
  save: 'Save view',
  full: 'There are {most} views. Delete one to save another.',
  taken: 'There is already a view with this name.',
  shown: 'shown now',
  change: 'Change {name}',
  rename: 'Name',
  replace: 'Use these filters',
  remove: 'Delete {name}',
  saved: 'View {name} is saved',
  changed: 'View {name} is changed',
  removed: 'View {name} is deleted',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    views: typeof messages
  }
}
