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
} satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    adminsettings: typeof messages
  }
}
