import type { Messages } from '../i18n'

const messages = {
  title: 'Overview',
  available: 'Available',
  topUp: 'Top up',
  statement: 'Statement',
  spentMonth: 'Spent in {month}',
  onHold: 'On hold',
  onHoldN: { one: 'On hold, {n} call', other: 'On hold, {n} calls' },
  level: '{spent} spent, {held} on hold, {available} available',
  lasts: { one: 'lasts ≈ {n} day', other: 'lasts ≈ {n} days' },
  spending: 'Spending',
  unit: '₽ a day',
  summary: {
    one: 'Highest {day}: {most}. {n} day: {total}.',
    other: 'Highest {day}: {most}. {n} days: {total}.',
  },
  lastDays: { one: '{n} day', other: '{n} days' },
  by: 'Group by',
  others: 'others',
  where: 'Where it went',
  latest: 'Latest calls',
  allCalls: 'All calls',
  steps: 'First steps',
  stepKey: 'Make a key',
  stepCall: 'Make a call',
  stepMoney: 'Get money into the wallet',
  stepMoneyHelp: 'The operator tops up: weir topup NAME 100',
  stepDone: 'done',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    overview: typeof messages
  }
}
