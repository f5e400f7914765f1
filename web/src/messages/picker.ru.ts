import type { Translation } from '../i18n'
import type en from './picker.en'

const messages = {
  search: 'Название, вендор или код модели',
  list: 'Модели',
  anyVendor: 'Все вендоры',
  anyContext: 'Любой контекст',
  chosen: 'выбрана',
  take: 'Взять «{text}» как есть',
  prices: 'Ввод / ответ, {unit}',
} as const satisfies Translation<typeof en>
export default messages
