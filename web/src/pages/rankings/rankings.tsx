/** /rankings: which models are used most here. Places and whole percent alone: nothing of a single account can be seen. */
import { useQuery } from '@tanstack/react-query'
import { ApiError, type Reply } from '../../api/client'
import { useMe } from '../../api/query'
import { getRankings } from '../../api/operations'
import { integer, percent, period } from '../../format'
import { useT } from '../../i18n'
import { Segmented } from '../../ui/controls'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Icon } from '../../ui/icons'
import { Link, LinkButton, useGo, usePageSearch, type SearchShape } from '../../ui/link'
import { Level, Tag } from '../../ui/marks'
import { Page, PageHead, Panel } from '../../ui/page'
import type { Column } from '../../ui/columns'
import { Table } from '../../ui/table'
import { VendorMark } from '../../ui/vendor'

type Rankings = Reply<'/api/rankings'>
type Ranked = Rankings['models'][number]
type Range = Rankings['range']
const shape: SearchShape<{ range: Range }> = {
  read: (raw) => ({ range: raw.range === '30d' ? '30d' : '7d' }),
  write: (v) => (v.range === '7d' ? {} : { range: v.range }),
}

export default function RankingsPage() {
  const t = useT('rankings')
  const c = useT('common')
  const go = useGo()
  const me = useMe()
  const [{ range }, set] = usePageSearch(shape)
  const q = useQuery({
    ...getRankings({ query: { range }, quiet: true }),
    enabled: me !== undefined,
    staleTime: 300_000,
    retry: (n, e) => n < 5 && e instanceof ApiError && e.status === 503,
  })
  const r = q.data
  const closed = q.error instanceof ApiError && q.error.status === 401
  const most = r?.models[0]?.share ?? 0
  const columns: Column<Ranked>[] = [
    {
      key: 'place',
      head: t('place'),
      align: 'end',
      width: '64px',
      cell: (m) => <span className="font-medium">{integer(m.place)}</span>,
    },
    { key: 'moved', head: '', name: t('moved'), width: '84px', cell: (m) => <Moved model={m} /> },
    {
      key: 'model',
      head: t('model'),
      cell: (m) => (
        <span className="flex min-w-0 items-center gap-2.5">
          <VendorMark vendor={m.id.split('/')[0]!} />
          <span className="min-w-0">
            <Link
              to={`/models/${m.id}`}
              className="block truncate font-medium text-ink no-underline hover:underline"
            >
              <span translate="no">{m.name}</span>
            </Link>
            <code className="block truncate text-ink3">{m.id}</code>
          </span>
        </span>
      ),
    },
    {
      key: 'vendor',
      head: t('vendor'),
      from: 'lg',
      cell: (m) => (
        <span translate="no" className="text-ink2">
          {m.vendor_name}
        </span>
      ),
    },
    {
      key: 'share',
      head: t('share'),
      align: 'end',
      width: '220px',
      cell: (m) => <Share share={m.share} most={most} wide />,
    },
  ]
  return (
    <Page width="text" className="max-w-[1120px]!">
      <PageHead title={t('title')} {...(r ? { note: `${period(r.from, r.to)}, UTC` } : {})}>
        {!closed && (
          <Segmented
            label={c('period')}
            value={range}
            onChange={(v) => set({ range: v }, { push: true })}
            options={(['7d', '30d'] as const).map((v) => ({
              value: v,
              label: c('lastDays', { n: parseInt(v, 10) }),
            }))}
          />
        )}
      </PageHead>
      {closed ? (
        <Empty
          icon="chart"
          title={t('closed')}
          action={
            <LinkButton look="main" to="/sign-in">
              {c('signIn')}
            </LinkButton>
          }
        >
          {t('closedText')}
        </Empty>
      ) : q.error && !r ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !r ? (
        <SkeletonRows rows={8} />
      ) : r.models.length === 0 ? (
        <Panel>
          <Empty
            icon="chart"
            title={t('empty', { n: r.least })}
            action={<LinkButton to="/models">{c('toModels')}</LinkButton>}
          >
            {t('emptyText')}
          </Empty>
        </Panel>
      ) : (
        <>
          <div
            className={`grid items-start gap-5 transition-opacity delay-200 lg:grid-cols-[minmax(0,1fr)_280px] ${q.isPlaceholderData ? 'opacity-60' : ''}`}
            aria-busy={q.isPlaceholderData || undefined}
          >
            <div className="overflow-clip rounded-panel border border-line bg-surface">
              <Table
                caption={t('title')}
                rows={r.models}
                rowKey={(m) => m.id}
                columns={columns}
                main
                onOpen={(m) => go(`/models/${m.id}`)}
                phone={(m) => (
                  <div className="flex items-center gap-3">
                    <span className="w-6 flex-none text-right font-medium tabular-nums">
                      {integer(m.place)}
                    </span>
                    <div className="min-w-0 flex-1">
                      <div className="flex items-center gap-2">
                        <Link
                          to={`/models/${m.id}`}
                          className="min-w-0 flex-1 truncate font-medium text-ink no-underline"
                        >
                          <span translate="no">{m.name}</span>
                        </Link>
                        <Moved model={m} />
                      </div>
                      <div className="pt-1">
                        <Share share={m.share} most={most} />
                      </div>
                    </div>
                  </div>
                )}
              />
            </div>
            <Panel title={t('vendors')}>
              <ol className="m-0 flex list-none flex-col gap-3 p-0">
                {r.vendors.slice(0, 10).map((v) => (
                  <li key={v.id}>
                    <div className="flex gap-3 pb-1">
                      <Link
                        to="/models"
                        search={{ vendor: v.id }}
                        className="min-w-0 flex-1 truncate text-ink no-underline hover:underline"
                      >
                        <span translate="no">{v.name}</span>
                      </Link>
                    </div>
                    <Share share={v.share} most={r.vendors[0]!.share} />
                  </li>
                ))}
              </ol>
            </Panel>
          </div>
          <p className="max-w-[760px] pt-3 text-small text-ink3">{t('help', { n: r.least })}</p>
        </>
      )}
    </Page>
  )
}

/** A share as a level beside its number; the longest level is the leader's. */
function Share({ share, most, wide }: { share: number; most: number; wide?: boolean }) {
  const t = useT('rankings')
  const text = share === 0 ? t('under') : percent(share, 0)
  return (
    <span className="flex items-center justify-end gap-3">
      <span className={wide ? 'w-28' : 'flex-1'}>
        <Level
          total={Math.max(1, most)}
          label={text}
          parts={[{ key: 'share', value: share, className: 'bg-accent' }]}
        />
      </span>
      <span className="w-12 text-right tabular-nums">{text}</span>
    </span>
  )
}

/** How a place has changed, in a picture with its number, and in words. */
function Moved({ model }: { model: Ranked }) {
  const t = useT('rankings')
  if (model.before === null) return <Tag tone="accent">{t('new')}</Tag>
  const by = model.before - model.place
  const words = by === 0 ? t('same') : t(by > 0 ? 'up' : 'down', { n: Math.abs(by) })
  return (
    <span title={words} className="inline-flex items-center gap-0.5 text-small text-ink3 tabular-nums">
      {by === 0 ? (
        <Icon name="minus" size={14} />
      ) : (
        <>
          <Icon name={by > 0 ? 'up' : 'down'} size={14} />
          <span aria-hidden>{integer(Math.abs(by))}</span>
        </>
      )}
      <span className="sr-only">{words}</span>
    </span>
  )
}
