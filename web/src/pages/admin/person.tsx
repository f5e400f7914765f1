/** A person as operators see them: balance, keys, last calls, in the order in which people complain. */
import { useQuery } from '@tanstack/react-query'
import { useRouterState } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/client'
import { getUser } from '../../api/operations'
import { useMe } from '../../api/query'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Copy } from '../../ui/copy'
import { Empty, ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Link, LinkButton, type Search } from '../../ui/link'
import { Mark, Tag } from '../../ui/marks'
import { Panel, Strip, useTitle } from '../../ui/page'
import { Table } from '../../ui/table'
import { Money, Tokens, When } from '../../ui/values'
import { FindKey, found, KeyTags, SEARCH_FROM, Spending } from '../account/key-parts'
import { resultOf } from '../calls/data'
import { useActs } from './person-acts'
import { remembered, type Found, type Person as Shape, type UserKey } from './person-data'

export function Person({ id, back }: { id: string; back: Search }) {
  const t = useT('people')
  const q = useQuery(getUser({ path: { id } }))
  const p = q.data?.data.id === id ? q.data.data : undefined
  useTitle(p?.name ?? t('title'))
  const all = (
    <LinkButton to="/admin/people" search={back} icon="left" small className="xl:hidden">
      {t('all')}
    </LinkButton>
  )
  if (q.error instanceof ApiError && q.error.status === 404)
    return (
      <Panel>
        <Empty icon="person" title={t('missing')} action={all}>
          {t('missingText')}
        </Empty>
      </Panel>
    )
  if (q.error && !p) return <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
  if (!p)
    return (
      <Panel flush>
        <SkeletonRows rows={8} />
      </Panel>
    )
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <div className="xl:hidden">{all}</div>
      <Shown p={p} />
    </div>
  )
}

function Shown({ p }: { p: Shape }) {
  const t = useT('people')
  const me = useMe()
  const administrator = me?.user?.role === 'administrator'
  const {
    key: asked,
    refund,
    reference,
  } = useRouterState({
    select: (s) => s.location.search as { key?: string; refund?: string; reference?: string },
  })
  const acts = useActs(p, administrator && refund ? { call: refund, reference } : undefined)
  const [text, setText] = useState('')
  const mayTouch = p.role !== 'administrator' || administrator
  return (
    <>
      <FoundKey k={remembered(asked)} />
      <section aria-labelledby="person" className="rounded-panel border border-line bg-surface">
        <div className="flex flex-wrap items-start gap-3 px-4 py-3.5">
          <Mark name={p.name} size={44} />
          <div className="min-w-0 flex-1 basis-52">
            <h2 id="person" translate="no" className="text-title break-words">
              {p.name}
            </h2>
            <p className="flex flex-wrap items-center gap-1.5 text-small text-ink2">
              {p.email ? (
                <span translate="no" className="break-all">
                  {p.email}
                </span>
              ) : (
                t('noMail')
              )}
              <span>· {t(`role_${p.role}`)}</span>
              {p.email && !p.confirmed && <Tag tone="warn">{t('unconfirmed')}</Tag>}
              {p.blocked && <Tag tone="bad">{t('blocked')}</Tag>}
            </p>
            <p className="flex flex-wrap items-center gap-1 text-small text-ink3">
              {t.rich('since', { date: <When at={p.created_at} form="date" /> })} ·{' '}
              {t('sessions', { n: p.sessions })} <code>{p.id}</code> <Copy text={p.id} what={p.id} />
            </p>
          </div>
          <div className="flex flex-wrap gap-2">
            {administrator && <Button onClick={() => acts.adjust()}>{t('adjust')}</Button>}
            {mayTouch && <Button onClick={acts.reset}>{t('reset')}</Button>}
            {mayTouch && !p.blocked && me?.user?.id !== p.id && (
              <Button icon="eye" busy={acts.busy} onClick={acts.see}>
                {t('see')}
              </Button>
            )}
            {administrator && <Button onClick={acts.role}>{t('role')}</Button>}
            {mayTouch &&
              me?.user?.id !== p.id &&
              (p.blocked ? (
                <Button busy={acts.busy} onClick={acts.unblock}>
                  {t('unblock')}
                </Button>
              ) : (
                <Button look="bad" onClick={acts.block}>
                  {t('block')}
                </Button>
              ))}
          </div>
        </div>
        <div className="-mb-px px-4">
          <Strip
            items={[
              { label: t('availableNow'), value: <Money value={p.available} headline /> },
              { label: t('balance'), value: <Money value={p.balance} headline /> },
              {
                label: t('held'),
                value: <Money value={p.held} headline />,
                ...(p.running ? { note: t('heldFor', { n: p.running }) } : {}),
              },
              { label: t('spent'), value: <Money value={p.spent_month} headline /> },
            ]}
          />
        </div>
      </section>
      <Panel
        flush
        title={t('keys')}
        actions={
          mayTouch &&
          (p.sessions > 0 || p.keys.some((k) => !k.disabled)) && (
            <Button small look="quiet" onClick={acts.end}>
              {t('endAll')}
            </Button>
          )
        }
      >
        {p.keys.length > SEARCH_FROM && (
          <div className="px-4 pt-3">
            <FindKey text={text} onText={setText} />
          </div>
        )}
        <Table<UserKey>
          caption={t('keys')}
          rows={found(p.keys, text)}
          rowKey={(k) => k.id}
          selected={(k) => k.id === asked}
          empty={<Empty title={t('keysNone')}>{t('keysNoneText')}</Empty>}
          columns={[
            { key: 'name', head: t('key'), cell: (k) => <Named k={k} p={p} /> },
            { key: 'spent', head: t('keySpent'), width: '32%', cell: (k) => <Spending k={k} /> },
            { key: 'used', head: t('used'), from: 'lg', cell: (k) => <Used k={k} /> },
            {
              key: 'act',
              head: '',
              name: t('actions', { name: p.name }),
              align: 'end',
              cell: (k) =>
                mayTouch && (
                  <span className="inline-flex items-center gap-1">
                    {acts.turn(k)}
                    {administrator && acts.more(k)}
                  </span>
                ),
            },
          ]}
          phone={(k) => (
            <div className="flex items-start gap-2">
              <div className="min-w-0 flex-1">
                <Named k={k} p={p} />
                <Spending k={k} />
              </div>
              {mayTouch && acts.turn(k)}
              {administrator && acts.more(k)}
            </div>
          )}
        />
      </Panel>
      <Calls p={p} refund={administrator ? (id) => acts.adjust(id) : undefined} />
      {acts.windows}
    </>
  )
}

function FoundKey({ k }: { k: Found | null }) {
  const t = useT('people')
  return (
    k && (
      <div role="status">
        <Notice
          tone={k.state === 'active' ? 'accent' : 'warn'}
          icon="key"
          title={t('foundKey', { name: `${k.name} (${k.label})` })}
        >
          {t(`found_${k.state}`)} {k.former && t('foundFormer')}
        </Notice>
      </div>
    )
  )
}

function Named({ k, p }: { k: UserKey; p: Shape }) {
  const t = useT('people')
  const by = k.disabled_by
  return (
    <span className="block min-w-0 py-1.5">
      <span className="flex flex-wrap items-center gap-1.5">
        <span translate="no" className="font-medium break-all">
          {k.name}
        </span>
        <KeyTags k={k} />
      </span>
      <code className="text-label text-ink3">{k.label}</code>
      {by && (
        <span className="block text-label text-ink3">
          {t.rich('disabledBy', {
            who: by.owner ? t('byOwner') : (by.name ?? (by.actor === 'operator' ? t('byCommand') : by.actor)),
            when: <When at={by.at} />,
          })}
        </span>
      )}
      {p.blocked && !k.disabled && <span className="block text-label text-ink3">{t('blocked')}</span>}
    </span>
  )
}

function Used({ k }: { k: UserKey }) {
  const t = useT('people')
  return k.last_used_at ? <When at={k.last_used_at} /> : <span className="text-ink3">{t('never')}</span>
}

function Calls({ p, refund }: { p: Shape; refund: ((call: string) => void) | undefined }) {
  const t = useT('people')
  const c = useT('calls')
  type Call = Shape['calls'][number]
  const result = (r: Call) => {
    const x = resultOf(c, r)
    return (
      <Tag long tone={x.tone}>
        {x.text}
      </Tag>
    )
  }
  const model = (r: Call) => (
    <span className="block min-w-0 py-1">
      <Link to={`/admin/calls/${r.id}`} className="block break-words text-ink no-underline hover:underline">
        <span translate="no">{r.model ?? r.model_asked}</span>
      </Link>
      <span className="flex items-center gap-1 text-label text-ink3">
        <code className="max-w-28 truncate md:max-xl:max-w-none">{r.id}</code>{' '}
        <Copy text={r.id} what={r.id} />
      </span>
    </span>
  )
  const back = (r: Call) =>
    refund &&
    r.settled &&
    r.cost !== '0' && (
      <Button small onClick={() => refund(r.id)}>
        {t('refundDo')}
      </Button>
    )
  return (
    <Panel
      flush
      title={t('calls')}
      actions={
        <LinkButton small look="quiet" to="/admin/calls" search={{ member: p.id, days: '30' }}>
          {t('allCalls')}
        </LinkButton>
      }
    >
      <Table<Call>
        caption={t('calls')}
        rows={p.calls}
        rowKey={(r) => r.id}
        empty={<Empty title={t('callsNone')}>{t('callsNoneText')}</Empty>}
        columns={[
          { key: 'at', head: t('at'), cell: (r) => <When at={r.created_at} /> },
          { key: 'model', head: t('model'), cell: model },
          {
            key: 'tokens',
            head: t('tokens'),
            align: 'end',
            from: 'lg',
            cell: (r) => (
              <>
                <Tokens value={r.prompt_tokens} /> → <Tokens value={r.completion_tokens} />
              </>
            ),
          },
          { key: 'cost', head: t('cost'), align: 'end', cell: (r) => <Money value={r.cost} sign={false} /> },
          { key: 'result', head: t('result'), align: 'end', cell: result },
          ...(refund ? [{ key: 'act', head: '', name: t('refund'), align: 'end', cell: back } as const] : []),
        ]}
        phone={(r) => (
          <div>
            <div className="flex gap-2">
              <span className="min-w-0 flex-1">{model(r)}</span>
              <Money value={r.cost} />
            </div>
            <div className="flex items-center gap-2 text-small text-ink3">
              <span className="flex-1">
                <When at={r.created_at} />
              </span>
              {result(r)}
              {back(r)}
            </div>
          </div>
        )}
      />
    </Panel>
  )
}
