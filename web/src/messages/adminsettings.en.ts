import type { Messages } from '../i18n'

const messages = {
  title: 'Settings',
  note: 'of the node that answers, of {nodes}',
  nodes: { one: '{n} node', other: '{n} nodes' },
  find: 'Find a setting',
  section: 'Section',
  everySection: 'All sections',
  changed: 'Changed only',
  setting: 'Setting',
  value: 'Value',
  from: 'From',
  applies: 'A change',
  live: 'at once',
  restart: 'after a restart',
  from_default: 'default',
  from_file: 'file',
  from_environment: 'environment',
  from_flag: 'command line',
  from_database: 'database',
  set: 'set, never shown',
  notSet: 'not set',
  entries: { one: '{n} entry', other: '{n} entries' },
  empty: 'empty',
  noMatch: 'No setting matches',
  all: 'Show all',
  differs: 'Node {node} has other settings',
  pending: {
    one: '{n} change of the file waits for a restart',
    other: '{n} changes of the file wait for a restart',
  },
  waits: 'waits for a restart',
  change: 'Change',
  changeOf: 'Change {key}',
  until: 'until',
  forAWhile: 'It holds on all nodes within 5 seconds, and then the configuration holds again.',
  howLong: 'For how long',
  span_900: '15 minutes',
  span_3600: 'An hour',
  span_28800: '8 hours',
  span_86400: 'A day',
  setFor: 'Set for this time',
  reset: 'Back to the configuration',
  heldFor: 'It holds on all nodes within 5 seconds',
  back: 'The configuration holds again',
} satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    adminsettings: typeof messages
  }
}
