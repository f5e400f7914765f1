import { expect, test } from 'vitest'
import { inRussian } from '../src/pages/admin/audit-said'

test.each([
  ['invoice.cancel', 'open, 0 of 4500 rubles received', 'ждёт оплаты, пришло 0 из 4500 ₽'],
  [
    'invoice.paid',
    'W-2026-1, document 17 of 25.11.2026, 1500.5 rubles; 2500 rubles are missing',
    'W-2026-1, документ 17 от 25.11.2026, 1500.5 ₽; не хватает 2500 ₽',
  ],
  ['user.create', 'user with wallet wal_1', 'пользователь, кошелёк wal_1'],
  ['user.role', 'administrator', 'администратор'],
  [
    'payment.check',
    'succeeded, 500 of 500 rubles paid, 120 refunded; slow',
    'оплачен, оплачено 500 из 500 ₽, возвращено 120 ₽; slow',
  ],
  ['payment.refund', '120 rubles as rfd_1: by letter, 3 rubles', '120 ₽ как rfd_1: by letter, 3 rubles'],
  // what people wrote stays as it is recorded
  ['passkey.rename', 'all', 'all'],
  ['refund', '5 rubles', '5 rubles'],
  ['key.revoke', 'laptop, deleted', 'laptop, deleted'],
  ['user.role', 'operators of everything', 'operators of everything'],
])('%s: %s', (action, text, want) => {
  expect(inRussian(action, text)).toBe(want)
})
