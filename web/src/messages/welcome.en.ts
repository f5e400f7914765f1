import type { Messages } from '../i18n'

const messages = {
  demoTag: 'Demo: a simulator answers, nothing leaves this machine, money is play money',
  titleCall: 'Your gateway is running. Make the first call.',
  titleDone: 'Your gateway is running. The first call is here.',
  titleSetup: 'Your gateway is running. Three steps to the first call.',
  leadCall:
    'Paste this into a terminal. The page notices the moment it arrives, and shows what it cost and why it went where it went.',
  leadSetup: 'This page follows along: each step ticks itself when it is done.',
  begin: 'Look at the demo',
  beginText: 'Signs this browser in to the demo. It is on the demo’s own machine, so it needs no password.',
  code: 'The first call',
  keyNote: 'The key is real for this demo and is filled in for you. Make others under Keys.',
  keyNone: 'Make a key under Keys and put it into WEIR_API_KEY.',
  how: 'How the provider behaves',
  how_well: 'Well',
  how_fails: 'Fails once',
  how_slow: 'Slow',
  how_cut: 'Cuts the stream',
  howHelp_well: 'The provider answers at once.',
  howHelp_fails: 'The first provider answers 503; Weir goes to another one, and the client notices nothing.',
  howHelp_slow: 'The provider takes two seconds to the first token.',
  howHelp_cut:
    'The stream breaks after a few tokens. What arrived is charged, and the client gets a typed error.',
  waiting: 'Waiting for the call',
  arrived: 'It arrived',
  answeredBy: 'answered by {provider}',
  answeredAfter: {
    one: 'answered by {provider} after {n} failed attempt',
    other: 'answered by {provider} after {n} failed attempts',
  },
  why: 'Why {provider}?',
  statement: 'See it in the statement',
  playground: 'Go on in the playground',
  step_up: 'Gateway is up',
  step_up_text: 'It answers at {address}.',
  step_administrator: 'Make yourself the administrator',
  step_administrator_text:
    'With a passkey or a password, by the link printed in the console. Another link: weir user setup',
  step_administrator_done: 'Somebody can administer this gateway.',
  step_provider: 'Connect a provider',
  step_provider_any: 'Paste its key; its models appear.',
  connectText:
    'Paste the key of a provider that you have an account with. Weir tries it on the spot and shows what you can sell.',
  connectOthers: 'No provider is connected yet. Whoever runs this gateway does that.',
  step_provider_done: 'Served by {providers}.',
  step_key: 'Make a key',
  step_key_text: 'A key gives software a limited right to spend.',
  step_key_done: 'You have a key.',
  step_call: 'First call',
  step_call_text: 'From any client: only the address and the key change.',
  step_call_done: '{model}, {amount}',
  step_top_up: 'Put money into the wallet',
  step_top_up_text: 'The operator does it: weir topup NAME 100',
  step_top_up_done: 'There is money for calls.',
  done: 'done',
  notDone: 'not done yet',
  steps: 'Steps',
  more: { one: 'and {n} more', other: 'and {n} more' },
  guide: 'Read the guide',
  models: 'Look at the models',
  prompt: 'Hello',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    welcome: typeof messages
  }
}
