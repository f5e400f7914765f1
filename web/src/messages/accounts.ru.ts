import type { Translation } from '../i18n'
import type en from './accounts.en'

const messages = {
  switch: 'сменить аккаунт',
  none: 'Неизвестный аккаунт',
  personal: 'личный',
  organizationAs: 'организация, {role}',
  role_owner: 'владелец',
  role_manager: 'менеджер',
  role_member: 'участник',
  role_billing: 'бухгалтер',
  make: 'Новая организация',
  makeText: 'Несколько человек с общим балансом. Вы её владелец и приглашаете остальных.',
  makeDo: 'Создать',
  name: 'Название',
  noPart: 'Вы не состоите в этой организации',
  noPartText: 'Возможно, ваше участие прекращено или организация закрыта. Ваш личный аккаунт не затронут.',
  ownAccount: 'В личный аккаунт',
} as const satisfies Translation<typeof en>
export default messages
