/** Jobs and batches as the API has them, and what both pages say of them. */
import { remove, send, type Reply } from '../../api/client'
import { renew } from '../../api/query'
import { getBatch, getJob, listBatches, listJobs } from '../../api/operations'
import { duration } from '../../format'
import { useT } from '../../i18n'
import { Level, State, type Tone } from '../../ui/marks'
import { Money } from '../../ui/values'

export type Job = Reply<'/api/jobs/{id}'>['data']
export type Batch = Reply<'/v1/batches/{id}'>
export const isBatch = (id: string) => id.startsWith('batch_')
/** What both pages read. */
export const readings = [listJobs, getJob, listBatches, getBatch]
export const batchesAfter = async (
  after: string | undefined,
  signal?: AbortSignal,
): Promise<Reply<'/v1/batches'>> =>
  (await send('get', '/api/v1/batches', { query: { after, limit: 50 }, signal })).json() as Promise<
    Reply<'/v1/batches'>
  >

const running = new Set(['pending', 'in_progress', 'validating', 'finalizing', 'cancelling'])
export const isActive = (state: string) => running.has(state)
/** Whether the API still takes a cancellation. */
export const cancellable = (state: string) => ['pending', 'in_progress', 'validating'].includes(state)
export async function cancel(id: string): Promise<void> {
  if (isBatch(id)) await send('post', '/api/v1/batches/{id}/cancel', { path: { id }, body: {} })
  else await remove('/api/v1/videos/{id}' as '/v1/videos/{id}', { path: { id } })
  await renew(...readings)
}

const tones: Record<string, Tone> = {
  completed: 'good',
  failed: 'bad',
  in_progress: 'accent',
  validating: 'accent',
  finalizing: 'accent',
  pending: 'warn',
  cancelling: 'warn',
}
export function JobState({ state }: { state: string }) {
  const t = useT('jobs')
  return <State tone={tones[state] ?? 'plain'}>{t.or(`s_${state}`, state.replace(/_/g, ' '))}</State>
}
/** How far a running job is: what the provider reports, otherwise its time beside the usual one. A bar never says that something is over. */
export function Progress({ job }: { job: Job }) {
  const t = useT('jobs')
  if (!isActive(job.state)) return <>{duration(job.elapsed_ms)}</>
  const part =
    job.progress ??
    (job.expected_ms ? Math.min(99, Math.round((job.elapsed_ms / job.expected_ms) * 100)) : null)
  return (
    <span className="block min-w-32">
      <span className="block pb-1">
        {duration(job.elapsed_ms)}
        {job.expected_ms !== null && (
          <span className="text-small text-ink3"> · {t('usual', { time: duration(job.expected_ms) })}</span>
        )}
      </span>
      {part !== null && (
        <Level
          total={100}
          label={job.progress === null ? t('progress') : t('percent', { n: part })}
          parts={[{ key: 'done', value: part, className: 'bg-accent' }]}
        />
      )}
    </span>
  )
}
export function Cost({ job }: { job: Job }) {
  const t = useT('jobs')
  return job.cost === null ? (
    <span className="whitespace-nowrap text-hold">
      {t.rich('held', { amount: <Money value={job.hold} /> })}
    </span>
  ) : (
    <Money value={job.cost} exact />
  )
}
