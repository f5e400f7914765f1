/** Tables are tables: a caption, heads with scope, keyboard rows. Two-line rows on the phone. */
import {
  lazy,
  startTransition,
  Suspense,
  useDeferredValue,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
  type KeyboardEvent,
  type ReactNode,
} from 'react'
import { useT } from '../i18n'
import { useColumns, type Column } from './columns'
import { ErrorBox, SkeletonRows } from './feedback'
import { Icon } from './icons'
import type { Order } from './order'
import { shortcutsAllowed } from './shortcuts'

const ColumnMenu = lazy(() => import('./column-menu'))

const hidden = { md: 'max-md:hidden', lg: 'max-lg:hidden', xl: 'max-xl:hidden' }

export interface TableProps<R> {
  caption: string
  rows: readonly R[] | undefined
  rowKey: (row: R) => string
  columns: readonly Column<R>[]
  /** Opens a row: a click, Enter */
  onOpen?: (row: R) => void
  /** o on the row under the keyboard, where Enter opens only a part */
  onFull?: (row: R) => void
  /** x on the row under the keyboard */
  onSelect?: (row: R) => void
  selected?: (row: R) => boolean
  /** The row on a phone: two lines. Without it the table itself is shown and scrolls in its frame. */
  phone?: (row: R) => ReactNode
  empty?: ReactNode
  error?: unknown
  onRetry?: () => void
  dense?: boolean
  /** All rows are of one height, as those of a dense table are */
  even?: boolean
  /** Old rows while new ones are on their way */
  stale?: boolean
  /** j and k work without the focus in the table: for the page's main table */
  main?: boolean
  /** The last rows, for the columns that are shown */
  foot?: (columns: readonly Column<R>[]) => ReactNode
  /** Columns can be chosen, and the choice is remembered under this name */
  name?: string
  /** By which column the rows are sorted already */
  order?: Order | null
  /** A press on the head of a column that can be sorted by: all heads are plain without it */
  onOrder?: (column: Column<R>) => void
  /** What is shown under an opened row */
  expanded?: (row: R) => ReactNode | null
}

const desk = typeof matchMedia === 'function' ? matchMedia('(min-width: 768px)') : null
/** Whether the screen is as wide as a table: only what is seen of the two forms of a list is made. */
function useDesk(): boolean {
  return useSyncExternalStore(
    (f) => {
      desk?.addEventListener('change', f)
      return () => desk?.removeEventListener('change', f)
    },
    () => desk?.matches ?? true,
  )
}

/** A table whose rows are all of one height, with more rows has only those in the document that are near the screen. */
const WINDOW_FROM = 80
const AROUND = 30
/** How many rows a screen has room for: those are made before anything is painted */
const first = () => Math.max(10, Math.ceil(innerHeight / 36))

/**
 * Which rows are near the screen. All rows are taken to be as high as the first one. What stands for
 * the others is never what the browser keeps in its place.
 */
function useWindow(
  count: number,
  on: boolean,
  body: React.RefObject<HTMLElement | null>,
): { from: number; to: number; height: number; look: () => void } {
  const [at, setAt] = useState(() => ({ from: 0, to: first(), height: 0 }))
  const latest = useRef(() => {})
  useLayoutEffect(() => {
    if (!on) return
    let frame = 0
    const look = () => {
      frame = 0
      const e = body.current
      const height = e?.querySelector<HTMLElement>('[data-row]')?.offsetHeight ?? 0
      if (!e || height === 0) return // the phone's list, while the table is shown, or the other way round
      const above = -e.getBoundingClientRect().top
      const from = Math.max(0, Math.floor(above / height) - AROUND)
      const to = Math.min(count, Math.ceil((above + window.innerHeight) / height) + AROUND)
      // In steps, so that not each pixel renders.
      setAt((now) =>
        now.height === height &&
        Math.abs(now.from - from) < AROUND / 2 &&
        Math.abs(now.to - to) < AROUND / 2 &&
        (from > 0 || now.from === 0) &&
        (to < count || now.to === count)
          ? now
          : { from, to: Math.max(to, from), height },
      )
    }
    const later = () => {
      if (!frame) frame = requestAnimationFrame(look)
    }
    latest.current = look
    startTransition(look)
    window.addEventListener('scroll', later, { passive: true, capture: true })
    window.addEventListener('resize', later)
    return () => {
      latest.current = () => {}
      cancelAnimationFrame(frame)
      window.removeEventListener('scroll', later, { capture: true })
      window.removeEventListener('resize', later)
    }
  }, [on, count, body])
  const look = () => latest.current()
  return on ? { ...at, to: Math.min(at.to, count), look } : { from: 0, to: count, height: 0, look }
}

/** Whether the table is wider than its frame, which then scrolls by itself in both directions; otherwise its head stays under the bar of the page. */
function useWider(shown: boolean): [React.RefObject<HTMLDivElement | null>, boolean] {
  const frame = useRef<HTMLDivElement>(null)
  const [wider, setWider] = useState(false)
  useLayoutEffect(() => {
    const e = frame.current,
      table = e?.firstElementChild as HTMLElement | null | undefined
    if (!e || !table || typeof ResizeObserver === 'undefined') return
    const look = () => setWider(table.offsetWidth > e.clientWidth + 1)
    look()
    const o = new ResizeObserver(look)
    o.observe(e)
    o.observe(table)
    return () => o.disconnect()
  }, [shown])
  return [frame, wider]
}

/** The head of a column that rows can be sorted by: a button with the direction, which the cell says in words of its own. */
function Head<R>({
  column: c,
  order,
  onOrder,
}: {
  column: Column<R>
  order: Order | null | undefined
  onOrder: (column: Column<R>) => void
}) {
  const on = order?.by === c.key
  return (
    <button
      type="button"
      onClick={() => onOrder(c)}
      className={
        `-my-1 inline-flex min-h-6 items-center gap-0.5 rounded-tag text-inherit hover:text-ink ` +
        `${c.align === 'end' ? 'flex-row-reverse text-right' : 'text-left'} ${on ? 'text-ink' : ''}`
      }
    >
      <span>{c.head}</span>
      {on && <Icon name={order.down ? 'down' : 'up'} size={12} className="flex-none" />}
    </button>
  )
}

export function Table<R>({
  caption,
  rows,
  rowKey,
  columns: all,
  onOpen,
  onFull,
  onSelect,
  selected,
  phone,
  empty,
  error,
  onRetry,
  dense,
  even = dense,
  stale,
  main,
  foot,
  expanded,
  name,
  order,
  onOrder,
}: TableProps<R>) {
  const t = useT('common')
  const { shown: columns, menu } = useColumns(name, all)
  const asTable = useDesk() || !phone
  const [frame, wider] = useWider(asTable && rows !== undefined && rows.length > 0)
  const box = useRef<HTMLDivElement>(null)
  const lines = useRef<HTMLTableSectionElement>(null)
  const list = useRef<HTMLUListElement>(null)
  const [limit, setLimit] = useState(200)
  const most = useDeferredValue(limit, first()) // what is below the screen comes after the first paint
  const windowed = (rows?.length ?? 0) > WINDOW_FROM && Boolean(even) && !expanded
  const wide = useWindow(rows?.length ?? 0, windowed && asTable, lines)
  const narrow = useWindow(rows?.length ?? 0, windowed && !asTable, list)
  const step = (by: number) => {
    const all = [...(box.current?.querySelectorAll<HTMLElement>('[data-row]') ?? [])].filter(
      (e) => e.offsetParent !== null,
    )
    const at = all.findIndex((e) => e === document.activeElement || e.contains(document.activeElement))
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))]
    next?.focus()
    next?.scrollIntoView({ block: 'nearest' })
    ;(asTable ? wide : narrow).look() // keys may be faster than frames
  }
  const latest = useRef(step)
  useEffect(() => {
    latest.current = step
  })
  useEffect(() => {
    if (!main) return
    const f = (e: globalThis.KeyboardEvent) => {
      if (!shortcutsAllowed(e) || box.current?.contains(document.activeElement)) return
      if (e.key === 'j' || e.key === 'k') {
        e.preventDefault()
        latest.current(e.key === 'j' ? 1 : -1)
      }
    }
    window.addEventListener('keydown', f)
    return () => window.removeEventListener('keydown', f)
  }, [main])
  if (error && !rows) return <ErrorBox error={error} {...(onRetry ? { onRetry } : {})} />
  if (!rows) return <SkeletonRows rows={8} height={dense ? 36 : 44} />
  if (rows.length === 0 && empty) return <>{empty}</>
  const keys = (row: R) => (e: KeyboardEvent<HTMLElement>) => {
    if (e.target !== e.currentTarget && e.key !== 'j' && e.key !== 'k') return
    if (!shortcutsAllowed(e.nativeEvent) && !['Enter', 'ArrowDown', 'ArrowUp'].includes(e.key)) return
    if (e.key === 'Enter' && onOpen) {
      e.preventDefault()
      onOpen(row)
    } else if (e.key === 'o' && (onFull ?? onOpen)) {
      e.preventDefault()
      ;(onFull ?? onOpen)!(row)
    } else if (e.key === 'Escape') {
      if (expanded?.(row)) onOpen?.(row)
      else e.currentTarget.blur()
    } else if (e.key === 'x' && onSelect) {
      e.preventDefault()
      onSelect(row)
    } else if (e.key === 'j' || e.key === 'ArrowDown') {
      e.preventDefault()
      step(1)
    } else if (e.key === 'k' || e.key === 'ArrowUp') {
      e.preventDefault()
      step(-1)
    }
  }
  const clicked = (row: R) => (e: React.MouseEvent) => {
    if (!onOpen || (e.target as HTMLElement).closest('a,button,input,label,select,textarea')) return
    if (window.getSelection()?.toString()) return
    onOpen(row)
  }
  const shown = windowed ? rows.slice(wide.from, wide.to) : rows.slice(0, most)
  const listed = windowed ? rows.slice(narrow.from, narrow.to) : shown
  const heading = columns.findIndex((c) => !c.name)
  return (
    <div
      ref={box}
      className={`transition-opacity delay-200 ${stale ? 'opacity-60' : ''}`}
      aria-busy={stale || undefined}
    >
      {!asTable && phone && (
        <ul ref={list} className="m-0 list-none p-0 md:hidden" aria-label={caption}>
          {narrow.from > 0 && (
            <li
              aria-hidden
              className="[overflow-anchor:none]"
              style={{ height: narrow.from * narrow.height }}
            />
          )}
          {listed.map((row) => (
            <li
              key={rowKey(row)}
              data-row
              data-key={rowKey(row)}
              tabIndex={onOpen || onSelect ? -1 : undefined}
              onKeyDown={keys(row)}
              onClick={clicked(row)}
              className={`border-b border-line px-4 py-2.5 ${selected?.(row) ? 'bg-accent-soft' : ''} ${onOpen ? 'cursor-pointer' : ''}`}
            >
              {phone(row)}
              {expanded?.(row)}
            </li>
          ))}
          {windowed && narrow.to < rows.length && (
            <li
              aria-hidden
              className="[overflow-anchor:none]"
              style={{ height: (rows.length - narrow.to) * narrow.height }}
            />
          )}
        </ul>
      )}
      {asTable && (
        <div
          ref={frame}
          className={`rounded-b-[7px] ${wider ? 'max-h-[calc(100dvh-64px)] overflow-auto [--stick:0px]' : 'overflow-clip'} ${phone ? 'max-md:hidden' : ''}`}
          {...(wider ? { tabIndex: 0, role: 'region', 'aria-label': caption } : {})}
        >
          <table
            className={`w-full ${dense ? 'text-dense' : ''}`}
            {...(windowed ? { 'aria-rowcount': rows.length + 1 } : {})}
          >
            <caption className="sr-only">{caption}</caption>
            <thead>
              <tr>
                {columns.map((c, i) => {
                  const head =
                    onOrder && c.sort ? (
                      <Head column={c} order={order} onOrder={onOrder} />
                    ) : c.name ? (
                      <span className="sr-only">{c.name}</span>
                    ) : (
                      c.head
                    )
                  return (
                    <th
                      key={c.key}
                      scope="col"
                      {...(onOrder && c.sort && order?.by === c.key
                        ? { 'aria-sort': order.down ? 'descending' : 'ascending' }
                        : {})}
                      style={c.width ? { width: c.width } : undefined}
                      className={
                        `sticky top-[var(--stick,52px)] bg-surface px-2.5 py-2 align-bottom text-label ` +
                        `font-medium text-ink3 shadow-[inset_0_-1px_0_var(--line)] first:rounded-tl-[7px] ` +
                        `first:pl-4 last:rounded-tr-[7px] last:pr-4 md:first:pl-5 md:last:pr-5 ` +
                        `${wider && i === 0 ? 'left-0 z-[3]' : 'z-[2]'} ` +
                        `${c.align === 'end' ? 'text-right' : 'text-left'} ${c.from ? hidden[c.from] : ''}`
                      }
                    >
                      {menu.length > 0 && i === columns.length - 1 ? (
                        <span
                          className={`flex items-center gap-1 ${c.align === 'end' ? 'justify-end' : 'justify-between'}`}
                        >
                          {head}
                          <Suspense fallback={<span data-waits className="-my-1 size-6" />}>
                            <ColumnMenu items={menu} />
                          </Suspense>
                        </span>
                      ) : (
                        head
                      )}
                    </th>
                  )
                })}
              </tr>
            </thead>
            <tbody ref={lines}>
              {wide.from > 0 && (
                <tr aria-hidden className="[overflow-anchor:none]">
                  <td colSpan={columns.length} className="p-0" style={{ height: wide.from * wide.height }} />
                </tr>
              )}
              {/* One list: in lists of their own, rows would be made anew when those above them go. */}
              {shown.flatMap((row, i) => {
                const under = expanded?.(row)
                return [
                  <tr
                    key={rowKey(row)}
                    data-row
                    data-key={rowKey(row)}
                    {...(windowed ? { 'aria-rowindex': wide.from + i + 2 } : {})}
                    tabIndex={onOpen || onSelect ? -1 : undefined}
                    aria-selected={selected ? selected(row) : undefined}
                    onKeyDown={keys(row)}
                    onClick={clicked(row)}
                    className={
                      `group scroll-mt-[92px] scroll-mb-20 border-b border-line outline-offset-[-2px] ` +
                      `last:border-b-0 ` +
                      `${selected?.(row) ? 'bg-accent-soft' : onOpen ? 'bg-surface hover:bg-canvas focus-visible:bg-canvas' : 'bg-surface'} ` +
                      `${onOpen ? 'cursor-pointer' : ''}`
                    }
                  >
                    {columns.map((c, i) => {
                      const className =
                        `px-2.5 font-normal first:pl-4 last:pr-4 md:first:pl-5 md:last:pr-5 ` +
                        `${dense ? 'h-9' : 'h-11 py-[3px]'} ${c.align === 'end' ? 'num' : 'text-left'} ` +
                        `${c.from ? hidden[c.from] : ''} ` +
                        `${wider && i === 0 ? 'sticky left-0 z-[1] bg-inherit' : ''}`
                      return i === heading ? (
                        <th key={c.key} data-col={c.key} scope="row" className={className}>
                          {c.cell(row)}
                        </th>
                      ) : (
                        <td key={c.key} data-col={c.key} className={className}>
                          {c.cell(row)}
                        </td>
                      )
                    })}
                  </tr>,
                  under && (
                    <tr key={rowKey(row) + ' under'} className="border-b border-line bg-canvas">
                      <td colSpan={columns.length} className="p-0">
                        {under}
                      </td>
                    </tr>
                  ),
                ]
              })}
              {windowed && wide.to < rows.length && (
                <tr aria-hidden className="[overflow-anchor:none]">
                  <td
                    colSpan={columns.length}
                    className="p-0"
                    style={{ height: (rows.length - wide.to) * wide.height }}
                  />
                </tr>
              )}
            </tbody>
            {foot && <tfoot>{foot(columns)}</tfoot>}
          </table>
        </div>
      )}
      {!windowed && rows.length > limit && (
        <div className="p-3 text-center">
          <button
            type="button"
            className="font-medium text-accent-ink hover:underline"
            onClick={() => setLimit(limit + 200)}
          >
            {t('loadMore')}
          </button>
        </div>
      )}
    </div>
  )
}
