import type { Messages } from '../i18n'

const messages = {
  title: 'Invitation to an organization',
  titleOf: 'Join {name}',
  organization: 'Organization',
  role: 'Your role',
  role_owner: 'owner',
  role_manager: 'manager',
  role_member: 'member',
  role_billing: 'billing',
  may_owner: 'may do everything',
  may_manager: 'has keys, manages members and their keys',
  may_member: 'has keys, sees own calls',
  may_billing: 'sees money and pays, has no keys',
  team: 'Team',
  by: 'Invited by',
  for: 'For',
  until: 'Works until',
  you: 'You are',
  meaning:
    'What you do in the organization is paid from its balance. Your own account, its keys and its money stay as they are.',
  accept: 'Join',
  signIn: 'Sign in',
  signUp: 'Sign up',
  signUpText: 'You come back here after the sign-in. After a sign-up, open the link once more.',
  signUpClosed:
    'You come back here after the sign-in. Without an account, ask who runs this gateway for one, and open the link once more.',
  gone: 'This link does not work',
  goneText:
    'It has expired, was withdrawn, its places are taken, or it was not copied whole. Ask who invited you for another one.',
  home: 'To the start page',
  already: 'You are a member of this organization already',
  toOrganization: 'Go to the organization',
  otherAccount: 'Sign in with another account',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    join: typeof messages
  }
}
