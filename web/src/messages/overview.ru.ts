import type { Translation } from '../i18n'
import type en from './overview.en'

export default {
  title: 'Обзор',
  available: 'Доступно',
  topUp: 'Пополнить',
  statement: 'Выписка',
  spentMonth: 'Потрачено, {month}',
  onHold: 'В резерве',
  onHoldN: {
    one: 'В резерве, {n} вызов',
    few: 'В резерве, {n} вызова',
    many: 'В резерве, {n} вызовов',
    other: 'В резерве, {n} вызова',
  },
  level: 'потрачено {spent}, в резерве {held}, доступно {available}',
  lasts: {
    one: 'хватит на ≈ {n} день',
    few: 'хватит на ≈ {n} дня',
    many: 'хватит на ≈ {n} дней',
    other: 'хватит на ≈ {n} дня',
  },
  spending: 'Расход',
  unit: '₽ в день',
  summary: {
    one: 'Больше всего {day}: {most}. За {n} день: {total}.',
    few: 'Больше всего {day}: {most}. За {n} дня: {total}.',
    many: 'Больше всего {day}: {most}. За {n} дней: {total}.',
    other: 'Больше всего {day}: {most}. За {n} дня: {total}.',
  },
  lastDays: { one: '{n} день', few: '{n} дня', many: '{n} дней', other: '{n} дня' },
  by: 'Разделить по',
  others: 'остальные',
  where: 'На что потрачено',
  latest: 'Последние вызовы',
  allCalls: 'Все вызовы',
  steps: 'Первые шаги',
  stepKey: 'Создать ключ',
  stepCall: 'Сделать вызов',
  stepMoney: 'Пополнить кошелёк',
  stepMoneyHelp: 'Пополняет оператор: weir topup ИМЯ 100',
  stepDone: 'готово',
} as const satisfies Translation<typeof en>
