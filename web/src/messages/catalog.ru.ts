import type { Translation } from '../i18n'
import type en from './catalog.en'

export default {
  title: 'Модели',
  context: 'Контекст',
  input: 'Ввод ₽ за 1 млн',
  output: 'Ответ ₽ за 1 млн',
} as const satisfies Translation<typeof en>
