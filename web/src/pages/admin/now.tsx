/** /admin: whether all is well, and if not, what is not. One request paints it; it is renewed every five seconds, not in a hidden tab. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { getAdminNow } from '../../api/operations'
import type { Reply } from '../../api/client'
import { bytes, duration, integer, money, number, percent, seconds } from '../../format'
import { useT } from '../../i18n'
import { Chart } from '../../ui/chart'
import type { Column } from '../../ui/columns'
import { Segmented } from '../../ui/controls'
import { Empty, ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Icon } from '../../ui/icons'
import { Link, usePageSearch, type SearchShape } from '../../ui/link'
import { State, Tag, Ticks, type Tone } from '../../ui/marks'
import { Page, PageHead, SectionHead } from '../../ui/page'
import { Table } from '../../ui/table'
import { When } from '../../ui/values'
import { endpointPage } from './provider-data'

type Now = Reply<'/api/admin/now'>
type Figure = Now['figures']['failed_share']
type Endpoint = Now['endpoints'][number]
type Node = Now['nodes'][number]
type Check = Now['checks'][number]
type Event = Now['events'][number]

const EVERY = 5_000
/** Of what time the figures may be: what nodes count in. */
const overs = ['1m', '5m', '1h', '24h'] as const
type Over = (typeof overs)[number]
const lengths: Record<Over, number> = { '1m': 60, '5m': 300, '1h': 3600, '24h': 86_400 }
const shape: SearchShape<{ readonly over: Over }> = {
  read: (raw) => ({ over: overs.find((o) => o === raw.over) ?? '1m' }),
  write: (c) => ({ over: c.over === '1m' ? undefined : c.over }),
}
const tones: Record<string, Tone> = {
  healthy: 'good',
  slow: 'warn',
  ejected: 'bad',
  draining: 'accent',
  off: 'plain',
}
const box = 'overflow-clip rounded-panel border border-line bg-surface'

export default function NowPage() {
  const t = useT('adminnow')
  const [{ over }, choose] = usePageSearch(shape)
  const q = useQuery({
    ...getAdminNow(over === '1m' ? {} : { query: { over } }),
    placeholderData: keepPreviousData,
    refetchInterval: EVERY,
    staleTime: EVERY,
  })
  const now = q.data
  return (
    <Page>
      <PageHead
        title={t('title')}
        {...(now
          ? { note: t.rich(q.isError ? 'old' : 'asOf', { time: <When at={q.dataUpdatedAt} form="clock" /> }) }
          : {})}
      />
      {q.error && !now ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !now ? (
        <SkeletonRows rows={8} />
      ) : (
        <div className="flex flex-col gap-5">
          {now.nodes.some((n) => n.differs !== null) && (
            <Notice tone="bad" title={t('alarm')}>
              {t('alarmText')}
            </Notice>
          )}
          <div>
            <div className="flex flex-wrap items-center gap-x-3 gap-y-1 pb-2">
              <Segmented
                value={over}
                onChange={(v) => choose({ over: v })}
                label={t('over')}
                options={overs.map((v) => ({ value: v, label: t(`over_${v}`) }))}
              />
              {now.over === over && now.seconds < 0.95 * lengths[over] && (
                <span className="text-small text-ink3">
                  {t('counted', { time: duration(now.seconds * 1000) })}
                </span>
              )}
            </div>
            <Figures now={now} />
          </div>
          <div className="grid grid-cols-1 gap-5 lg:grid-cols-[minmax(0,1fr)_320px]">
            <History now={now} />
            <Money now={now} />
          </div>
          <Endpoints now={now} />
          <div className="grid grid-cols-1 gap-5 lg:grid-cols-2">
            <Events events={now.events} />
            <Nodes nodes={now.nodes} />
          </div>
        </div>
      )}
    </Page>
  )
}

/** A figure of all nodes, with its goal; above that it is an alarm, in words and in colour. */
function FigureBox({
  label,
  figure,
  show,
  note,
  several,
}: {
  label: string
  figure: Figure
  show: (v: number) => string
  note?: string | undefined
  several: boolean
}) {
  const t = useT('adminnow')
  const v = figure.all
  const bad = figure.goal !== null && v !== null && v > figure.goal
  const notes = [
    note,
    figure.goal === null ? undefined : t('goalShare', { value: show(figure.goal) }),
    several && figure.node !== null ? t('thisNode', { value: show(figure.node) }) : undefined,
  ].filter((x) => x !== undefined)
  return (
    <div
      className="min-w-0 bg-surface px-4 py-3 max-lg:last:col-span-2"
      title={t('metric', { name: figure.metric })}
    >
      <dt className="text-label text-ink3">{label}</dt>
      <dd>
        <span className={`block text-title tabular-nums ${bad ? 'text-bad' : ''}`}>
          {bad && <Icon name="warning" size={16} className="mr-1 inline align-[-2px]" />}
          {v === null ? '—' : show(v)}
        </span>
        <span className="block min-h-[18px] text-small text-ink3">{notes.join(' · ')}</span>
      </dd>
    </div>
  )
}

function Figures({ now }: { now: Now }) {
  const t = useT('adminnow')
  const f = now.figures
  const share = (v: number) => percent(v * 100)
  const several = now.nodes.length > 1
  return (
    <dl className={`grid grid-cols-2 gap-px bg-line lg:grid-cols-5 ${box} bg-line!`}>
      <FigureBox
        label={t('requests')}
        figure={f.requests_per_second}
        show={(v) => number(v, v < 10 ? 2 : 0)}
        several={several}
      />
      <FigureBox label={t('failed')} figure={f.failed_share} show={share} several={several} />
      <FigureBox
        label={t('saved')}
        figure={f.saved_share}
        show={share}
        note={f.saved_share.count === null ? undefined : t('savedCalls', { n: f.saved_share.count })}
        several={several}
      />
      <FigureBox
        label={t('added')}
        figure={f.added_p99_ms}
        show={(v) => t('milliseconds', { v: number(v, 2) })}
        several={several}
      />
      <FigureBox
        label={t('sales')}
        figure={f.sales_per_minute}
        show={(v) => t('perMinute', { amount: money(String(Math.round(v * 100) / 100)) })}
        several={several}
      />
    </dl>
  )
}

function History({ now }: { now: Now }) {
  const t = useT('adminnow')
  const p = now.points
  const sum = (of: (x: Now['points'][number]) => number) => p.reduce((n, x) => n + of(x), 0)
  const requests = sum((x) => x.requests)
  const series = (key: string, label: string, color: number, of: (x: Now['points'][number]) => number) => ({
    key,
    label,
    color,
    values: p.map(of),
  })
  return (
    <section className={`${box} p-4`}>
      {requests === 0 ? (
        <p className="text-ink3">{t('idle')}</p>
      ) : (
        <Chart
          kind="lines"
          main
          title={t('chart')}
          unit={t('chartUnit')}
          summary={t('chartSummary', {
            requests: Math.round(requests),
            failed: Math.round(sum((x) => x.failed)),
            attempts: Math.round(sum((x) => x.failed_attempts)),
          })}
          times={p.map((x) => Date.parse(x.at))}
          series={[
            series('requests', t('chartRequests'), 1, (x) => x.requests),
            series('attempts', t('chartAttempts'), 2, (x) => x.failed_attempts),
            series('failed', t('chartFailed'), 5, (x) => x.failed),
          ]}
          format={(v) => integer(v)}
          form="minutes"
          unfinished
        />
      )}
    </section>
  )
}

/** These two are found out in the background, first when a node has run for a minute. */
const unknown = (c: Check) => c.at === null && (c.kind === 'ledger' || c.kind === 'audit')

function Money({ now: { checks, rate } }: { now: Now }) {
  const t = useT('adminnow')
  const detail = (c: Check): ReactNode => {
    if (unknown(c)) return t('notYet')
    if (!c.ok && (c.kind === 'ledger' || c.kind === 'audit')) return c.detail
    switch (c.kind) {
      case 'journal':
        return t('lag', { size: bytes(c.value) })
      case 'aside':
        return c.value === 0 ? null : t('asideCount', { n: c.value })
      case 'rate':
        return (
          <>
            {t('rateIs', { rate: number(Number(rate.rate), 4), margin: percent(Number(rate.margin) * 100) })}
            {c.at && <span className="block">{c.value === 0 ? t('today') : t('days', { n: c.value })}</span>}
          </>
        )
      case 'prices':
        return (
          <>
            {c.detail && (
              <span translate="no" className="block break-all">
                {c.detail}
              </span>
            )}
            {c.at && c.detail && (c.value === 0 ? t('today') : t('days', { n: c.value }))}
          </>
        )
      default:
        return (
          <>
            {t('rows', { n: c.value })} · <When at={c.at} />
          </>
        )
    }
  }
  return (
    <section className={`${box} p-4`}>
      <SectionHead title={t('money')} />
      <ul className="flex flex-col gap-2.5">
        {checks.map((c) => (
          <li key={c.kind} data-check={c.kind} className="flex gap-2">
            <Icon
              name={!c.ok ? 'warning' : unknown(c) ? 'clock' : 'check'}
              size={16}
              label={!c.ok ? t('checkBad') : unknown(c) ? t('notYet') : t('checkOk')}
              className={`mt-0.5 flex-none ${!c.ok ? 'text-bad' : unknown(c) ? 'text-ink3' : 'text-good'}`}
            />
            <span className="min-w-0 flex-1">
              <span className="block">{t.or(`check_${c.kind}`, c.kind)}</span>
              <span className={`block text-small ${c.ok ? 'text-ink3' : 'text-bad'}`}>{detail(c)}</span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Endpoints({ now }: { now: Now }) {
  const t = useT('adminnow')
  const state = (e: Endpoint) => {
    const left = e.until === null ? 0 : Date.parse(e.until) - Date.parse(now.at)
    return (
      <State tone={tones[e.state] ?? 'plain'}>
        {e.state === 'ejected' && left > 0
          ? t('retry', { time: duration(left) })
          : t.or(`state_${e.state}`, e.state)}
      </State>
    )
  }
  const ticks = (e: Endpoint) => (
    <Ticks
      values={e.ticks.map((x) => (x.served + x.failed === 0 ? null : x.served / (x.served + x.failed)))}
    />
  )
  const name = (e: Endpoint) => (
    <span className="min-w-0">
      <span translate="no" className="font-medium">
        {e.provider}
      </span>{' '}
      <Link
        to={endpointPage(e.id)}
        className="font-mono text-small text-ink no-underline hover:underline"
        aria-label={t('open', { id: e.id })}
      >
        {e.model}
      </Link>{' '}
      {e.region && <span className="text-small text-ink3">{e.region}</span>}
    </span>
  )
  const columns: Column<Endpoint>[] = [
    { key: 'endpoint', head: t('endpoint'), cell: name },
    { key: 'state', head: t('state'), cell: state },
    { key: 'day', head: t('day'), from: 'lg', cell: ticks },
    { key: 'ok', head: t('ok'), align: 'end', cell: (e) => percent(e.ok_percent) },
    { key: 'first', head: t('first'), align: 'end', cell: (e) => seconds(e.first_token_ms) },
    { key: 'p95', head: t('p95'), align: 'end', from: 'lg', cell: (e) => seconds(e.slow_first_token_ms) },
    { key: 'running', head: t('inFlight'), align: 'end', cell: (e) => integer(e.in_flight) },
    {
      key: 'limited',
      head: t('limited'),
      align: 'end',
      from: 'lg',
      cell: (e) => number(e.limited_per_minute, 1),
    },
    { key: 'hour', head: t('perHour'), align: 'end', cell: (e) => integer(e.calls_per_hour) },
  ]
  const c = now.counts
  return (
    <section>
      <div className="flex flex-wrap items-center gap-2 pb-2">
        <h2 className="text-section">{t('endpoints')}</h2>
        {c.ejected > 0 && <Tag tone="bad">{t('countEjected', { n: c.ejected })}</Tag>}
        {c.slow > 0 && <Tag tone="warn">{t('countSlow', { n: c.slow })}</Tag>}
        {c.draining > 0 && <Tag tone="accent">{t('countDraining', { n: c.draining })}</Tag>}
        {c.off > 0 && <span className="text-small text-ink3">{t('countOff', { n: c.off })}</span>}
        <span className="text-small text-ink3">{t('countHealthy', { n: c.healthy })}</span>
      </div>
      {now.endpoints.length === 0 ? (
        <Empty icon="pulse" title={t('none')}>
          {t('noneText')}
        </Empty>
      ) : (
        <div className={box}>
          <Table
            caption={t('endpoints')}
            rows={now.endpoints}
            rowKey={(e) => e.id}
            columns={columns}
            phone={(e) => (
              <div>
                {name(e)}
                <div className="flex flex-wrap items-center gap-3 pt-1 text-small text-ink3">
                  {state(e)}
                  <span className="flex-1" />
                  <span>{seconds(e.first_token_ms)}</span>
                  <span className="tabular-nums">{percent(e.ok_percent)}</span>
                </div>
              </div>
            )}
          />
        </div>
      )}
    </section>
  )
}

/** What is out of service without the kind before it. */
const targetName = (target: string) => target.replace(/^\w+:/, '')

function Events({ events }: { events: readonly Event[] }) {
  const t = useT('adminnow')
  const failed = (n: number) => (n === 0 ? t('failedNone') : t('failedN', { n }))
  const sentence = (e: Event): string => {
    const id = e.id ?? ''
    const actor = e.actor_name ?? e.actor ?? ''
    switch (e.kind) {
      case 'ejected':
        return t('event_ejected', { id, calls: e.calls ?? 0 })
      case 'returned':
        return t('event_returned', {
          id,
          time: duration((e.seconds ?? 0) * 1000),
          saved: t('savedN', { n: e.saved ?? 0 }),
          failed: failed(e.failed ?? 0),
        })
      case 'prices':
        return e.after === null
          ? t('event_pricesProgram', { actor })
          : t('event_prices', { actor, after: e.after })
      case 'rate':
        return e.after === null
          ? t('event_margin', { actor, margin: percent(Number(e.margin) * 100) })
          : t('event_rate', { actor, after: e.after })
    }
    switch (e.action) {
      case 'prices.publish':
        return t('event_publication', { actor, n: Number(e.after) })
      case 'prices.schedule':
        return t('event_scheduled', { actor, n: Number(e.after) })
      case 'prices.cancel':
        return t('event_cancelled', { actor, n: Number(e.after) })
      case 'catalog.add':
        return t('event_add', { actor, id })
      case 'catalog.remove':
        return t('event_remove', { actor, id })
      case 'service.drain':
        return t('event_drained', { actor, id: targetName(id) })
      case 'service.eject':
        return t('event_ejectedBy', { actor, id: targetName(id) })
      case 'service.return':
        return t('event_returnedBy', { actor, id: targetName(id) })
      case 'secret.rotate':
        return t('event_secret', { actor, id })
    }
    return t('event_change', { actor, id })
  }
  return (
    <section>
      <SectionHead title={t('events')} />
      {events.length === 0 ? (
        <p className="text-ink3">{t('noEvents')}</p>
      ) : (
        <ul className={`${box} divide-y divide-line`}>
          {events.map((e, i) => (
            <li key={`${e.at}${e.kind}${e.id ?? i}`} data-event={e.kind} className="flex gap-3 px-4 py-2.5">
              <When at={e.at} className="w-24 flex-none text-small text-ink3" />
              <span className="min-w-0 wrap-anywhere">{sentence(e)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Nodes({ nodes }: { nodes: readonly Node[] }) {
  const t = useT('adminnow')
  const clock = (n: Node) => {
    if (n.ahead_ms === null) return '—'
    const off = Math.abs(n.ahead_ms)
    if (off < 1) return t('exact')
    return t(n.ahead_ms > 0 ? 'ahead' : 'behind', { time: duration(off) })
  }
  return (
    <section>
      <SectionHead title={t('nodes')} />
      <ul className={`${box} divide-y divide-line`}>
        {nodes.map((n) => (
          <li key={n.id} data-node={n.id} className="px-4 py-3">
            <p className="flex flex-wrap items-center gap-2">
              <span translate="no" className="font-mono text-small break-all">
                {n.id}
              </span>
              {n.self ? <Tag>{t('self')}</Tag> : <When at={n.seen} className="text-small text-ink3" />}
            </p>
            <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5 pt-1 text-small sm:grid-cols-[auto_minmax(0,1fr)_auto_minmax(0,1fr)]">
              {(
                [
                  ['version', n.version],
                  ['prices', n.prices ?? t('pricesProgram')],
                  ['rate', n.rate ?? '—'],
                  ['requests', number(n.requests_per_second, 2)],
                  ['inFlight', integer(n.in_flight)],
                  ['clock', clock(n)],
                ] as const
              ).map(([key, v]) => (
                <div key={key} className="contents">
                  <dt className="text-ink3">{t(key)}</dt>
                  <dd translate="no" className="wrap-anywhere tabular-nums">
                    {v}
                  </dd>
                </div>
              ))}
            </dl>
            {n.differs && (
              <p className="pt-1 text-small text-bad wrap-anywhere">
                <Icon name="warning" size={14} className="mr-1 inline align-[-2px]" />
                {t('differs', { how: n.differs })}
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
