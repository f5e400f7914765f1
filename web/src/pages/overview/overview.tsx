import { useQuery } from '@tanstack/react-query'
import type { Reply } from '../../api/client'
import { useRenewed } from '../../api/live'
import { add, approximately, compare, decimal, headline, month, ZERO, type Decimal } from '../../format'
import { useMe } from '../../api/query'
import { getOverview } from '../../api/operations'
import { useT } from '../../i18n'
import { useFact } from '../../ui/fact'
import { ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Icon } from '../../ui/icons'
import { Link, LinkButton, useGo } from '../../ui/link'
import { Level } from '../../ui/marks'
import { Page, PageHead, Panel } from '../../ui/page'
import { useShortcuts } from '../../ui/shortcuts'
import { Money } from '../../ui/values'
import { LatestCalls } from '../calls/latest'
import { Spending } from './spending'

type Overview = Reply<'/api/overview'>['data']
const exact = (text: string): Decimal => decimal(text) ?? ZERO

/** Is there money, where does it go, is something wrong? */
export default function OverviewPage() {
  const t = useT('overview')
  const q = useQuery(getOverview())
  useRenewed(['calls', 'money', 'keys', 'jobs'], [getOverview])
  const v = q.data?.data
  return (
    <Page>
      <PageHead title={t('title')} />
      {q.error && !v ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !v ? (
        <SkeletonRows rows={10} />
      ) : (
        <Content v={v} />
      )}
    </Page>
  )
}

function Content({ v }: { v: Overview }) {
  const fresh = v.calls.length === 0 && v.days.every((d) => d.calls === 0)
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-start gap-5">
        <Wallet v={v} />
        <div className="flex w-full flex-col gap-3 lg:w-[340px]">
          {v.notices.map((n) => (
            <NoticeOf key={n.kind + (n.ref ?? '')} n={n} />
          ))}
        </div>
      </div>
      {fresh ? (
        <Steps v={v} />
      ) : (
        <>
          <Spending v={v} />
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
  useShortcuts({
    t: () => {
      if (pays) go('/money/top-up')
    },
  })
  const spent = exact(v.spent_month),
    held = exact(v.held.amount),
    available = exact(v.available)
  const left = compare(available, ZERO) > 0 ? available : ZERO
  const total = approximately(add(add(spent, held), left))
  const dot = (className: string) => (
    <span aria-hidden className={`inline-block size-2.5 rounded-[2px] ${className}`} />
  )
  return (
    <section
      aria-label={t('available')}
      className="flex min-w-0 flex-1 basis-[480px] flex-wrap items-center gap-x-3"
    >
      <p className="basis-full text-small text-ink3">{t('available')}</p>
      <span className={`pt-0.5 ${headline(v.available).length > 14 ? 'text-title' : 'text-display'}`}>
        <Money value={v.available} headline />
      </span>
      <div className="flex gap-3 max-md:order-last max-md:basis-full max-md:pt-3.5 max-md:*:flex-1 max-md:*:justify-center">
        {pays && (
          <LinkButton look="main" to="/money/top-up">
            {t('topUp')}
          </LinkButton>
        )}
        <LinkButton to="/money">{t('statement')}</LinkButton>
      </div>
      <div className="basis-full pt-3">
        <Level
          tall
          total={total}
          label={t('level', {
            spent: headline(v.spent_month),
            held: headline(v.held.amount),
            available: headline(v.available),
          })}
          parts={[
            { key: 'spent', value: approximately(spent), className: 'bg-sx' },
            { key: 'held', value: approximately(held), className: 'bg-hold' },
            { key: 'left', value: approximately(left), className: 'bg-accent' },
          ]}
        />
      </div>
      <p className="flex basis-full flex-wrap gap-x-6 gap-y-1 pt-2.5 text-small text-ink2">
        <span className="inline-flex items-center gap-1.5">
          {dot('bg-sx')}
          {t('spentMonth', { month: month(v.days.at(-1)?.date ?? v.as_of) })}{' '}
          <Money value={v.spent_month} headline className="text-ink" />
        </span>
        <span className="inline-flex items-center gap-1.5">
          {dot('bg-hold')}
          {v.held.count === null ? t('onHold') : t('onHoldN', { n: v.held.count })}{' '}
          <Money value={v.held.amount} headline className="text-ink" />
        </span>
        {v.runway_days !== null && (
          <span className="inline-flex items-center gap-1.5">
            {dot('bg-accent')}
            {t('lasts', { n: v.runway_days })}
          </span>
        )}
      </p>
    </section>
  )
}

function NoticeOf({ n }: { n: Overview['notices'][number] }) {
  const said = useFact(n)
  return (
    <Notice
      tone={said.bad ? 'bad' : 'warn'}
      title={said.title}
      action={said.to && <Link to={said.to}>{said.toName}</Link>}
    >
      {said.text}
    </Notice>
  )
}

/** What an account without calls does first. */
function Steps({ v }: { v: Overview }) {
  const t = useT('overview')
  const pays = useMe()?.features.payments === true
  const step = (done: boolean, text: string, to: string, help?: string) => (
    <li className="flex items-center gap-3 border-b border-line px-5 py-3 last:border-0">
      <Icon
        name={done ? 'check' : 'right'}
        className={done ? 'text-good' : 'text-ink3'}
        label={done ? t('stepDone') : ''}
      />
      <span className="min-w-0 flex-1">
        <Link to={to} className="font-medium">
          {text}
        </Link>
        {help && !done && <span className="block text-small text-ink3">{help}</span>}
      </span>
    </li>
  )
  const call = step(v.steps.call, t('stepCall'), '/playground')
  const money = pays
    ? step(v.steps.top_up, t('stepMoney'), '/money/top-up')
    : step(v.steps.top_up, t('stepMoney'), '/money', t('stepMoneyHelp'))
  // Without money a call is refused, so that comes first then.
  const poor = !v.steps.top_up && compare(exact(v.available), ZERO) <= 0
  return (
    <Panel title={t('steps')} flush>
      <ol className="m-0 list-none p-0">
        {step(v.steps.key, t('stepKey'), '/keys')}
        {poor ? (
          <>
            {money}
            {call}
          </>
        ) : (
          <>
            {call}
            {money}
          </>
        )}
      </ol>
    </Panel>
  )
}

function Latest({ v }: { v: Overview }) {
  const t = useT('overview')
  return (
    <Panel
      title={t('latest')}
      actions={
        <Link to="/calls" className="text-small">
          {t('allCalls')}
        </Link>
      }
      flush
    >
      <LatestCalls caption={t('latest')} rows={v.calls} />
    </Panel>
  )
}
