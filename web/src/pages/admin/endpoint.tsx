/** One endpoint: whether it is well, how fast it was, why it failed, and where its calls went instead. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { ApiError, type Reply } from '../../api/client'
import { getAdminEndpoint, getEndpointActivity } from '../../api/operations'
import { integer, number, percent, seconds } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Chart } from '../../ui/chart'
import { Empty, ErrorBox, Notice, Skeleton, SkeletonRows } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { Link, LinkButton, usePageSearch, type SearchShape } from '../../ui/link'
import { Page, PageHead, Panel, Strip } from '../../ui/page'
import { Table } from '../../ui/table'
import { When } from '../../ui/values'
import { padded, placeOf, type Distribution } from './bins'
import { CauseOf, type Cause } from './cause'
import { Stand } from './endpoint-state'
import { endpointPage, pageOf, type Endpoint } from './provider-data'
import { TakeOut, useReturn } from './take-out'

type Activity = Reply<'/api/admin/endpoints/{id}/activity'>['data']
type Move = Activity['moves'][number]

const periods = ['2', '24', '168'] as const
type Hours = (typeof periods)[number]
const shape: SearchShape<{ readonly hours: Hours }> = {
  read: (raw) => ({ hours: periods.find((h) => h === raw.hours) ?? '24' }),
  write: (f) => ({ hours: f.hours === '24' ? undefined : f.hours }),
}

export default function EndpointPage() {
  const { provider, _splat: rest } = useParams({ strict: false }) as { provider?: string; _splat?: string }
  const id = `${provider}/${rest}`
  const t = useT('endpoints')
  const { data, error, refetch } = useQuery({
    ...getAdminEndpoint({ path: { id } }),
    refetchInterval: 10_000,
  })
  const crumbs = [{ label: t('title'), to: '/admin/endpoints' }]
  if (data) return <Shown key={id} e={data.data} crumbs={crumbs} />
  return (
    <Page>
      <PageHead title={id} crumbs={crumbs} />
      {error instanceof ApiError && error.status === 404 ? (
        <Empty
          icon="search"
          title={t('missing')}
          action={<LinkButton to="/admin/endpoints">{t('toAll')}</LinkButton>}
        >
          {t('missingText')}
        </Empty>
      ) : error ? (
        <ErrorBox error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton className="h-56 w-full" />
      )}
    </Page>
  )
}

function Shown({ e, crumbs }: { e: Endpoint; crumbs: readonly { label: string; to?: string }[] }) {
  const t = useT('endpoints')
  const [chosen, choose] = usePageSearch(shape)
  const [taking, setTaking] = useState<'endpoint' | 'model' | null>(null)
  const back = useReturn(e.absence?.target.replace(/^\w+:/, '') ?? e.id)
  const q = useQuery({
    ...getEndpointActivity({ path: { id: e.id }, query: { hours: chosen.hours } }),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  })
  const a = q.data?.data
  const span = (ms: number | null | undefined) =>
    typeof ms === 'number' && ms < 9.95 ? t('ms', { n: number(ms, 2) }) : seconds(ms)
  return (
    <Page>
      <PageHead
        title={<span translate="no">{e.id}</span>}
        name={e.id}
        crumbs={crumbs}
        note={
          <span className="flex flex-wrap items-baseline gap-x-2">
            <Stand e={e} />
            {e.health.since && (
              <span>{t.rich('since', { time: <When at={e.health.since} form="minutes" /> })}</span>
            )}
          </span>
        }
      >
        <LinkButton look="quiet" to={pageOf(e.provider)}>
          {t('atProvider')}
        </LinkButton>
        {e.absence ? (
          <Button busy={back.busy} onClick={() => back.run(e.absence!.target)}>
            {t('return')}
          </Button>
        ) : (
          e.on && (
            <>
              <Button look="quiet" onClick={() => setTaking('model')}>
                {t('takeOutModel')}
              </Button>
              <Button onClick={() => setTaking('endpoint')}>{t('takeOut')}</Button>
            </>
          )
        )}
      </PageHead>
      <div className="flex flex-col gap-6">
        <div className="flex flex-wrap items-start gap-3">
          <Field label={t('period')} hideLabel>
            <Select
              value={chosen.hours}
              onChange={(x) => choose({ hours: x.target.value as Hours })}
              options={periods.map((h) => ({ value: h, label: t(`h_${h}`) }))}
            />
          </Field>
        </div>
        <Strip
          items={[
            { label: t('inFlight'), value: integer(e.health.in_flight) },
            { label: t('perHour'), value: integer(e.health.calls_per_hour) },
            { label: t('ok'), value: percent(e.health.ok_percent) },
            {
              label: t('attempts'),
              value: a ? integer(a.attempts) : '—',
              ...(a
                ? { note: t('attemptsNote', { failed: integer(a.failed), limited: integer(a.limited) }) }
                : {}),
            },
          ]}
        />
        {q.error && !a ? (
          <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
        ) : !a ? (
          <SkeletonRows rows={8} />
        ) : (
          <>
            <div className="grid gap-6 lg:grid-cols-2">
              <Histogram title={t('firstToken')} d={a.first_token_ms} write={span} reach="slow" />
              <Histogram
                title={t('speed')}
                d={a.tokens_per_second}
                write={(v) => t('tokensPerSecond', { n: speed(v) })}
                reach="fast"
              />
            </div>
            <Causes a={a} />
            <Moves a={a} />
          </>
        )}
      </div>
      {taking && (
        <TakeOut
          target={taking === 'endpoint' ? `endpoint:${e.id}` : `model:${e.provider}/${e.model}`}
          name={taking === 'endpoint' ? e.id : t('modelAt', { model: e.model, provider: e.provider })}
          onClose={() => setTaking(null)}
        />
      )}
    </Page>
  )
}

const speed = (v: number | null | undefined) => number(v, v !== null && v !== undefined && v < 10 ? 2 : 0)

function Histogram({
  title,
  d,
  write,
  reach,
}: {
  title: string
  d: Distribution
  /** Writes a figure */
  write: (v: number | null | undefined) => string
  reach: 'slow' | 'fast'
}) {
  const t = useT('endpoints')
  const bins = useMemo(() => padded(d.bins), [d.bins])
  const drawn = useMemo(
    () => ({
      times: bins.map((_, i) => i * 1000),
      series: [{ key: 'calls', label: t('calls'), color: 1, values: bins.map((b) => b.calls) }],
    }),
    [bins, t],
  )
  if (d.calls === 0)
    return (
      <Panel title={title}>
        <Empty title={t('notMeasured')}>{t('notMeasuredText')}</Empty>
      </Panel>
    )
  const median = t('median', { value: write(d.p50) })
  const slow = t(reach, { value: write(d.p95) })
  return (
    <Panel title={title} note={`${median}, ${slow}`}>
      <Chart
        kind="bars"
        hideHead
        title={title}
        head={t('upTo')}
        unit={t('calls')}
        height={180}
        times={drawn.times}
        series={drawn.series}
        format={(n) => integer(n)}
        time={placeOf(bins, write)}
        summary={t('bins', { n: d.calls, median, slow })}
      />
    </Panel>
  )
}

function Causes({ a }: { a: Activity }) {
  const t = useT('endpoints')
  const c = useT('admincalls')
  return (
    <Panel title={t('errors')} flush>
      <Table<Cause>
        main
        caption={t('errors')}
        rows={a.causes}
        rowKey={(r) => `${r.code} ${r.provider ?? ''} ${r.words}`}
        empty={
          <Empty icon="check" title={t('noErrors')}>
            {t('noErrorsText')}
          </Empty>
        }
        columns={[
          { key: 'cause', head: c('cause'), cell: (r) => <CauseOf r={r} /> },
          { key: 'errors', head: c('errors'), align: 'end', cell: (r) => integer(r.errors) },
          {
            key: 'reached',
            head: c('reached'),
            align: 'end',
            cell: (r) => <span className={r.reached > 0 ? 'text-bad' : ''}>{integer(r.reached)}</span>,
          },
          { key: 'first', head: c('firstAt'), from: 'lg', cell: (r) => <When at={r.first_at} /> },
          { key: 'last', head: c('lastAt'), cell: (r) => <When at={r.last_at} /> },
          {
            key: 'accounts',
            head: c('accounts'),
            align: 'end',
            from: 'lg',
            cell: (r) => integer(r.accounts),
          },
          { key: 'act', head: '', name: c('lastCall'), align: 'end', cell: (r) => <LastCall id={r.call} /> },
        ]}
        phone={(r) => (
          <div>
            <div className="flex gap-2">
              <span className="min-w-0 flex-1">
                <CauseOf r={r} />
              </span>
              <span className="font-medium tabular-nums">{integer(r.errors)}</span>
            </div>
            <div className="flex flex-wrap items-center gap-2 pt-1 text-small text-ink3">
              <span className="flex-1">
                {c('reached')}: {integer(r.reached)} · <When at={r.last_at} />
              </span>
              <LastCall id={r.call} />
            </div>
          </div>
        )}
      />
      {a.more && <p className="border-t border-line px-4 py-2 text-small text-ink3">{c('more')}</p>}
    </Panel>
  )
}

function LastCall({ id }: { id: string }) {
  const t = useT('endpoints')
  return (
    <LinkButton small to={`/admin/calls/${id}`}>
      {t('lastCall')}
    </LinkButton>
  )
}

function Moves({ a }: { a: Activity }) {
  const t = useT('endpoints')
  const to = (m: Move) =>
    m.endpoint === null ? (
      <span className="text-bad">{t('moveNowhere')}</span>
    ) : (
      <Link to={endpointPage(m.endpoint)} className="text-ink">
        <span translate="no" className="break-all">
          {m.endpoint}
        </span>
      </Link>
    )
  return (
    <Panel title={t('moves')} note={`${t('movesNote')} ${t('movePassedHelp')}`} flush>
      {Date.parse(a.moves_since) > Date.parse(a.from) && (
        <div className="px-4 pb-3">
          <Notice
            tone="plain"
            title={t.rich('movesSince', { time: <When at={a.moves_since} form="minutes" /> })}
          />
        </div>
      )}
      <Table<Move>
        caption={t('moves')}
        rows={a.moves}
        rowKey={(m) => m.endpoint ?? ''}
        empty={
          <Empty icon="check" title={t('noMoves')}>
            {t('noMovesText')}
          </Empty>
        }
        columns={[
          { key: 'to', head: t('moveTo'), cell: to },
          { key: 'failed', head: t('moveFailed'), align: 'end', cell: (m) => integer(m.failed) },
          {
            key: 'passed',
            head: t('movePassed'),
            align: 'end',
            cell: (m) => integer(m.passed),
          },
          { key: 'last', head: t('lastCall'), from: 'md', cell: (m) => <When at={m.last_at} /> },
          { key: 'act', head: '', name: t('lastCall'), align: 'end', cell: (m) => <LastCall id={m.call} /> },
        ]}
        phone={(m) => (
          <div>
            {to(m)}
            <div className="flex flex-wrap items-center gap-2 pt-1 text-small text-ink3">
              <span className="flex-1">
                {t('moveFailed')}: {integer(m.failed)} · {t('movePassed')}: {integer(m.passed)}
              </span>
              <LastCall id={m.call} />
            </div>
          </div>
        )}
      />
    </Panel>
  )
}
