import { meQuery, queries } from '../api/query'
import { dayText } from '../format'
import { ofCalendar, type ChartProps } from './chart-props'

/**
 * A cell of a file: what a spreadsheet would run as a formula has an apostrophe before it, as in the
 * files of the API, also where one that parts at semicolons would begin a cell.
 */
function cell(v: string | number | null): string {
  const text = v === null ? '' : String(v)
  const safe =
    typeof v === 'string' && !/^-?[\d.]+$/.test(v)
      ? v.replace(/(^|[;\t\r\n])([ "]*)(?=[=+\-@|])/g, "$1$2'")
      : text
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
/** The data of a chart: the beginning of each bucket in UTC, a day of the calendar, or what else a bucket is, then each series; amounts with all digits and a dot, nothing where nothing is known. */
export function csvOf(
  p: Pick<ChartProps, 'times' | 'series'> & Pick<ChartProps, 'head' | 'time' | 'bucket'>,
): string {
  const rows: (string | number | null)[][] = [
    [p.head ?? (ofCalendar(p) ? 'date' : 'time_utc'), ...p.series.map((s) => s.label)],
    ...p.times.map((ms, i) => [
      p.head && p.time ? p.time(ms) : ofCalendar(p) ? dayText(ms, 'UTC') : new Date(ms).toISOString(),
      ...p.series.map((s) => s.exact?.[i] ?? s.values[i] ?? null),
    ]),
  ]
  return rows.map((r) => r.map(cell).join(',') + '\r\n').join('')
}
export function downloadCsv(
  p: Pick<ChartProps, 'times' | 'series' | 'title' | 'head' | 'time' | 'bucket'>,
): void {
  const url = URL.createObjectURL(new Blob(['\ufeff', csvOf(p)], { type: 'text/csv;charset=utf-8' }))
  const a = document.createElement('a')
  a.href = url
  const demo = queries.getQueryData(meQuery.queryKey)?.features.demo_until ? 'demo-' : ''
  a.download = `${demo}${p.title}.csv`
  a.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
