import { dayText as textOf } from '../../format'
import type { Period } from '../../ui/filters'

/** The day that a midnight in UTC stands for */
const dayText = (ms: number) => textOf(ms, 'UTC')
/** What was chosen in the chart, as whole buckets. */
export function zoomed(from: number, to: number, bucket: string): Period {
  if (bucket === 'hour') {
    const HOUR = 3_600_000
    return {
      from: new Date(Math.floor(from / HOUR) * HOUR).toISOString(),
      to: new Date((Math.floor(to / HOUR) + 1) * HOUR).toISOString(),
    }
  }
  if (bucket === 'month') {
    const end = new Date(to)
    return {
      from: dayText(from).slice(0, 8) + '01',
      to: dayText(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1, 0)),
    }
  }
  return { from: dayText(from), to: dayText(to) }
}
