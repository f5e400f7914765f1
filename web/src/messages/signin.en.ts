import type { Messages } from '../i18n'

const messages = {
  signInTitle: 'Sign in',
  signUpTitle: 'Create an account',
  inviteTitle: 'You are invited',
  inviteText: 'Choose a password, and the account is yours.',
  inviteRole: 'You will be {role} here.',
  roleOperator: 'an operator',
  roleAdministrator: 'an administrator',
  recoverTitle: 'New password',
  recoverText:
    'Give your e-mail address. A link for a new password goes there, if the address has an account.',
  resetTitle: 'Choose a new password',
  resetText: 'All other browsers will be signed out.',
  setupTitle: 'Make yourself the administrator',
  setupText: 'The first account runs this gateway: providers, prices, people.',
  confirmTitle: 'Your address is confirmed',
  confirmText: 'Choose a password, and the account is yours.',
  newEmailTitle: 'New e-mail address',
  keepEmailTitle: 'Keep your e-mail address',
  email: 'E-mail',
  name: 'Name',
  password: 'Password',
  newPassword: 'New password',
  passwordHelp: 'At least 10 characters. A sentence is good.',
  showPassword: 'Show the password',
  hidePassword: 'Hide the password',
  signIn: 'Sign in',
  signUp: 'Create account',
  sendLink: 'Send the link',
  setPassword: 'Set password and sign in',
  makeAdministrator: 'Become the administrator',
  accept: 'Accept the invitation',
  forgot: 'Forgotten your password?',
  noAccount: 'No account yet?',
  haveAccount: 'Already have an account?',
  backToSignIn: 'Back to sign-in',
  secondTitle: 'Now your passkey',
  secondText: 'This account also requires a passkey.',
  secondOver: 'This took too long, or was used already. Sign in again.',
  demo: 'Look at the demo',
  demoText:
    'A simulator answers, nothing leaves this machine, money is play money. No password is needed here.',
  sentTitle: 'Look into your mail',
  sentConfirm: 'A link went to {email}. It is valid for a day and works once.',
  sentRecover: 'If {email} has an account, a link went there. It is valid for an hour and works once.',
  noMail: 'This gateway sends no mail. Ask its operator for a link: weir user reset.',
  closed: 'New accounts are made by the operator of this gateway.',
  onlyInvited: 'An account needs an invitation. Ask the operator for a link.',
  badLink: 'This link does not work',
  badLinkText: 'It was used already, is too old, or was not copied whole. Ask for a new one.',
  insecure:
    'Sign-in over a network needs TLS. Put a proxy with a certificate in front of Weir and set server.public_url to its https address.',
  short: { one: 'The password needs {n} more character.', other: 'The password needs {n} more characters.' },
  tagline: 'One address before many models, metered to the kopeck.',
  language: 'По-русски',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    signin: typeof messages
  }
}
