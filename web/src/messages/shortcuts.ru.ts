import type { Translation } from '../i18n'
import type en from './shortcuts.en'

export default {
  here: 'На этой странице',
  topUp: 'Пополнить',
  period: 'Более ранний и более поздний период',
  chartTable: 'График как таблица',
  full: 'Открыть страницу строки целиком',
  live: 'Следить за новыми вызовами или перестать',
  cell: 'Фильтр по ячейке',
  copyId: 'Скопировать идентификатор',
  routeTable: 'Маршрут как таблица',
  newKey: 'Создать ключ',
  newPreset: 'Создать пресет',
  file: 'Получить файл',
  play: 'Запустить и остановить',
  select: 'Выбрать модель для сравнения',
  compare: 'Сравнить выбранное',
} as const satisfies Translation<typeof en>
