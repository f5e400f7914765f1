/** What was published and what is scheduled, and the ways back. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { get, post } from '../../api/client'
import { listPricePublications } from '../../api/operations'
import { day } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty } from '../../ui/feedback'
import { State } from '../../ui/marks'
import { Confirm } from '../../ui/overlay'
import { Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast, toastError } from '../../ui/toast'
import { useNear } from '../../ui/near'
import { When } from '../../ui/values'
import { renewPrices, whoOf, type Publication } from './price-data'

const tones = { scheduled: 'accent', published: 'good', cancelled: 'plain' } as const

export function History({ may, settled }: { may: boolean; settled: boolean }) {
  const t = useT('adminprices')
  const [cancelling, setCancelling] = useState<Publication | null>(null)
  const [place, near] = useNear<HTMLDivElement>(settled)
  const q = useInfiniteQuery({
    enabled: near,
    queryKey: listPricePublications.key(),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/prices/publications', { query: { before: pageParam, limit: 10 }, signal }),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const revert = useAction(
    async (p: Publication) => {
      await post('/api/admin/prices/publications/{id}/revert', { path: { id: String(p.id) } })
      await renewPrices()
      toast(t('reverting'))
    },
    { failed: toastError },
  )
  const cancel = useAction(
    async (p: Publication) => {
      await post('/api/admin/prices/publications/{id}/cancel', { path: { id: String(p.id) } })
      await renewPrices()
      toast(t('cancelled'))
    },
    { failed: toastError, settled: () => setCancelling(null) },
  )
  const act = (p: Publication) =>
    may && p.state === 'published' ? (
      <Button small busy={revert.running?.[0].id === p.id} onClick={() => revert.run(p)}>
        {t('revert')}
      </Button>
    ) : may && p.state === 'scheduled' ? (
      <Button small onClick={() => setCancelling(p)}>
        {t('cancel')}
      </Button>
    ) : null
  const state = (p: Publication) => <State tone={tones[p.state]}>{t(`state_${p.state}`)}</State>
  return (
    <div ref={place}>
      <Panel title={t('history')} flush>
        <Table<Publication>
          caption={t('history')}
          rows={q.data?.pages.flatMap((p) => p.data)}
          rowKey={(p) => String(p.id)}
          error={q.error}
          onRetry={() => void q.refetch()}
          empty={<Empty title={t('noHistory')}>{t('noHistoryText')}</Empty>}
          columns={[
            { key: 'state', head: t('state'), cell: state },
            { key: 'from', head: t('from'), cell: (p) => <When at={p.from} form="full" /> },
            {
              key: 'actor',
              head: t('who'),
              cell: (p) => (
                <span translate="no" title={p.actor}>
                  {whoOf(p)}
                </span>
              ),
            },
            {
              key: 'endpoints',
              head: t('endpoints'),
              align: 'end',
              cell: (p) => (
                <>
                  {p.endpoints}
                  {p.list && (
                    <span className="block text-label text-ink3">
                      {t('listOf', { day: day(p.list.as_of) })}
                    </span>
                  )}
                </>
              ),
            },
            ...(may ? [{ key: 'act', head: '', name: t('act'), align: 'end' as const, cell: act }] : []),
          ]}
          phone={(p) => (
            <div className="flex items-start gap-2">
              <div className="min-w-0 flex-1">
                {state(p)}
                <p className="text-small text-ink3">
                  <When at={p.from} form="full" /> · <span translate="no">{whoOf(p)}</span> ·{' '}
                  {t('changes', { n: p.endpoints })}
                </p>
              </div>
              {act(p)}
            </div>
          )}
        />
        {q.hasNextPage && (
          <div className="px-4 py-2">
            <Button small look="quiet" busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
              {t('more')}
            </Button>
          </div>
        )}
        {cancelling && (
          <Confirm
            open
            onOpenChange={() => setCancelling(null)}
            title={t('cancelTitle')}
            verb={t('cancel')}
            busy={cancel.busy}
            onConfirm={() => cancel.run(cancelling)}
          >
            {t.rich('cancelText', {
              n: cancelling.endpoints,
              time: <When at={cancelling.from} form="full" />,
            })}
          </Confirm>
        )}
      </Panel>
    </div>
  )
}
