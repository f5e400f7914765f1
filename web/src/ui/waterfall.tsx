/** Where the time of something went: bars one after another over one time. */
import { duration } from '../format'

export interface Span {
  readonly key: string
  readonly label: string
  readonly from: number
  readonly to: number
  readonly tone: 'own' | 'failed' | 'wait' | 'answer'
}
export interface TimedAttempt {
  readonly provider: string
  readonly status: number
  readonly reason: string | null
  readonly started_ms: number
  readonly first_token_ms: number | null
  readonly ended_ms: number
}

/** The spans of a call, in milliseconds since it arrived: Weir before, each attempt, Weir after. */
export function spansOf(
  attempts: readonly TimedAttempt[],
  total: number,
  words: {
    before: string
    after: string
    failed: (a: TimedAttempt) => string
    first: (a: TimedAttempt) => string
    answer: (a: TimedAttempt) => string
    /** What a provider does after it took a job: given for calls whose answer comes later. */
    job?: (a: TimedAttempt) => string
  },
): readonly Span[] {
  const out: Span[] = [
    { key: 'before', label: words.before, from: 0, to: attempts[0]?.started_ms ?? total, tone: 'own' },
  ]
  attempts.forEach((a, i) => {
    if (a.reason !== null || a.status < 200 || a.status > 299)
      out.push({ key: `${i}`, label: words.failed(a), from: a.started_ms, to: a.ended_ms, tone: 'failed' })
    else {
      const first =
        a.first_token_ms === null ? null : Math.min(Math.max(a.first_token_ms, a.started_ms), a.ended_ms)
      if (first !== null)
        out.push({ key: `${i}f`, label: words.first(a), from: a.started_ms, to: first, tone: 'wait' })
      out.push({
        key: `${i}a`,
        label: words.answer(a),
        from: first ?? a.started_ms,
        to: a.ended_ms,
        tone: 'answer',
      })
    }
  })
  const last = attempts.at(-1)
  const took = words.job && last && last.reason === null && last.status >= 200 && last.status <= 299
  if (last && took)
    out.push({
      key: 'job',
      label: words.job!(last),
      from: last.ended_ms,
      to: Math.max(total, last.ended_ms),
      tone: 'answer',
    })
  else if (last)
    out.push({
      key: 'after',
      label: words.after,
      from: last.ended_ms,
      to: Math.max(total, last.ended_ms),
      tone: 'own',
    })
  return out
}

const colors = { own: 'bg-accent', failed: 'bg-warn', wait: 'bg-s3', answer: 'bg-accent' } as const
export function Waterfall({
  spans,
  total,
  label,
  under,
}: {
  spans: readonly Span[]
  total: number
  label: string /** "under 1 ms": times are whole milliseconds */
  under: string
}) {
  const all = Math.max(1, total, ...spans.map((s) => s.to))
  return (
    <ol className="m-0 grid list-none gap-2 p-0" aria-label={label}>
      {spans.map((s) => {
        const length = s.to - s.from
        return (
          <li
            key={s.key}
            className="grid grid-cols-[minmax(0,10rem)_minmax(0,1fr)_5rem] items-center gap-3 max-md:grid-cols-[minmax(0,1fr)_5rem]"
          >
            <span className="min-w-0 text-small break-words text-ink2">{s.label}</span>
            <span aria-hidden data-mark className="relative block h-3 max-md:order-last max-md:col-span-2">
              <span
                className={`absolute top-0 block h-3 rounded-[3px] ${colors[s.tone]}`}
                style={{
                  left: `${Math.min(99.3, (s.from / all) * 100)}%`,
                  width: `${Math.max(0.7, (length / all) * 100)}%`,
                }}
              />
            </span>
            <span className="text-right text-small whitespace-nowrap tabular-nums">
              {length < 1 ? under : duration(length)}
            </span>
          </li>
        )
      })}
    </ol>
  )
}
