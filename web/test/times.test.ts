// Moments are written by the clock of the person's time zone, days of the calendar as they are, and no page writes either by itself.
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import * as f from '../src/format'
import { timeOf } from '../src/ui/chart-props'
import { csvOf } from '../src/ui/csv'

afterEach(() => {
  process.env.TZ = 'UTC'
})
function at<R>(zone: string, of: () => R): R {
  process.env.TZ = zone
  return of()
}

describe('a moment in a time zone', () => {
  const noon = '2026-07-01T18:45:09Z'
  test.each([
    ['Europe/Moscow', '1 Jul 2026, 21:45:09', 'UTC+3'],
    ['Asia/Kolkata', '2 Jul 2026, 00:15:09', 'UTC+5:30'],
    ['Asia/Kathmandu', '2 Jul 2026, 00:30:09', 'UTC+5:45'],
    ['America/New_York', '1 Jul 2026, 14:45:09', 'UTC−4'],
    ['America/St_Johns', '1 Jul 2026, 16:15:09', 'UTC−2:30'],
    ['UTC', '1 Jul 2026, 18:45:09', 'UTC'],
  ])('%s', (zone, text, name) => {
    expect(at(zone, () => f.local(noon))).toBe(text)
    expect(at(zone, () => f.zoneName(noon))).toBe(name)
    expect(at(zone, () => f.dateTimeZone(noon))).toBe(`${text} ${name}`)
    expect(at(zone, () => f.inUtc(noon))).toBe('1 Jul 2026, 18:45:09 UTC')
  })
  test('its forms', () => {
    const forms = ['full', 'row', 'hour', 'clock', 'minutes', 'date', 'day'] as const
    expect(at('Asia/Kolkata', () => forms.map((form) => f.local(noon, form)))).toEqual([
      '2 Jul 2026, 00:15:09',
      '2 Jul, 00:15:09',
      '2 Jul, 00:15',
      '00:15:09',
      '00:15',
      '2 Jul 2026',
      '2 Jul',
    ])
    expect(f.local('')).toBe('—')
    expect(f.local('rubbish')).toBe('—')
  })
  test('what was today is so by the clock of the zone', () => {
    const now = Date.parse('2026-07-01T20:00:00Z') // 2 July in Kolkata since half past six in the evening of UTC
    expect(at('Asia/Kolkata', () => f.when('2026-07-01T18:31:00Z', now))).toBe('00:01')
    expect(at('Asia/Kolkata', () => f.when('2026-07-01T18:29:00Z', now))).toBe('1 Jul')
    expect(at('UTC', () => f.when('2026-07-01T18:29:00Z', now))).toBe('18:29')
  })
})

describe('in every zone, on both sides of each change of its clock', () => {
  // Half and quarter hours, summer time of an hour and of half an hour, a day that was left out, and the two ends of the earth.
  const zones = [
    'Asia/Kolkata',
    'Asia/Kathmandu',
    'America/St_Johns',
    'Australia/Lord_Howe',
    'America/New_York',
    'Europe/Moscow',
    'Europe/London',
    'Pacific/Apia',
    'Pacific/Kiritimati',
    'Pacific/Pago_Pago',
  ]
  const HOUR = 3_600_000
  const STEP = 47 * HOUR
  /** Each second day of times with changes, an hour of the day earlier each time, and each change of the clock to the second. */
  function moments(zone: string): number[] {
    process.env.TZ = zone
    const all: number[] = []
    const offset = (ms: number) => new Date(ms).getTimezoneOffset()
    for (const [from, to] of [
      [Date.UTC(2011, 11, 20), Date.UTC(2012, 0, 5)],
      [Date.UTC(2014, 9, 20), Date.UTC(2014, 10, 5)],
      [Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 2)],
    ] as const)
      for (let ms = from; ms < to; ms += STEP) {
        all.push(ms + 61_000)
        if (offset(ms) === offset(ms + STEP)) continue
        let low = ms,
          high = ms + STEP
        while (high - low > 1000) {
          const middle = low + Math.floor((high - low) / 2000) * 1000
          if (offset(middle) === offset(ms)) low = middle
          else high = middle
        }
        all.push(low - HOUR, low, high, high + HOUR)
      }
    return all
  }
  test.each(zones)('%s', (zone) => {
    const asked = moments(zone)
    expect(asked.length).toBeGreaterThan(190)
    const clock = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
    for (const ms of asked) {
      // What the language itself says the clock shows, in our words: September has three letters.
      const shown = clock.format(ms).replace('Sept', 'Sep')
      expect(f.local(ms)).toBe(shown)
      const day = f.dayText(ms)
      expect(f.date(day)).toBe(f.local(ms, 'date'))
      // A day ends with its last second: that is within it, and the next one is not.
      const end = f.endOfDay(day)
      expect(end).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      expect(f.dayText(end)).toBe(day)
      expect(f.dayText(Date.parse(end) + 1000) > day).toBe(true)
      const begin = f.daysBefore(0, ms)
      expect(f.dayText(begin)).toBe(day)
      expect(f.dayText(Date.parse(begin) - 1) < day).toBe(true)
    }
  })
  test.each(zones)('days and months of the calendar are the same in %s', (zone) => {
    process.env.TZ = zone
    for (let ms = Date.UTC(2026, 0, 1); ms < Date.UTC(2027, 0, 1); ms += 24 * HOUR) {
      const day = new Date(ms).toISOString().slice(0, 10)
      const [year, month, date] = day.split('-').map(Number)
      expect(f.date(day)).toMatch(new RegExp(`^${date} \\w{3} ${year}$`))
      expect(timeOf({ bucket: 'day' }, ms)).toBe(f.day(day, { short: true }))
      expect(timeOf({ bucket: 'month' }, ms)).toBe(f.month(`${year}-${String(month).padStart(2, '0')}-01`))
      expect(f.period(day, day)).toBe(f.date(day))
    }
  })
})

describe('a chart and its file', () => {
  const hours = [Date.UTC(2026, 10, 20, 21), Date.UTC(2026, 10, 20, 22)]
  const series = [{ key: 'a', label: 'a', values: [1, 2] }]
  test('hours are of the clock in the picture and of UTC in the file', () => {
    process.env.TZ = 'Asia/Kolkata'
    expect(hours.map((ms) => timeOf({ bucket: 'hour' }, ms))).toEqual(['21 Nov, 02:30', '21 Nov, 03:30'])
    expect(csvOf({ times: hours, series, bucket: 'hour' })).toBe(
      'time_utc,a\r\n2026-11-20T21:00:00.000Z,1\r\n2026-11-20T22:00:00.000Z,2\r\n',
    )
  })
  test('days are of the calendar in both', () => {
    process.env.TZ = 'America/New_York'
    const days = [Date.UTC(2026, 10, 20), Date.UTC(2026, 10, 21)]
    expect(days.map((ms) => timeOf({ bucket: 'day' }, ms))).toEqual(['20 Nov', '21 Nov'])
    expect(csvOf({ times: days, series, bucket: 'day' })).toBe('date,a\r\n2026-11-20,1\r\n2026-11-21,2\r\n')
  })
})

describe('no page writes a time by itself', () => {
  const files = Object.keys(
    import.meta.glob(['../src/**/*.{ts,tsx}', '!../src/**/*.d.ts', '!../src/messages/*']),
  )
  const text = (path: string) => readFileSync(path.replace('../', ''), 'utf8')
  const found = (what: RegExp, except: readonly string[]): string[] =>
    files
      .filter((path) => !except.includes(path.replace('../src/', '')))
      .flatMap((path) =>
        (text(path).match(what) ?? []).map((m) => `${path.replace('../src/', '')}: ${m.trim()}`),
      )

  test('fields of a date are read in one place', () => {
    expect(files.length).toBeGreaterThan(200)
    expect(
      found(
        /\.(get(UTC)?(FullYear|Month|Date|Day|Hours|Minutes|Seconds)|getTimezoneOffset|toLocale(Date|Time)?String|toDateString|toTimeString|toUTCString)\(|Intl\.(DateTimeFormat|RelativeTimeFormat)/g,
        ['format.ts', 'pages/activity/zoom.ts'],
      ),
    ).toEqual([])
    // What the activity page reads is the end of a month of the calendar.
    expect(found(/getTimezoneOffset|\.get(FullYear|Month|Date|Hours)\(/g, ['format.ts'])).toEqual([])
  })
  test('a day is cut from a moment in one place', () => {
    expect(found(/toISOString\(\)\s*\.slice|_at!?\??\.slice\(/g, ['format.ts'])).toEqual([])
  })
  test('moments are shown by When, and texts that stand alone say their zone', () => {
    const own = ['format.ts', 'ui/values.tsx', 'ui/chart-props.ts', 'ui/marks.tsx']
    expect(found(/import \{[^}]*\b(local|when|inUtc)\b[^}]*\} from '[./]*\/format'/g, own)).toEqual([])
    expect(found(/\bformat\.(local|when|inUtc)\(/g, own)).toEqual([])
    expect(found(/<time\b/g, ['ui/values.tsx'])).toEqual([])
  })
  test('a moment is no day of the calendar', () => {
    expect(found(/\b(date|day|month)\([^()]*(_at|since|until|expires)\b[^()]*\)/g, [])).toEqual([
      'pages/admin/sales.tsx: date(r.loss.since)', // a day of the report
    ])
  })
})
