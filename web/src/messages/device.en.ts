import type { Messages } from '../i18n'

const messages = {
  title: 'Sign in a program',
  intro: 'A program in your terminal shows a code. Check that it is this one, and go on.',
  code: 'Code',
  codeHelp: 'Eight letters. It works for ten minutes.',
  unknown: 'No program is waiting with this code. Begin the sign-in again in your terminal.',
  next: 'Continue',
  program: 'Program',
  from: 'Asks from',
  nowhere: 'unknown',
  here: '(the network of this browser)',
  elsewhere: '(another network than that of this browser)',
  asked: 'Asked',
  account: 'Your account',
  may: 'It will call models for you and spend your balance until it is signed out. It cannot see your money, your chats or your keys, and it can change nothing.',
  compare: 'Is this code in your own terminal now?',
  compareText: 'If somebody has sent you this code or this link, refuse: they would work at your expense.',
  compareFar:
    'The program runs in another network. If it is not on a machine of yours, or if somebody has sent you this code or this link, refuse: they would work at your expense.',
  allow: 'Allow',
  deny: 'Refuse',
  another: 'Another code',
  allowed: '{client} is signed in',
  allowedText: 'Go back to your terminal. It is listed with your keys, where you can limit it or end it.',
  denied: '{client} was refused',
  deniedText: 'It gets nothing. If it was not yours, there is nothing else to do.',
  keys: 'Keys',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    device: typeof messages
  }
}
