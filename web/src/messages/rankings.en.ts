import type { Messages } from '../i18n'

const messages = {
  title: 'Rankings',
  place: 'Place',
  moved: 'Change of place',
  model: 'Model',
  vendor: 'Vendor',
  share: 'Share of tokens',
  vendors: 'By vendor',
  new: 'new',
  same: 'same place as before',
  up: { one: '{n} place up', other: '{n} places up' },
  down: { one: '{n} place down', other: '{n} places down' },
  under: '< 1 %',
  empty: {
    one: 'No model has been used by {n} account yet',
    other: 'No model has been used by {n} accounts yet',
  },
  emptyText: 'Models appear here once enough accounts have paid for their answers in this period.',
  closed: 'Rankings are for people with an account here',
  closedText: 'Sign in to see which models are used most.',
  help: {
    one: 'Paid tokens of prompts and answers, whole days. A model is listed when at least {n} account used it, and no account counts for more than the one in place {n}. Free calls, failed calls and refunded calls do not count.',
    other:
      'Paid tokens of prompts and answers, whole days. A model is listed when at least {n} accounts used it, and no account counts for more than the one in place {n}. Free calls, failed calls and refunded calls do not count.',
  },
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    rankings: typeof messages
  }
}
