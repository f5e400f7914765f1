import type { Translation } from '../i18n'
import type en from './views.en'

const messages = {
  button: 'Виды',
  title: 'Сохранённые виды',
  empty: 'Выберите фильтры, дайте им имя и в следующий раз открывайте отсюда.',
  name: 'Имя нового вида',
  hint: 'По ключам за неделю',
  save: 'Сохранить вид',
  full: 'Видов уже {most}. Удалите один, чтобы сохранить другой.',
  taken: 'Вид с таким именем уже есть.',
  shown: 'показан сейчас',
  change: 'Изменить {name}',
  rename: 'Имя',
  replace: 'Взять эти фильтры',
  remove: 'Удалить {name}',
  saved: 'Вид «{name}» сохранён',
  changed: 'Вид «{name}» изменён',
  removed: 'Вид «{name}» удалён',
} as const satisfies Translation<typeof en>
export default messages
