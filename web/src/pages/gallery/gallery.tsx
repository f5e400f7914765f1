/** /gallery: the images, recordings and videos that the person made in this account and that are kept. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Suspense, lazy, useMemo, useState } from 'react'
import { get } from '../../api/client'
import { useRenewed } from '../../api/live'
import { listJobs } from '../../api/operations'
import { renew, useMe } from '../../api/query'
import { useAction } from '../../api/action'
import { bytes, integer } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Segmented } from '../../ui/controls'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Link, LinkButton, usePageSearch, type SearchShape } from '../../ui/link'
import { Confirm } from '../../ui/overlay'
import { Page, PageHead } from '../../ui/page'
import { toast } from '../../ui/toast'
import { Zone } from '../../ui/values'
import { deleteMade, keepDays, madeQuery, mostBytes, mostMade } from '../playground/made'
import { beside, itemsOf } from './items'
import { Tile } from './tile'

const Viewer = lazy(() => import('./viewer'))
const kinds = ['all', 'image', 'audio', 'video'] as const
interface View {
  readonly kind: (typeof kinds)[number]
  readonly open: string
}
const shape: SearchShape<View> = {
  read: (raw) => ({ kind: kinds.find((k) => k === raw.kind) ?? 'all', open: raw.open ?? '' }),
  write: (v) => ({ ...(v.kind === 'all' ? {} : { kind: v.kind }), ...(v.open ? { open: v.open } : {}) }),
}

export default function Gallery() {
  const t = useT('gallery'),
    c = useT('common')
  const me = useMe()
  const person = me?.user?.id ?? ''
  const [view, set] = usePageSearch(shape)
  const [asking, ask] = useState(false)
  useRenewed(['jobs'], [listJobs], { every: 1_000 })
  const made = useQuery({ ...madeQuery(person), enabled: person !== '' })
  const jobs = useInfiniteQuery({
    queryKey: listJobs.key('gallery'),
    queryFn: ({ signal, pageParam }) =>
      get('/api/jobs', {
        query: { state: 'completed', mine: true, cursor: pageParam, limit: 50 },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const all = useMemo(
    () => itemsOf(made.data ?? [], jobs.data?.pages.flatMap((p) => p.data) ?? [], jobs.hasNextPage),
    [made.data, jobs.data, jobs.hasNextPage],
  )
  const items = view.kind === 'all' ? all : all.filter((x) => x.kind === view.kind)
  const here = all.filter((x) => x.address === null)
  const shown = items.find((x) => x.id === view.open)
  const read = () => Promise.all([made.refetch(), renew(listJobs)])
  const wipe = useAction(
    async () => {
      await deleteMade(here.map((x) => x.id))
      await made.refetch()
      toast(t('deleted'))
    },
    { failed: () => toast(t('notDeleted')), settled: () => ask(false) },
  )
  const days = keepDays(me)
  const bounds = { most: integer(mostMade), size: bytes(mostBytes) }
  return (
    <Page>
      <PageHead title={t('title')} note={<Zone />}>
        <Segmented
          value={view.kind}
          onChange={(kind) => set({ kind, open: '' })}
          label={t('kind')}
          options={kinds.map((k) => ({ value: k, label: t(`k_${k}`) }))}
        />
      </PageHead>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 pb-4">
        <p className="max-w-[90ch] min-w-0 flex-[1_1_32rem] text-small text-ink2">
          {days === 0
            ? t('forbidden')
            : days === null
              ? t('kept', bounds)
              : t('keptDays', { ...bounds, days: t('days', { n: days }) })}{' '}
          <Link to="/settings/data" className="text-accent-ink underline">
            {t('dataLink')}
          </Link>
        </p>
        {here.length > 0 && (
          <Button small look="bad" icon="trash" onClick={() => ask(true)}>
            {t('deleteAll')}
          </Button>
        )}
      </div>
      {jobs.error && !jobs.data && (
        <div className="pb-4">
          <ErrorBox error={jobs.error} onRetry={() => void jobs.refetch()} />
        </div>
      )}
      {!made.data || (!jobs.data && !jobs.error) ? (
        <SkeletonRows rows={6} height={120} />
      ) : items.length === 0 && !jobs.hasNextPage ? (
        <Empty
          icon="image"
          title={t(view.kind === 'all' ? 'empty' : 'emptyKind')}
          action={
            <>
              <LinkButton to="/playground/image">{t('makeImage')}</LinkButton>
              <LinkButton to="/playground/audio">{t('makeSpeech')}</LinkButton>
              <LinkButton to="/playground/video">{t('makeVideo')}</LinkButton>
            </>
          }
        >
          {t('emptyText')}
        </Empty>
      ) : (
        <ul
          aria-label={t('list')}
          className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,210px),1fr))] gap-4 max-sm:grid-cols-2 max-sm:gap-2.5"
        >
          {items.map((x) => (
            <Tile key={x.id} item={x} onOpen={() => set({ open: x.id }, { push: true })} />
          ))}
        </ul>
      )}
      {jobs.hasNextPage && (
        <div className="pt-4 text-center">
          <Button small busy={jobs.isFetchingNextPage} onClick={() => void jobs.fetchNextPage()}>
            {c('loadMore')}
          </Button>
        </div>
      )}
      {shown && (
        <Suspense fallback={null}>
          <Viewer
            item={shown}
            n={items.indexOf(shown) + 1}
            of={items.length}
            onTo={(by) => set({ open: beside(items, shown.id, by) })}
            onClose={() => set({ open: '' })}
            onGone={() => {
              const next = items[items.indexOf(shown) + 1] ?? items[items.indexOf(shown) - 1]
              // The other videos of a job go with it.
              set({ open: next && !(next.job && next.job === shown.job) ? next.id : '' })
              void read()
            }}
          />
        </Suspense>
      )}
      <Confirm
        open={asking}
        onOpenChange={ask}
        title={t('deleteAllTitle', { n: here.length })}
        verb={t('delete')}
        busy={wipe.busy}
        onConfirm={() => wipe.run()}
      >
        {t('deleteAllText')}
      </Confirm>
    </Page>
  )
}
