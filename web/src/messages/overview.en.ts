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
  notice_key_limit: 'Key “{name}” is at {percent} of its limit',
  notice_key_limit_text: '{spent} of {limit}. At the limit its calls get 402.',
  notice_key_limit_reached: 'Key “{name}” has reached its limit',
  notice_key_limit_reached_text: '{spent} of {limit}. Its calls get 402.',
  notice_key_expiring: 'Key “{name}” expires soon',
  notice_key_expired: 'Key “{name}” has expired',
  notice_model_retiring: '{name} will be retired',
  notice_model_gone: '{name} is not served any more',
  notice_model_down: 'Nobody serves {name} at the moment',
  notice_model_down_text: 'Its calls fail and cost nothing. Weir tries its providers again by itself.',
  notice_model_trouble: 'Some providers of {name} have trouble',
  notice_model_trouble_text: 'Weir sends its calls to the others.',
  notice_money_low: 'The wallet is nearly empty',
  notice_money_gone: 'The wallet is empty',
  notice_cache_rate_fell:
    'Today only {percent} of prompts were read from caches, less than half of the usual',
  notice_unusual_spending: 'Far more was spent today than usual',
  notice_unusual_spending_text: '{spent} so far, usually about {usual} a day.',
  notice_unusual_spending_tag: 'Far more was spent on {name} today than usual',
  grew: 'What grew: {list}.',
  grew_tag: 'tag {name}: {spent}, usually {usual}',
  grew_session: 'session {name}: {spent}, usually {usual}',
  grew_key: 'key “{name}”: {spent}, usually {usual}',
  notice_money_text: 'Without money calls get 402. The operator tops up: weir topup NAME 100',
  toKeys: 'Keys',
  toModel: 'Model',
  toActivity: 'Activity',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    overview: typeof messages
  }
}
