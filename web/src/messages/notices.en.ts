import type { Messages } from '../i18n'

const messages = {
  title: 'Notices',
  bell: { one: 'Notices, {n} unread', other: 'Notices, {n} unread' },
  markAll: 'Mark all as read',
  all: 'All notices',
  settings: 'Mails and webhooks',
  cause: 'Cause',
  anyCause: 'Any cause',
  tag: 'Tag',
  anyTag: 'Any tag',
  unread: 'Unread',
  over: 'Over since {at}',
  none: 'No notices',
  noneText: 'What Weir notices of money, keys, budgets and models is shown here, for 60 days.',
  noneFiltered: 'No notices with these filters',
  clear: 'Clear filters',
  off: 'This gateway sends no notifications',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    notices: typeof messages
  }
}
