/**
 * The only place that writes numbers, amounts and dates for people. Amounts are decimal texts and are computed with integers; nothing
 * here goes through a float that was not one before.
 */

export type Language = 'en' | 'ru'

let language: Language = 'en'
/** Set once at start and by the language switch; everything below writes in it. */
export function setFormatLanguage(l: Language): void {
  language = l
}

/** A decimal number: digits × 10^-scale. */
export interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

const NARROW = '\u202f'
const MINUS = '\u2212'
export const RUBLE = '₽'
/** What stands where a value is unknown. */
export const NONE = '—'

/** Reads a decimal text, or a number by its shortest text. Null for what is no number. */
export function decimal(value: string | number | null | undefined): Decimal | null {
  if (value === null || value === undefined) return null
  const m = /^([-+]?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(String(value).trim())
  if (!m) return null
  const fraction = m[3] ?? ''
  let digits = BigInt(m[2]! + fraction)
  let scale = fraction.length - Number(m[4] ?? 0)
  if (scale < 0) {
    digits *= 10n ** BigInt(-scale)
    scale = 0
  }
  return trim({ digits: m[1] === '-' ? -digits : digits, scale })
}

function trim(d: Decimal): Decimal {
  let { digits, scale } = d
  while (scale > 0 && digits % 10n === 0n) {
    digits /= 10n
    scale--
  }
  return { digits, scale }
}
export const ZERO: Decimal = { digits: 0n, scale: 0 }
export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale)
  return trim({
    digits: a.digits * 10n ** BigInt(scale - a.scale) + b.digits * 10n ** BigInt(scale - b.scale),
    scale,
  })
}
export function negate(a: Decimal): Decimal {
  return { digits: -a.digits, scale: a.scale }
}
export function subtract(a: Decimal, b: Decimal): Decimal {
  return add(a, negate(b))
}
export function multiply(a: Decimal, b: Decimal): Decimal {
  return trim({ digits: a.digits * b.digits, scale: a.scale + b.scale })
}
export function times(a: Decimal, n: number | bigint): Decimal {
  return trim({ digits: a.digits * BigInt(n), scale: a.scale })
}
export function compare(a: Decimal, b: Decimal): number {
  const d = subtract(a, b).digits
  return d < 0n ? -1 : d > 0n ? 1 : 0
}
/** a ÷ b to `places` decimals, half away from zero; null when b is zero. */
export function divide(a: Decimal, b: Decimal, places = 12): Decimal | null {
  if (b.digits === 0n) return null
  return trim(
    round(
      {
        digits: (a.digits * 10n ** BigInt(b.scale + places + 1)) / (b.digits * 10n ** BigInt(a.scale)),
        scale: places + 1,
      },
      places,
    ),
  )
}
/** For drawing only: lengths of bars, heights of charts, sliders. */
export function approximately(d: Decimal): number {
  return Number(plain(d))
}

/** Half away from zero. */
export function round(d: Decimal, places: number): Decimal {
  if (d.scale <= places) return { digits: d.digits * 10n ** BigInt(places - d.scale), scale: places }
  const unit = 10n ** BigInt(d.scale - places)
  const half = unit / 2n
  const digits = d.digits < 0n ? -((-d.digits + half) / unit) : (d.digits + half) / unit
  return { digits, scale: places }
}

/** With a dot and without groups: for CSV, for what is copied, for the API. */
export function plain(d: Decimal): string {
  return write(d, '', '.', '-')
}

function write(d: Decimal, group: string, point: string, minus: string): string {
  const negative = d.digits < 0n
  const text = (negative ? -d.digits : d.digits).toString().padStart(d.scale + 1, '0')
  const whole = text.slice(0, text.length - d.scale).replace(/\B(?=(\d{3})+$)/g, group)
  return (negative ? minus : '') + whole + (d.scale > 0 ? point + text.slice(text.length - d.scale) : '')
}
const written = (d: Decimal) => write(d, NARROW, language === 'ru' ? ',' : '.', MINUS)

/** At least one: two decimals. Below: four significant digits, so that nothing is rounded to zero. */
function listed(d: Decimal): Decimal {
  if (d.digits === 0n) return ZERO
  const size = d.digits < 0n ? -d.digits : d.digits
  if (size >= 10n ** BigInt(d.scale)) return round(d, 2)
  const lead = d.scale - size.toString().length // zeros after the point
  const r = round(d, lead + 4)
  return (r.digits < 0n ? -r.digits : r.digits) >= 10n ** BigInt(r.scale) ? round(r, 2) : trim(r)
}

/** An amount of rubles: short in lists, with every digit where `exact`. `sign: false` leaves ₽ out, for columns whose head has it. */
export function money(
  value: string | number | null | undefined,
  o: { exact?: boolean; sign?: boolean; about?: boolean; plus?: boolean } = {},
): string {
  const d = decimal(value)
  if (!d) return NONE
  const n = o.exact ? d : listed(d)
  return (
    (o.about ? '≈' + NARROW : '') +
    (o.plus && d.digits > 0n ? '+' : '') +
    written(n) +
    (o.sign === false ? '' : NARROW + RUBLE)
  )
}

/**
 * An amount that heads a page: two decimals, as people say it. What is less than a kopeck says so, and is never zero. The exact amount belongs
 * in a title beside it.
 */
export function headline(value: string | number | null | undefined, o: { sign?: boolean } = {}): string {
  const d = decimal(value)
  if (!d) return NONE
  const kopeck: Decimal = { digits: d.digits < 0n ? -1n : 1n, scale: 2 }
  const small = d.digits !== 0n && (d.digits < 0n ? compare(d, kopeck) > 0 : compare(d, kopeck) < 0)
  return (
    (small ? (d.digits < 0n ? '>' : '<') + NARROW : '') +
    written(d.digits === 0n ? ZERO : small ? kopeck : round(d, 2)) +
    (o.sign === false ? '' : NARROW + RUBLE)
  )
}

/** An amount that was a float for drawing, for axes: six significant digits of it, without the sign. */
export function drawnMoney(n: number): string {
  return money(String(Number(n.toPrecision(6))), { sign: false })
}

/** A price for a thousand tokens as the price of one: for price(). */
export function perToken(perThousand: string | number | null | undefined): string | null {
  const d = decimal(perThousand)
  return d && plain({ digits: d.digits, scale: d.scale + 3 })
}

export type PriceUnit = '1M' | '1k'
/** A price for one token as the price of a million or a thousand; null stays null. */
export function perUnit(perToken: string | number | null | undefined, unit: PriceUnit): Decimal | null {
  const d = decimal(perToken)
  return d && times(d, unit === '1M' ? 1_000_000 : 1_000)
}
export function unitName(unit: PriceUnit): string {
  return language === 'ru' ? (unit === '1M' ? '1 млн' : '1 тыс.') : unit
}
/** "₽ / 1M", "₽ за 1 млн" */
export function priceUnit(unit: PriceUnit = '1M'): string {
  return RUBLE + (language === 'ru' ? ' за ' : ' / ') + unitName(unit)
}
/** "255.78 ₽ / 1M", "255,78 ₽ за 1 млн"; free is "free". `bare` leaves the unit out, for columns whose head has it. */
export function price(
  perToken: string | number | null | undefined,
  unit: PriceUnit = '1M',
  o: { bare?: boolean } = {},
): string {
  const d = perUnit(perToken, unit)
  if (!d) return NONE
  if (d.digits === 0n) return language === 'ru' ? 'бесплатно' : 'free'
  const n = written(listed(d))
  return o.bare ? n : n + NARROW + priceUnit(unit)
}

/** A number as people write it: to `places` decimals, without zeros that say nothing. */
export const short = (d: Decimal, places: number): string => written(trim(round(d, places)))

/** A whole number with groups. */
export function integer(n: number | bigint | null | undefined): string {
  if (n === null || n === undefined || (typeof n === 'number' && !Number.isFinite(n))) return NONE
  return written({ digits: typeof n === 'bigint' ? n : BigInt(Math.round(n)), scale: 0 })
}
/** A number that was measured, to `places` decimals. */
export function number(n: number | null | undefined, places = 0): string {
  if (n === null || n === undefined || !Number.isFinite(n)) return NONE
  return written(
    decimal(n.toFixed(places))!.digits === 0n ? ZERO : round(decimal(n.toFixed(places))!, places),
  )
}
function significant(n: number, digits: number): string {
  const places = Math.max(0, digits - Math.max(1, Math.floor(Math.log10(Math.abs(n) || 1)) + 1))
  return number(n, places)
}
const compact = (n: number, places: number) => written(trim(round(decimal(n.toFixed(6))!, places)))

/** Tokens and other counts: exact below 100 000. */
export function tokens(n: number | null | undefined): string {
  if (n === null || n === undefined) return NONE
  if (n < 100_000) return integer(n)
  if (n < 999_500) return compact(n / 1e3, 0) + (language === 'ru' ? NARROW + 'тыс.' : 'k')
  if (n < 999_500_000)
    return compact(n / 1e6, n < 9_950_000 ? 1 : 0) + (language === 'ru' ? NARROW + 'млн' : 'M')
  return compact(n / 1e9, 1) + (language === 'ru' ? NARROW + 'млрд' : 'B')
}
/** A context: "128k", "1M". */
export function context(n: number | null | undefined): string {
  if (n === null || n === undefined || n === 0) return NONE
  if (n < 1000) return integer(n)
  if (n < 999_500) return compact(n / 1e3, 0) + (language === 'ru' ? NARROW + 'тыс.' : 'k')
  return compact(n / 1e6, 1) + (language === 'ru' ? NARROW + 'млн' : 'M')
}
export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return NONE
  const units = language === 'ru' ? ['Б', 'КБ', 'МБ', 'ГБ', 'ТБ'] : ['B', 'KB', 'MB', 'GB', 'TB']
  let i = 0
  while (n >= 1000 && i < 4) {
    n /= 1000
    i++
  }
  return (i === 0 ? integer(n) : significant(n, 3)) + NARROW + units[i]
}
/** Milliseconds: "640 ms", "4.21 s", "1 min 14 s", "2 h 5 min". */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NONE
  const ru = language === 'ru'
  if (ms < 999.5) return integer(ms) + NARROW + (ru ? 'мс' : 'ms')
  if (ms < 59_950) return significant(ms / 1000, 3) + NARROW + (ru ? 'с' : 's')
  const s = Math.round(ms / 1000)
  const two = (a: number, an: string, b: number, bn: string) =>
    integer(a) + NARROW + an + (b ? ' ' + integer(b) + NARROW + bn : '')
  if (s < 3600) return two(Math.floor(s / 60), ru ? 'мин' : 'min', s % 60, ru ? 'с' : 's')
  const m = Math.round(s / 60)
  if (m < 1440) return two(Math.floor(m / 60), ru ? 'ч' : 'h', m % 60, ru ? 'мин' : 'min')
  const h = Math.round(m / 60)
  return two(Math.floor(h / 24), ru ? 'дн.' : 'd', h % 24, ru ? 'ч' : 'h')
}
/** Seconds in columns whose figures are compared: "0.64 s", "12.0 s". */
export function seconds(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NONE
  if (ms < 100) return duration(ms)
  return number(ms / 1000, ms < 9_950 ? 2 : 1) + NARROW + (language === 'ru' ? 'с' : 's')
}
/** A place in a recording, in seconds: "1:02.5", "1:02,5" */
export function clock(s: number): string {
  const tenths = Math.round(s * 10)
  return `${Math.floor(tenths / 600)}:${written({ digits: BigInt(tenths % 600), scale: 1 }).padStart(4, '0')}`
}
/** A share or a change in per cent. Never "100 %" unless it is exactly that, never "0 %" unless it is. */
export function percent(p: number | null | undefined, places = 2, o: { bare?: boolean } = {}): string {
  if (p === null || p === undefined || !Number.isFinite(p)) return NONE
  const unit = 10 ** places
  const size = Math.abs(p)
  let n = Math.round(size * unit)
  if (n === 100 * unit && size !== 100) n += size < 100 ? -1 : 1
  if (size > 0 && n === 0) n = 1
  if (p < 0) n = -n
  return (
    written(n % unit === 0 ? { digits: BigInt(n / unit), scale: 0 } : { digits: BigInt(n), scale: places }) +
    (o.bare ? '' : NARROW + '%')
  )
}

// Times. A moment is written by the clock of the person's own time zone. A day of a calendar, such as a day of the statement, is the same
// day for everybody: it comes as a date, or as the midnight in UTC that stands for it, and no zone moves it.

const monthsEn = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const monthsRu = [
  'января',
  'февраля',
  'марта',
  'апреля',
  'мая',
  'июня',
  'июля',
  'августа',
  'сентября',
  'октября',
  'ноября',
  'декабря',
]
const shortRu = ['янв', 'фев', 'мар', 'апр', 'мая', 'июн', 'июл', 'авг', 'сен', 'окт', 'ноя', 'дек']
const namesEn = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
const namesRu = [
  'январь',
  'февраль',
  'март',
  'апрель',
  'май',
  'июнь',
  'июль',
  'август',
  'сентябрь',
  'октябрь',
  'ноябрь',
  'декабрь',
]
const two = (n: number) => String(n).padStart(2, '0')
export type Moment = string | number | Date | null | undefined

function moment(at: Moment): Date | null {
  if (at === null || at === undefined || at === '') return null
  const d = new Date(at)
  return Number.isNaN(d.getTime()) ? null : d
}
/**
 * A moment as a clock shows it: the date whose fields of UTC are those of the clock, in the person's own time zone or in another one.
 * All that writes a moment goes through here.
 */
function wall(at: Date, zone?: string): Date {
  if (zone === undefined) return new Date(at.getTime() - at.getTimezoneOffset() * 60_000)
  if (zone === 'UTC') return at
  const part = Object.fromEntries(
    new Intl.DateTimeFormat('en', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
      .formatToParts(at)
      .map((p) => [p.type, p.value]),
  )
  return new Date(`${part.year}-${part.month}-${part.day}T${part.hour}:${part.minute}:${part.second}Z`)
}

/** A day of a calendar: "20 Nov 2026", "20 ноября 2026" */
export function date(at: Moment): string {
  const d = moment(at)
  return d
    ? `${d.getUTCDate()} ${(language === 'ru' ? monthsRu : monthsEn)[d.getUTCMonth()]} ${d.getUTCFullYear()}`
    : NONE
}
/** A day of a calendar: "20 Nov", "20 ноября"; `short` for axes: "20 ноя" */
export function day(at: Moment, o: { short?: boolean } = {}): string {
  const d = moment(at)
  return d
    ? `${d.getUTCDate()} ${(language === 'ru' ? (o.short ? shortRu : monthsRu) : monthsEn)[d.getUTCMonth()]}`
    : NONE
}
/** A month of a calendar: "November 2026", "ноябрь 2026" */
export function month(at: Moment): string {
  const d = moment(at)
  return d ? `${(language === 'ru' ? namesRu : namesEn)[d.getUTCMonth()]} ${d.getUTCFullYear()}` : NONE
}
function clockTime(d: Date, minutes: boolean): string {
  return `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}${minutes ? '' : ':' + two(d.getUTCSeconds())}`
}

/**
 * How a moment is written: `full` "20 Nov 2026, 14:02:11", `row` "20 Nov, 14:02:11", `hour` "20 Nov, 14:00", `clock` "14:02:11",
 * `minutes` "14:02", `date` "20 Nov 2026", `day` "20 Nov".
 */
export type Form = 'full' | 'row' | 'hour' | 'clock' | 'minutes' | 'date' | 'day'

/** A moment by the clock of the person's time zone. Pages show one with <When>, which has the UTC in its title. */
export function local(at: Moment, form: Form = 'full', zone?: string): string {
  const m = moment(at)
  if (!m) return NONE
  const d = wall(m, zone)
  switch (form) {
    case 'full':
      return `${date(d)}, ${clockTime(d, false)}`
    case 'row':
      return `${day(d, { short: true })}, ${clockTime(d, false)}`
    case 'hour':
      return `${day(d, { short: true })}, ${clockTime(d, true)}`
    case 'clock':
      return clockTime(d, false)
    case 'minutes':
      return clockTime(d, true)
    case 'date':
      return date(d)
    case 'day':
      return day(d)
  }
}
/** "20 Nov 2026, 14:02:11 UTC": the title of a moment */
export function inUtc(at: Moment): string {
  return moment(at) ? `${local(at, 'full', 'UTC')} UTC` : NONE
}
/** "20 Nov 2026, 17:02:11 UTC+3": where a text stands alone and has no title */
export function dateTimeZone(at: Moment): string {
  return moment(at) ? `${local(at)} ${zoneName(at)}` : NONE
}
/** The person's time zone by what its clock is ahead of UTC at a moment: "UTC+3", "UTC−4", "UTC+5:30", "UTC" */
export function zoneName(at: Moment = Date.now()): string {
  const ahead = -(moment(at) ?? new Date()).getTimezoneOffset()
  if (ahead === 0) return 'UTC'
  const size = Math.abs(ahead)
  return `UTC${ahead < 0 ? MINUS : '+'}${Math.floor(size / 60)}${size % 60 ? ':' + two(size % 60) : ''}`
}
/** The beginning of a bucket of a chart. Hours are moments; days and months are of the calendar that cut them. */
export function bucket(at: Moment, of: string): string {
  return of === 'month' ? month(at) : of === 'day' ? day(at, { short: true }) : local(at, 'hour')
}
/** The day on which a moment is, by the clock of the person's time zone or of another one: "2026-11-20". For fields and addresses. */
export function dayText(at: Moment, zone?: string): string {
  const d = moment(at)
  return d ? wall(d, zone).toISOString().slice(0, 10) : ''
}
/** The last second of a day of the person's time zone, as the API takes a time. */
export function endOfDay(day: string): string {
  const [year, month, date] = day.split('-').map(Number)
  return new Date(year!, month! - 1, date! + 1, 0, 0, -1).toISOString().slice(0, 19) + 'Z'
}
/** The beginning of a day of the person's time zone, some days before a moment, as the API takes a time. */
export function daysBefore(days: number, now: number = Date.now()): string {
  const d = new Date(now)
  return new Date(d.getFullYear(), d.getMonth(), d.getDate() - days).toISOString()
}
/** Relative only under an hour: "now", "2 min ago", then the time of today, then the day. */
export function when(at: Moment, now: number = Date.now()): string {
  const d = moment(at)
  if (!d) return NONE
  const ms = now - d.getTime()
  const ru = language === 'ru'
  if (ms >= 0 && ms < 60_000) return ru ? 'только что' : 'now'
  if (ms >= 0 && ms < 3_600_000) return `${Math.floor(ms / 60_000)}${NARROW}${ru ? 'мин назад' : 'min ago'}`
  if (dayText(d) === dayText(now)) return local(d, 'minutes')
  return dayText(d).slice(0, 4) === dayText(now).slice(0, 4) ? local(d, 'day') : local(d, 'date')
}
/** Two days, or two moments, as a period: "1–20 Nov 2026", "28 Oct – 3 Nov 2026" */
export function period(from: Moment, to: Moment): string {
  const read = (at: Moment) => {
    const d = moment(at)
    return d && typeof at === 'string' && at.length > 10 ? wall(d) : d
  }
  const a = read(from),
    b = read(to)
  if (!a || !b) return NONE
  if (a.getUTCFullYear() !== b.getUTCFullYear()) return `${date(a)} – ${date(b)}`
  if (a.getUTCMonth() !== b.getUTCMonth()) return `${day(a)} – ${date(b)}`
  return a.getUTCDate() === b.getUTCDate() ? date(b) : `${a.getUTCDate()}–${date(b)}`
}
/** Words one after another: "a, b and c" */
export function list(words: readonly string[]): string {
  return new Intl.ListFormat(language, { type: 'conjunction' }).format(words)
}
