/** /calls: find one call. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react'
import { address, get } from '../../api/client'
import { useLive } from '../../api/live'
import { queries, renew } from '../../api/query'
import { getCallHistogram, listAccountKeys, listCalls } from '../../api/operations'
import { money, seconds } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Switch } from '../../ui/controls'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { Chip } from '../../ui/chip'
import { FilterBar, PeriodPicker, type Period } from '../../ui/filters'
import { Link, LinkButton, useGo, usePageSearch } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Sheet } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { shortcutsOn, useShortcuts } from '../../ui/shortcuts'
import { Table } from '../../ui/table'
import { Money, Tokens, When, Zone } from '../../ui/values'
import { Views } from '../views/views'
import { ModelPicker } from '../catalog/choose'
import { catalogQuery } from '../catalog/data'
import { callQuery, isRecording, resultOf, type CallRow } from './data'
import { amount, asked, byCell, fresh, names, NOTHING, shape, type Filter, type Name } from './filter'
import { Histogram } from './histogram'
import { PhoneCall } from './latest'
import { TextFilter } from './text-filter'

// It is in the drawer alone: the list does not wait for it.
const CallView = lazy(() => import('./view').then((m) => ({ default: m.CallView })))
const First = lazy(() => import('./first'))
const kinds = [
  'completions',
  'messages',
  'responses',
  'gemini',
  'embeddings',
  'image',
  'video',
  'rerank',
  'moderations',
  'audio.speech',
  'audio.transcriptions',
] as const

/** Whether the page is scrolled to its beginning, where new rows may come in. */
function useAtTop(): boolean {
  const [top, setTop] = useState(() => window.scrollY < 8)
  useEffect(() => {
    const f = () => setTop(window.scrollY < 8)
    window.addEventListener('scroll', f, { passive: true })
    return () => window.removeEventListener('scroll', f)
  }, [])
  return top
}

export default function Calls() {
  const t = useT('calls')
  const c = useT('common')
  const [filter, set] = usePageSearch<Filter>(shape)
  const [live, setLive] = useState(true)
  const go = useGo()
  const catalog = useQuery({ ...catalogQuery, retry: false })
  const { open, ...rest } = filter
  const key = JSON.stringify(rest)
  const query = asked(filter)
  const queryKey = listCalls.key('pages', key)
  const q = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) =>
      get('/api/calls', { query: { ...query, cursor: pageParam, limit: 50 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const rows = useMemo(() => q.data?.pages.flatMap((p) => p.data), [q.data])
  const last = q.data?.pages.at(-1)
  // New calls are counted, and shown when the reader asks for them: rows do not move under the reader.
  const watching = live && q.isSuccess && !q.isPlaceholderData && !filter.id
  const newest = useQuery({
    ...listCalls({ query: { ...query, limit: 50 } }),
    queryKey: listCalls.key('new', key),
    enabled: false,
  })
  useLive(
    ['calls'],
    () => {
      void newest.refetch()
    },
    { every: 2_000, on: watching },
  )
  const came =
    watching && rows && newest.data && !newest.isPlaceholderData ? fresh(newest.data.data, rows) : 0
  const list = useRef<HTMLDivElement>(null)
  const atTop = useAtTop()
  const takeNew = () => {
    if (newest.data) queries.setQueryData(queryKey, { pages: [newest.data], pageParams: [undefined] })
    void renew(getCallHistogram)
  }
  const showNew = () => {
    takeNew()
    list.current?.scrollIntoView({ block: 'nearest' })
    list.current?.focus()
  }
  const more = useRef<HTMLDivElement>(null)
  const further = q.hasNextPage && !q.isFetching && last?.data.length === 50 // a page that is not full has searched as far as one should at once
  const next = q.fetchNextPage
  useEffect(() => {
    const e = more.current
    if (!e || !further || typeof IntersectionObserver === 'undefined') return
    const o = new IntersectionObserver(
      (all) => {
        if (all.some((x) => x.isIntersecting)) void next()
      },
      { rootMargin: '600px' },
    )
    o.observe(e)
    return () => o.disconnect()
  }, [further, next])
  // New rows cannot move what is read where there are none, or where the reader is at the top and has nothing open.
  const follows = watching && came > 0 && (rows?.length === 0 || (atTop && !open))
  useEffect(() => {
    if (follows) takeNew()
  })
  const apiKeys = useQuery(listAccountKeys())
  const keyOptions = [
    { value: '', label: t('allKeys') },
    ...(apiKeys.data?.data ?? []).filter((k) => !k.management).map((k) => ({ value: k.hash, label: k.name })),
  ]
  const under = (): { row: CallRow; column: string } | null => {
    const at =
      document.activeElement?.closest<HTMLElement>('[data-key]') ??
      [...document.querySelectorAll<HTMLElement>('[data-key]:hover')].at(-1)
    const row = rows?.find((r) => r.id === at?.dataset.key)
    const column =
      [...(at?.querySelectorAll<HTMLElement>('[data-col]:focus-within, [data-col]:hover') ?? [])].at(-1)
        ?.dataset.col ?? 'model'
    return row ? { row, column } : null
  }
  useShortcuts({
    l: () => {
      setLive(!live)
      if (!live) void newest.refetch()
    },
    o: () => {
      const u = under()
      if (u) go(`/calls/${u.row.id}`)
    },
    f: () => {
      const u = under()
      const f = u && byCell(u.row, u.column)
      if (f) set(f, { push: true })
    },
  })
  const active = names.filter((n) => filter[n] !== '')
  const clear = () =>
    set((f) => ({
      ...f,
      model: '',
      provider: '',
      key: '',
      member: '',
      kind: '',
      result: '',
      tag: '',
      team: '',
      session: '',
      client_user: '',
      min: '',
      id: '',
    }))
  const keyName =
    apiKeys.data?.data.find((k) => k.hash === filter.key)?.name ??
    rows?.find((r) => r.key?.hash === filter.key || r.key?.id === filter.key)?.key?.name
  const chip = (n: Name): string => {
    const v = filter[n]
    if (v === NOTHING) return t.or(`without_${n}`, v)
    if (n === 'tag' && v.endsWith(`=${NOTHING}`))
      return t('without_tag', { name: v.slice(0, -1 - NOTHING.length) })
    if (n === 'result') return t.or(`r_${v}`, t.or(`result_${v}`, v))
    if (n === 'kind') return t.or(`k_${v}`, v)
    if (n === 'min') return `${t('minCost')} ${money(v, { exact: true, sign: false })}`
    if (n === 'key') return `${t('key')} ${keyName ?? v.slice(0, 12)}`
    return v
  }
  const providers = catalog.data?.facets.providers ?? []
  const known = (value: string, all: readonly { value: string; label: string }[]) =>
    value && !all.some((o) => o.value === value)
      ? [...all, { value, label: value === NOTHING ? t('nothing') : value }]
      : all
  return (
    <Page>
      <PageHead title={t('title')} note={<Zone />}>
        <Switch
          checked={live}
          onChange={(on) => {
            setLive(on)
            if (on) void newest.refetch()
          }}
        >
          {t('live')}
        </Switch>
        <Views page="calls" search={shape.write({ ...filter, open: '' })} />
        <a
          href={address('/api/calls.csv', { query: query })}
          download
          className="inline-flex h-8 items-center font-medium text-accent-ink"
        >
          {t('download')}
        </a>
      </PageHead>
      <FilterBar
        active={active.length}
        onClear={clear}
        end={
          <PeriodPicker days={[1, 7, 30, 90]} value={filter.period} onChange={(period) => set({ period })} />
        }
      >
        <Field label={t('model')} className="md:[&>div]:sr-only">
          <ModelPicker
            free
            value={filter.model}
            shown={
              catalog.data?.models.find((m) => m.id === filter.model)?.name ??
              (filter.model || t('allModels'))
            }
            none={t('allModels')}
            className="max-md:w-full md:w-[200px]"
            onChange={(model) => set({ model })}
          />
        </Field>
        <Field label={t('provider')} className="md:[&>div]:sr-only">
          <Select
            value={filter.provider}
            onChange={(e) => set({ provider: e.target.value })}
            options={known(filter.provider, [
              { value: '', label: t('allProviders') },
              ...providers.map((p) => ({ value: p.id, label: p.name })),
            ])}
            className="max-md:w-full md:w-[180px]"
          />
        </Field>
        <Field label={t('key')} className="md:[&>div]:sr-only">
          <Select
            value={filter.key}
            onChange={(e) => set({ key: e.target.value })}
            options={known(filter.key, keyOptions)}
            className="max-md:w-full md:w-[140px]"
          />
        </Field>
        <Field label={t('result')} className="md:[&>div]:sr-only">
          <Select
            value={filter.result}
            onChange={(e) => set({ result: e.target.value })}
            options={known(filter.result, [
              { value: '', label: t('r_all') },
              ...(['ok', 'failed', 'canceled'] as const).map((v) => ({ value: v, label: t(`r_${v}`) })),
            ])}
          />
        </Field>
        <Field label={t('kind')} className="md:[&>div]:sr-only">
          <Select
            value={filter.kind}
            onChange={(e) => set({ kind: e.target.value })}
            options={known(filter.kind, [
              { value: '', label: t('allKinds') },
              ...kinds.map((v) => ({ value: v, label: t(`k_${v}`) })),
            ])}
          />
        </Field>
        <TextFilter label={t('tag')} value={filter.tag} onChange={(tag) => set({ tag: tag.trim() })} narrow />
        <TextFilter
          label={t('minCost')}
          value={filter.min}
          onChange={(v) => set({ min: amount(v) })}
          narrow
          decimal
        />
        <TextFilter label={t('findId')} value={filter.id} onChange={(id) => set({ id: id.trim() })} search />
      </FilterBar>
      {active.length > 0 && (
        <div className="flex flex-wrap gap-2 pb-3" translate="no">
          {active.map((n) => (
            <Chip key={n} name={chip(n)} onRemove={() => set({ [n]: '' } as Partial<Filter>)}>
              <span className="max-w-[260px] truncate">{chip(n)}</span>
            </Chip>
          ))}
        </div>
      )}
      {!filter.id && !filter.min && (
        <Times query={query} filterKey={key} onZoom={(period) => set({ period }, { push: true })} />
      )}
      <div ref={list} tabIndex={-1} className="scroll-mt-[60px] outline-none" role="status">
        {came > 0 && !follows && (
          <div className="flex justify-center pb-3">
            <Button small icon="up" onClick={showNew}>
              {came >= 50 ? t('manyNew') : t('new', { n: came })}
            </Button>
          </div>
        )}
      </div>
      <Panel flush>
        <Table<CallRow>
          main
          dense
          name="calls"
          onFull={(r) => go(`/calls/${r.id}`)}
          caption={t('title')}
          rows={rows}
          rowKey={(r) => r.id}
          stale={q.isPlaceholderData}
          error={q.error}
          onRetry={() => void q.refetch()}
          onOpen={(r) => set({ open: r.id }, { push: true })}
          selected={(r) => r.id === open}
          empty={
            q.hasNextPage ? (
              <p className="px-4 pt-4 text-ink2">{t('emptyFiltered')}</p>
            ) : active.length > 0 ? (
              <Empty
                icon="search"
                title={t('emptyFiltered')}
                action={<Button onClick={clear}>{c('clearFilters')}</Button>}
              >
                {t('emptyFilteredText')}
              </Empty>
            ) : (
              <>
                <Empty icon="list" title={t('empty')}>
                  {t('emptyText')}
                </Empty>
                <div className="mx-auto max-w-3xl px-4 pb-6">
                  <Suspense>
                    <First
                      model={catalog.data?.models.find((m) => m.outs.includes('text'))?.id ?? 'openai/gpt-5'}
                    />
                  </Suspense>
                </div>
              </>
            )
          }
          columns={[
            {
              key: 'at',
              head: t('at'),
              width: '150px',
              cell: (r) => (
                <Link
                  to={`/calls/${r.id}`}
                  className="whitespace-nowrap text-ink tabular-nums no-underline hover:underline"
                >
                  <When at={r.created_at} form="row" />
                </Link>
              ),
            },
            {
              key: 'model',
              head: t('model'),
              cell: (r) => (
                <span translate="no" className="block max-w-[300px]">
                  <span className="block truncate">{r.model ?? r.model_asked}</span>
                </span>
              ),
            },
            {
              key: 'provider',
              head: t('provider'),
              from: 'xl',
              cell: (r) => (
                <span translate="no" className="block max-w-[180px] truncate text-ink2">
                  {r.provider_name ?? r.provider ?? '—'}
                </span>
              ),
            },
            {
              key: 'key',
              head: t('key'),
              from: 'lg',
              cell: (r) => {
                const k = r.key
                return k && (k.hash ?? k.id) !== filter.key ? (
                  <button
                    type="button"
                    translate="no"
                    title={t('onlyKey')}
                    aria-label={`${k.name ?? k.id}: ${t('onlyKey')}`}
                    onClick={() => set({ key: k.hash ?? k.id })}
                    className="block max-w-[140px] truncate text-ink2 hover:text-accent-ink hover:underline"
                  >
                    {k.name ?? k.id}
                  </button>
                ) : (
                  <span translate="no" className="block max-w-[140px] truncate text-ink2">
                    {k?.name ?? '—'}
                  </span>
                )
              },
            },
            {
              key: 'tokens',
              head: t('tokens'),
              align: 'end',
              cell: (r) => (
                <span title={r.cached_tokens > 0 ? t('cachedOf', { n: r.cached_tokens }) : undefined}>
                  <Tokens value={r.prompt_tokens} /> · <Tokens value={r.completion_tokens} />
                </span>
              ),
            },
            {
              key: 'first',
              head: t('first'),
              align: 'end',
              from: 'lg',
              cell: (r) => (
                <span className="whitespace-nowrap">
                  {seconds(r.first_token_ms)} · {seconds(r.duration_ms)}
                </span>
              ),
            },
            {
              key: 'cost',
              head: t('costHead'),
              align: 'end',
              cell: (r) => (
                <Money value={r.cost} sign={false} about={r.estimated || (!r.settled && r.result === 'ok')} />
              ),
            },
            {
              key: 'result',
              head: t('result'),
              width: '170px',
              cell: (r) => {
                const x = resultOf(t, r)
                return <Tag tone={x.tone}>{x.text}</Tag>
              },
            },
          ]}
          phone={(r) => <PhoneCall r={r} />}
        />
        {(q.hasNextPage || q.isFetchNextPageError) && (
          <div
            ref={more}
            className="flex flex-wrap items-center justify-center gap-3 border-t border-line p-3"
          >
            {last && last.data.length < 50 && last.searched_to && (
              <span className="text-small text-ink3">
                {t.rich('searchedTo', { at: <When at={last.searched_to} form="full" /> })}
              </span>
            )}
            <Button small busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
              {rows?.length === 0 ? t('searchOn') : c('loadMore')}
            </Button>
          </div>
        )}
      </Panel>
      <Sheet
        wide
        open={open !== ''}
        onOpenChange={(o) => {
          if (!o) set({ open: '' })
        }}
        title={t('one')}
        footer={
          <LinkButton to={`/calls/${open}`} icon="arrow">
            {t('full')}
          </LinkButton>
        }
      >
        {open && <Drawer id={open} onPage={() => go(`/calls/${open}`)} />}
      </Sheet>
    </Page>
  )
}

function Drawer({ id, onPage }: { id: string; onPage: () => void }) {
  const t = useT('calls')
  const page = useRef(onPage)
  useEffect(() => {
    page.current = onPage
  })
  useEffect(() => {
    const f = (e: KeyboardEvent) => {
      if (e.key === 'o' && !e.ctrlKey && !e.metaKey && !e.altKey && shortcutsOn()) {
        e.preventDefault()
        page.current()
      }
    }
    window.addEventListener('keydown', f)
    return () => window.removeEventListener('keydown', f)
  }, [])
  const q = useQuery(callQuery(id))
  const call = q.isPlaceholderData ? undefined : q.data?.data
  if (!call)
    return q.error ? (
      <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
    ) : isRecording(q.failureReason) ? (
      <p role="status" className="text-ink2">
        {t('recordingText')}
      </p>
    ) : (
      <SkeletonRows rows={6} />
    )
  const x = resultOf(t, { status: call.status, result: call.result, attempts: call.attempts.length })
  return (
    <>
      <p className="flex flex-wrap items-center gap-2 pb-3">
        <span translate="no" className="text-section break-words">
          {call.model ?? call.model_asked}
        </span>
        <Tag tone={x.tone}>{x.text}</Tag>
        <When at={call.created_at} form="full" className="text-small text-ink3" />
      </p>
      <Suspense fallback={<SkeletonRows rows={6} />}>
        <CallView call={call} drawer />
      </Suspense>
    </>
  )
}

function Times({
  query,
  filterKey,
  onZoom,
}: {
  query: { readonly [name: string]: string }
  filterKey: string
  onZoom: (p: Period) => void
}) {
  const t = useT('calls')
  const q = useQuery({ ...getCallHistogram({ query }), queryKey: getCallHistogram.key(filterKey) })
  const h = q.data?.data
  if (q.error && !h)
    return (
      <div className="pb-4">
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      </div>
    )
  if (!h || h.total_calls === 0) return null
  return (
    <Histogram
      h={h}
      open={!('to' in query)}
      onZoom={onZoom}
      summary={t('hSummary', {
        all: h.total_calls,
        failed: h.total_failed,
        canceled: h.total_canceled,
        cost: money(h.total_cost),
      })}
    />
  )
}
