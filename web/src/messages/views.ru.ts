import type { Translation } from '../i18n'
import type en from './views.en'

const messages = {
  button: 'Наборы фильтров',
  title: 'Наборы фильтров',
  empty: 'Выберите фильтры, дайте им имя и в следующий раз открывайте отсюда.',
  name: 'Имя нового набора',
  hint: 'По ключам за неделю',
  save: 'Сохранить набор',
  full: 'Наборов уже {most}. Удалите один, чтобы сохранить другой.',
  taken: 'Набор с таким именем уже есть.',
  shown: 'открыт сейчас',
  change: 'Изменить {name}',
  rename: 'Имя',
  replace: 'Взять эти фильтры',
  remove: 'Удалить {name}',
  saved: 'Набор «{name}» сохранён',
  changed: 'Набор «{name}» изменён',
  removed: 'Набор «{name}» удалён',
} as const satisfies Translation<typeof en>
export default messages
