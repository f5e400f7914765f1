import type { Messages } from '../i18n'

const messages = {
  title: 'Own provider keys',
  text: 'Bring a key that you already have. Calls of your account use it, the provider charges you for them, and here you pay a fee instead of the price.',
  feePercent: 'Fee: {percent} % of the price.',
  feeCall: 'Fee: {amount} for each call.',
  off: 'This gateway takes no own keys at present. Those that you have are not used.',
  none: 'No keys yet.',
  add: 'Add a key',
  addText: 'The key is encrypted, used for your calls alone, and never shown again.',
  provider: 'Provider',
  key: 'Key',
  keyHelp: 'As the provider gave it to you.',
  order: 'Order',
  order_before: 'Before Weir’s endpoints',
  order_after: 'After Weir’s endpoints',
  order_only: 'Only own keys',
  help_before: 'Your key first. If it fails, Weir’s endpoints follow, at their price.',
  help_after: 'Weir’s endpoints first, your key if they fail.',
  help_only: 'Models that this provider serves are called with your own keys alone.',
  orderOf: 'Order of {provider}',
  save: 'Add',
  added: 'The key was added.',
  ends: 'ends in {last4}',
  failing: 'does not work',
  active: 'in use',
  state_off: 'switched off',
  state_removed: 'removed',
  removedText:
    'The order is still “only own keys”, so calls of its models fail. Put in another key, change the order, or remove the entry.',
  offText: 'The order is “only own keys”, so calls of its models fail until it is on again.',
  used: 'last used {time}',
  unused: 'not used yet',
  lastError: 'Last error, {time}',
  error_refused:
    'The provider does not accept this key. It may be mistyped, revoked or without the right to call models. Put in a new one.',
  error_no_credit: 'The account at the provider has no money left. Top it up there.',
  error_rate_limited:
    'The account at the provider has reached a limit of its own. Wait, or have it raised there.',
  error_no_model:
    'The account at the provider has no such model. Ask for access there, or choose another model.',
  error_unavailable:
    'The provider did not answer as it should. The key itself may be right. Try again later.',
  status: 'Status {status}.',
  test: 'Test',
  testOf: 'Test the key of {provider}',
  testGood: '{provider} accepts the key.',
  testBad: '{provider} does not accept the key.',
  testUnknown: 'Whether {provider} accepts the key could not be found out.',
  actions: 'Actions for {provider}',
  replace: 'Put in another key',
  replaced: 'The key was replaced.',
  switchOff: 'Switch off',
  switchOn: 'Switch on',
  remove: 'Remove',
  removeTitle: 'Remove the key of {provider}?',
  removeText: 'No call uses it any more. Calls then go to Weir’s endpoints, at their price.',
  removeOnlyText:
    'No call uses it any more. Its order stays “only own keys”, so calls of its models fail until you put in another key or remove the entry, too.',
  removeEntryText: 'Calls then go to Weir’s endpoints, at their price.',
  removed: 'The key was removed.',
  more: 'How own keys work',
} satisfies Messages

export default messages
declare module '../i18n' {
  interface Areas {
    ownkeys: typeof messages
  }
}
