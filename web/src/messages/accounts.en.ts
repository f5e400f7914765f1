import type { Messages } from '../i18n'

const messages = {
  switch: 'switch account',
  none: 'Unknown account',
  personal: 'personal',
  organizationAs: 'organization, {role}',
  role_owner: 'owner',
  role_manager: 'manager',
  role_member: 'member',
  role_billing: 'billing',
  make: 'New organization',
  makeText: 'Several people with one balance. You are its owner, and invite the others.',
  makeDo: 'Make it',
  name: 'Name',
  noPart: 'You have no part in this organization',
  noPartText:
    'Your membership may have ended, or the organization is closed. Your own account is not touched.',
  ownAccount: 'To my own account',
} as const satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    accounts: typeof messages
  }
}
