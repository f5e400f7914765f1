import type { Messages } from '../i18n'

const messages = {
  title: 'Vouchers',
  note: 'Codes that put money into wallets.',
  people: 'People',
  make: 'Make vouchers',
  makeText: 'The codes are shown once: they are stored as hashes.',
  amount: 'Each is worth',
  codes: 'How many codes',
  uses: 'Accounts that may redeem each',
  reason: 'What they are for',
  expires: 'Valid until',
  effect: 'At most {sum} can be credited.',
  makeDo: 'Make them',
  made: 'These codes are shown once',
  done: 'Done',
  worth: 'Worth ₽',
  redeemed: 'Redeemed',
  of: '{part} of {all}',
  created: 'Made',
  state: 'State',
  open: 'can be redeemed',
  revoked: 'ended {date}',
  expired: 'expired {date}',
  until: 'until {date}',
  used: 'all redeemed',
  revoke: 'End',
  revokeTitle: 'End these vouchers?',
  revokeText: {
    one: '{n} redemption that is still possible will not be. What was credited stays. This cannot be undone.',
    other:
      '{n} redemptions that are still possible will not be. What was credited stays. This cannot be undone.',
  },
  revokeDo: 'End vouchers',
  ended: 'The vouchers have ended',
  none: 'No vouchers yet',
  noneText: 'A voucher gives money without a payment: for a conference, a trial, an apology.',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    vouchers: typeof messages
  }
}
