/** /budgets: what stops calls first, how much is left until then, and whose it is. */
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { useAction } from '../../api/action'
import { account, post, remove, type Reply } from '../../api/client'
import { explain } from '../../api/explain'
import { useRenewed } from '../../api/live'
import { getSpendable, listBudgets } from '../../api/operations'
import { renew, useMe } from '../../api/query'
import { compare, decimal, money, percent } from '../../format'
import { useT } from '../../i18n'
import { Button, IconButton } from '../../ui/button'
import { Empty, ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Link, LinkButton, useGo, usePageSearch, type SearchShape } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Menu, type MenuItem } from '../../ui/menu'
import { Confirm } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { toast } from '../../ui/toast'
import { Money, When } from '../../ui/values'
import { Bar } from './bar'
import { alarmed, beside, callOf, filterOf, nearest, nest, parts, type Budget, type Line } from './data'
import { lineOf, useTitles } from './titles'

const BudgetForm = lazy(() => import('./form'))
type Spendable = Reply<'/api/spendable'>['data']
type List = Reply<'/api/budgets'>

const address: SearchShape<{ chosen: string }> = {
  read: (raw) => ({ chosen: raw.b ?? '' }),
  write: (v) => ({ b: v.chosen || undefined }),
}

export default function BudgetsPage() {
  const t = useT('budgets')
  const me = useMe()
  const role = account === null ? 'owner' : me?.accounts.find((a) => a.id === account)?.role
  const { data, error, refetch } = useQuery(listBudgets())
  useRenewed(['calls'], [listBudgets, getSpendable], { every: 5_000 })
  const [{ chosen }, set] = usePageSearch(address)
  const [making, setMaking] = useState(false)
  const owns = role === 'owner'
  const all = data?.data
  const one = all?.find((b) => b.id === chosen) ?? (all ? nearest(all) : null)
  return (
    <Page>
      <PageHead
        title={t('title')}
        note={data && <span translate="no">{t('zone', { zone: data.timezone })}</span>}
      >
        {owns && data && (
          <Button look="main" icon="plus" onClick={() => setMaking(true)}>
            {t('make')}
          </Button>
        )}
      </PageHead>
      {error && !data ? (
        <ErrorBox error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <SkeletonRows rows={8} height={56} />
      ) : data.data.length === 0 ? (
        <Panel>
          <Empty
            icon="level"
            title={t('empty', { available: money(data.available) })}
            action={
              owns && (
                <Button icon="plus" onClick={() => setMaking(true)}>
                  {t('make')}
                </Button>
              )
            }
          >
            {t(owns ? 'emptyText' : 'emptyTextOthers')}
          </Empty>
        </Panel>
      ) : (
        <Picture list={data} one={one} owns={owns} onChoose={(id) => set({ chosen: id })} />
      )}
      {making && data && (
        <Suspense fallback={null}>
          <BudgetForm list={data} onClose={() => setMaking(false)} />
        </Suspense>
      )}
    </Page>
  )
}

function Picture({
  list,
  one,
  owns,
  onChoose,
}: {
  list: List
  one: Budget | null
  owns: boolean
  onChoose: (id: string) => void
}) {
  const t = useT('budgets')
  const titles = useTitles()
  const [change, setChange] = useState<Budget | null>(null)
  const [ending, setEnding] = useState<Budget | null>(null)
  const q = useQuery(getSpendable({ query: callOf(one) }))
  const bound = q.data?.data
  const rows = { list, one, bound, owns, onChoose, onChange: setChange, onDelete: setEnding }
  const across = beside(list.data)
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_minmax(300px,380px)]">
      <div className="flex min-w-0 flex-col gap-4">
        <Panel flush title={t('nested')} actions={<Legend />}>
          <ul className="m-0 list-none border-t border-line p-0">
            <li className="flex items-center gap-3 border-b border-line px-4 py-2">
              <span className="min-w-0 flex-1">
                <span className="block font-medium">{t('wallet')}</span>
                <span className="block text-small text-ink3">{t('walletText')}</span>
              </span>
              <span className="text-right text-small">
                <b className="font-semibold">
                  <Money value={list.available} />
                </b>
                <span className="block text-ink3">{t('left')}</span>
              </span>
            </li>
            {nest(list.data).map((line) => (
              <Row key={line.key} line={line} {...rows} />
            ))}
          </ul>
        </Panel>
        {across.length > 0 && (
          <Panel flush title={t('across')}>
            <ul className="m-0 list-none border-t border-line p-0">
              {across.map((line) => (
                <Row key={line.key} line={line} {...rows} />
              ))}
            </ul>
          </Panel>
        )}
      </div>
      <div className="flex min-w-0 flex-col gap-4">
        {q.error && !bound ? (
          <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
        ) : !bound ? (
          <Panel>
            <SkeletonRows rows={4} height={36} />
          </Panel>
        ) : (
          <May one={one} bound={bound} list={list} owns={owns} onRaise={setChange} />
        )}
        <Panel title={t('who')}>
          <p className="flex flex-wrap gap-x-4 gap-y-2">
            {(account === null ? (['key'] as const) : (['team', 'member', 'key'] as const)).map((g) => (
              <Link key={g} to="/activity" search={{ by: g }}>
                {t(`by_${g}`)}
              </Link>
            ))}
            <Link to="/activity" search={{ by: 'tag' }}>
              {t('by_tag')}
            </Link>
          </p>
        </Panel>
      </div>
      {change && (
        <Suspense fallback={null}>
          <BudgetForm list={list} change={change} bound={bound ?? null} onClose={() => setChange(null)} />
        </Suspense>
      )}
      {ending && <End b={ending} name={titles(lineOf(ending))} onClose={() => setEnding(null)} />}
    </div>
  )
}

function Legend() {
  const t = useT('budgets')
  return (
    <span className="flex flex-wrap gap-x-3.5 gap-y-1 text-label text-ink2">
      {(
        [
          ['spent', 'bg-accent'],
          ['near', 'bg-warn'],
          ['held', 'bg-hold'],
        ] as const
      ).map(([word, colour]) => (
        <span key={word} className="inline-flex items-center gap-1.5">
          <i data-mark className={`h-2 w-2.5 rounded-[2px] ${colour}`} />
          {t(word)}
        </span>
      ))}
    </span>
  )
}

function Row({
  line,
  one,
  bound,
  owns,
  onChoose,
  onChange,
  onDelete,
}: {
  line: Line
  one: Budget | null
  bound: Spendable | undefined
  owns: boolean
  onChoose: (id: string) => void
  onChange: (b: Budget) => void
  onDelete: (b: Budget) => void
}) {
  const t = useT('budgets')
  const go = useGo()
  const title = useTitles()(line)
  const b = line.budget
  const indent = { paddingLeft: `${16 + Math.min(line.depth, 4) * 18}px` }
  if (!b)
    return (
      <li className="flex items-center gap-3 border-b border-line py-2 pr-4 last:border-0" style={indent}>
        <span className="min-w-0 flex-1">
          <span translate="no" className="block font-medium break-words">
            {title}
          </span>
          <span className="block text-small text-ink3">{t(`kind_${line.kind}`)}</span>
        </span>
        <span className="text-small text-ink3">{t('noBudget')}</span>
      </li>
    )
  const chosen = one?.id === b.id
  const binds = bound?.data.some((r) => r.budget === b.id)
  const strictest = bound?.data[0]?.budget === b.id
  const calls = filterOf(line)
  const items: MenuItem[] = [
    ...(owns ? [{ label: t('change'), icon: 'edit', onSelect: () => onChange(b) } as const] : []),
    ...(calls
      ? [{ label: t('calls'), icon: 'list', onSelect: () => go('/calls', { search: calls }) } as const]
      : []),
    ...(owns
      ? [{ label: t('delete'), icon: 'trash', tone: 'bad', onSelect: () => onDelete(b) } as const]
      : []),
  ]
  return (
    <li
      data-budget={b.id}
      aria-current={chosen || undefined}
      className={`border-b border-line last:border-0 ${
        chosen ? 'relative outline-2 -outline-offset-2 outline-accent' : ''
      } ${binds ? 'bg-accent-soft' : ''}`}
    >
      <div
        className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1 py-2 pr-2 md:grid-cols-[minmax(150px,1.1fr)_minmax(80px,1fr)_136px_112px_32px]"
        style={indent}
      >
        <div className="min-w-0">
          <button
            type="button"
            onClick={() => onChoose(b.id)}
            aria-pressed={chosen}
            className="min-h-6 max-w-full text-left font-medium break-words text-ink hover:underline max-md:min-h-11"
          >
            <span translate="no">{title}</span>
          </button>
          <Facts b={b} line={line} strictest={strictest} />
        </div>
        {b.spent === null ? (
          <span className="text-small text-ink2 max-md:order-4 max-md:col-span-2">{t('eachText')}</span>
        ) : (
          <div className="max-md:order-4 max-md:col-span-2 max-md:pr-2">
            <Bar b={b} />
          </div>
        )}
        <span className="text-right text-small max-md:order-3 max-md:col-span-2 max-md:pr-2">
          {b.spent !== null && (
            <>
              <Money value={b.spent} />
              <br className="max-md:hidden" />{' '}
            </>
          )}
          <span className="text-ink3">{t('of', { amount: money(b.amount) })}</span>
        </span>
        <span className="text-right text-small max-md:order-5 max-md:col-span-2 max-md:pr-2">
          {b.left !== null && (
            <>
              <b className="font-semibold">
                <Money value={b.left} />
              </b>
              <br className="max-md:hidden" /> <span className="text-ink3">{t('left')}</span>
            </>
          )}
        </span>
        <span className="text-right max-md:order-2">
          {items.length > 0 && (
            <Menu
              items={items}
              trigger={<IconButton icon="more" label={t('actions', { name: title })} small />}
            />
          )}
        </span>
      </div>
    </li>
  )
}

/** What a budget is of, how long, and what is out of the ordinary with it. */
function Facts({ b, line, strictest }: { b: Budget; line: Line; strictest: boolean }) {
  const t = useT('budgets')
  const p = parts(b)
  const alarm = alarmed(b)
  const rules =
    (b.rules.models.length > 0 ? 1 : 0) +
    (b.rules.providers.length > 0 ? 1 : 0) +
    (b.rules.data_collection === 'deny' ? 1 : 0) +
    (b.rules.zdr ? 1 : 0)
  const gone =
    line.kind === 'key'
      ? b.scope.key?.deleted
      : (line.kind === 'team' || line.kind === 'member') && b.scope.name === null
  return (
    <span className="flex flex-wrap items-center gap-x-1.5 gap-y-1 text-small text-ink3">
      <span>
        {t(`kind_${line.kind}`)}, {t(`per_${b.period}`)}
        {b.renews_at && ','}
      </span>
      {b.renews_at && (
        <span className="whitespace-nowrap">
          {t.rich('renews', { at: <When at={b.renews_at} form="hour" /> })}
        </span>
      )}
      {strictest && <Tag tone="accent">{t('strictest')}</Tag>}
      {b.spent !== null &&
        (p.spent >= 1000 ? (
          <Tag tone={b.hard ? 'bad' : 'warn'}>{t('full')}</Tag>
        ) : (
          p.spent + p.held >= 900 && <Tag tone="warn">{t('near')}</Tag>
        ))}
      {alarm !== null && <Tag tone="warn">{t('alarmed', { n: percent(alarm, 0) })}</Tag>}
      {!b.hard && <Tag>{t('onlyAlarm')}</Tag>}
      {rules > 0 && <Tag>{t('rulesOf', { n: rules })}</Tag>}
      {gone && <Tag tone="warn">{t('gone')}</Tag>}
    </span>
  )
}

/** What a call within the chosen budget may still cost: all that binds it, the strictest first. */
function May({
  one,
  bound,
  list,
  owns,
  onRaise,
}: {
  one: Budget | null
  bound: Spendable
  list: List
  owns: boolean
  onRaise: (b: Budget) => void
}) {
  const t = useT('budgets')
  const titles = useTitles()
  const named = (r: Spendable['data'][number]) =>
    r.name === null || r.kind === 'wallet'
      ? t(r.kind === 'organization' ? (account === null ? 'account' : 'organization') : `kind_${r.kind}`)
      : r.kind === 'key_limit'
        ? `${t('kind_key_limit')} ${r.name}`
        : r.name
  const first = bound.data[0]
  if (!first) return null
  const strict = list.data.find((b) => b.id === first.budget)
  const next = bound.data[1]
  return (
    <Panel className="border-accent">
      <h2 className="text-small font-normal text-ink2">
        {one ? (
          t.rich('mayCost', {
            name: (
              <b translate="no" className="font-semibold break-words text-ink">
                {titles(lineOf(one))}
              </b>
            ),
          })
        ) : (
          <>{t('anyCall')}</>
        )}
      </h2>
      <p className="text-display break-words" data-spendable>
        <Money value={bound.amount} headline />
      </p>
      {one && !one.hard && <Notice title={t('softText')} />}
      <p className="py-2 text-small text-ink2">{t('bound', { n: bound.data.length })}</p>
      <ol className="m-0 list-none p-0">
        {bound.data.map((r, i) => (
          <li
            key={`${r.kind} ${r.budget ?? i}`}
            className={`-mx-2 flex items-baseline gap-3 rounded-tag px-2 py-1 text-small ${i === 0 ? 'bg-accent-soft font-semibold' : 'text-ink2'}`}
          >
            <span className="min-w-0 flex-1 break-words">
              {r.kind === 'wallet' ? t('wallet') : <span translate="no">{named(r)}</span>}
              {r.kind !== 'wallet' && r.kind !== 'key_limit' && r.name !== null && (
                <span className="font-normal text-ink3"> {t(`kind_${r.kind}`)}</span>
              )}
            </span>
            <Money value={r.left} />
          </li>
        ))}
      </ol>
      <p className="mt-3 rounded-control bg-sunken px-3 py-2 text-small text-ink2">
        {first.kind === 'wallet'
          ? t('refusalWallet', { left: money(first.left) })
          : first.kind === 'key_limit'
            ? t('refusalKey', { left: money(first.left), amount: money(first.amount) })
            : t.rich('refusal', {
                name: named(first),
                left: money(first.left),
                amount: money(first.amount),
                renews: first.renews_at
                  ? t.rich('renewsAt', { at: <When at={first.renews_at} form="hour" /> })
                  : t('neverRenews'),
              })}
      </p>
      {owns && (strict || first.kind === 'wallet') && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2 pt-3">
          {strict ? (
            <Button small onClick={() => onRaise(strict)} className="max-w-full whitespace-normal">
              <span translate="no" className="break-words">
                {t('raise', { name: named(first) })}
              </span>
            </Button>
          ) : (
            <LinkButton small to="/money/top-up">
              {t('topUp')}
            </LinkButton>
          )}
          {strict && next && compare(decimal(next.left)!, decimal(first.left)!) > 0 && (
            <span className="text-small text-ink3">
              {t('room', { name: named(next), left: money(next.left) })}
            </span>
          )}
        </div>
      )}
    </Panel>
  )
}

const restore = (id: string) => {
  void post('/api/budgets/{id}/restore', { path: { id } }).then(
    () => renew(listBudgets, getSpendable),
    (e: unknown) => toast(explain(e)),
  )
}

/** What ends with a budget, before it does. */
function End({ b, name, onClose }: { b: Budget; name: string; onClose: () => void }) {
  const t = useT('budgets')
  const c = useT('common')
  const act = useAction(async () => {
    await remove('/api/budgets/{id}', { path: { id: b.id } })
    await renew(listBudgets, getSpendable)
    toast(t('deleted', { name }), { label: c('undo'), run: () => restore(b.id) })
    onClose()
  })
  const ruled =
    b.rules.models.length + b.rules.providers.length > 0 || b.rules.data_collection === 'deny' || b.rules.zdr
  return (
    <Confirm
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('deleteTitle', { name })}
      verb={t('delete')}
      busy={act.busy}
      onConfirm={() => act.run()}
      fields={act.error !== null && <ErrorBox error={act.error} />}
    >
      {t('deleteText', { spent: money(b.spent ?? '0') })} {ruled && t('deleteRules')}
    </Confirm>
  )
}
