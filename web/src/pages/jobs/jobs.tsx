/** /jobs: videos and batches, under way and done. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { get } from '../../api/client'
import { useRenewed } from '../../api/live'
import { listBatches, listJobs } from '../../api/operations'
import { integer } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Segmented } from '../../ui/controls'
import { Empty } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { Link, LinkButton, useGo, usePageSearch, type SearchShape } from '../../ui/link'
import { Level } from '../../ui/marks'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { Money, When, Zone } from '../../ui/values'
import { batchesAfter, Cost, isActive, JobState, Progress, type Batch, type Job, readings } from './data'

const Cheapest = lazy(() => import('./cheapest'))
const states = ['pending', 'in_progress', 'completed', 'failed', 'cancelled', 'expired'] as const
interface View {
  readonly kind: 'videos' | 'batches'
  readonly state: string
}
const shape: SearchShape<View> = {
  read: (raw) => ({
    kind: raw.kind === 'batches' ? 'batches' : 'videos',
    state: states.find((s) => s === raw.state) ?? '',
  }),
  write: (v) => ({
    ...(v.kind === 'batches' ? { kind: 'batches' } : {}),
    ...(v.state ? { state: v.state } : {}),
  }),
}

export default function Jobs() {
  const t = useT('jobs')
  const [view, set] = usePageSearch(shape)
  useRenewed(['jobs'], readings, { every: 1_000 })
  return (
    <Page>
      <PageHead title={t('title')} note={<Zone />}>
        <Segmented
          value={view.kind}
          onChange={(kind) => set({ kind, state: '' })}
          label={t('kind')}
          options={[
            { value: 'videos', label: t('videos') },
            { value: 'batches', label: t('batches') },
          ]}
        />
      </PageHead>
      {view.kind === 'videos' ? (
        <Videos state={view.state} onState={(state) => set({ state })} />
      ) : (
        <Batches />
      )}
    </Page>
  )
}

function Videos({ state, onState }: { state: string; onState: (s: string) => void }) {
  const t = useT('jobs'),
    c = useT('common')
  const go = useGo()
  const q = useInfiniteQuery({
    queryKey: listJobs.key('pages', state),
    queryFn: ({ signal, pageParam }) =>
      get('/api/jobs', { query: { state, cursor: pageParam, limit: 50 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    refetchInterval: (x) => (x.state.data?.pages.some((p) => p.active > 0) ? 10_000 : false), // elapsed time moves without events
  })
  const first = q.data?.pages[0]
  const rows = q.data?.pages.flatMap((p) => p.data)
  return (
    <>
      <div className="flex flex-wrap items-center gap-4 pb-3">
        <Field label={t('state')} hideLabel>
          <Select
            value={state}
            onChange={(e) => onState(e.target.value)}
            options={[
              { value: '', label: t('any') },
              ...states.map((s) => ({ value: s, label: t(`s_${s}`) })),
            ]}
          />
        </Field>
        {first && (
          <span className="flex items-center gap-2 text-small text-ink2">
            <span className="w-20">
              <Level
                total={first.allowed}
                label={t('active', { n: first.active, most: first.allowed })}
                parts={[{ key: 'active', value: first.active, className: 'bg-accent' }]}
              />
            </span>
            {t('active', { n: first.active, most: first.allowed })}
          </span>
        )}
      </div>
      <Panel flush>
        <Table<Job>
          main
          name="jobs"
          caption={t('videos')}
          rows={rows}
          rowKey={(j) => j.id}
          error={q.error}
          onRetry={() => void q.refetch()}
          stale={q.isPlaceholderData}
          onOpen={(j) => go(`/jobs/${j.id}`)}
          empty={
            state ? (
              <Empty
                icon="video"
                title={t('emptyState')}
                action={<Button onClick={() => onState('')}>{t('any')}</Button>}
              />
            ) : (
              <Empty
                icon="video"
                title={t('emptyVideos')}
                action={
                  <LinkButton to="/models" search={{ makes: 'video' }}>
                    {c('models')}
                  </LinkButton>
                }
              >
                {t('emptyVideosText')}{' '}
                <Suspense>
                  <Cheapest />
                </Suspense>
              </Empty>
            )
          }
          columns={[
            {
              key: 'job',
              head: t('job'),
              cell: (j) => (
                <Link
                  to={`/jobs/${j.id}`}
                  translate="no"
                  className="block max-w-[220px] truncate text-ink no-underline hover:underline"
                >
                  {j.id}
                </Link>
              ),
            },
            {
              key: 'model',
              head: t('model'),
              cell: (j) => (
                <span translate="no" className="block max-w-[220px] truncate text-ink2">
                  {j.model}
                </span>
              ),
            },
            { key: 'state', head: t('state'), cell: (j) => <JobState state={j.state} /> },
            {
              key: 'started',
              head: t('started'),
              from: 'lg',
              cell: (j) => <When at={j.created_at} form="full" />,
            },
            { key: 'took', head: t('took'), width: '260px', cell: (j) => <Progress job={j} /> },
            {
              key: 'expires',
              head: t('expires'),
              from: 'xl',
              cell: (j) => <When at={j.expires_at} form="full" />,
            },
            { key: 'cost', head: t('cost'), align: 'end', cell: (j) => <Cost job={j} /> },
          ]}
          phone={(j) => (
            <Link to={`/jobs/${j.id}`} className="block text-ink no-underline">
              <span className="flex gap-2">
                <span translate="no" className="min-w-0 flex-1 truncate font-medium">
                  {j.model}
                </span>
                <Cost job={j} />
              </span>
              <span className="flex items-center gap-2 pt-1 text-small text-ink3">
                <span className="flex-1">
                  <JobState state={j.state} />
                </span>
                <When at={j.created_at} form="full" />
              </span>
              {isActive(j.state) && (
                <span className="block pt-1.5">
                  <Progress job={j} />
                </span>
              )}
            </Link>
          )}
        />
        {q.hasNextPage && (
          <div className="border-t border-line p-3 text-center">
            <Button small busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
              {c('loadMore')}
            </Button>
          </div>
        )}
      </Panel>
    </>
  )
}

export const counts = (b: Batch) => ({
  done: b.request_counts.completed,
  all: b.request_counts.total,
  failed: b.request_counts.failed,
})
function Batches() {
  const t = useT('jobs'),
    c = useT('common')
  const go = useGo()
  const q = useInfiniteQuery({
    queryKey: listBatches.key('pages'),
    queryFn: ({ signal, pageParam }) => batchesAfter(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last.has_more ? last.data.at(-1)?.id : undefined),
  })
  const text = (b: Batch) => {
    const n = counts(b)
    return t('requests', { done: integer(n.done), all: integer(n.all), failed: integer(n.failed) })
  }
  return (
    <Panel flush>
      <Table<Batch>
        main
        caption={t('batches')}
        rows={q.data?.pages.flatMap((p) => p.data)}
        rowKey={(b) => b.id}
        error={q.error}
        onRetry={() => void q.refetch()}
        onOpen={(b) => go(`/jobs/${b.id}`)}
        empty={
          <Empty icon="list" title={t('emptyBatches')}>
            {t('emptyBatchesText')}
          </Empty>
        }
        columns={[
          {
            key: 'job',
            head: t('job'),
            cell: (b) => (
              <Link
                to={`/jobs/${b.id}`}
                translate="no"
                className="block max-w-[260px] truncate text-ink no-underline hover:underline"
              >
                {b.id}
              </Link>
            ),
          },
          {
            key: 'endpoint',
            head: t('endpoint'),
            from: 'lg',
            cell: (b) => (
              <code translate="no" className="text-small text-ink2">
                {b.endpoint}
              </code>
            ),
          },
          { key: 'state', head: t('state'), cell: (b) => <JobState state={b.status} /> },
          {
            key: 'started',
            head: t('started'),
            from: 'lg',
            cell: (b) => <When at={b.created_at * 1000} form="full" />,
          },
          {
            key: 'progress',
            head: t('progress'),
            cell: (b) => (
              <span className="block min-w-40">
                <span className="block pb-1">{text(b)}</span>
                <Level
                  total={Math.max(1, b.request_counts.total)}
                  label={text(b)}
                  parts={[
                    { key: 'done', value: b.request_counts.completed, className: 'bg-accent' },
                    { key: 'failed', value: b.request_counts.failed, className: 'bg-bad' },
                  ]}
                />
              </span>
            ),
          },
          { key: 'cost', head: t('cost'), align: 'end', cell: (b) => <Money value={b.usage.cost} exact /> },
        ]}
        phone={(b) => (
          <Link to={`/jobs/${b.id}`} className="block text-ink no-underline">
            <span className="flex gap-2">
              <span translate="no" className="min-w-0 flex-1 truncate font-medium">
                {b.id}
              </span>
              <JobState state={b.status} />
            </span>
            <span className="flex gap-2 pt-1 text-small text-ink3">
              <span className="flex-1">{text(b)}</span>
              <Money value={b.usage.cost} exact />
            </span>
          </Link>
        )}
      />
      {q.hasNextPage && (
        <div className="border-t border-line p-3 text-center">
          <Button small busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
            {c('loadMore')}
          </Button>
        </div>
      )}
    </Panel>
  )
}
