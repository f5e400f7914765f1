/** /admin/acts: the acts of a month: made, and missing. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { get, post, type Reply } from '../../api/client'
import { listAllActs, listMissingActs } from '../../api/operations'
import { renew, useMe } from '../../api/query'
import { add, decimal, money, month as monthOf, plain, ZERO } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { usePageSearch, type SearchShape } from '../../ui/link'
import { Confirm } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast } from '../../ui/toast'
import { Money, When } from '../../ui/values'
import { Buyer, Pdf } from './invoice-data'

type Act = Reply<'/api/admin/acts'>['data'][number]
type Missing = Reply<'/api/admin/acts/missing'>

const shape: SearchShape<{ readonly month: string }> = {
  read: (raw) => ({ month: /^\d{4}-\d\d$/.test(raw.month ?? '') ? raw.month! : '' }),
  write: (c) => ({ month: c.month || undefined }),
}

/** The months up to one, the newest first. */
function before(last: string): string[] {
  const [year = 0, m = 1] = last.split('-').map(Number)
  return Array.from({ length: 24 }, (_, k) => {
    const n = year * 12 + m - 1 - k
    return `${Math.floor(n / 12)}-${String((n % 12) + 1).padStart(2, '0')}`
  })
}

export default function Acts() {
  const t = useT('adminbank')
  const administrator = useMe()?.user?.role === 'administrator'
  const [chosen, choose] = usePageSearch(shape)
  const missing = useQuery(listMissingActs(chosen.month ? { query: { month: chosen.month } } : {}))
  const [making, setMaking] = useState(false)
  const m = missing.data
  return (
    <Page>
      <PageHead
        title={t('acts')}
        note={t('actsNote')}
        crumbs={[{ label: t('invoices'), to: '/admin/invoices' }, { label: t('acts') }]}
      >
        {m && (
          <Field label={t('month')} hideLabel>
            <Select
              value={m.month}
              onChange={(e) => choose({ month: e.target.value === m.last ? '' : e.target.value })}
              options={before(m.last).map((v) => ({ value: v, label: monthOf(`${v}-01`) }))}
            />
          </Field>
        )}
        {administrator && m && m.data.length > 0 && (
          <Button look="main" onClick={() => setMaking(true)}>
            {t('makeActs', { n: m.data.length })}
          </Button>
        )}
      </PageHead>
      {missing.error ? (
        <ErrorBox error={missing.error} onRetry={() => void missing.refetch()} />
      ) : !m ? (
        <SkeletonRows rows={6} />
      ) : (
        <div className="flex flex-col gap-4">
          {m.data.length > 0 && <Lacking m={m} />}
          <Made month={m.month} />
        </div>
      )}
      {making && m && <Make m={m} onClose={() => setMaking(false)} />}
    </Page>
  )
}

function Lacking({ m }: { m: Missing }) {
  const t = useT('adminbank')
  return (
    <Panel title={t('missingActs')} note={t('missingActsNote')} flush>
      <Table<Missing['data'][number]>
        caption={t('missingActs')}
        rows={m.data}
        rowKey={(x) => x.user}
        columns={[
          { key: 'buyer', head: t('buyer'), cell: (x) => <Buyer b={x.buyer} /> },
          {
            key: 'total',
            head: t('willBe'),
            align: 'end',
            cell: (x) => <Money value={x.total} exact sign={false} />,
          },
        ]}
      />
    </Panel>
  )
}

function Made({ month }: { month: string }) {
  const t = useT('adminbank')
  const c = useT('common')
  const q = useInfiniteQuery({
    queryKey: listAllActs.key(month),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/acts', { query: { month, cursor: pageParam, limit: 50 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const pdf = (a: Act) => <Pdf href={`/api/admin/acts/${a.id}/pdf`} of={a.number} />
  return (
    <Panel title={t('madeActs')} flush>
      <Table<Act>
        main
        caption={t('madeActs')}
        rows={q.data?.pages.flatMap((p) => p.data)}
        rowKey={(a) => a.id}
        error={q.error}
        onRetry={() => void q.refetch()}
        empty={
          <Empty icon="file" title={t('noActs')}>
            {t('noActsText')}
          </Empty>
        }
        columns={[
          { key: 'number', head: t('number'), cell: (a) => <span translate="no">{a.number}</span> },
          { key: 'buyer', head: t('buyer'), cell: (a) => <Buyer b={a.buyer} /> },
          { key: 'made', head: t('made'), from: 'lg', cell: (a) => <When at={a.made_at} /> },
          {
            key: 'total',
            head: t('totalRubles'),
            align: 'end',
            cell: (a) => <Money value={a.total} exact sign={false} />,
          },
          { key: 'pdf', head: '', name: t('pdf'), align: 'end', cell: pdf },
        ]}
        phone={(a) => (
          <div className="flex flex-col gap-1 py-1">
            <span className="flex gap-2">
              <span className="flex-1" translate="no">
                {a.number}
              </span>
              <Money value={a.total} exact />
            </span>
            <Buyer b={a.buyer} />
            <span>{pdf(a)}</span>
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
  )
}

function Make({ m, onClose }: { m: Missing; onClose: () => void }) {
  const t = useT('adminbank')
  const sum = m.data.reduce((all, x) => add(all, decimal(x.total) ?? ZERO), ZERO)
  const make = useAction(async () => {
    const { data } = await post('/api/admin/acts', { body: { month: m.month } })
    await renew(listAllActs, listMissingActs)
    toast(t('actsMade', { n: data.length }))
    onClose()
  })
  return (
    <Confirm
      open
      onOpenChange={(o) => !o && onClose()}
      title={t('makeTitle', { month: monthOf(`${m.month}-01`) })}
      verb={t('makeActs', { n: m.data.length })}
      busy={make.busy}
      onConfirm={() => make.run()}
      fields={make.error !== null && <ErrorBox error={make.error} />}
    >
      {t('makeText', { n: m.data.length, sum: money(plain(sum), { exact: true }) })}
    </Confirm>
  )
}
