/** /jobs/:id: one video job or batch: how far it is, what it costs, and what came of it. */
import { useAction } from '../../api/action'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { ApiError, address } from '../../api/client'
import { useRenewed } from '../../api/live'
import { getBatch, getJob } from '../../api/operations'
import { integer } from '../../format'
import { useT } from '../../i18n'
import { Button, buttonClass } from '../../ui/button'
import { Copy } from '../../ui/copy'
import { Empty, ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Link, LinkButton } from '../../ui/link'
import { Level } from '../../ui/marks'
import { Confirm } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { useShortcuts } from '../../ui/shortcuts'
import { toast, toastError } from '../../ui/toast'
import { Money, When } from '../../ui/values'
import {
  cancel,
  cancellable,
  Cost,
  isActive,
  isBatch,
  JobState,
  Progress,
  type Batch,
  type Job,
  readings,
} from './data'

export default function JobPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  useRenewed(['jobs'], readings, { every: 1_000 })
  return isBatch(id) ? <BatchOf id={id} /> : <VideoOf id={id} />
}

function Frame({ id, state, children }: { id: string; state: string | undefined; children: ReactNode }) {
  const t = useT('jobs')
  const [asking, setAsking] = useState(false)
  const end = useAction(() => cancel(id).then(() => toast(t('cancelled'))), {
    failed: toastError,
    settled: () => setAsking(false),
  })
  return (
    <Page width="text">
      <PageHead
        title={
          <span className="inline-flex flex-wrap items-center gap-x-3">
            {t('job')}{' '}
            <span translate="no" className="text-body font-normal text-ink2">
              {id}
            </span>
          </span>
        }
        name={t('job')}
        crumbs={[{ label: t('title'), to: '/jobs' }, { label: id }]}
      >
        <Copy text={id} what={t('id')} />
        {state && cancellable(state) && (
          <Button look="bad" onClick={() => setAsking(true)}>
            {t('cancel')}
          </Button>
        )}
      </PageHead>
      {children}
      <Confirm
        open={asking}
        onOpenChange={setAsking}
        title={t('cancelTitle')}
        verb={t('cancel')}
        busy={end.busy}
        onConfirm={() => end.run()}
      >
        {t(isBatch(id) ? 'cancelBatchText' : 'cancelText')}
      </Confirm>
    </Page>
  )
}
function Missing({ error, retry }: { error: unknown; retry: () => void }) {
  const t = useT('jobs')
  return error instanceof ApiError && error.status === 404 ? (
    <Empty icon="video" title={t('missing')} action={<LinkButton to="/jobs">{t('toJobs')}</LinkButton>}>
      {t('missingText')}
    </Empty>
  ) : (
    <ErrorBox error={error} onRetry={retry} />
  )
}
function Facts({ rows }: { rows: readonly (readonly [string, ReactNode] | false | null)[] }) {
  return (
    <dl className="m-0 grid grid-cols-[min(180px,38%)_minmax(0,1fr)] gap-x-4 gap-y-2.5">
      {rows.map(
        (r) =>
          r && [
            <dt key={r[0]} className="text-ink3">
              {r[0]}
            </dt>,
            <dd key={r[0] + ' value'} className="m-0 min-w-0 break-words">
              {r[1]}
            </dd>,
          ],
      )}
    </dl>
  )
}

function VideoOf({ id }: { id: string }) {
  const t = useT('jobs')
  const q = useQuery({
    ...getJob({ path: { id } }),
    placeholderData: undefined,
    refetchInterval: (x) => (x.state.data && isActive(x.state.data.data.state) ? 5_000 : false),
  })
  const j: Job | undefined = q.data?.data
  useShortcuts({
    ' ': () => {
      const v = document.querySelector('video')
      if (v) {
        if (v.paused) void v.play()
        else v.pause()
      }
    },
  })
  return (
    <Frame id={id} state={j?.state}>
      {!j ? (
        q.error ? (
          <Missing error={q.error} retry={() => void q.refetch()} />
        ) : (
          <SkeletonRows rows={8} />
        )
      ) : (
        <div className="flex flex-col gap-5">
          {j.state === 'failed' && (
            <Notice tone="bad" title={t('error')}>
              <span translate="no">{j.error ?? '—'}</span>
            </Notice>
          )}
          {j.videos.map((src, i) => (
            <figure key={src} className="m-0 flex flex-col gap-2">
              <video
                src={address(src)}
                controls
                preload="metadata"
                playsInline
                aria-label={t('watch', { n: i + 1 })}
                className="max-h-[60vh] w-full rounded-panel bg-sunken"
              />
              <figcaption>
                <a
                  href={address(src)}
                  download={`${id}-${i + 1}.mp4`}
                  className={`${buttonClass('plain')} no-underline`}
                >
                  {j.videos.length > 1 ? t('downloadN', { n: i + 1 }) : t('download')}
                </a>
              </figcaption>
            </figure>
          ))}
          {isActive(j.state) && (
            <Panel>
              <p className="pb-3 text-ink2" role="status">
                {t('waiting')}
              </p>
              <Progress job={j} />
            </Panel>
          )}
          {j.state === 'expired' && <p className="text-ink2">{t('gone')}</p>}
          <Panel>
            <Facts
              rows={[
                [t('state'), <JobState state={j.state} />],
                [
                  t('model'),
                  <Link to={`/models/${j.model}`}>
                    <span translate="no">{j.model}</span>
                  </Link>,
                ],
                j.provider !== null && [t('provider'), <span translate="no">{j.provider}</span>],
                [t('cost'), <Cost job={j} />],
                [t('started'), <When at={j.created_at} form="full" />],
                [t('took'), <Progress job={j} />],
                j.expires_at !== null && [t('expires'), <When at={j.expires_at} form="full" />],
                j.key !== null && [t('key'), <span translate="no">{j.key.name ?? j.key.id}</span>],
                !isActive(j.state) && [
                  t('call'),
                  <Link to={`/calls/${j.call}`}>
                    <span translate="no">{j.call}</span>
                  </Link>,
                ],
              ]}
            />
          </Panel>
        </div>
      )}
    </Frame>
  )
}

function BatchOf({ id }: { id: string }) {
  const t = useT('jobs')
  const q = useQuery({
    ...getBatch({ path: { id } }),
    placeholderData: undefined,
  })
  const b: Batch | undefined = q.data
  const file = (of: string, name: string) => (
    <a
      href={address('/api/v1/files/{id}/content', { path: { id: of } })}
      download={`${of}.jsonl`}
      className={`${buttonClass('plain')} no-underline`}
    >
      {name}
    </a>
  )
  const n = b?.request_counts
  const text = n
    ? t('requests', { done: integer(n.completed), all: integer(n.total), failed: integer(n.failed) })
    : ''
  return (
    <Frame id={id} state={b?.status}>
      {!b || !n ? (
        q.error ? (
          <Missing error={q.error} retry={() => void q.refetch()} />
        ) : (
          <SkeletonRows rows={6} />
        )
      ) : (
        <div className="flex flex-col gap-5">
          {b.paused_by && <Notice tone="warn" title={t('paused', { why: b.paused_by })} />}
          <Panel>
            <p className="pb-2" role="status">
              {text}
            </p>
            <Level
              tall
              total={Math.max(1, n.total)}
              label={text}
              parts={[
                { key: 'done', value: n.completed, className: 'bg-accent' },
                { key: 'failed', value: n.failed, className: 'bg-bad' },
              ]}
            />
            {(b.output_file_id || b.error_file_id) && (
              <div className="flex flex-wrap gap-2 pt-4">
                {b.output_file_id && file(b.output_file_id, t('results'))}
                {b.error_file_id && file(b.error_file_id, t('failures'))}
              </div>
            )}
          </Panel>
          <Panel>
            <Facts
              rows={[
                [t('state'), <JobState state={b.status} />],
                [t('endpoint'), <code translate="no">{b.endpoint}</code>],
                [t('cost'), <Money value={b.usage.cost} exact />],
                [t('started'), <When at={b.created_at * 1000} form="full" />],
              ]}
            />
          </Panel>
        </div>
      )}
    </Frame>
  )
}
