/**
 * What rows of the audit log say, in Russian. Only whole texts that the program writes for an action are said in other words; names, reasons
 * and all else that people wrote stay as they are recorded.
 */
type Words = readonly (readonly [RegExp, string])[]

const active: Words = [
  [/^active$/, 'действует'],
  [/^disabled$/, 'заблокирован'],
]
const sessions: Words = [
  [/^all$/, 'все'],
  [/^all others$/, 'все, кроме этого'],
]
const roles: Words = [
  [/^user( with wallet \S+)?$/, 'пользователь$1'],
  [/^operator( with wallet \S+)?$/, 'оператор$1'],
  [/^administrator( with wallet \S+)?$/, 'администратор$1'],
]
const document = String.raw`^(\S+), document (.+) of (\S+), (-?[\d.]+) rubles`
const invoice: Words = [
  [/^open, ([\d.]+) of ([\d.]+) rubles received$/, 'ждёт оплаты, пришло $1 из $2 ₽'],
  [/^paid, ([\d.]+) of ([\d.]+) rubles received$/, 'оплачен, пришло $1 из $2 ₽'],
  [/^cancelled, ([\d.]+) of ([\d.]+) rubles received$/, 'отменён, пришло $1 из $2 ₽'],
  [new RegExp(`${document}$`), '$1, документ $2 от $3, $4 ₽'],
  [new RegExp(`${document}; ([\\d.]+) rubles are missing$`), '$1, документ $2 от $3, $4 ₽; не хватает $5 ₽'],
  [
    new RegExp(`${document}; ([\\d.]+) rubles more than the total$`),
    '$1, документ $2 от $3, $4 ₽; на $5 ₽ больше',
  ],
  [/^(\S+), document (\S+) of (\S+), ([\d.]+) rubles: (.*)$/s, '$1, документ $2 от $3, $4 ₽: $5'],
  [/^(\S+), ([\d.]+) rubles, INN (\d+)$/, '$1, $2 ₽, ИНН $3'],
]
const payment = String.raw`, ([\d.]+) of ([\d.]+) rubles paid, ([\d.]+) refunded(.*)$`
const paid = ', оплачено $1 из $2 ₽, возвращено $3 ₽$4'

const said: { readonly [action: string]: Words } = {
  'user.create': roles,
  'user.role': roles,
  'user.enable': active,
  'user.disable': active,
  'session.end': sessions,
  'key.revoke': [[/^deleted$/, 'удалён']],
  'password.set': [[/^by a link$/, 'по ссылке']],
  'password.link': [[/^sent to the address$/, 'отправлена на адрес']],
  'login.add': [[/^by the set-up link$/, 'по ссылке первой настройки']],
  'agent.end': [
    [/^signed out$/, 'выход'],
    [/^a refresh token was used twice$/, 'токен обновления использован дважды'],
  ],
  'see_as.begin': [[/^until (\S+)$/, 'до $1']],
  'see_as.end': [[/^since (\S+)$/, 'с $1']],
  'secret.rotate': [[/^webhook secret$/, 'секрет вебхуков']],
  'alert_channel.test': [[/^it arrived$/, 'дошло']],
  'preset.save': [[/^(\d+) bytes$/, '$1 байт']],
  'user.notifications': [[/^(\S+) email off$/, '$1: письма выключены']],
  'invoice.buyer': [[/^INN (\d+), (.*)$/s, 'ИНН $1, $2']],
  'invoice.create': invoice,
  'invoice.cancel': invoice,
  'invoice.paid': invoice,
  'invoice.refund': invoice,
  'act.create': [[/^(\S+), (\S+), ([\d.]+) rubles, INN (\d+)$/, '$1, $2, $3 ₽, ИНН $4']],
  'payment.check': [
    [new RegExp(`^pending${payment}`, 's'), `ждёт${paid}`],
    [new RegExp(`^succeeded${payment}`, 's'), `оплачен${paid}`],
    [new RegExp(`^canceled${payment}`, 's'), `отменён${paid}`],
  ],
  'payment.refund': [[/^([\d.]+) rubles as (\S+): (.*)$/s, '$1 ₽ как $2: $3']],
  'set_aside.post': [[/^(\S+): ([\d.]+) rubles$/, '$1: $2 ₽']],
}

/** The text of a row in Russian, or as it is recorded. */
export function inRussian(action: string, text: string): string {
  for (const [pattern, words] of said[action] ?? [])
    if (pattern.test(text)) return text.replace(pattern, words).replace(/ with wallet (\S+)$/, ', кошелёк $1')
  return text
}
