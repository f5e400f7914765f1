/** /admin/payments: what people have paid through payment providers, and which payments need somebody. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { get } from '../../api/client'
import { listAllPayments } from '../../api/operations'
import { dayText } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { Chip } from '../../ui/chip'
import { FilterBar, PeriodPicker } from '../../ui/filters'
import { Link, useGo, usePageSearch, type SearchShape } from '../../ui/link'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { Money, When } from '../../ui/values'
import { How, Who, type Row } from './payment-data'
import { filterShape, names, type Filter } from './payment-filter'
import { Search } from './money-search'
import { PersonFilter } from './person-filter'

const shape: SearchShape<Filter> = filterShape

export default function Payments() {
  const t = useT('adminmoney')
  const c = useT('common')
  const go = useGo()
  const [filter, set] = usePageSearch(shape)
  const query = {
    ...(filter.state === 'hanging' ? { hanging: true } : filter.state !== '' ? { state: filter.state } : {}),
    ...(filter.user ? { user: filter.user } : {}),
    ...(filter.provider ? { provider: filter.provider } : {}),
    ...(filter.q ? { q: filter.q } : {}),
    ...(filter.period ? { from: filter.period.from, to: filter.period.to } : {}),
  }
  const q = useInfiniteQuery({
    queryKey: listAllPayments.key(query),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/payments', { query: { ...query, cursor: pageParam, limit: 50 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const rows = q.data?.pages.flatMap((p) => p.data)
  const on = names.filter((n) => filter[n] !== '')
  const clear = () => set({ state: '', user: '', provider: '', q: '', period: null })
  const chip = (n: (typeof names)[number]) =>
    n === 'user'
      ? (rows?.find((r) => r.user === filter.user)?.user_name ?? filter.user)
      : n === 'state'
        ? t(`only_${filter.state || 'any'}`)
        : filter[n]
  return (
    <Page>
      <PageHead title={t('payments')} note={t('paymentsNote')}>
        <Search
          value={filter.q}
          onFind={(text) => set({ q: text })}
          label={t('searchPayment')}
          hint={t('searchPaymentHint')}
        />
      </PageHead>
      <FilterBar
        active={on.length}
        onClear={clear}
        end={
          <PeriodPicker
            utc
            days={[7, 30, 90]}
            value={filter.period ?? { days: 0 }}
            onChange={(p) => set({ period: 'from' in p ? p : lastDays(p.days) })}
          />
        }
      >
        <Field label={t('state')} hideLabel>
          <Select
            value={filter.state}
            onChange={(e) => set({ state: e.target.value as Filter['state'] })}
            options={(['', 'hanging', 'pending', 'succeeded', 'canceled'] as const).map((s) => ({
              value: s,
              label: t(`only_${s || 'any'}`),
            }))}
          />
        </Field>
        <PersonFilter onChoose={(user) => set({ user })} />
        <Providers rows={rows} value={filter.provider} onChange={(provider) => set({ provider })} />
      </FilterBar>
      {(on.length > 0 || filter.period) && (
        <div className="flex flex-wrap gap-2 pb-3" translate="no">
          {on.map((n) => (
            <Chip key={n} name={chip(n)} onRemove={() => set({ [n]: '' } as Partial<Filter>)}>
              <span className="max-w-[260px] truncate">{chip(n)}</span>
            </Chip>
          ))}
          {filter.period && (
            <Chip name={t('period')} onRemove={() => set({ period: null })}>
              {t('period')}
            </Chip>
          )}
        </div>
      )}
      <Panel flush>
        <Table<Row>
          main
          caption={t('payments')}
          rows={rows}
          rowKey={(r) => r.id}
          stale={q.isPlaceholderData}
          error={q.error}
          onRetry={() => void q.refetch()}
          onOpen={(r) => go(`/admin/payments/${r.id}`)}
          empty={
            on.length > 0 || filter.period ? (
              <Empty
                icon="search"
                title={t('noneSuch')}
                action={<Button onClick={clear}>{c('clearFilters')}</Button>}
              />
            ) : (
              <Empty icon="wallet" title={t('noPayments')}>
                {t('noPaymentsText')}
              </Empty>
            )
          }
          columns={[
            {
              key: 'made',
              head: t('made'),
              cell: (r) => (
                <>
                  <When at={r.created_at} />
                  <Id r={r} />
                </>
              ),
            },
            { key: 'who', head: t('person'), cell: (r) => <Who r={r} /> },
            { key: 'state', head: t('state'), cell: (r) => <How p={r} /> },
            { key: 'method', head: t('method'), from: 'lg', cell: (r) => r.method ?? r.provider },
            {
              key: 'refunded',
              head: t('refundedRubles'),
              align: 'end',
              cell: (r) => r.refunded !== '0' && <Money value={r.refunded} exact sign={false} />,
            },
            {
              key: 'amount',
              head: t('amountRubles'),
              align: 'end',
              cell: (r) => <Money value={r.paid ?? r.amount} exact sign={false} />,
            },
          ]}
          phone={(r) => (
            <div className="flex flex-col gap-1 py-1">
              <span className="flex gap-2">
                <span className="min-w-0 flex-1">
                  <Who r={r} />
                </span>
                <Money value={r.paid ?? r.amount} exact />
              </span>
              <span className="flex flex-wrap items-center gap-x-3 text-small text-ink3">
                <How p={r} />
                <When at={r.created_at} />
                {r.refunded !== '0' && (
                  <span>
                    {t('refunded')} <Money value={r.refunded} exact />
                  </span>
                )}
              </span>
              <Id r={r} />
            </div>
          )}
        />
        {q.hasNextPage && (
          <div className="flex justify-center border-t border-line p-3">
            <Button small busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
              {c('loadMore')}
            </Button>
          </div>
        )}
      </Panel>
    </Page>
  )
}

function Id({ r }: { r: Row }) {
  return (
    <Link to={`/admin/payments/${r.id}`} translate="no" className="block text-label">
      <code className="break-all">{r.id}</code>
    </Link>
  )
}

function lastDays(days: number): { from: string; to: string } {
  const day = (ago: number) => dayText(Date.now() - ago * 86_400_000, 'UTC')
  return { from: day(days - 1), to: day(0) }
}

function Providers({
  rows,
  value,
  onChange,
}: {
  rows: readonly Row[] | undefined
  value: string
  onChange: (p: string) => void
}) {
  const t = useT('adminmoney')
  const all = [...new Set([...(rows ?? []).map((r) => r.provider), ...(value ? [value] : [])])]
  return (
    <Field label={t('provider')} hideLabel>
      <Select
        value={value}
        onChange={(e) => onChange(e.target.value)}
        options={[{ value: '', label: t('anyProvider') }, ...all.map((p) => ({ value: p, label: p }))]}
      />
    </Field>
  )
}
