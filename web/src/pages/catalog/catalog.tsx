import { useDeferredValue, useEffect, useMemo, useRef, useState, type ReactNode } from 'react'
import {
  context,
  date,
  integer,
  money,
  number,
  percent,
  priceUnit,
  seconds,
  unitName,
  type PriceUnit,
} from '../../format'
import { useMe } from '../../api/query'
import { useLanguage, useT } from '../../i18n'
import { hasPage } from '../../routes/paths'
import { remember, remembered } from '../../settings'
import { Button } from '../../ui/button'
import { Segmented, Slider } from '../../ui/controls'
import { Empty, Notice } from '../../ui/feedback'
import { Checkbox, Input, Select } from '../../ui/field'
import { Chip } from '../../ui/chip'
import { Icon } from '../../ui/icons'
import { Link, LinkButton, useGo, usePageSearch } from '../../ui/link'
import { Tag, Ticks } from '../../ui/marks'
import { Sheet } from '../../ui/overlay'
import { useTitle } from '../../ui/page'
import { useShortcuts } from '../../ui/shortcuts'
import type { Column } from '../../ui/columns'
import type { Order, Sort } from '../../ui/order'
import { Table } from '../../ui/table'
import { VendorMark } from '../../ui/vendor'
import { together } from '../../trying'
import { When } from '../../ui/values'
import { useCatalog, useHidden } from './data'
import {
  active,
  cans,
  contexts,
  helpful,
  makes,
  nothing,
  policies,
  priceSteps,
  search,
  shape,
  sorts,
  without,
  type Active,
  type Facet,
  type Filter,
  type Model,
} from './filter'
import { Abilities, PriceCell } from './parts'

/** Find the model that does the job at the price. Everything is filtered in the browser, and everything is in the address. */
export default function CatalogPage() {
  const me = useMe()
  const t = useT('catalog')
  const c = useT('common')
  const language = useLanguage()
  const go = useGo()
  const [filter, change] = usePageSearch(shape)
  const { data, prepared, error, refetch } = useCatalog()
  const [sheet, setSheet] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const unit: PriceUnit = filter.unit ?? (remembered('unit') === '1k' ? '1k' : '1M')
  useTitle(t('title'))

  const values = useMemo(
    () => ({
      can: cans,
      makes: makes.filter((m) => data?.facets.outs.some((o) => o.id === m)),
      policy: policies,
      provider: data?.facets.providers.map((p) => p.id) ?? [],
      vendor: data?.facets.vendors.map((v) => v.id) ?? [],
    }),
    [data],
  )
  const deferred = useDeferredValue(filter)
  const hidden = useHidden(Boolean(me?.user))
  const entries = useMemo(
    () =>
      prepared && hidden.size > 0 && !deferred.all
        ? prepared.entries.filter((e) => !hidden.has(e.model.id))
        : prepared?.entries,
    [prepared, hidden, deferred.all],
  )
  const away = (prepared?.entries.length ?? 0) - (entries?.length ?? 0)
  const found = useMemo(
    () => (entries ? search(entries, deferred, values, data?.spoken) : null),
    [entries, deferred, values, data],
  )
  const help = useMemo(
    () => (found?.rows.length === 0 && entries ? helpful(entries, deferred, values, data?.spoken) : null),
    [found, entries, deferred, values, data],
  )
  const on = active(filter)

  const name = (a: Active): string => {
    switch (a.facet) {
      case 'q':
        return t('quoted', { text: a.value })
      case 'priceIn':
        return t('chipIn', { price: money(a.value).replace(/[.,]00/, '') })
      case 'priceOut':
        return t('chipOut', { price: money(a.value).replace(/[.,]00/, '') })
      case 'context':
        return t('chipContext', { n: context(Number(a.value)) })
      case 'live':
        return t('served')
      case 'provider':
        return prepared?.providers.get(a.value) ?? a.value
      case 'vendor':
        return prepared?.vendors.get(a.value) ?? a.value
      default:
        return t.or(`${a.facet}_${a.value}`, a.value)
    }
  }
  const choose = (m: Model) =>
    change({
      chosen: filter.chosen.includes(m.id)
        ? filter.chosen.filter((id) => id !== m.id)
        : [...filter.chosen, m.id].slice(0, 4),
    })
  const compareNow = () => {
    if (filter.chosen.length > 0) go('/models/compare', { search: { m: filter.chosen.join() } })
  }
  useShortcuts({ c: compareNow })

  const { chosen } = filter
  const columns: Column<Model>[] = [
    {
      key: 'choose',
      head: '',
      name: t('compare'),
      width: '36px',
      cell: (m) => (
        <Checkbox
          label={t('choose', { name: m.name })}
          checked={filter.chosen.includes(m.id)}
          disabled={filter.chosen.length >= 4 && !filter.chosen.includes(m.id)}
          onChange={() => choose(m)}
        />
      ),
    },
    {
      key: 'model',
      head: t('model'),
      sort: upwards,
      cell: (m) => <ModelName model={m} refused={hidden.has(m.id)} />,
    },
    { key: 'can', head: t('canDo'), from: 'md', cell: (m) => <Abilities model={m} /> },
    { key: 'context', head: t('context'), align: 'end', sort: downwards, cell: (m) => context(m.ctx) },
    {
      key: 'in',
      head: t('input'),
      align: 'end',
      sort: upwards,
      cell: (m) => <PriceCell model={m} part="in" unit={unit} />,
    },
    {
      key: 'out',
      head: t('output'),
      align: 'end',
      cell: (m) => <PriceCell model={m} part="out" unit={unit} />,
    },
    {
      key: 'cached',
      head: t('cached'),
      align: 'end',
      from: 'xl',
      cell: (m) => (
        <span className="text-ink3">
          <PriceCell model={m} part="cached" unit={unit} />
        </span>
      ),
    },
    {
      key: 'first',
      head: t('firstToken'),
      align: 'end',
      from: 'xl',
      sort: upwards,
      cell: (m) => (m.p50 === null ? <Unmeasured /> : seconds(m.p50)),
    },
    {
      key: 'speed',
      head: t('speed'),
      align: 'end',
      from: 'xl',
      sort: downwards,
      cell: (m) => (m.tps === null ? <Unmeasured /> : number(m.tps)),
    },
    {
      key: 'uptime',
      head: t('uptime'),
      from: 'xl',
      cell: (m) =>
        m.uptime === null ? (
          <Unmeasured />
        ) : (
          <Ticks values={m.uptime.map((v) => (v === null ? null : v / 100))} />
        ),
    },
    {
      key: 'providers',
      head: t('providers'),
      align: 'end',
      from: 'lg',
      cell: (m) => <span className="text-ink2">{integer(m.providers.length)}</span>,
    },
  ]
  const total = data?.models.length ?? 0
  const shown = found?.rows.length ?? 0
  const sort = (
    <Select
      className="max-lg:h-9! max-lg:text-small!"
      aria-label={t('sort')}
      value={filter.sort}
      onChange={(e) => change({ sort: e.target.value as Filter['sort'] })}
      options={sorts.map((s) => ({ value: s, label: t(`sort_${s}`) }))}
    />
  )
  // A key in the search renders the field and the filters at once. The rows wait for what was found: the same element is not rendered again.
  const stale = deferred !== filter && deferred.q !== filter.q
  const list = useMemo(
    () => (
      <Table
        caption={t('title')}
        rows={found?.rows}
        rowKey={(m) => m.id}
        columns={columns}
        error={error}
        onRetry={() => void refetch()}
        main
        even
        order={orderOf(filter.sort)}
        onOrder={(c) => {
          const by = byColumn[c.key]
          if (by) change({ sort: filter.sort === by ? 'popular' : by })
        }}
        onOpen={(m) => go(`/models/${m.id}`)}
        onSelect={choose}
        selected={(m) => filter.chosen.includes(m.id)}
        phone={(m) => <PhoneRow model={m} unit={unit} refused={hidden.has(m.id)} />}
        empty={
          total === 0 ? (
            <Empty
              icon="box"
              title={t('empty')}
              action={
                me?.features.docs && (
                  <LinkButton to="/docs/configuration#built-in-providers" look="main">
                    {t('emptyAction')}
                  </LinkButton>
                )
              }
            >
              {t('emptyText')}
            </Empty>
          ) : (
            <Empty
              icon="search"
              title={t('none')}
              action={
                help ? (
                  <Button look="main" onClick={() => change(without(filter, help.what))}>
                    {t('remove')}
                  </Button>
                ) : (
                  <Button look="main" onClick={() => change(nothing)}>
                    {t('clear')}
                  </Button>
                )
              }
            >
              {help &&
                t.rich('noneHelp', {
                  what: (
                    <em translate="no" className="font-medium text-ink not-italic">
                      {name(help.what)}
                    </em>
                  ),
                  n: integer(help.count),
                })}
            </Empty>
          )
        }
      />
    ),
    [found, help, error, unit, hidden, language, me, total, chosen.join()],
  ) // eslint-disable-line react-hooks/exhaustive-deps
  const { q: _, ...filters } = filter
  const panel = useMemo(
    () =>
      data &&
      prepared &&
      found && (
        <Filters
          filter={filter}
          change={change}
          counts={found.counts}
          values={values}
          names={{ provider: prepared.providers, vendor: prepared.vendors }}
        />
      ),
    [found?.counts, values, prepared, language, JSON.stringify(filters)],
  ) // eslint-disable-line react-hooks/exhaustive-deps
  return (
    <div className="flex items-stretch">
      <aside
        aria-label={t('filters')}
        className="sticky top-[52px] hidden h-[calc(100dvh-52px)] w-[240px] flex-none overflow-y-auto border-r border-line px-4 py-3 lg:block"
      >
        <SearchField filter={filter} change={change} main />
        {panel}
      </aside>
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-center gap-x-2 gap-y-2.5 px-4 pt-4 pb-3 md:px-5">
          <h1 tabIndex={-1} className="text-title">
            <span aria-live="polite">{found ? t('count', { n: shown }) : t('title')}</span>
          </h1>
          {found && shown !== total && (
            <span className="pr-3 text-small text-ink3">{t('of', { all: integer(total) })}</span>
          )}
          <div className="flex min-w-0 flex-wrap gap-1.5 max-lg:hidden">
            {on.map((a) => (
              <Chip key={a.facet + a.value} name={name(a)} onRemove={() => change(without(filter, a))}>
                {name(a)}
              </Chip>
            ))}
          </div>
          <span className="flex-1" />
          {me?.features.rankings && (
            <LinkButton small to="/rankings" icon="chart" look="quiet" className="max-md:h-[42px]!">
              {c('rankings')}
            </LinkButton>
          )}
          <Segmented
            label={t('unit')}
            value={unit}
            onChange={(u) => {
              remember('unit', u)
              change({ unit: u })
            }}
            options={[
              { value: '1M', label: t('priceNote', { unit: unitName('1M') }) },
              { value: '1k', label: t('priceNote', { unit: unitName('1k') }) },
            ]}
          />
          <span className="max-lg:hidden">{sort}</span>
          <div className="w-full lg:hidden">
            <SearchField filter={filter} change={change} inputRef={field} />
          </div>
          <div className="flex w-full gap-1.5 overflow-x-auto lg:hidden">
            <Button small className="max-md:h-9!" icon="sliders" onClick={() => setSheet(true)}>
              {t('filters')}
              {on.length > 0 && `, ${on.length}`}
            </Button>
            {on.map((a) => (
              <Chip key={a.facet + a.value} name={name(a)} onRemove={() => change(without(filter, a))}>
                {name(a)}
              </Chip>
            ))}
            <span className="flex-1" />
            {sort}
          </div>
          {hidden.size > 0 && (
            <p className="flex w-full flex-wrap items-center gap-x-2 text-small text-ink3" role="status">
              {filter.all ? t('refusedShown', { n: hidden.size }) : t('refusedHidden', { n: away })}{' '}
              <Link to="/settings/routing" className="text-accent-ink underline">
                {t('refusedWhy')}
              </Link>
              <button
                type="button"
                className="font-medium text-accent-ink hover:underline max-md:min-h-11"
                onClick={() => change({ all: !filter.all })}
              >
                {t(filter.all ? 'refusedHide' : 'refusedShow')}
              </button>
            </p>
          )}
          {found?.meant && (
            <p className="w-full text-small text-ink3" role="status">
              {t('meant', { text: found.meant })}
            </p>
          )}
          {data?.kept && (
            <div className="w-full">
              <Notice tone="warn">{t.rich('kept', { time: <When at={data.kept} form="minutes" /> })}</Notice>
            </div>
          )}
        </div>
        <div className="border-t border-line bg-surface">
          <div
            className={`transition-opacity delay-200 ${stale ? 'opacity-60' : ''}`}
            aria-busy={stale || undefined}
          >
            {list}
          </div>
          {filter.chosen.length > 0 && <div className="h-24" />}
        </div>
      </div>
      {filter.chosen.length > 0 && prepared && (
        <Tray
          ids={filter.chosen}
          models={prepared.models}
          onCompare={compareNow}
          onClear={() => change({ chosen: [] })}
        />
      )}
      <Sheet
        open={sheet}
        onOpenChange={setSheet}
        title={t('filters')}
        footer={
          <>
            <Button
              wide
              onClick={() =>
                change({ ...nothing, sort: filter.sort, unit: filter.unit, chosen: filter.chosen })
              }
            >
              {t('clear')}
            </Button>
            <Button wide look="main" onClick={() => setSheet(false)}>
              {t('showN', { n: shown })}
            </Button>
          </>
        }
      >
        {panel}
      </Sheet>
    </div>
  )
}

/** Orders of the list that are those of a column. They have one direction each, and the list itself sorts. */
const byColumn: { readonly [column: string]: Filter['sort'] | undefined } = {
  model: 'name',
  context: 'context',
  in: 'cheap',
  first: 'first',
  speed: 'speed',
}
const upwards: Sort<Model> = { value: () => null },
  downwards: Sort<Model> = { value: () => null, down: true }
function orderOf(sort: Filter['sort']): Order | null {
  const by = Object.keys(byColumn).find((key) => byColumn[key] === sort)
  return by === undefined ? null : { by, down: by === 'context' || by === 'speed' }
}

function Unmeasured() {
  const t = useT('catalog')
  return (
    <span className="text-ink3" title={t('unknownSpeed')}>
      —
    </span>
  )
}

type Change = (c: Partial<Filter>) => void
/** What is typed is seen at once. It is searched for after a moment without a key: the address and all that follows from it would delay the next one. */
function SearchField({
  filter,
  change,
  main,
  inputRef,
}: {
  filter: Filter
  change: Change
  main?: boolean
  inputRef?: React.Ref<HTMLInputElement>
}) {
  const t = useT('catalog')
  const [typed, setTyped] = useState(filter.q)
  const [sent, setSent] = useState(filter.q)
  const [seen, setSeen] = useState(filter.q)
  const waits = useRef<number | null>(null)
  if (seen !== filter.q) {
    // by what was typed here, before the keys that came since; or by a chip or the way back
    setSeen(filter.q)
    if (filter.q !== sent) setTyped(filter.q)
  }
  const stop = () => {
    if (waits.current !== null) clearTimeout(waits.current)
    waits.current = null
  }
  useEffect(() => stop, [])
  const find = (q: string) => {
    stop()
    setSent(q)
    change({ q })
  }
  const write = (q: string) => {
    stop()
    setTyped(q)
    waits.current = window.setTimeout(() => find(q), 150)
  }
  return (
    <Input
      ref={inputRef}
      type="search"
      icon="search"
      data-page-search
      aria-label={t('search')}
      placeholder={t('search')}
      value={typed}
      onChange={(e) => write(e.target.value)}
      onBlur={() => {
        if (waits.current !== null) find(typed)
      }}
      autoComplete="off"
      spellCheck={false}
      className={main ? '' : 'max-w-full'}
      maxLength={200}
      onKeyDown={(e) => {
        if (e.key === 'Enter' && waits.current !== null) find(typed)
        if (e.key === 'Escape') {
          if (typed) {
            e.preventDefault()
            setTyped('')
            find('')
          } else e.currentTarget.blur()
        }
      }}
    />
  )
}

function ModelName({ model, refused }: { model: Model; refused: boolean }) {
  const t = useT('catalog')
  return (
    <span className="flex min-w-0 items-center gap-2.5">
      <VendorMark vendor={model.vendor} />
      <span className="min-w-0">
        <span className="flex items-center gap-2">
          <Link
            to={`/models/${model.id}`}
            translate="no"
            className="max-w-[30ch] truncate leading-[18px] font-medium text-ink no-underline group-hover:underline"
          >
            {model.name}
          </Link>
          {refused && <Tag tone="bad">{t('refused')}</Tag>}
          {!model.live && <Tag tone="warn">{t('notServed')}</Tag>}
          {model.retires && <Tag title={model.retires}>{t('retires', { date: date(model.retires) })}</Tag>}
        </span>
        <code className="block max-w-[34ch] truncate text-label! leading-[16px] text-ink3">{model.id}</code>
      </span>
    </span>
  )
}

function PhoneRow({ model, unit, refused }: { model: Model; unit: PriceUnit; refused: boolean }) {
  const t = useT('catalog')
  const known = model.uptime?.filter((v): v is number => v !== null) ?? []
  const facts = [
    model.ctx ? context(model.ctx) : null,
    model.p50 === null ? null : seconds(model.p50),
    known.length ? percent(known.reduce((a, b) => a + b, 0) / known.length) : null,
  ].filter(Boolean)
  const own = model.in === null && model.out === null && model.each !== undefined
  return (
    <div className="flex items-center gap-3">
      <VendorMark vendor={model.vendor} />
      <div className="min-w-0 flex-1">
        <Link
          to={`/models/${model.id}`}
          translate="no"
          className="block truncate font-medium text-ink no-underline"
        >
          {model.name}
        </Link>
        <span className="flex items-center gap-2 text-small text-ink3">
          {refused && <Tag tone="bad">{t('refused')}</Tag>}
          <span className="truncate">
            {facts.length ? facts.join(' · ') : model.outs.map((o) => t.or(`makes_${o}`, o)).join(', ')}
          </span>
        </span>
      </div>
      <div className="text-right text-dense whitespace-nowrap tabular-nums">
        {own ? (
          <>
            <span className="block">{money(model.each, { sign: false })}</span>
            <span className="block text-small text-ink3">
              ₽ {t.or(`per_${model.unit ?? ''}`, model.unit)}
            </span>
          </>
        ) : (
          <>
            <span className="flex items-center justify-end gap-1">
              <PriceCell model={model} part="in" unit={unit} />
              {model.out !== null && (
                <>
                  <Icon name="arrow" size={12} className="text-ink3" />
                  <PriceCell model={model} part="out" unit={unit} />
                </>
              )}
            </span>
            <span className="block text-small text-ink3">{t('priceNote', { unit: unitName(unit) })}</span>
          </>
        )}
      </div>
    </div>
  )
}

function Tray({
  ids,
  models,
  onCompare,
  onClear,
}: {
  ids: readonly string[]
  models: ReadonlyMap<string, Model>
  onCompare: () => void
  onClear: () => void
}) {
  const t = useT('catalog')
  const left = 4 - ids.length
  const place = together(ids.flatMap((id) => models.get(id) ?? []))
  return (
    <div
      data-bar
      role="region"
      aria-label={t('tray')}
      className={
        'fixed bottom-5 left-1/2 z-20 flex max-w-[calc(100vw-24px)] -translate-x-1/2 ' +
        'animate-appear items-center gap-3 rounded-float border border-line bg-surface py-2.5 ' +
        'pr-2.5 pl-4 shadow-float max-md:bottom-20 lg:left-[calc(50%+120px)]'
      }
    >
      <span className="min-w-0 truncate text-small">
        <span translate="no" className="max-md:hidden">
          {ids.map((id) => models.get(id)?.name ?? id).join(' · ')}
        </span>
        <span className="md:hidden">{t('count', { n: ids.length })}</span>{' '}
        <span className="pl-2 text-ink3 max-lg:hidden">
          {left > 0 ? t('addMore', { n: left }) : t('full')}
        </span>
      </span>
      <Button look="main" onClick={onCompare}>
        {t('compare')}
      </Button>
      {place && hasPage(place.to) && (
        <LinkButton to={place.to} search={place.search} className="max-sm:hidden">
          {t('tryThem')}
        </LinkButton>
      )}
      <Button look="quiet" onClick={onClear}>
        {t('clear')}
      </Button>
    </div>
  )
}

function Filters({
  filter,
  change,
  counts,
  values,
  names,
}: {
  filter: Filter
  change: Change
  counts: Readonly<Record<Facet, ReadonlyMap<string, number>>>
  values: Readonly<Record<Facet, readonly string[]>>
  names: { provider: ReadonlyMap<string, string>; vendor: ReadonlyMap<string, string> }
}) {
  const t = useT('catalog')
  const toggle = (facet: Facet, value: string) =>
    change({
      [facet]: filter[facet].includes(value)
        ? filter[facet].filter((v) => v !== value)
        : [...filter[facet], value],
    })
  const facet = (key: Facet, title: string, label: (v: string) => string, few = 20) => (
    <FacetList
      key={key}
      title={title}
      few={few}
      values={values[key].filter((v) => (counts[key].get(v) ?? 0) > 0 || filter[key].includes(v))}
      chosen={filter[key]}
      label={label}
      count={(v) => integer(counts[key].get(v) ?? 0)}
      onToggle={(v) => toggle(key, v)}
    />
  )
  const at =
    filter.priceIn === null
      ? priceSteps.length
      : Math.max(
          0,
          priceSteps.findIndex((s) => s >= filter.priceIn!),
        )
  const priceText = filter.priceIn === null ? t('anyPrice') : `${integer(filter.priceIn)}\u202f${priceUnit()}`
  return (
    <div>
      <div className="pt-3.5 pb-1">
        <p className="flex items-baseline justify-between gap-2 text-label font-medium text-ink3">
          {t('priceUpTo')}
          <span className="font-normal text-ink tabular-nums">{priceText}</span>
        </p>
        <div className="pt-1">
          <Slider
            label={t('priceUpTo')}
            text={priceText}
            value={at}
            min={0}
            max={priceSteps.length}
            onChange={(v) => change({ priceIn: priceSteps[v] ?? null })}
          />
        </div>
      </div>
      {facet('can', t('canDo'), (v) => t.or(`can_${v}`, v))}
      {facet('makes', t('makes'), (v) => t.or(`makes_${v}`, v))}
      <Group title={t('contextAtLeast')}>
        <Segmented
          small
          wide
          label={t('contextAtLeast')}
          value={filter.context === null ? '0' : String(filter.context)}
          onChange={(v) => change({ context: v === '0' ? null : Number(v) })}
          options={[
            { value: '0', label: t('anyContext') },
            ...contexts.map((c) => ({
              value: String(c),
              label: context(c).replace(/\u202f.*/, (m) =>
                m.includes('тыс') ? 'к' : m.includes('млн') ? 'М' : m,
              ),
              name: context(c),
            })),
          ]}
        />
      </Group>
      {facet('policy', t('dataPolicy'), (v) => t.or(`policy_${v}`, v))}
      <div className="pt-2">
        <Checkbox checked={filter.live} onChange={(live) => change({ live })}>
          {t('served')}
        </Checkbox>
      </div>
      {facet('provider', t('provider'), (v) => names.provider.get(v) ?? v, 5)}
      {facet('vendor', t('vendor'), (v) => names.vendor.get(v) ?? v, 5)}
    </div>
  )
}
function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div role="group" aria-label={title} className="pt-3.5 pb-0.5">
      <p className="pb-1.5 text-label font-medium text-ink3">{title}</p>
      {children}
    </div>
  )
}
function FacetList({
  title,
  values,
  chosen,
  label,
  count,
  onToggle,
  few,
}: {
  title: string
  values: readonly string[]
  chosen: readonly string[]
  label: (v: string) => string
  count: (v: string) => string
  onToggle: (v: string) => void
  few: number
}) {
  const t = useT('catalog')
  const [all, setAll] = useState(false)
  if (values.length === 0) return null
  const shown = all ? values : values.filter((v, i) => i < few || chosen.includes(v))
  return (
    <Group title={title}>
      {shown.map((v) => (
        <Checkbox key={v} checked={chosen.includes(v)} onChange={() => onToggle(v)} count={count(v)}>
          <span className="block truncate" title={label(v)}>
            {label(v)}
          </span>
        </Checkbox>
      ))}
      {values.length > few && (
        <button
          type="button"
          aria-expanded={all}
          className="min-h-6 pt-1 text-small text-accent-ink hover:underline"
          onClick={() => setAll(!all)}
        >
          {all ? t('fewer') : t('more', { n: values.length - shown.length })}
        </button>
      )}
    </Group>
  )
}
