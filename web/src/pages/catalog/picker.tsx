/** The list of models that a button opens: found by words, price, context, abilities and vendor. The keyboard stays in the field of the words. */
import {
  useDeferredValue,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
  type ReactNode,
  type RefObject,
} from 'react'
import { context, priceUnit } from '../../format'
import { useT } from '../../i18n'
import { ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Select } from '../../ui/field'
import { Icon } from '../../ui/icons'
import { Sheet, usePhone } from '../../ui/overlay'
import { Popover } from '../../ui/popover'
import { VendorMark } from '../../ui/vendor'
import { useCatalog } from './data'
import { cans, contexts, facets, nothing, search, type Entry, type Facet, type Sort } from './filter'
import { Abilities, PriceCell, pictureOf, type Choice } from './parts'

const orders = ['popular', 'cheap', 'context', 'new', 'speed', 'name'] as const satisfies readonly Sort[]
/** So many rows are made at once; the next ones when the end comes near. */
const SOME = 60
const none = Object.fromEntries(facets.map((f) => [f, []])) as unknown as Record<Facet, readonly string[]>

/** A row: a model, none, or what was typed. */
interface Row {
  readonly id: string
  readonly entry?: Entry['model']
  readonly words?: string
}

/** At the button on a desk; on a phone, where there is no room for it, in a sheet. */
export default function Picker({
  id,
  anchor,
  label,
  onClose,
  ...choice
}: Choice & { id: string; anchor: RefObject<HTMLElement | null>; label: string; onClose: () => void }) {
  const phone = usePhone()
  const list = (
    <Models
      {...choice}
      onChange={(to) => {
        onClose()
        choice.onChange(to)
      }}
    />
  )
  const change = (open: boolean) => {
    if (!open) onClose()
  }
  if (phone)
    return (
      <Sheet open onOpenChange={change} title={label}>
        <div id={id} className="flex h-full flex-col">
          {list}
        </div>
      </Sheet>
    )
  return (
    <Popover open onOpenChange={change} label={label} anchor={anchor} modal>
      <div
        id={id}
        className="-m-2 flex max-h-[min(30rem,calc(var(--radix-popover-content-available-height)-24px))] w-[30rem] max-w-[calc(100vw-32px)] flex-col"
      >
        {list}
      </div>
    </Popover>
  )
}

export function Models({ value, onChange, fits, mark, none: noneWords, free }: Choice) {
  const t = useT('picker'),
    c = useT('catalog')
  const { data, prepared, error, refetch } = useCatalog()
  const [text, setText] = useState('')
  const [order, setOrder] = useState<Sort>('popular')
  const [vendor, setVendor] = useState('')
  const [least, setLeast] = useState('')
  const [can, setCan] = useState<readonly string[]>([])
  const [at, setAt] = useState(0)
  const [many, setMany] = useState(SOME)
  const list = useRef<HTMLUListElement>(null)
  const id = useId()
  // What can be chosen does not change while the list is open.
  const there = useMemo(() => prepared?.entries.filter((e) => fits?.(e.model) ?? true) ?? [], [prepared])
  const vendors = useMemo(
    () =>
      [...new Set(there.map((e) => e.model.vendor))].map((v) => ({
        value: v,
        label: prepared!.vendors.get(v) ?? v,
      })),
    [there, prepared],
  )
  /** Abilities that tell the models apart */
  const abilities = useMemo(
    () => cans.filter((a) => there.some((e) => e.can.includes(a)) && there.some((e) => !e.can.includes(a))),
    [there],
  )
  const asked = useDeferredValue(text).trim()
  const rows = useMemo((): Row[] => {
    const found = search(
      there,
      {
        ...nothing,
        q: asked,
        can,
        vendor: vendor ? [vendor] : [],
        context: least ? Number(least) : null,
        sort: order,
      },
      none,
      data?.spoken,
    ).rows
    const typed: Row[] =
      free && asked !== '' && !found.some((m) => m.id === asked)
        ? [{ id: asked, words: t('take', { text: asked }) }]
        : []
    return [
      ...(noneWords !== undefined && asked === '' ? [{ id: '', words: noneWords }] : []),
      ...(asked.includes('*') ? typed : []),
      ...found.map((m) => ({ id: m.id, entry: m })),
      ...(asked.includes('*') ? [] : typed),
    ]
  }, [there, asked, can, vendor, least, order, data, free, noneWords, t])
  // The present choice first, then whatever was found first.
  useEffect(() => {
    const now = asked === '' ? rows.findIndex((r) => r.id === value) : 0
    setAt(Math.max(0, now))
    setMany(Math.max(SOME, now + 10))
  }, [rows, value, asked])
  const shown = rows.slice(0, many)
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView?.({ block: 'nearest' })
  }, [at, shown.length === 0])
  const move = (to: number) => {
    const next = (to + rows.length) % Math.max(1, rows.length)
    if (next >= many) setMany(next + SOME)
    setAt(next)
  }
  if (error && !data) return <ErrorBox error={error} onRetry={() => void refetch()} />
  if (!prepared) return <SkeletonRows rows={6} />
  return (
    <>
      <label className="flex items-center gap-2 border-b border-line px-2">
        <Icon name="search" className="text-ink3" />
        <span className="sr-only">{t('search')}</span>
        <input
          autoFocus
          value={text}
          onChange={(e) => setText(e.target.value)}
          placeholder={t('search')}
          maxLength={256}
          role="combobox"
          aria-expanded
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={rows[at] ? `${id}-${at}` : undefined}
          autoComplete="off"
          spellCheck={false}
          className="h-10 min-w-0 flex-1 bg-transparent outline-none max-md:h-12 max-md:text-[16px]"
          onKeyDown={(e) => {
            const to = {
              ArrowDown: at + 1,
              ArrowUp: at - 1,
              PageDown: Math.min(at + 8, rows.length - 1),
              PageUp: Math.max(at - 8, 0),
            }[e.key]
            if (to !== undefined) {
              e.preventDefault()
              move(to)
            } else if (e.key === 'Enter') {
              e.preventDefault()
              if (rows[at]) onChange(rows[at].id)
            }
          }}
        />
      </label>
      <div className="flex flex-wrap gap-1.5 border-b border-line px-2 py-2 text-small">
        <Select
          aria-label={c('sort')}
          value={order}
          onChange={(e) => setOrder(e.target.value as Sort)}
          options={orders.map((o) => ({ value: o, label: c(`sort_${o}`) }))}
        />
        {vendors.length > 1 && (
          <Select
            aria-label={c('vendor')}
            value={vendor}
            className="max-w-40"
            onChange={(e) => setVendor(e.target.value)}
            options={[{ value: '', label: t('anyVendor') }, ...vendors]}
          />
        )}
        {there.some((e) => (e.model.ctx ?? 0) >= contexts[0]!) && (
          <Select
            aria-label={c('contextAtLeast')}
            value={least}
            onChange={(e) => setLeast(e.target.value)}
            options={[
              { value: '', label: t('anyContext') },
              ...contexts.map((n) => ({ value: String(n), label: `≥ ${context(n)}` })),
            ]}
          />
        )}
        {abilities.length > 0 && (
          <div role="group" aria-label={c('canDo')} className="flex flex-wrap gap-1">
            {abilities.map((a) => (
              <button
                key={a}
                type="button"
                aria-pressed={can.includes(a)}
                aria-label={c(`can_${a}`)}
                title={c(`can_${a}`)}
                onClick={() => setCan(can.includes(a) ? can.filter((x) => x !== a) : [...can, a])}
                className="grid size-8 place-items-center rounded-control border border-line text-ink2 hover:bg-sunken aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent-ink max-md:size-11"
              >
                <Icon name={pictureOf(a)} />
              </button>
            ))}
          </div>
        )}
      </div>
      <ul
        ref={list}
        id={`${id}-list`}
        role="listbox"
        aria-label={t('list')}
        className="m-0 min-h-0 flex-1 list-none overflow-y-auto p-1"
        onScroll={(e) => {
          const b = e.currentTarget
          if (many < rows.length && b.scrollHeight - b.scrollTop - b.clientHeight < 400) setMany(many + SOME)
        }}
      >
        {shown.map((r, i) => (
          <li
            key={r.entry ? r.id : `${r.id} typed`}
            id={`${id}-${i}`}
            role="option"
            data-value={r.id}
            aria-selected={i === at}
            onMouseMove={() => {
              if (i !== at) setAt(i)
            }}
            onClick={() => onChange(r.id)}
            className="flex min-h-9 cursor-pointer items-center gap-2 rounded-control px-2 py-1 aria-selected:bg-sunken max-md:min-h-12"
          >
            <span className="grid w-4 flex-none place-items-center">
              {r.id === value && <Icon name="check" label={t('chosen')} className="text-accent-ink" />}
            </span>
            {r.entry && <VendorMark vendor={r.entry.vendor} />}
            {r.entry ? (
              <Line m={r.entry} note={mark?.(r.entry) ?? null} />
            ) : (
              <span className="min-w-0 truncate">{r.words}</span>
            )}
          </li>
        ))}
      </ul>
      {rows.length === 0 && <p className="px-4 pb-4 text-center text-ink2">{c('none')}</p>}
      <p className="flex justify-between gap-2 border-t border-line px-2 pt-2 text-label text-ink3">
        <span role="status">{c('count', { n: rows.filter((r) => r.entry).length })}</span>
        <span>{t('prices', { unit: priceUnit() })}</span>
      </p>
    </>
  )
}

function Line({ m, note }: { m: Entry['model']; note: string | null }): ReactNode {
  return (
    <span className="min-w-0 flex-1">
      <span className="flex items-center gap-2">
        <span translate="no" className="min-w-0 truncate font-medium">
          {m.name}
        </span>
        {note && <span className="min-w-0 flex-none text-small text-warn">{note}</span>}
        <span className="flex-1" />
        <span className="max-sm:hidden">
          <Abilities model={m} />
        </span>
      </span>
      <span className="flex items-center gap-2 text-small text-ink3">
        <code className="min-w-0 flex-1 truncate text-label!">{m.id}</code>
        {m.ctx !== null && <span className="whitespace-nowrap tabular-nums">{context(m.ctx)}</span>}
        <span className="whitespace-nowrap tabular-nums">
          {m.in !== null && (
            <>
              <PriceCell model={m} part="in" unit="1M" /> /{' '}
            </>
          )}
          <PriceCell model={m} part="out" unit="1M" />
        </span>
      </span>
    </span>
  )
}
