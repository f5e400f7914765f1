import type { Messages } from '../i18n'

const messages = {
  title: 'Status',
  ok: 'All providers work',
  degraded: 'Some providers have trouble',
  down: 'No provider works at the moment',
  okText: 'Calls are answered.',
  degradedText: 'Weir sends calls to the others. Models with one provider may fail.',
  downText: 'Calls fail and cost nothing. Weir tries again by itself.',
  idle: 'No calls yet',
  idleText: 'In the last 24 hours no provider was called, so nothing is known of how they work.',
  some: 'All providers that were called work',
  someText: 'The others were not called in the last 24 hours.',
  provider: 'Provider',
  state: 'State',
  state_ok: 'works',
  state_degraded: 'has trouble',
  state_down: 'does not work',
  state_idle: 'no calls',
  uptime: 'Last 24 hours',
  served: 'Served',
  first: 'First token',
  models: 'Models',
  asOf: 'As of {time}',
  empty: 'No providers yet',
  emptyText: 'Providers appear here when one is connected.',
  off: 'This page is switched off here',
  help: 'Each tick is an hour. Failed attempts that another provider saved count here too; the client did not notice them.',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    status: typeof messages
  }
}
