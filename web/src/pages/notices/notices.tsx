/** /notices: what Weir has noticed for the account, by cause and by tag. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { ApiError, account, get } from '../../api/client'
import { useRenewed } from '../../api/live'
import { listNotices } from '../../api/operations'
import { useMe } from '../../api/query'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { Link, usePageSearch, type SearchShape } from '../../ui/link'
import { Page, PageHead, Panel } from '../../ui/page'
import { Zone } from '../../ui/values'
import { MarkAll, newest, NoticeList } from './list'

const causes = [
  'low_balance',
  'key_limit',
  'key_expiring',
  'model_retiring',
  'payment',
  'unusual_spending',
] as const
interface View {
  readonly cause: string
  readonly tag: string
}
const shape: SearchShape<View> = {
  read: (raw) => ({ cause: causes.find((c) => c === raw.cause) ?? '', tag: raw.tag ?? '' }),
  write: (v) => ({ cause: v.cause || undefined, tag: v.tag || undefined }),
}

export default function NoticesPage() {
  const t = useT('notices'),
    n = useT('notifications'),
    c = useT('common')
  const me = useMe()
  const owns = account === null || me?.accounts.find((a) => a.id === account)?.role === 'owner'
  const [view, set] = usePageSearch(shape)
  const first = useQuery(newest).data
  useRenewed(['notices'], [listNotices], { every: 1_000 })
  const q = useInfiniteQuery({
    queryKey: listNotices.key('pages', view.cause, view.tag),
    queryFn: ({ signal, pageParam }) =>
      get('/api/notices', {
        query: { cause: view.cause, tag: view.tag, cursor: pageParam, limit: 50 },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const rows = q.data?.pages.flatMap((p) => p.data)
  const tags = q.data?.pages[0]?.tags ?? []
  const off = q.error instanceof ApiError && q.error.status === 404
  return (
    <Page>
      <PageHead title={t('title')} note={<Zone />}>
        <MarkAll inbox={first} />
        {owns && <Link to="/settings/notifications">{t('settings')}</Link>}
      </PageHead>
      <div className="flex flex-wrap items-end gap-4 pb-3">
        <Field label={t('cause')} hideLabel>
          <Select
            value={view.cause}
            onChange={(e) => set({ cause: e.target.value })}
            options={[{ value: '', label: t('anyCause') }, ...causes.map((k) => ({ value: k, label: n(k) }))]}
          />
        </Field>
        {(tags.length > 0 || view.tag) && (
          <Field label={t('tag')} hideLabel>
            <Select
              value={view.tag}
              onChange={(e) => set({ tag: e.target.value })}
              options={[
                { value: '', label: t('anyTag') },
                ...[...new Set(view.tag ? [...tags, view.tag] : tags)].map((tag) => ({
                  value: tag,
                  label: tag,
                })),
              ]}
            />
          </Field>
        )}
      </div>
      <Panel flush>
        {off ? (
          <Empty icon="bell" title={t('off')} />
        ) : q.error && !rows ? (
          <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
        ) : !rows ? (
          <SkeletonRows rows={8} height={56} />
        ) : rows.length === 0 ? (
          view.cause || view.tag ? (
            <Empty
              icon="bell"
              title={t('noneFiltered')}
              action={<Button onClick={() => set({ cause: '', tag: '' })}>{t('clear')}</Button>}
            />
          ) : (
            <Empty icon="bell" title={t('none')}>
              {t('noneText')}
            </Empty>
          )
        ) : (
          <NoticeList rows={rows} />
        )}
      </Panel>
      {q.hasNextPage && (
        <div className="pt-3 text-center">
          <Button busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
            {c('more')}
          </Button>
        </div>
      )}
    </Page>
  )
}
