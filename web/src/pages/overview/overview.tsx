import { useQuery } from '@tanstack/react-query'
import { get, type Reply } from '../../api/client'
import { useRenewed } from '../../api/live'
import { add, approximately, compare, day, decimal, money, month, percent, plain, seconds, time, tokens, ZERO, type Decimal } from '../../format'
import { useMe } from '../../api/query'
import { useT } from '../../i18n'
import { Chart, colorsOf, swatch } from '../../ui/chart'
import { Empty, ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Icon } from '../../ui/icons'
import { Link, LinkButton, useGo } from '../../ui/link'
import { Level, Tag } from '../../ui/marks'
import { Page, PageHead, Panel } from '../../ui/page'
import { useShortcuts } from '../../ui/shortcuts'
import { Table } from '../../ui/table'
import { Money, Tokens } from '../../ui/values'
import { resultOf } from '../calls/data'

type Overview = Reply<'/api/overview'>['data']
const exact = (text: string): Decimal => decimal(text) ?? ZERO

/** Is there money, where does it go, is something wrong? */
export default function OverviewPage() {
  const t = useT('overview')
  const q = useQuery({ queryKey: ['overview'], queryFn: ({ signal }) => get('/api/overview', { signal }), staleTime: 15_000 })
  useRenewed(['calls', 'money', 'keys', 'jobs'], ['overview'])
  const v = q.data?.data
  return (
    <Page>
      <PageHead title={t('title')} />
      {q.error && !v ? <ErrorBox error={q.error} onRetry={() => void q.refetch()} /> : !v ? <SkeletonRows rows={10} /> : <Content v={v} />}
    </Page>
  )
}

function Content({ v }: { v: Overview }) {
  const fresh = v.calls.length === 0 && v.days.every((d) => d.calls === 0)
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-start gap-5">
        <Wallet v={v} />
        <div className="flex w-full flex-col gap-3 lg:w-[340px]">{v.notices.map((n) => <NoticeOf key={n.kind + (n.ref ?? '')} n={n} />)}</div>
      </div>
      {fresh ? <Steps v={v} /> : (
        <>
          <div className="grid gap-5 lg:grid-cols-[minmax(0,1fr)_340px]"><Spending v={v} /><Where v={v} /></div>
          <Latest v={v} />
        </>
      )}
    </div>
  )
}

function Wallet({ v }: { v: Overview }) {
  const t = useT('overview')
  const go = useGo()
  const pays = useMe()?.features.payments === true
  useShortcuts({ t: () => { if (pays) go('/money/top-up') } })
  const spent = exact(v.spent_month), held = exact(v.held.amount), available = exact(v.available)
  const left = compare(available, ZERO) > 0 ? available : ZERO
  const total = approximately(add(add(spent, held), left))
  const dot = (className: string) => <span aria-hidden className={`inline-block size-2.5 rounded-[2px] ${className}`} />
  return (
    <section aria-label={t('available')} className="min-w-0 flex-1 basis-[480px]">
      <p className="text-small text-ink3">{t('available')}</p>
      <div className="flex flex-wrap items-center gap-3 pt-0.5"><span className="text-display"><Money value={v.available} /></span>{pays && <LinkButton look="main" to="/money/top-up">{t('topUp')}</LinkButton>}<LinkButton to="/money">{t('statement')}</LinkButton></div>
      <div className="pt-3"><Level tall total={total} label={t('level', { spent: money(v.spent_month), held: money(v.held.amount), available: money(v.available) })} parts={[
        { key: 'spent', value: approximately(spent), className: 'bg-sx' }, { key: 'held', value: approximately(held), className: 'bg-hold' }, { key: 'left', value: approximately(left), className: 'bg-accent' },
      ]} /></div>
      <p className="flex flex-wrap gap-x-6 gap-y-1 pt-2.5 text-small text-ink2">
        <span className="inline-flex items-center gap-1.5">{dot('bg-sx')}{t('spentMonth', { month: month(v.as_of) })} <Money value={v.spent_month} className="text-ink" /></span>
        <span className="inline-flex items-center gap-1.5">{dot('bg-hold')}{v.held.count === null ? t('onHold') : t('onHoldN', { n: v.held.count })} <Money value={v.held.amount} className="text-ink" /></span>
        {v.runway_days !== null && <span className="inline-flex items-center gap-1.5">{dot('bg-accent')}{t('lasts', { n: v.runway_days })}</span>}
      </p>
    </section>
  )
}

function NoticeOf({ n }: { n: Overview['notices'][number] }) {
  const t = useT('overview')
  const name = n.name ?? n.ref ?? ''
  const bad = n.kind.endsWith('_reached') || n.kind.endsWith('_gone') || n.kind === 'model_down' || n.kind === 'key_expired'
  const action = n.kind === 'unusual_spending' ? <Link to="/activity">{t('toActivity')}</Link> : n.kind.startsWith('key') ? <Link to="/keys">{t('toKeys')}</Link> : n.kind.startsWith('model') && n.ref ? <Link to={`/models/${n.ref}`}>{t('toModel')}</Link> : <Link to="/money">{t('statement')}</Link>
  return (
    <Notice tone={bad ? 'bad' : 'warn'} title={t.or(`notice_${n.kind}`, n.kind, { name, percent: percent(n.detail.percent ?? null, 0) })} action={action}>
      {n.kind === 'unusual_spending' ? t('notice_unusual_spending_text', { spent: money(n.detail.spent ?? null), usual: money(n.detail.usual ?? null) }) : n.kind.startsWith('key_limit') && n.detail.spent && n.detail.limit ? t.or(`notice_${n.kind}_text`, '', { spent: money(n.detail.spent), limit: money(n.detail.limit) }) : n.kind.startsWith('money') ? t('notice_money_text') : n.kind === 'model_down' || n.kind === 'model_trouble' ? t(`notice_${n.kind}_text`) : n.detail.at ? day(n.detail.at) : null}
    </Notice>
  )
}

/** What an account without calls does first. */
function Steps({ v }: { v: Overview }) {
  const t = useT('overview')
  const pays = useMe()?.features.payments === true
  const step = (done: boolean, text: string, to: string, help?: string) => (
    <li className="flex items-center gap-3 border-b border-line px-5 py-3 last:border-0">
      <Icon name={done ? 'check' : 'right'} className={done ? 'text-good' : 'text-ink3'} label={done ? t('stepDone') : ''} />
      <span className="min-w-0 flex-1"><Link to={to} className="font-medium">{text}</Link>{help && !done && <span className="block text-small text-ink3">{help}</span>}</span>
    </li>
  )
  return <Panel title={t('steps')} flush><ol className="m-0 list-none p-0">{step(v.steps.key, t('stepKey'), '/keys')}{step(v.steps.call, t('stepCall'), '/playground')}{pays ? step(v.steps.top_up, t('stepMoney'), '/money/top-up') : step(v.steps.top_up, t('stepMoney'), '/money', t('stepMoneyHelp'))}</ol></Panel>
}

const nameOf = (model: string | null) => model ?? ''
function Spending({ v }: { v: Overview }) {
  const t = useT('overview')
  const models = v.top.map((x) => x.model).filter((m): m is string => m !== null).slice(0, 3)
  const colors = colorsOf(models)
  const keys = [...models, ...(v.days.some((d) => d.parts.some((p) => p.model === null)) ? [''] : [])]
  const of = (d: Overview['days'][number], key: string) => d.parts.find((p) => nameOf(p.model) === key)?.cost ?? '0'
  const most = v.days.reduce((a, b) => (compare(exact(b.cost), exact(a.cost)) > 0 ? b : a))
  return (
    <Panel title={t('spending')} note={t('unit')}>
      <Chart kind="bars" hideHead title={t('spending')} unit={t('unit')} unfinished
        summary={t('summary', { day: day(most.date, { short: true }), most: money(most.cost), total: money(v.spent_30_days) })}
        times={v.days.map((d) => Date.parse(d.date))} format={(n) => money(String(n))} time={(ms) => day(ms, { short: true })}
        series={keys.map((key) => ({ key, label: key || t('others'), color: key ? colors.get(key) ?? 0 : 0, values: v.days.map((d) => approximately(exact(of(d, key)))), texts: v.days.map((d) => money(of(d, key), { exact: true })) }))} />
    </Panel>
  )
}

function Where({ v }: { v: Overview }) {
  const t = useT('overview')
  const colors = colorsOf(v.top.map((x) => x.model).filter((m): m is string => m !== null).slice(0, 3))
  const total = approximately(exact(v.spent_30_days))
  return (
    <Panel title={t('where')} note={t('days30')}>
      <p className="pb-3 text-title"><Money value={v.spent_30_days} /></p>
      <ul className="m-0 flex list-none flex-col gap-3 p-0">
        {v.top.filter((x) => x.model !== null || compare(exact(x.cost), ZERO) > 0).map((x) => {
          const color = swatch[x.model === null ? 0 : colors.get(x.model) ?? 0] ?? 'bg-sx'
          return (
            <li key={x.model ?? ''}>
              <div className="flex items-center gap-2 pb-1.5 text-small"><span aria-hidden className={`size-2.5 flex-none rounded-[2px] ${color}`} />{x.model === null ? <span className="min-w-0 flex-1">{t('others')}</span> : <Link to="/calls" search={{ model: x.model }} className="min-w-0 flex-1 truncate text-ink no-underline hover:underline">{x.model}</Link>}<Money value={x.cost} /></div>
              <Level total={total} label={`${x.model ?? t('others')}: ${plain(exact(x.cost))}`} parts={[{ key: 'part', value: approximately(exact(x.cost)), className: color }]} />
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}

function Latest({ v }: { v: Overview }) {
  const t = useT('overview')
  const c = useT('calls')
  const go = useGo()
  return (
    <Panel title={t('latest')} actions={<Link to="/calls" className="text-small">{t('allCalls')}</Link>} flush>
      <Table caption={t('latest')} rows={v.calls} rowKey={(r) => r.id} main onOpen={(r) => go(`/calls/${r.id}`)} empty={<Empty title={c('title')} />}
        columns={[
          { key: 'at', head: c('at'), cell: (r) => <Link to={`/calls/${r.id}`} className="text-ink tabular-nums no-underline hover:underline">{time(r.created_at)}</Link> },
          { key: 'model', head: c('model'), cell: (r) => <span translate="no">{r.model ?? r.model_asked}</span> },
          { key: 'key', head: c('key'), from: 'lg', cell: (r) => <span translate="no" className="text-ink2">{r.key?.name ?? '—'}</span> },
          { key: 'tokens', head: c('tokens'), align: 'end', cell: (r) => <><Tokens value={r.prompt_tokens} /> · <Tokens value={r.completion_tokens} /></> },
          { key: 'first', head: c('first'), align: 'end', from: 'lg', cell: (r) => `${seconds(r.first_token_ms)} · ${seconds(r.duration_ms)}` },
          { key: 'cost', head: c('costHead'), align: 'end', cell: (r) => <Money value={r.cost} sign={false} /> },
          { key: 'result', head: c('result'), align: 'end', cell: (r) => { const x = resultOf(c, r); return <Tag tone={x.tone}>{x.text}</Tag> } },
        ]}
        phone={(r) => { const x = resultOf(c, r); return (
          <Link to={`/calls/${r.id}`} className="block text-ink no-underline">
            <span className="flex gap-2"><span translate="no" className="min-w-0 flex-1 truncate font-medium">{r.model ?? r.model_asked}</span><Money value={r.cost} /></span>
            <span className="flex items-center gap-2 pt-0.5 text-small text-ink3"><span className="min-w-0 flex-1">{`${time(r.created_at)} · ${tokens(r.prompt_tokens)} → ${tokens(r.completion_tokens)}`}</span><Tag tone={x.tone}>{x.text}</Tag></span>
          </Link>
        ) }} />
    </Panel>
  )
}
