/** /agents/:hash: a tree of keys, each line of which adds up, and what stops it. */
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useAction } from '../../api/action'
import { ApiError, post } from '../../api/client'
import { useRenewed } from '../../api/live'
import { getAgent, listAgents } from '../../api/operations'
import { renew } from '../../api/query'
import { money } from '../../format'
import { useT } from '../../i18n'
import { Button, IconButton } from '../../ui/button'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Link, LinkButton } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Confirm } from '../../ui/overlay'
import { Page, PageHead, Panel, Strip } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast } from '../../ui/toast'
import { Money, When } from '../../ui/values'
import { depths, over, spentOf, StateTag, Used, within, type Agent } from './data'

const Amount = lazy(() => import('./amount'))

export default function AgentPage() {
  const t = useT('agents')
  const { hash } = useParams({ strict: false }) as { hash: string }
  const { data, error, refetch } = useQuery(getAgent({ path: { hash } }))
  useRenewed(['keys', 'calls'], [getAgent], { every: 3_000 })
  const crumbs = [{ label: t('title'), to: '/agents' }]
  const tree = data?.data
  const top = tree?.top
  if (!tree || !top)
    return (
      <Page>
        <PageHead title={t('agent')} crumbs={crumbs} />
        {error instanceof ApiError && error.status === 404 ? (
          <Empty
            icon="tree"
            title={t('missing')}
            action={<LinkButton to="/agents">{t('toList')}</LinkButton>}
          >
            {t('missingText')}
          </Empty>
        ) : error ? (
          <ErrorBox error={error} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows rows={8} />
        )}
      </Page>
    )
  return <Tree all={tree.data} top={top} crumbs={crumbs} />
}

function Tree({
  all,
  top,
  crumbs,
}: {
  all: readonly Agent[]
  top: Agent
  crumbs: { label: string; to: string }[]
}) {
  const t = useT('agents')
  const [stopping, setStopping] = useState<Agent | null>(null)
  const [changing, setChanging] = useState<Agent | null>(null)
  const deep = depths(all)
  const count = (state: (a: Agent) => boolean) => all.filter(state).length
  const runs = count((a) => a.state === 'running'),
    out = count((a) => a.state === 'out_of_money'),
    ended = count(over)
  const calls = all.reduce((n, a) => n + a.calls, 0)
  const stop = (a: Agent) =>
    !over(a) && (
      <Button small icon="stop" aria-label={t('stopOf', { name: a.name })} onClick={() => setStopping(a)}>
        {t('stop')}
      </Button>
    )
  const amount = (a: Agent) => (
    <span className="inline-flex items-center gap-1">
      <Money value={a.amount} />
      {!over(a) && (
        <IconButton
          small
          icon="edit"
          label={t('amountOf', { name: a.name })}
          onClick={() => setChanging(a)}
        />
      )}
    </span>
  )
  const name = (a: Agent) => {
    const n = deep.get(a.id) ?? 0
    return (
      <span className="flex min-w-0 items-center gap-1.5" style={{ paddingLeft: `${Math.min(n, 6) * 16}px` }}>
        {n > 0 && (
          <>
            <span aria-hidden className="text-ink3">
              └
            </span>
            <span className="sr-only">{t('level', { n })}</span>
          </>
        )}
        <Link
          to="/calls"
          search={{ key: a.hash }}
          className="font-medium break-all text-ink no-underline hover:underline"
        >
          <span translate="no">{a.name}</span>
        </Link>
      </span>
    )
  }
  const left = (a: Agent) =>
    over(a) ? (
      <span className="text-ink3">{t('back', { amount: money(a.left) })}</span>
    ) : (
      <b className="font-semibold">
        <Money value={a.left} />
      </b>
    )
  return (
    <Page>
      <PageHead
        title={<span translate="no">{top.name}</span>}
        name={top.name}
        crumbs={crumbs}
        note={
          <span className="flex flex-wrap gap-2">
            {runs > 0 && <Tag tone="accent">{t('nRunning', { n: runs })}</Tag>}
            {out > 0 && <Tag tone="bad">{t('nOut', { n: out })}</Tag>}
            {ended > 0 && <Tag>{t('nEnded', { n: ended })}</Tag>}
          </span>
        }
      />
      <div className="flex flex-col gap-4">
        <Strip
          items={[
            { label: t('amount'), value: <Money value={top.amount} headline /> },
            {
              label: `− ${t('spent')}`,
              value: <Money value={spentOf(top)} headline />,
              note: `${t('calls')}: ${calls}`,
            },
            { label: `− ${t('held')}`, value: <Money value={top.held} className="text-hold" /> },
            { label: `= ${t('left')}`, value: <Money value={top.left} headline /> },
            {
              label: t('deadline'),
              value: top.deadline ? (
                <When at={top.deadline} form="full" />
              ) : (
                <span className="font-normal">{t('none')}</span>
              ),
            },
            {
              label: t('allowed'),
              value: (
                <span className="text-small font-normal">
                  {top.models.length > 0 ? t('nModels', { n: top.models.length }) : t('allModels')},{' '}
                  {top.tools.length > 0 ? t('nTools', { n: top.tools.length }) : t('allTools')},{' '}
                  {t('nDeep', { n: top.depth })}
                </span>
              ),
            },
          ]}
        />
        <div>
          <Panel flush>
            <Table<Agent>
              main
              caption={t('tree')}
              rows={all}
              rowKey={(a) => a.id}
              columns={[
                { key: 'agent', head: t('agent'), cell: name },
                { key: 'state', head: t('state'), cell: (a) => <StateTag a={a} /> },
                { key: 'calls', head: t('calls'), align: 'end', cell: (a) => a.calls },
                { key: 'amount', head: t('amount'), align: 'end', cell: amount },
                { key: 'own', head: t('own'), align: 'end', cell: (a) => <Money value={a.own} /> },
                {
                  key: 'children',
                  head: t('children'),
                  align: 'end',
                  cell: (a) => <Money value={a.by_children} />,
                },
                {
                  key: 'held',
                  head: t('held'),
                  align: 'end',
                  cell: (a) => <Money value={a.held} className="text-hold" />,
                },
                { key: 'left', head: t('left'), align: 'end', cell: left },
                {
                  key: 'used',
                  head: '',
                  name: t('spent'),
                  width: '96px',
                  from: 'xl',
                  cell: (a) => <Used a={a} />,
                },
                { key: 'stop', head: '', name: t('actions'), align: 'end', cell: stop },
              ]}
              phone={(a) => (
                <div className="flex flex-col gap-1.5">
                  <span className="flex items-center gap-2">
                    <span className="min-w-0 flex-1">{name(a)}</span>
                    <StateTag a={a} />
                    {a.id !== top.id && stop(a)}
                  </span>
                  <span className="flex flex-wrap items-center gap-x-3 text-small text-ink2">
                    <span>
                      {t('amount')} {amount(a)}
                    </span>
                    <span>
                      {t('own')} <Money value={a.own} />
                    </span>
                    <span>
                      {t('held')} <Money value={a.held} className="text-hold" />
                    </span>
                    <span>
                      {t('left')} {left(a)}
                    </span>
                  </span>
                </div>
              )}
            />
          </Panel>
          <p className="px-0.5 pt-2 text-label text-ink3">{t('adds')}</p>
        </div>
        <div className="grid items-start gap-4 lg:grid-cols-[minmax(300px,380px)_minmax(0,1fr)]">
          {over(top) ? (
            <p className="text-ink2">{t('over')}</p>
          ) : (
            <Panel title={t('stopTree')} className="border-bad">
              <p className="pb-3 text-small">
                <Numbers all={all} a={top} />
              </p>
              <div className="flex flex-wrap items-center gap-3">
                <Button
                  look="bad"
                  icon="stop"
                  onClick={() => setStopping(top)}
                  className="max-w-full max-md:w-full"
                >
                  <span translate="no" className="truncate">
                    {all.length > 1
                      ? t('stopDo', {
                          name: top.name,
                          below: within(all, top).filter((a) => !over(a)).length - 1,
                        })
                      : t('stopOf', { name: top.name })}
                  </span>
                </Button>
                <span className="text-label text-ink3">{t('stopNever')}</span>
              </div>
            </Panel>
          )}
          <div className="flex min-w-0 flex-col gap-4">
            {all.map((a) => a.loop && <Loop key={a.id} a={a} loop={a.loop} />)}
          </div>
        </div>
      </div>
      {changing && (
        <Suspense>
          <Amount a={changing} onClose={() => setChanging(null)} />
        </Suspense>
      )}
      {stopping && <Stop all={all} a={stopping} onClose={() => setStopping(null)} />}
    </Page>
  )
}

/** What a stop ends, in numbers. */
function Numbers({ all, a }: { all: readonly Agent[]; a: Agent }) {
  const t = useT('agents')
  return (
    <>
      <b className="font-semibold">
        {t('stopNumbers', { n: within(all, a).filter((one) => !over(one)).length })}
      </b>{' '}
      {t('stopPaid', { held: money(a.held), left: money(a.left) })}
    </>
  )
}

function Stop({ all, a, onClose }: { all: readonly Agent[]; a: Agent; onClose: () => void }) {
  const t = useT('agents')
  const act = useAction(async () => {
    const { data } = await post('/api/agents/{hash}/stop', { path: { hash: a.hash } })
    await renew(getAgent, listAgents)
    toast(t('stoppedDone', { n: data.stopped, left: money(data.left) }))
    onClose()
  })
  return (
    <Confirm
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={
        <span translate="no" className="break-words">
          {t('stopTitle', { name: a.name })}
        </span>
      }
      verb={t('stop')}
      busy={act.busy}
      onConfirm={() => act.run()}
      fields={act.error !== null && <ErrorBox error={act.error} />}
    >
      <Numbers all={all} a={a} />
    </Confirm>
  )
}

/** That an agent repeated itself: which tools, how often, and the calls. */
function Loop({ a, loop }: { a: Agent; loop: NonNullable<Agent['loop']> }) {
  const t = useT('agents')
  return (
    <Panel title={t('loop', { name: a.name })} note={<Tag tone="warn">{t('loopTag')}</Tag>}>
      <p className="flex flex-wrap items-center gap-1.5 pb-2 text-small">
        {loop.tools.map((tool, i) => (
          <span key={i} className="inline-flex items-center gap-1.5">
            {i > 0 && (
              <span aria-hidden className="text-ink3">
                →
              </span>
            )}
            <code className="rounded-tag bg-sunken px-1.5 break-all">{tool}</code>
          </span>
        ))}
      </p>
      <p className="text-small text-ink2">
        {t('loopText', { n: loop.times, calls: loop.calls })},{' '}
        {t.rich('loopSince', {
          since: <When at={loop.since} form="full" />,
          until: <When at={loop.until} form="full" />,
        })}
      </p>
      <p className="pt-2">
        <Link to="/calls" search={{ key: a.hash }}>
          {t('itsCalls', { name: a.name })}
        </Link>
      </p>
    </Panel>
  )
}
