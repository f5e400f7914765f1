import { useQuery } from '@tanstack/react-query'
import { ApiError, type Reply } from '../../api/client'
import { integer, percent, seconds } from '../../format'
import { useRenewed } from '../../api/live'
import { useMe } from '../../api/query'
import { getStatus } from '../../api/operations'
import { useT } from '../../i18n'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Icon } from '../../ui/icons'
import { Link } from '../../ui/link'
import { State, Ticks, type Tone } from '../../ui/marks'
import { Page, PageHead } from '../../ui/page'
import type { Column } from '../../ui/columns'
import { Table } from '../../ui/table'
import { When } from '../../ui/values'

type Status = Reply<'/api/status'>
type Provider = Status['providers'][number]
const tones: Record<string, Tone> = { ok: 'good', degraded: 'warn', down: 'bad', idle: 'plain' }
const order = ['down', 'degraded', 'ok', 'idle']

/** What the page may say of all together: with no calls it knows nothing, and what was not called is not called good. */
export function sayOf(s: Pick<Status, 'state' | 'providers'>): 'idle' | 'some' | Status['state'] {
  const idle = s.providers.filter((p) => p.state === 'idle').length
  if (s.state !== 'ok' || idle === 0) return s.state
  return idle === s.providers.length ? 'idle' : 'some'
}
const looks = {
  ok: ['bg-good-soft', 'text-good', 'check'],
  some: ['bg-good-soft', 'text-good', 'check'],
  idle: ['bg-sunken', 'text-ink3', 'clock'],
  degraded: ['bg-warn-soft', 'text-warn', 'warning'],
  down: ['bg-bad-soft', 'text-bad', 'warning'],
} as const

/** How the providers work, for everybody. */
export default function StatusPage() {
  const t = useT('status')
  const me = useMe()
  const q = useQuery({
    ...getStatus({ quiet: true }),
    refetchInterval: 60_000,
    staleTime: 30_000,
  })
  const s = q.data
  const off = q.error instanceof ApiError && q.error.status === 404
  useRenewed(['status'], [getStatus], { on: Boolean(me?.user) && s !== undefined && !off })
  const rows = s && [...s.providers].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
  // Who was not called says nothing of how it works.
  const said = s && sayOf(s)
  const state = (p: Provider) => (
    <State tone={tones[p.state] ?? 'plain'}>{t.or(`state_${p.state}`, p.state)}</State>
  )
  const ticks = (p: Provider) => (
    <Ticks values={(p.uptime ?? Array<null>(24).fill(null)).map((v) => (v === null ? null : v / 100))} />
  )
  const columns: Column<Provider>[] = [
    {
      key: 'name',
      head: t('provider'),
      cell: (p) => (
        <Link
          to="/models"
          search={{ provider: p.id }}
          className="font-medium text-ink no-underline hover:underline"
        >
          {p.name}
        </Link>
      ),
    },
    { key: 'state', head: t('state'), cell: state },
    { key: 'uptime', head: t('uptime'), cell: ticks },
    { key: 'served', head: t('served'), align: 'end', cell: (p) => percent(p.uptime_24h) },
    { key: 'first', head: t('first'), align: 'end', cell: (p) => seconds(p.p50) },
    {
      key: 'models',
      head: t('models'),
      align: 'end',
      cell: (p) => <span className="text-ink2">{integer(p.models)}</span>,
    },
  ]
  return (
    <Page width="text" className="max-w-[1000px]!">
      <PageHead
        title={t('title')}
        {...(s ? { note: t.rich('asOf', { time: <When at={q.dataUpdatedAt} form="minutes" /> }) } : {})}
      />
      {off ? (
        <Empty icon="pulse" title={t('off')} />
      ) : q.error && !s ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !s || !rows || !said ? (
        <SkeletonRows rows={6} />
      ) : rows.length === 0 ? (
        <Empty icon="pulse" title={t('empty')}>
          {t('emptyText')}
        </Empty>
      ) : (
        <>
          <div
            role="status"
            className={`mb-5 flex items-center gap-3 rounded-panel px-5 py-4 ${looks[said][0]}`}
          >
            <Icon name={looks[said][2]} size={20} className={looks[said][1]} />
            <div>
              <p className="text-section">{t(said)}</p>
              <p className="text-small text-ink2">{t(`${said}Text`)}</p>
            </div>
          </div>
          <div className="overflow-clip rounded-panel border border-line bg-surface">
            <Table
              caption={t('title')}
              rows={rows}
              rowKey={(p) => p.id}
              columns={columns}
              main
              phone={(p) => (
                <div>
                  <div className="flex items-center gap-3">
                    <Link
                      to="/models"
                      search={{ provider: p.id }}
                      className="min-w-0 flex-1 truncate font-medium text-ink no-underline"
                    >
                      {p.name}
                    </Link>
                    <span className="text-small">{state(p)}</span>
                  </div>
                  <div className="flex items-center gap-3 pt-1.5 text-small text-ink3">
                    {ticks(p)}
                    <span className="flex-1" />
                    {p.p50 !== null && <span>{seconds(p.p50)}</span>}
                    <span className="tabular-nums">{percent(p.uptime_24h)}</span>
                  </div>
                </div>
              )}
            />
          </div>
          <p className="pt-3 text-small text-ink3">{t('help')}</p>
        </>
      )}
    </Page>
  )
}
