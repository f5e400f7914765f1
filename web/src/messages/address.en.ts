import type { Messages } from '../i18n'

const messages = {
  useText: 'From now on {email} signs in to the account of {name}. All other browsers are signed out.',
  use: 'Use this address',
  moved: '{email} is your address now.',
  toProfile: 'To your profile',
  signInFirst:
    'Sign in to the account that is to have the address {email}, and open the link in the mail once more.',
  signIn: 'Sign in',
  keepText: '{email} stays the address of your account, or becomes it again. All browsers are signed out.',
  keep: 'Keep this address',
  kept: '{email} is the address of your account, and all browsers are signed out. Choose a new password: somebody may know yours.',
  newPassword: 'Choose a new password',
  otherAccount:
    'The link is for another account than the one in which this browser is signed in. Sign in to that one, and open the link again.',
  taken: 'This address belongs to an account already, or did until a few days ago. Ask for another one.',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    address: typeof messages
  }
}
