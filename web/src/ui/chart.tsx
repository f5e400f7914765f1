/**
 * A chart is a figure: a sentence that says the essential, the picture, and the same data as a table. uPlot is fetched when the first chart
 * comes into view. Gaps are gaps, the axis begins at nought, a bucket that is not finished is pale.
 */
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from 'react'
import { useT } from '../i18n'
import { When } from '../ui/values'
import { Button } from './button'
import { Skeleton } from './feedback'
import { useShortcuts } from './shortcuts'
import type { Drawn } from './chart-draw'
import { ofCalendar, timeOf, type ChartProps, type Series } from './chart-props'

/** As many series as a chart has colours for; beyond them colours would be shared. */
export const COLORS = 8
const given = new Map<string, number>()

/**
 * The colour of each name, from 1: no two of a set share one while there are enough. A name keeps the colour that it has had on any page of
 * this tab, unless another name of the set has it.
 */
export function colorsOf(keys: readonly string[]): Map<string, number> {
  const colors = new Map<string, number>()
  const used = new Set<number>()
  const take = (key: string, color: number) => {
    used.add(color)
    colors.set(key, color)
    if (!given.has(key)) given.set(key, color)
  }
  for (const key of keys) {
    const had = given.get(key)
    if (had !== undefined && !used.has(had)) take(key, had)
  }
  for (const key of keys) {
    if (colors.has(key)) continue
    let h = 0
    for (const c of key) h = (h * 31 + c.codePointAt(0)!) >>> 0
    let color = (h % COLORS) + 1
    if (used.size < COLORS) while (used.has(color)) color = (color % COLORS) + 1
    take(key, color)
  }
  return colors
}
export const swatch = [
  'bg-sx',
  'bg-s1',
  'bg-s2',
  'bg-s3',
  'bg-s4',
  'bg-s5',
  'bg-s6',
  'bg-s7',
  'bg-s8',
] as const

const narrow = matchMedia('(width < 48rem)')

export function Chart(p: ChartProps) {
  const t = useT('common')
  const id = useId()
  const box = useRef<HTMLDivElement>(null)
  const drawn = useRef<Drawn | null>(null)
  const [seen, setSeen] = useState(false)
  const [table, setTable] = useState(false)
  const [at, setAt] = useState<number | null>(null)
  const [said, setSaid] = useState('')
  const palette = useMemo(() => {
    const auto = colorsOf(p.series.filter((s) => s.color === undefined).map((s) => s.key))
    return p.series.map((s) => s.color ?? auto.get(s.key) ?? 0)
  }, [p.series])
  useEffect(() => {
    const e = box.current
    if (!e || seen) return
    if (typeof IntersectionObserver === 'undefined') {
      setSeen(true)
      return
    }
    const o = new IntersectionObserver(
      (all) => {
        if (all.some((x) => x.isIntersecting)) setSeen(true)
      },
      { rootMargin: '200px' },
    )
    o.observe(e)
    return () => o.disconnect()
  }, [seen, table])
  const latest = useRef(p)
  useEffect(() => {
    latest.current = p
  })
  useEffect(() => {
    if (!seen || table || !box.current) return
    let gone = false
    const e = box.current
    const draw = () => {
      void import('./chart-draw').then(({ draw }) => {
        if (gone) return
        drawn.current?.destroy()
        const now = latest.current
        drawn.current = draw(e, {
          ...now,
          palette,
          height: now.height ?? 220,
          plain: now.plainOnPhone === true && narrow.matches,
          onCursor: setAt,
        })
      })
    }
    draw()
    const observer =
      typeof ResizeObserver === 'undefined' ? null : new ResizeObserver(() => drawn.current?.resize())
    observer?.observe(e)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    window.addEventListener('weir:theme', draw)
    if (latest.current.plainOnPhone) narrow.addEventListener('change', draw)
    dark.addEventListener('change', draw)
    return () => {
      gone = true
      observer?.disconnect()
      window.removeEventListener('weir:theme', draw)
      narrow.removeEventListener('change', draw)
      dark.removeEventListener('change', draw)
      drawn.current?.destroy()
      drawn.current = null
    }
  }, [seen, table, p.times, p.series, p.kind, p.unfinished, p.height, palette])
  useShortcuts(p.main ? { t: () => setTable(!table), T: () => setTable(!table) } : {})
  const write = (s: Series, i: number) =>
    s.texts?.[i] ?? (s.values[i] === null || s.values[i] === undefined ? '—' : p.format(s.values[i]!))
  const words =
    at === null
      ? ''
      : `${timeOf(p, p.times[at]!)}: ${p.series.map((s) => `${s.label} ${write(s, at)}`).join(', ')}`
  useEffect(() => {
    const timer = setTimeout(() => setSaid(words), 400)
    return () => clearTimeout(timer)
  }, [words])
  const keys = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return
    if (e.key === 't' || e.key === 'T') {
      e.preventDefault()
      setTable(!table)
      return
    }
    const last = p.times.length - 1
    const next = { ArrowLeft: (at ?? last + 1) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: last }[e.key]
    if (next === undefined || last < 0) return
    e.preventDefault()
    const i = Math.min(last, Math.max(0, next))
    setAt(i)
    drawn.current?.point(i)
  }
  return (
    <figure className="m-0 min-w-0" aria-labelledby={`${id}-title`} aria-describedby={`${id}-summary`}>
      <figcaption
        className={`flex flex-wrap items-center gap-x-3 gap-y-1 pb-2 ${p.hideHead ? 'sr-only' : ''}`}
      >
        <span id={`${id}-title`} className="text-section">
          {p.title}
        </span>
        {p.unit && <span className="text-small text-ink3">{p.unit}</span>}
        <span className="flex-1" />
        {p.actions}
      </figcaption>
      {p.series.length > 1 && (
        <ul className="m-0 flex list-none flex-wrap gap-x-3 gap-y-1 p-0 pb-2 text-small text-ink2">
          {p.series.map((s, i) => (
            <li key={s.key} className="flex min-w-0 items-center gap-1.5">
              <span
                data-mark
                aria-hidden
                className={`flex-none ${p.kind === 'bars' ? 'size-2.5 rounded-[3px]' : 'h-[3px] w-3 rounded-[2px]'} ${swatch[palette[i]!]}`}
              />
              <span className="truncate">{s.label}</span>
            </li>
          ))}
        </ul>
      )}
      {table ? (
        <ChartTable {...p} write={write} />
      ) : (
        <div className="relative" style={{ height: p.height ?? 220 }}>
          <div
            ref={box}
            tabIndex={0}
            role="group"
            aria-label={`${p.title}. ${t('chartHelp')}`}
            onKeyDown={keys}
            onBlur={() => setAt(null)}
            // Out of the flow: what was drawn for another width must not hold what is around it that wide until it is drawn again.
            className="absolute inset-0 overflow-hidden rounded-control"
          >
            {!seen && <Skeleton className="h-full w-full" />}
          </div>
          {at !== null && (
            <div
              aria-hidden
              className={
                `pointer-events-none absolute top-1 z-10 max-w-[60%] rounded-control border border-line ` +
                `bg-surface px-2.5 py-1.5 text-small shadow-float ` +
                `${at > p.times.length / 2 ? 'left-12' : 'right-1'}`
              }
            >
              <p className="font-medium">{timeOf(p, p.times[at]!)}</p>
              {p.series.map((s, i) => (
                <p key={s.key} className="flex items-center gap-1.5">
                  <span data-mark className={`size-2 flex-none rounded-[2px] ${swatch[palette[i]!]}`} />
                  <span className="min-w-0 flex-1 truncate text-ink2">{s.label}</span>
                  <span className="pl-2 tabular-nums">{write(s, at)}</span>
                </p>
              ))}
            </div>
          )}
        </div>
      )}
      <p
        id={`${id}-summary`}
        className={p.plainOnPhone ? 'pt-1.5 text-small text-ink2 md:sr-only' : 'sr-only'}
      >
        {p.summary}
      </p>
      <span role="status" className="sr-only">
        {said}
      </span>
      <div className="flex gap-2 pt-1.5">
        <Button
          small
          look="quiet"
          className="-ml-2 text-accent-ink!"
          aria-pressed={table}
          onClick={() => {
            setTable(!table)
            setAt(null)
          }}
        >
          {table ? t('showChart') : t('showTable')}
        </Button>
        <Button
          small
          look="quiet"
          className="text-accent-ink!"
          aria-label={`${t('csv')}: ${p.title}`}
          onClick={() => {
            void import('./csv').then((m) => m.downloadCsv(p))
          }}
        >
          <span translate="no">{t('csv')}</span>
        </Button>
      </div>
    </figure>
  )
}

function ChartTable(p: ChartProps & { write: (s: Series, i: number) => string }) {
  const t = useT('common')
  const [rows, setRows] = useState(25)
  const order = p.times.map((_, i) => i)
  if (!p.head) order.reverse()
  return (
    <div className="max-h-[420px] overflow-auto" tabIndex={0} role="region" aria-label={p.title}>
      <table className="w-full text-dense">
        <caption className="sr-only">
          {p.title}
          {p.unit ? `, ${p.unit}` : ''}
        </caption>
        <thead>
          <tr>
            <th
              scope="col"
              className="sticky top-0 border-b border-line bg-surface px-2 py-1.5 text-left text-label font-medium text-ink3"
            >
              {p.head ?? t(ofCalendar(p) ? 'dateHead' : 'timeHead')}
            </th>
            {p.series.map((s) => (
              <th
                key={s.key}
                scope="col"
                className="sticky top-0 border-b border-line bg-surface px-2 py-1.5 text-right text-label font-medium text-ink3"
              >
                {s.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {order.slice(0, rows).map((i) => (
            <tr key={i} className="border-b border-line last:border-b-0">
              <th scope="row" className="h-8 px-2 text-left font-normal whitespace-nowrap text-ink2">
                {p.head || ofCalendar(p) ? (
                  timeOf(p, p.times[i]!)
                ) : (
                  <When at={p.times[i]!} form={p.form ?? 'hour'} />
                )}
              </th>
              {p.series.map((s) => (
                <td key={s.key} className="num px-2">
                  {p.write(s, i)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {order.length > rows && (
        <Button small look="quiet" onClick={() => setRows(rows + 25)}>
          {t('loadMore')}
        </Button>
      )}
    </div>
  )
}
