/** /admin/endpoints: which endpoints are not well, and what happens when one is taken out of service. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useState, useMemo } from 'react'
import { get } from '../../api/client'
import { listAdminEndpoints } from '../../api/operations'
import { decimal, integer, number, percent, seconds } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty } from '../../ui/feedback'
import { Field, Input, Select } from '../../ui/field'
import { Link, usePageSearch, type SearchShape } from '../../ui/link'
import { Page, PageHead, Panel } from '../../ui/page'
import { Stand } from './endpoint-state'
import { endpointPage, pageOf, type Endpoint } from './provider-data'
import { TakeOut, useReturn } from './take-out'
import { Sorted } from '../../ui/sorted'

const states = ['ejected', 'slow', 'draining', 'off', 'healthy'] as const
interface Chosen {
  readonly q: string
  readonly state: string
}
const shape: SearchShape<Chosen> = {
  read: (raw) => ({ q: raw.q ?? '', state: states.find((s) => s === raw.state) ?? '' }),
  write: ({ q, state }) => ({ q: q || undefined, state: state || undefined }),
}

const EVERY = 10_000

export default function Endpoints() {
  const t = useT('endpoints')
  const [chosen, choose] = usePageSearch(shape)
  const [text, setText] = useState(chosen.q)
  const [taking, setTaking] = useState<Endpoint | null>(null)
  useEffect(() => {
    if (text.trim() === chosen.q) return
    const timer = setTimeout(() => choose({ q: text.trim() }), 250)
    return () => clearTimeout(timer)
  }, [text, chosen.q, choose])
  const query = {
    order: 'trouble',
    limit: 50,
    ...(chosen.q ? { q: chosen.q } : {}),
    ...(chosen.state ? { state: chosen.state } : {}),
  }
  const q = useInfiniteQuery({
    queryKey: listAdminEndpoints.key(query),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/endpoints', { query: { ...query, after: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: EVERY,
  })
  const rows = useMemo(() => q.data?.pages.flatMap((p) => p.data), [q.data])
  const counts = q.data?.pages[0]?.counts
  return (
    <Page>
      <PageHead title={t('title')} {...(counts ? { note: t('counts', { ...counts }) } : {})} />
      <div className="flex flex-wrap items-start gap-2 pb-4">
        <Field label={t('find')} hideLabel className="min-w-0 flex-1 basis-72">
          <Input
            type="search"
            data-page-search
            placeholder={t('find')}
            value={text}
            onChange={(e) => setText(e.target.value)}
          />
        </Field>
        <Field label={t('which')} hideLabel>
          <Select
            value={chosen.state}
            onChange={(e) => choose({ state: e.target.value })}
            options={[
              { value: '', label: t('anyState') },
              ...states.map((s) => ({ value: s, label: t(`state_${s}`) })),
            ]}
          />
        </Field>
      </div>
      <Panel flush>
        <Sorted<Endpoint>
          main
          whole={!q.hasNextPage}
          caption={t('title')}
          rows={rows}
          rowKey={(e) => e.id}
          error={q.error}
          onRetry={() => void q.refetch()}
          stale={q.isPlaceholderData}
          empty={
            chosen.q || chosen.state ? (
              <Empty icon="search" title={t('noneHere')}>
                {t('noneHereText')}
              </Empty>
            ) : (
              <Empty icon="link" title={t('none')}>
                {t('noneText')}
              </Empty>
            )
          }
          columns={[
            {
              key: 'endpoint',
              head: t('endpoint'),
              sort: { value: (e) => e.id },
              cell: (e) => <Name e={e} />,
            },
            { key: 'state', head: t('state'), cell: (e) => <Stand e={e} /> },
            {
              key: 'ok',
              head: t('ok'),
              align: 'end',
              from: 'lg',
              sort: { value: (e) => e.health.ok_percent },
              cell: (e) => percent(e.health.ok_percent),
            },
            {
              key: 'first',
              head: t('first'),
              align: 'end',
              from: 'lg',
              sort: { value: (e) => e.health.first_token_ms, down: true },
              cell: (e) => seconds(e.health.first_token_ms),
            },
            {
              key: 'running',
              head: t('inFlight'),
              align: 'end',
              sort: { value: (e) => e.health.in_flight, down: true },
              cell: (e) => integer(e.health.in_flight),
            },
            {
              key: 'limited',
              head: t('limited'),
              align: 'end',
              from: 'lg',
              sort: { value: (e) => e.health.limited_per_minute, down: true },
              cell: (e) => number(e.health.limited_per_minute, 1),
            },
            {
              key: 'hour',
              head: t('perHour'),
              align: 'end',
              sort: { value: (e) => e.health.calls_per_hour, down: true },
              cell: (e) => integer(e.health.calls_per_hour),
            },
            {
              key: 'margin',
              head: t('margin'),
              align: 'end',
              from: 'lg',
              sort: { value: (e) => decimal(e.margin) },
              cell: (e) => (e.margin === null ? '—' : percent(Number(e.margin) * 100)),
            },
            {
              key: 'key',
              head: t('key'),
              from: 'lg',
              cell: (e) => <span translate="no">{e.api_key?.last4 ? `…${e.api_key.last4}` : '—'}</span>,
            },
            { key: 'act', head: t('act'), align: 'end', cell: (e) => <Act e={e} onTake={setTaking} /> },
          ]}
          phone={(e) => (
            <div className="flex flex-col gap-1">
              <Name e={e} />
              <div className="flex flex-wrap items-center gap-3 text-small">
                <Stand e={e} />
                <span className="flex-1" />
                <Act e={e} onTake={setTaking} />
              </div>
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
      {taking && (
        <TakeOut target={`endpoint:${taking.id}`} name={taking.id} onClose={() => setTaking(null)} />
      )}
    </Page>
  )
}

function Name({ e }: { e: Endpoint }) {
  const t = useT('endpoints')
  return (
    <span className="min-w-0 break-all" translate="no">
      <Link to={pageOf(e.provider)} className="font-medium text-ink no-underline hover:underline">
        {e.provider}
      </Link>{' '}
      <Link
        to={endpointPage(e.id)}
        className="font-mono text-small text-ink no-underline hover:underline"
        aria-label={t('open', { id: e.id })}
      >
        {e.model}
      </Link>{' '}
      <span className="text-small text-ink3">
        {[e.region, e.tier === 'default' ? null : e.tier, e.variant === 'standard' ? null : e.variant]
          .filter((x) => x !== null)
          .join(' ')}
      </span>
    </span>
  )
}

/** One verb of a row. What is out with its whole provider comes back with it. */
function Act({ e, onTake }: { e: Endpoint; onTake: (e: Endpoint) => void }) {
  const t = useT('endpoints')
  const back = useReturn(e.id)
  if (e.absence) {
    const { target } = e.absence
    return (
      <Button
        small
        busy={back.busy}
        aria-label={t('returnOf', { id: target.replace(/^\w+:/, '') })}
        onClick={() => back.run(target)}
      >
        {t('return')}
      </Button>
    )
  }
  if (!e.on) return null
  return (
    <Button small look="quiet" aria-label={t('takeOutOf', { id: e.id })} onClick={() => onTake(e)}>
      {t('takeOut')}
    </Button>
  )
}
