/** What a chart shows: the picture, its table and its file are made of it. */
import type { ReactNode } from 'react'
import { bucket, local, type Form } from '../format'

export interface Series {
  readonly key: string
  readonly label: string
  /** One for each time; null where nothing is known */
  readonly values: readonly (number | null)[]
  /** 1 to 6, or 0 for "others"; otherwise by the name */
  readonly color?: number
  /** What the table and the cursor show, when it is not the drawn number: exact amounts */
  readonly texts?: readonly (string | null)[]
  /** What the file has, when it is not the drawn number: amounts with all digits */
  readonly exact?: readonly (string | number | null)[]
}
export interface ChartProps {
  kind: 'bars' | 'lines'
  title: string
  /** The unit, said once */
  unit?: string
  /** "Highest 19 Nov 398 ₽; 30-day total 8 902.44 ₽" */
  summary: string
  /** Milliseconds since 1970, ascending */
  times: readonly number[]
  series: readonly Series[]
  /** Writes a value, for the axis, the cursor and the table */
  format: (v: number) => string
  /** What the times are: `day` and `month` are of a calendar and the same in each time zone, as midnights in UTC; all else are moments */
  bucket?: string
  /** How a moment is written */
  form?: Form
  /** Buckets of values and not of time: what they are called. `times` are their numbers, times 1000, and `time` writes one. */
  head?: string
  time?: (ms: number) => string
  height?: number
  /** The last bucket is not over */
  unfinished?: boolean
  actions?: ReactNode
  /** Drag over the chart: chosen times */
  onZoom?: (from: number, to: number) => void
  hideHead?: boolean
  /** On a phone there is no axis of values: the summary stands under the picture instead */
  plainOnPhone?: boolean
  /** t shows the table without the focus in the chart: for the page's main chart */
  main?: boolean
}
/** Whether the times are those of a calendar, which no time zone moves */
export const ofCalendar = (p: Pick<ChartProps, 'bucket'>): boolean =>
  p.bucket === 'day' || p.bucket === 'month'
/** Writes a time of a chart, for its axis, its cursor and its table. */
export const timeOf = (p: Pick<ChartProps, 'bucket' | 'form' | 'time'>, ms: number): string =>
  p.time ? p.time(ms) : p.form ? local(ms, p.form) : bucket(ms, p.bucket ?? 'hour')
