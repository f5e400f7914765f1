/** /admin/invoices: what organizations were asked to transfer, and what became of it. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { get } from '../../api/client'
import { listAllInvoices } from '../../api/operations'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { Chip } from '../../ui/chip'
import { FilterBar } from '../../ui/filters'
import { Link, LinkButton, useGo, usePageSearch, type SearchShape } from '../../ui/link'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { Money, When } from '../../ui/values'
import { Buyer, Pdf, Standing, type Row } from './invoice-data'
import { Search } from './money-search'
import { PersonFilter } from './person-filter'

const states = ['open', 'overdue', 'paid', 'cancelled'] as const
interface Filter {
  readonly state: (typeof states)[number] | ''
  readonly user: string
  readonly q: string
}
const shape: SearchShape<Filter> = {
  read: (raw) => ({
    state: states.find((s) => s === raw.state) ?? '',
    user: raw.user ?? '',
    q: raw.q ?? '',
  }),
  write: (f) => ({ state: f.state || undefined, user: f.user || undefined, q: f.q || undefined }),
}

export default function Invoices() {
  const t = useT('adminbank')
  const c = useT('common')
  const go = useGo()
  const [filter, set] = usePageSearch(shape)
  const query = {
    ...(filter.state ? { state: filter.state } : {}),
    ...(filter.user ? { user: filter.user } : {}),
    ...(filter.q ? { q: filter.q } : {}),
  }
  const q = useInfiniteQuery({
    queryKey: listAllInvoices.key(query),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/invoices', { query: { ...query, cursor: pageParam, limit: 50 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const rows = q.data?.pages.flatMap((p) => p.data)
  const on = (['state', 'user', 'q'] as const).filter((n) => filter[n] !== '')
  const clear = () => set({ state: '', user: '', q: '' })
  const chip = (n: (typeof on)[number]) =>
    n === 'user'
      ? (rows?.find((r) => r.user === filter.user)?.user_name ?? filter.user)
      : n === 'state'
        ? t(`only_${filter.state || 'any'}`)
        : filter[n]
  return (
    <Page>
      <PageHead title={t('invoices')} note={t('invoicesNote')}>
        <Search
          value={filter.q}
          onFind={(text) => set({ q: text })}
          label={t('searchInvoice')}
          hint={t('searchInvoiceHint')}
        />
        <LinkButton to="/admin/statements">{t('statements')}</LinkButton>
        <LinkButton to="/admin/acts">{t('acts')}</LinkButton>
      </PageHead>
      <FilterBar active={on.length} onClear={clear}>
        <Field label={t('state')} hideLabel>
          <Select
            value={filter.state}
            onChange={(e) => set({ state: e.target.value as Filter['state'] })}
            options={(['', ...states] as const).map((s) => ({ value: s, label: t(`only_${s || 'any'}`) }))}
          />
        </Field>
        <PersonFilter onChoose={(user) => set({ user })} />
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
      <Panel flush>
        <Table<Row>
          main
          caption={t('invoices')}
          rows={rows}
          rowKey={(r) => r.id}
          stale={q.isPlaceholderData}
          error={q.error}
          onRetry={() => void q.refetch()}
          onOpen={(r) => go(`/admin/invoices/${r.id}`)}
          empty={
            on.length > 0 ? (
              <Empty
                icon="search"
                title={t('noneSuch')}
                action={<Button onClick={clear}>{c('clearFilters')}</Button>}
              />
            ) : (
              <Empty icon="file" title={t('noInvoices')}>
                {t('noInvoicesText')}
              </Empty>
            )
          }
          columns={[
            { key: 'number', head: t('number'), cell: (r) => <Number r={r} /> },
            { key: 'buyer', head: t('buyer'), cell: (r) => <Buyer b={r.buyer} /> },
            { key: 'state', head: t('state'), cell: (r) => <Standing i={r} /> },
            { key: 'made', head: t('made'), from: 'lg', cell: (r) => <When at={r.created_at} /> },
            {
              key: 'missing',
              head: t('missingRubles'),
              align: 'end',
              cell: (r) => r.state === 'open' && <Money value={r.missing} exact sign={false} />,
            },
            {
              key: 'total',
              head: t('totalRubles'),
              align: 'end',
              cell: (r) => <Money value={r.total} exact sign={false} />,
            },
            {
              key: 'pdf',
              head: '',
              name: t('pdf'),
              align: 'end',
              cell: (r) => <Pdf href={`/api/admin/invoices/${r.id}/pdf`} of={r.number} />,
            },
          ]}
          phone={(r) => (
            <div className="flex flex-col gap-1 py-1">
              <span className="flex gap-2">
                <span className="flex-1">
                  <Number r={r} />
                </span>
                <Money value={r.total} exact />
              </span>
              <Buyer b={r.buyer} />
              <span className="flex flex-wrap items-center gap-3 text-small">
                <Standing i={r} />
                <Pdf href={`/api/admin/invoices/${r.id}/pdf`} of={r.number} />
              </span>
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

function Number({ r }: { r: Row }) {
  return (
    <Link to={`/admin/invoices/${r.id}`} translate="no" className="whitespace-nowrap">
      {r.number}
    </Link>
  )
}
