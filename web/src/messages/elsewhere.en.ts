import type { Messages } from '../i18n'

const messages = {
  continueWith: 'Continue with {name}',
  step: 'This sign-in took too long, was used already, or began in another browser. Begin again.',
  passkey: 'This account requires a passkey: confirm with it.',
  refused: '{name} has not let you in. Try again, or go on another way.',
  provider:
    '{name} does not answer as it should. Try again, or go on another way. For the operator: {request}',
  unknown:
    'No account here has linked this identity of {name}. Sign in another way, and link it in the settings.',
  taken: 'Another account has linked this identity of {name}.',
  exists:
    'There is an account with your address. Sign in to it another way, and link {name} in the settings.',
  address: 'This address of {name} may not sign in here: it is not verified, or of another domain.',
  disabled: 'This account is disabled. Ask the operator.',
  other: 'This identity of {name} is not linked to the account that is signed in.',
  invitation: 'The invitation was used already, has expired, or is for another address.',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    elsewhere: typeof messages
  }
}
