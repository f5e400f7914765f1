import type { Translation } from '../i18n'
import type en from './status.en'

export default {
  title: 'Состояние',
  ok: 'Все провайдеры работают',
  degraded: 'У части провайдеров сбои',
  down: 'Сейчас не работает ни один провайдер',
  okText: 'Вызовы получают ответ.',
  degradedText: 'Weir отправляет вызовы другим. Модели с одним провайдером могут сбоить.',
  downText: 'Вызовы не проходят и ничего не стоят. Weir пробует снова сам.',
  provider: 'Провайдер',
  state: 'Состояние',
  state_ok: 'работает',
  state_degraded: 'есть сбои',
  state_down: 'не работает',
  state_idle: 'нет вызовов',
  uptime: 'Последние 24 часа',
  served: 'Обслужено',
  first: 'До первого токена',
  models: 'Модели',
  asOf: 'На {time} UTC',
  empty: 'Провайдеров пока нет',
  emptyText: 'Они появятся здесь, когда будет подключён первый.',
  off: 'Эта страница здесь выключена',
  help: 'Одна черта — час. Сбои, после которых ответил другой провайдер, тоже учтены; клиент их не заметил.',
} as const satisfies Translation<typeof en>
