/** The route that a request would take now. No provider is called and nothing is charged. */
import { useQuery } from '@tanstack/react-query'
import { post } from '../../api/client'
import { useT } from '../../i18n'
import { ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Dialog } from '../../ui/overlay'
import { RouteFlow, type FlowCandidate } from '../../ui/route-flow'
import { useCatalog } from '../catalog/data'
import type { Request } from './stream'

export default function Explain({ body, onClose }: { body: Request; onClose: () => void }) {
  const t = useT('playground')
  const { prepared } = useCatalog()
  const { data, error, refetch } = useQuery({
    queryKey: ['explainRoute', body],
    queryFn: ({ signal }) =>
      post('/api/v1/route/explain' as '/v1/route/explain', { body: body as never, signal }),
    staleTime: 0,
    gcTime: 0,
  })
  const plan = data?.data
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('explainTitle')}
      description={t('explainText')}
      wide
    >
      {error ? (
        <ErrorBox error={error} onRetry={() => void refetch()} />
      ) : !plan ? (
        <SkeletonRows rows={4} />
      ) : (
        <div className="flex flex-col gap-3 pt-2">
          {plan.error && (
            <Notice tone="warn" title={t('explainNone')}>
              <span lang="en" translate="no">
                {plan.error.message}
              </span>
            </Notice>
          )}
          <RouteFlow
            title={t('explainRoute')}
            candidates={plan.candidates as unknown as FlowCandidate[]}
            attempts={[]}
            planned
            asked={body.model}
            names={(p) => prepared?.providers.get(p) ?? p}
          />
        </div>
      )}
    </Dialog>
  )
}
