/** /admin/jobs: what outlives a call and has not ended, of all accounts; what is stuck, and the verbs that end it. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { get, post, type Reply } from '../../api/client'
import { listAllJobs } from '../../api/operations'
import { renew } from '../../api/query'
import { integer, money } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Segmented } from '../../ui/controls'
import { Empty, ErrorBox } from '../../ui/feedback'
import { Field, Input, Select } from '../../ui/field'
import { Link, usePageSearch, type SearchShape } from '../../ui/link'
import { State, Tag, type Tone } from '../../ui/marks'
import { Confirm } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast } from '../../ui/toast'
import { Money, When, Zone } from '../../ui/values'

type Row = Reply<'/api/admin/jobs'>['data'][number]
type Count = Reply<'/api/admin/jobs'>['counts'][number]

const kinds = ['videos', 'batches', 'webhooks', 'notices'] as const
type Kind = (typeof kinds)[number]
const states = ['open', 'stuck', 'failed'] as const
interface Chosen {
  readonly kind: Kind
  readonly state: (typeof states)[number]
}
const shape: SearchShape<Chosen> = {
  read: (raw) => ({
    kind: kinds.find((k) => k === raw.kind) ?? 'videos',
    state: states.find((s) => s === raw.state && (s !== 'failed' || raw.kind === 'webhooks')) ?? 'open',
  }),
  write: (c) => ({
    kind: c.kind === 'videos' ? undefined : c.kind,
    state: c.state === 'open' ? undefined : c.state,
  }),
}
const EVERY = 5_000

export default function Jobs() {
  const t = useT('adminjobs')
  const [chosen, choose] = usePageSearch(shape)
  const q = useInfiniteQuery({
    queryKey: listAllJobs.key(chosen),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/jobs', { query: { ...chosen, cursor: pageParam, limit: 50 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    refetchInterval: EVERY,
  })
  const rows = q.data?.pages.flatMap((p) => p.data)
  const counts = q.data?.pages[0]?.counts
  const [ending, end] = useState<Row | null>(null)
  return (
    <Page>
      <PageHead
        title={t('title')}
        note={
          <>
            {t('note')} <Zone />.
          </>
        }
      />
      <div className="flex flex-wrap items-center gap-3 pb-4">
        <div className="max-w-full overflow-x-auto p-0.5">
          <Segmented
            value={chosen.kind}
            onChange={(kind) => choose({ kind, state: 'open' })}
            label={t('kind')}
            options={kinds.map((k) => ({ value: k, label: labelOf(t(k), counts, k) }))}
          />
        </div>
        <Field label={t('state')} hideLabel>
          <Select
            value={chosen.state}
            onChange={(e) => choose({ state: states.find((s) => s === e.target.value) ?? 'open' })}
            options={states
              .filter((s) => s !== 'failed' || chosen.kind === 'webhooks')
              .map((s) => ({ value: s, label: t(`only_${s}`) }))}
          />
        </Field>
        {counts && <Stuck counts={counts} choose={choose} />}
      </div>
      <Panel flush>
        <Table<Row>
          main
          caption={t(chosen.kind)}
          rows={rows}
          rowKey={(r) => r.id}
          error={q.error}
          onRetry={() => void q.refetch()}
          stale={q.isPlaceholderData}
          empty={
            <Empty icon="check" title={t(chosen.state === 'open' ? 'nothing' : 'noneSuch')}>
              {chosen.state === 'open' && t('nothingText')}
            </Empty>
          }
          columns={[
            { key: 'job', head: t('job'), cell: (r) => <Id r={r} /> },
            { key: 'what', head: t('what'), cell: (r) => <What r={r} /> },
            { key: 'account', head: t('account'), cell: (r) => <Account r={r} /> },
            { key: 'state', head: t('state'), cell: (r) => <How r={r} /> },
            { key: 'since', head: t('since'), cell: (r) => <When at={r.since} className="text-ink2" /> },
            { key: 'expected', head: t('expected'), cell: (r) => <Expected r={r} /> },
            ...(chosen.kind === 'videos'
              ? [
                  {
                    key: 'held',
                    head: t('held'),
                    align: 'end' as const,
                    cell: (r: Row) => r.held !== null && <Money value={r.held} sign={false} />,
                  },
                ]
              : []),
            { key: 'acts', head: t('acts'), align: 'end', cell: (r) => <Acts r={r} end={end} /> },
          ]}
          phone={(r) => (
            <div className="flex flex-col gap-1.5 py-1">
              <div className="flex items-start gap-2">
                <span className="min-w-0 flex-1">
                  <What r={r} />
                </span>
                {r.held !== null && <Money value={r.held} />}
              </div>
              <span className="flex flex-wrap gap-x-3 text-small">
                <Account r={r} /> <When at={r.since} className="text-ink3" />
              </span>
              <How r={r} />
              <Expected r={r} />
              <Acts r={r} end={end} />
            </div>
          )}
        />
        {q.hasNextPage && (
          <div className="flex justify-end px-4 py-2">
            <Button small look="quiet" busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
              {t('more')}
            </Button>
          </div>
        )}
      </Panel>
      {ending && <End key={ending.id} r={ending} close={() => end(null)} />}
    </Page>
  )
}

function labelOf(name: string, counts: readonly Count[] | undefined, kind: Kind): string {
  const n = counts?.find((c) => c.kind === kind)?.open ?? 0
  return n > 0 ? `${name} ${integer(n)}` : name
}

/** Where something is stuck, of all kinds: a step to it. */
function Stuck({ counts, choose }: { counts: readonly Count[]; choose: (c: Partial<Chosen>) => void }) {
  const t = useT('adminjobs')
  const stuck = counts.filter((c) => c.stuck > 0)
  if (stuck.length === 0) return <State tone="good">{t('noneStuck')}</State>
  return (
    <span className="flex flex-wrap gap-2">
      {stuck.map((c) => (
        <button
          key={c.kind}
          type="button"
          className="text-small font-medium text-bad underline"
          onClick={() => choose({ kind: kinds.find((k) => k === c.kind) ?? 'videos', state: 'stuck' })}
        >
          {t('stuckOf', { n: c.stuck, kind: t(kinds.find((k) => k === c.kind) ?? 'videos') })}
        </button>
      ))}
    </span>
  )
}

function Id({ r }: { r: Row }) {
  return (
    <span translate="no" title={r.id} className="block max-w-32 truncate text-small text-ink2">
      {r.id}
    </span>
  )
}

function What({ r }: { r: Row }) {
  const t = useT('adminjobs')
  return (
    <span className="block max-w-64">
      <span translate="no" className="block truncate font-medium" title={r.what}>
        {r.what}
      </span>
      {r.kind === 'batches' && (
        <span className="text-label text-ink3">
          {t('requests', { done: integer(r.done), failed: integer(r.failed), total: integer(r.total) })}
        </span>
      )}
    </span>
  )
}

function Account({ r }: { r: Row }) {
  return (
    <Link to={`/admin/people/${r.user}`} title={r.user} className="block max-w-40 truncate">
      <span translate="no">{r.user_name ?? r.user}</span>
    </Link>
  )
}

const tones: Record<string, Tone> = { in_progress: 'accent', failed: 'bad' }
const known = [
  'pending',
  'submitting',
  'in_progress',
  'validating',
  'finalizing',
  'cancelling',
  'waiting',
  'failed',
] as const

function How({ r }: { r: Row }) {
  const t = useT('adminjobs')
  const state = known.find((s) => s === r.state)
  return (
    <span className="flex flex-wrap items-center gap-2">
      {r.stuck && <Tag tone="bad">{t('stuck')}</Tag>}
      <State tone={tones[r.state] ?? 'plain'}>
        {state ? t(`s_${state}`) : r.state}
        {r.percent > 0 && ` ${r.percent} %`}
      </State>
      {r.tries > 0 && <span className="text-small text-ink3">{t('tries', { n: r.tries })}</span>}
    </span>
  )
}

/** When it goes on or must have ended, and the words of whoever refused it. */
function Expected({ r }: { r: Row }) {
  const t = useT('adminjobs')
  return (
    <span className="flex max-w-64 flex-col text-small text-ink2">
      {r.words !== null && (
        <span translate="no" className="break-words text-ink">
          “{r.words}”
        </span>
      )}
      {r.kind === 'videos' && r.stuck && r.spoke_at !== null && (
        <span>
          {t('silent')} <When at={r.spoke_at} />
        </span>
      )}
      {r.by !== null ? (
        <span>
          {t('by')} <When at={r.by} />
        </span>
      ) : (
        r.next_at !== null && (
          <span>
            {t('next')} <When at={r.next_at} />
          </span>
        )
      )}
    </span>
  )
}

function Acts({ r, end }: { r: Row; end: (r: Row) => void }) {
  const t = useT('adminjobs')
  const retry = useAction(async () => {
    await post('/api/admin/jobs/{kind}/{id}/retry', { path: { kind: r.kind, id: r.id } })
    toast(t('retried', { id: r.id }))
    await renew(listAllJobs)
  })
  return (
    <span className="flex flex-wrap items-center justify-end gap-1.5 max-md:justify-start">
      {r.may_retry && (
        <Button
          small
          busy={retry.busy}
          onClick={() => retry.run()}
          aria-label={`${t(`retry_${r.kind}`)}: ${r.id}`}
        >
          {t(`retry_${r.kind}`)}
        </Button>
      )}
      {r.may_be_ended && (
        <Button small look="quiet" onClick={() => end(r)} aria-label={`${t(`end_${r.kind}`)}: ${r.id}`}>
          {t(`end_${r.kind}`)}
        </Button>
      )}
      {retry.error !== null && <ErrorBox error={retry.error} />}
    </span>
  )
}

/** Says first whose money returns and that the provider may still bill; then asks for a reason, which the owner reads. */
function End({ r, close }: { r: Row; close: () => void }) {
  const t = useT('adminjobs')
  const [reason, setReason] = useState('')
  const end = useAction(async () => {
    await post('/api/admin/jobs/{kind}/{id}/end', { path: { kind: r.kind, id: r.id }, body: { reason } })
    toast(t('ended', { id: r.id }))
    await renew(listAllJobs)
    close()
  })
  const who = r.user_name ?? r.user
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={t(`endTitle_${r.kind}`)}
      verb={t(`end_${r.kind}`)}
      busy={end.busy}
      onConfirm={() => end.run()}
      fields={
        <>
          <Field label={t('reason')} help={t('reasonHelp')} error={end.at('reason')}>
            <Input value={reason} onChange={(e) => setReason(e.target.value)} maxLength={200} />
          </Field>
          {end.error !== null && end.at('reason') === undefined && <ErrorBox error={end.error} />}
        </>
      }
    >
      {r.kind === 'videos' && t('endText_videos', { id: r.id, amount: money(r.held ?? '0'), who })}
      {r.kind === 'batches' &&
        t('endText_batches', {
          id: r.id,
          n: Math.max(0, r.total - r.done - r.failed),
          done: integer(r.done),
          who,
        })}
      {r.kind === 'webhooks' && t('endText_webhooks', { id: r.id, who })}
      {r.kind === 'notices' && t('endText_notices', { who })}
      {r.provider_has && ` ${t('maybeBilled')}`}
    </Confirm>
  )
}
