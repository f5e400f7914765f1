/** /admin/calls: calls of everybody. Any id of a complaint opens its call. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { address, get, type Reply } from '../../api/client'
import { getAdminCallTimes, listAdminCalls } from '../../api/operations'
import { integer, money, percent, seconds } from '../../format'
import { useT } from '../../i18n'
import { Button, buttonClass } from '../../ui/button'
import { Empty, ErrorBox } from '../../ui/feedback'
import { Field, Input, Select } from '../../ui/field'
import { Chip } from '../../ui/chip'
import { FilterBar, PeriodPicker, type Period } from '../../ui/filters'
import { Link, useGo, usePageSearch, type SearchShape } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Page, PageHead, Panel, Strip } from '../../ui/page'
import { Table } from '../../ui/table'
import { Money, Tokens, When, Zone } from '../../ui/values'
import { ModelPicker } from '../catalog/choose'
import { catalogQuery } from '../catalog/data'
import { resultOf } from '../calls/data'
import { asked, names, shape as own, type Filter as Own } from '../calls/filter'
import { Histogram } from '../calls/histogram'

type Row = Reply<'/api/admin/calls'>['data'][number]
type Filter = Own & { readonly status: string; readonly pkey: string }

const shape: SearchShape<Filter> = {
  read: (raw) => {
    const days = Number(raw.days)
    const f = own.read(raw)
    return {
      ...f,
      period: 'from' in f.period || [1, 7, 30, 90].includes(days) ? f.period : { days: 1 },
      status: /^[1-5]\d\d$/.test(raw.status ?? '') ? raw.status! : '',
      pkey: /^[0-9a-f]{12}$/.test(raw.pkey ?? '') ? raw.pkey! : '',
    }
  },
  write: (f) => ({
    ...own.write(f),
    ...('days' in f.period ? { days: f.period.days === 1 ? undefined : String(f.period.days) } : {}),
    status: f.status || undefined,
    pkey: f.pkey || undefined,
  }),
}
const active = (f: Filter) =>
  [...names.filter((n) => n !== 'id'), 'status' as const, 'pkey' as const].filter((n) => f[n] !== '')

export default function Calls() {
  const t = useT('admincalls')
  const c = useT('calls')
  const common = useT('common')
  const [filter, set] = usePageSearch(shape)
  const go = useGo()
  const query = {
    ...asked({ ...filter, id: '' }),
    ...(filter.status ? { status: filter.status } : {}),
    ...(filter.pkey ? { provider_key: filter.pkey } : {}),
  }
  const q = useInfiniteQuery({
    queryKey: listAdminCalls.key(query),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/calls', { query: { ...query, cursor: pageParam, limit: 50 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const rows = q.data?.pages.flatMap((p) => p.data)
  const last = q.data?.pages.at(-1)
  const on = active(filter)
  const clear = () => set(Object.fromEntries(on.map((n) => [n, ''])) as Partial<Filter>)
  const chip = (n: (typeof on)[number]): string => {
    if (n === 'member')
      return rows?.find((r) => r.account.id === filter.member)?.account.name ?? filter.member
    if (n === 'key')
      return `${c('key')} ${rows?.find((r) => r.key?.id === filter.key)?.key?.name ?? filter.key.slice(0, 12)}`
    if (n === 'min') return `${c('minCost')} ${money(filter.min, { exact: true, sign: false })}`
    if (n === 'status') return `${t('status')} ${filter.status}`
    if (n === 'pkey') return `${t('providerKey')} ${filter.pkey}`
    if (n === 'result') return c.or(`r_${filter.result}`, c.or(`result_${filter.result}`, filter.result))
    return filter[n]
  }
  return (
    <Page>
      <PageHead
        title={t('title')}
        note={
          <>
            {t('note')} <Zone />.
          </>
        }
      >
        <FindCall />
        <a
          href={address('/api/admin/calls.csv', { query })}
          download
          className={`${buttonClass('plain')} no-underline`}
        >
          {t('file')}
        </a>
      </PageHead>
      <FilterBar
        active={on.length}
        onClear={clear}
        end={
          <PeriodPicker
            utc
            days={[1, 7, 30, 90]}
            value={filter.period}
            onChange={(period) => set({ period })}
          />
        }
      >
        <Filters filter={filter} set={set} />
      </FilterBar>
      {on.length > 0 && (
        <div className="flex flex-wrap gap-2 pb-3" translate="no">
          {on.map((n) => (
            <Chip key={n} name={chip(n)} onRemove={() => set({ [n]: '' } as Partial<Filter>)}>
              <span className="max-w-[260px] truncate">{chip(n)}</span>
            </Chip>
          ))}
        </div>
      )}
      <Times query={query} onZoom={(period) => set({ period }, { push: true })} />
      <Panel flush>
        <Table<Row>
          main
          dense
          caption={t('title')}
          rows={rows}
          rowKey={(r) => r.id}
          stale={q.isPlaceholderData}
          error={q.error}
          onRetry={() => void q.refetch()}
          onOpen={(r) => go(`/admin/calls/${r.id}`)}
          empty={
            on.length > 0 ? (
              <Empty
                icon="search"
                title={c('emptyFiltered')}
                action={<Button onClick={clear}>{common('clearFilters')}</Button>}
              />
            ) : (
              <Empty icon="list" title={t('empty')}>
                {t('emptyText')}
              </Empty>
            )
          }
          columns={useColumnsOf(filter, set)}
          phone={(r) => <Phone r={r} />}
        />
        {(q.hasNextPage || q.isFetchNextPageError) && (
          <div className="flex flex-wrap items-center justify-center gap-3 border-t border-line p-3">
            {last && last.data.length < 50 && last.searched_to && (
              <span className="text-small text-ink3">
                {c.rich('searchedTo', { at: <When at={last.searched_to} form="full" /> })}
              </span>
            )}
            <Button small busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
              {rows?.length === 0 ? c('searchOn') : common('loadMore')}
            </Button>
          </div>
        )}
      </Panel>
    </Page>
  )
}

/** How many calls there were, and the sums of all of them: the list has only some. */
function Times({
  query,
  onZoom,
}: {
  query: { readonly [name: string]: string }
  onZoom: (p: Period) => void
}) {
  const t = useT('admincalls')
  const q = useQuery(getAdminCallTimes({ query }))
  const h = q.data?.data
  if (q.error && !h)
    return (
      <div className="pb-4">
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      </div>
    )
  if (h && h.uncounted.length > 0)
    return (
      <p className="pb-4 text-small text-ink3">
        {t('uncounted', { by: h.uncounted.map((by) => t(`by_${by}`)).join(', ') })}
      </p>
    )
  if (!h || h.total_calls === 0) return null
  const e = h.earned
  // Of calls whose provider's cost is not known nothing can be said: that is no 0.
  const unknown = e !== null && e.unknown_cost_calls > 0
  const some = (v: string) => (unknown && v === '0' ? '—' : <Money value={v} headline />)
  return (
    <>
      <div className="pb-4">
        <Strip
          items={[
            { label: t('calls'), value: integer(h.total_calls) },
            {
              label: t('failed'),
              value: integer(h.total_failed),
              note: percent((h.total_failed / h.total_calls) * 100, 1),
            },
            { label: t('charged'), value: <Money value={h.total_cost} headline /> },
            ...(e
              ? [
                  {
                    label: t('sumUpstream'),
                    value: some(e.upstream_cost),
                    ...(unknown ? { note: t('unknownCost', { n: e.unknown_cost_calls }) } : {}),
                  },
                  { label: t('sumMargin'), value: some(e.margin) },
                ]
              : []),
          ]}
        />
        {!e && <p className="pt-2 text-small text-ink3">{t('noMargin')}</p>}
      </div>
      <Histogram
        h={h}
        open={!('to' in query)}
        onZoom={onZoom}
        summary={t('hSummary', { n: h.total_calls, failed: integer(h.total_failed) })}
      />
    </>
  )
}

/** The first id in what was copied from a complaint, whatever is around it. */
const idIn = (text: string) => /\b(?:gen-|req_|vj_)[\w-]+/.exec(text)?.[0]

/** Any id that a complaint may name. */
function FindCall() {
  const t = useT('admincalls')
  const go = useGo()
  const [text, setText] = useState('')
  const [wrong, setWrong] = useState(false)
  const open = (typed: string) => {
    const id = idIn(typed)
    setWrong(id === undefined && typed.trim() !== '')
    if (id) go(`/admin/calls/${encodeURIComponent(id)}`)
  }
  return (
    <form
      role="search"
      className="min-w-0 basis-60 max-md:basis-full"
      onSubmit={(e) => {
        e.preventDefault()
        open(text)
      }}
    >
      <Field label={t('find')} hideLabel error={wrong ? t('findWrong') : undefined}>
        <Input
          icon="search"
          data-page-search
          value={text}
          onChange={(e) => {
            setText(e.target.value)
            setWrong(false)
          }}
          onPaste={(e) => {
            const pasted = e.clipboardData.getData('text')
            if (idIn(pasted)) {
              e.preventDefault()
              open(pasted)
            }
          }}
          placeholder={t('findHint')}
          autoComplete="off"
          spellCheck={false}
          maxLength={2000}
        />
      </Field>
    </form>
  )
}

const statuses = ['400', '401', '402', '403', '404', '408', '429', '500', '502', '503'] as const

function Filters({ filter, set }: { filter: Filter; set: (f: Partial<Filter>) => void }) {
  const c = useT('calls')
  const t = useT('admincalls')
  const catalog = useQuery({ ...catalogQuery, retry: false })
  const known = (value: string, all: readonly { value: string; label: string }[]) =>
    value && !all.some((o) => o.value === value) ? [...all, { value, label: value }] : all
  return (
    <>
      <Field label={c('model')} className="md:[&>div]:sr-only">
        <ModelPicker
          free
          value={filter.model}
          shown={
            catalog.data?.models.find((m) => m.id === filter.model)?.name ?? (filter.model || c('allModels'))
          }
          none={c('allModels')}
          className="max-md:w-full md:max-w-[200px]"
          onChange={(model) => set({ model })}
        />
      </Field>
      <Field label={c('provider')} className="md:[&>div]:sr-only">
        <Select
          value={filter.provider}
          onChange={(e) => set({ provider: e.target.value })}
          options={known(filter.provider, [
            { value: '', label: c('allProviders') },
            ...(catalog.data?.facets.providers ?? []).map((p) => ({ value: p.id, label: p.name })),
          ])}
          className="max-md:w-full md:max-w-[180px]"
        />
      </Field>
      <Field label={c('result')} className="md:[&>div]:sr-only">
        <Select
          value={filter.result}
          onChange={(e) => set({ result: e.target.value })}
          options={known(filter.result, [
            { value: '', label: c('r_all') },
            ...(['ok', 'failed', 'canceled'] as const).map((v) => ({ value: v, label: c(`r_${v}`) })),
          ])}
        />
      </Field>
      <Field label={t('status')} className="md:[&>div]:sr-only">
        <Select
          value={filter.status}
          onChange={(e) => set({ status: e.target.value })}
          options={known(filter.status, [
            { value: '', label: t('status') },
            ...statuses.map((v) => ({ value: v, label: v })),
          ])}
        />
      </Field>
    </>
  )
}

function useColumnsOf(filter: Filter, set: (f: Partial<Filter>) => void) {
  const t = useT('admincalls')
  const c = useT('calls')
  return [
    {
      key: 'at',
      head: c('at'),
      width: '120px',
      cell: (r: Row) => (
        <Link
          to={`/admin/calls/${r.id}`}
          className="whitespace-nowrap text-ink tabular-nums no-underline hover:underline"
        >
          <When at={r.created_at} form="row" />
        </Link>
      ),
    },
    {
      key: 'account',
      head: t('account'),
      cell: (r: Row) =>
        r.account.id === filter.member ? (
          <Account r={r} />
        ) : (
          <button
            type="button"
            title={t('onlyAccount')}
            aria-label={`${r.account.name ?? r.account.id}: ${t('onlyAccount')}`}
            onClick={() => set({ member: r.account.id })}
            className="block hover:text-accent-ink hover:underline"
          >
            <Account r={r} />
          </button>
        ),
    },
    {
      key: 'model',
      head: c('model'),
      cell: (r: Row) => (
        <span translate="no" className="block max-w-[220px] truncate">
          {r.model ?? r.model_asked}
        </span>
      ),
    },
    {
      key: 'provider',
      head: c('provider'),
      from: 'xl' as const,
      cell: (r: Row) => (
        <span className="flex items-baseline gap-2">
          <span translate="no" className="block max-w-[130px] truncate text-ink2">
            {r.provider_name ?? r.provider ?? '—'}
          </span>
          {r.provider_key !== null && r.provider_key !== filter.pkey && (
            <button
              type="button"
              title={t('onlyProviderKey')}
              aria-label={`${r.provider_key.slice(0, 6)}: ${t('onlyProviderKey')}`}
              onClick={() => set({ pkey: r.provider_key! })}
              className="text-small text-ink3 hover:text-accent-ink hover:underline"
            >
              <span translate="no" className="font-mono">
                {r.provider_key.slice(0, 6)}
              </span>
            </button>
          )}
        </span>
      ),
    },
    {
      key: 'tokens',
      head: c('tokens'),
      align: 'end' as const,
      from: 'xl' as const,
      cell: (r: Row) => (
        <>
          <Tokens value={r.prompt_tokens} /> · <Tokens value={r.completion_tokens} />
        </>
      ),
    },
    {
      key: 'first',
      head: c('first'),
      align: 'end' as const,
      from: 'xl' as const,
      cell: (r: Row) => (
        <span className="whitespace-nowrap">
          {seconds(r.first_token_ms)} · {seconds(r.duration_ms)}
        </span>
      ),
    },
    {
      key: 'upstream',
      head: t('upstream'),
      align: 'end' as const,
      from: 'lg' as const,
      cell: (r: Row) => <Some value={r.upstream_cost} />,
    },
    {
      key: 'price',
      head: t('price'),
      align: 'end' as const,
      cell: (r: Row) => <Money value={r.cost} sign={false} />,
    },
    {
      key: 'margin',
      head: t('margin'),
      align: 'end' as const,
      from: 'lg' as const,
      cell: (r: Row) => <Some value={r.margin} />,
    },
    { key: 'result', head: c('result'), cell: (r: Row) => <Result r={r} /> },
  ]
}

function Some({ value }: { value: string | null }) {
  return value === null ? <span className="text-ink3">—</span> : <Money value={value} sign={false} />
}

function Account({ r }: { r: Row }) {
  const t = useT('admincalls')
  return (
    <span translate="no" className="block max-w-[150px] truncate text-ink2">
      {r.account.name ?? t('deleted')}
    </span>
  )
}

function Result({ r }: { r: Row }) {
  const t = useT('admincalls')
  const x = resultOf(useT('calls'), r)
  return (
    <Tag long tone={x.tone}>
      {r.result === 'canceled' ? t('stopped') : x.text}
    </Tag>
  )
}

function Phone({ r }: { r: Row }) {
  return (
    <Link to={`/admin/calls/${r.id}`} className="block text-ink no-underline">
      <span className="flex gap-2">
        <span translate="no" className="min-w-0 flex-1 truncate font-medium">
          {r.model ?? r.model_asked}
        </span>
        <Money value={r.cost} />
      </span>
      <span className="flex items-center gap-2 pt-0.5 text-small text-ink3">
        <span className="min-w-0 flex-1 truncate">
          <When at={r.created_at} form="row" /> · <span translate="no">{r.account.name ?? r.account.id}</span>
        </span>
        <Result r={r} />
      </span>
    </Link>
  )
}
