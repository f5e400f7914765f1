import type { Translation } from '../i18n'
import type en from './notices.en'

export default {
  title: 'Уведомления',
  bell: {
    one: 'Уведомления, {n} непрочитанное',
    few: 'Уведомления, {n} непрочитанных',
    many: 'Уведомления, {n} непрочитанных',
    other: 'Уведомления, {n} непрочитанных',
  },
  markAll: 'Отметить все прочитанными',
  all: 'Все уведомления',
  settings: 'Письма и вебхуки',
  cause: 'Причина',
  anyCause: 'Любая причина',
  tag: 'Метка',
  anyTag: 'Любая метка',
  unread: 'Не прочитано',
  over: 'Прошло: {at}',
  none: 'Уведомлений нет',
  noneText: 'Здесь 60 дней видно, что Weir заметил о деньгах, ключах, бюджетах и моделях.',
  noneFiltered: 'С такими фильтрами уведомлений нет',
  clear: 'Сбросить фильтры',
  off: 'Этот шлюз не отправляет уведомления',
} as const satisfies Translation<typeof en>
