import type { Translation } from '../i18n'
import type messages from './admin.en'

export default {
  nav: 'Управление шлюзом',
  operator: 'Оператор',
  administrator: 'Администратор',
  back: 'Свой аккаунт',
  now: 'Сейчас',
  traffic: 'Трафик',
  calls: 'Вызовы',
  errors: 'Ошибки',
  jobs: 'Задания',
  supply: 'Кто отвечает',
  providers: 'Провайдеры',
  endpoints: 'Точки',
  catalog: 'Модели и цены',
  order: 'Порядок и имена',
  customers: 'Клиенты',
  people: 'Люди',
  payments: 'Платежи',
  sales: 'Продажи',
  ledger: 'Книга',
  reconciliation: 'Сверка',
  installation: 'Установка',
  audit: 'Журнал',
  alerts: 'Оповещения',
  settings: 'Настройки',
} satisfies Translation<typeof messages>
