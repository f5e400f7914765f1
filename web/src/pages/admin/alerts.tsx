/** /admin/alerts: what is said to operators, and where. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { get, post, remove, type Reply } from '../../api/client'
import { getAlerts, listAlertIncidents } from '../../api/operations'
import { renew, useMe } from '../../api/query'
import { integer } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox, Notice } from '../../ui/feedback'
import { State, Tag, type Tone } from '../../ui/marks'
import { Confirm } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast } from '../../ui/toast'
import { When } from '../../ui/values'
import type { Channel, Rule, Setup } from './alert-data'
import { ChannelForm, RuleForm } from './alert-forms'

type Incident = Reply<'/api/admin/alerts/incidents'>['data'][number]
type Message = Incident['messages'][number]
type Answer = Reply<'/api/admin/alerts/channels/{id}/test', 'post'>

export default function Alerts() {
  const t = useT('adminalerts')
  const may = useMe()?.user?.role === 'administrator'
  const { data, error, refetch } = useQuery(getAlerts())
  const lasting = data?.rules.reduce((n, r) => n + r.open, 0) ?? 0
  return (
    <Page>
      <PageHead title={t('title')} note={t('note')}>
        {lasting > 0 && <Tag tone="bad">{t('lasting', { n: lasting })}</Tag>}
      </PageHead>
      {error && !data ? (
        <ErrorBox error={error} onRetry={() => void refetch()} />
      ) : (
        <div className="flex flex-col gap-6">
          <Channels setup={data} may={may} />
          <Rules rules={data?.rules} may={may} />
          <Incidents />
        </div>
      )}
    </Page>
  )
}

const tones: Record<Channel['state'], Tone> = { ok: 'good', troubled: 'warn', failed: 'bad', off: 'plain' }

function Standing({ c }: { c: Channel }) {
  const t = useT('adminalerts')
  return (
    <span>
      <State tone={c.state === 'ok' && !c.sent_at ? 'plain' : tones[c.state]}>
        {c.state === 'ok' && !c.sent_at ? t('unused') : t(c.state)}
      </State>
      {(c.reason !== null || c.words !== null) && (
        <span className="block max-w-[44ch] break-words text-small text-ink3">
          <Trouble reason={c.reason} words={c.words} />
        </span>
      )}
    </span>
  )
}

/** Why a message did not arrive: what this gateway knows in the language of the reader, and what others say as they say it. */
function Trouble({ reason, words }: { reason: Channel['reason']; words: string | null }) {
  const t = useT('adminalerts')
  return (
    <>
      {reason && t(`reason_${reason}`)}
      {reason && words && ' '}
      {words && <span translate="no">{words}</span>}
    </>
  )
}

/** Which alerts a channel gets. */
function Gets({ c }: { c: Channel }) {
  const t = useT('adminalerts')
  const parts = c.kinds.map((k) => t(`kind_${k}`))
  if (c.severity === 'critical') parts.unshift(t('critical'))
  return <span className="block max-w-[40ch] text-small">{parts.length ? parts.join('; ') : t('all')}</span>
}

function Where({ c }: { c: Channel }) {
  const t = useT('adminalerts')
  return (
    <span className="break-words">
      {t(`way_${c.way}`)}{' '}
      <span translate="no" className="text-ink3">
        {c.address ?? (c.last4 ? `…${c.last4}` : '')}
      </span>
    </span>
  )
}

function Channels({ setup, may }: { setup: Setup | undefined; may: boolean }) {
  const t = useT('adminalerts')
  const [form, setForm] = useState<Channel | 'new' | null>(null)
  const [going, setGoing] = useState<Channel | null>(null)
  const [answer, setAnswer] = useState<{ id: string; a: Answer } | null>(null)
  const test = useAction(async (c: Channel) => {
    setAnswer(null)
    const a = await post('/api/admin/alerts/channels/{id}/test', { path: { id: c.id } })
    setAnswer({ id: c.id, a })
    await renew(getAlerts)
  })
  const drop = useAction(async (c: Channel) => {
    await remove('/api/admin/alerts/channels/{id}', { path: { id: c.id }, query: { version: c.version } })
    await renew(getAlerts)
    setGoing(null)
    toast(t('removed', { id: c.id }))
  })
  const acts = (c: Channel) =>
    may && (
      <span className="flex flex-wrap justify-end gap-2">
        <Button
          small
          aria-label={t('testOf', { id: c.id })}
          busy={test.busy && test.running?.[0].id === c.id}
          onClick={() => test.run(c)}
        >
          {t('test')}
        </Button>
        <Button small aria-label={t('changeOf', { id: c.id })} onClick={() => setForm(c)}>
          {t('change')}
        </Button>
        <Button small aria-label={t('removeOf', { id: c.id })} onClick={() => setGoing(c)}>
          {t('remove')}
        </Button>
      </span>
    )
  return (
    <Panel
      title={t('channels')}
      flush
      actions={
        may && (
          <Button small icon="plus" onClick={() => setForm('new')}>
            {t('add')}
          </Button>
        )
      }
    >
      <p className="px-4 pb-3 text-small text-ink3">{t('channelsNote')}</p>
      <div role="status" className="px-4 empty:hidden [&>*]:mb-3">
        {answer && <Tested id={answer.id} a={answer.a} />}
        {test.error !== null && <ErrorBox error={test.error} />}
      </div>
      <Table<Channel>
        main
        caption={t('channels')}
        rows={setup?.channels}
        rowKey={(c) => c.id}
        empty={
          <Empty icon="send" title={t('noChannels')}>
            {t('noChannelsText')}
          </Empty>
        }
        columns={[
          {
            key: 'channel',
            head: t('channel'),
            cell: (c) => (
              <span translate="no" className="font-medium">
                {c.id}
              </span>
            ),
          },
          { key: 'where', head: t('where'), cell: (c) => <Where c={c} /> },
          { key: 'gets', head: t('gets'), from: 'lg', cell: (c) => <Gets c={c} /> },
          { key: 'state', head: t('state'), cell: (c) => <Standing c={c} /> },
          {
            key: 'last',
            head: t('last'),
            from: 'xl',
            cell: (c) =>
              c.sent_at ? <When at={c.sent_at} /> : <span className="text-ink3">{t('never')}</span>,
          },
          { key: 'act', head: '', name: t('change'), align: 'end', cell: acts },
        ]}
        phone={(c) => (
          <div className="flex flex-col gap-1.5">
            <span translate="no" className="font-medium">
              {c.id}
            </span>
            <Where c={c} />
            <Gets c={c} />
            <Standing c={c} />
            {acts(c)}
          </div>
        )}
      />
      {form && (
        <ChannelForm
          channel={form === 'new' ? null : form}
          mailReady={setup?.mail_ready ?? false}
          onClose={() => setForm(null)}
        />
      )}
      <Confirm
        open={going !== null}
        onOpenChange={(o) => {
          if (o) return
          drop.clear()
          setGoing(null)
        }}
        title={t('removeTitle', { id: going?.id ?? '' })}
        verb={t('remove')}
        busy={drop.busy}
        onConfirm={() => going && drop.run(going)}
        fields={drop.error !== null && <ErrorBox error={drop.error} />}
      >
        {t('removeText', { n: integer((setup?.channels.length ?? 1) - 1) })}
      </Confirm>
    </Panel>
  )
}

function Tested({ id, a }: { id: string; a: Answer }) {
  const t = useT('adminalerts')
  if (a.arrived) return <Notice tone="good">{t('arrived', { id })}</Notice>
  return (
    <Notice tone="bad">
      {t('notArrived', { id })} <Trouble reason={a.reason} words={a.words} />
      {a.failed && ` ${t('refused')}`}
      {a.address && ` ${t('moved')}`}
    </Notice>
  )
}

function Rules({ rules, may }: { rules: readonly Rule[] | undefined; may: boolean }) {
  const t = useT('adminalerts')
  const [form, setForm] = useState<Rule | null>(null)
  const says = (r: Rule) =>
    r.enabled ? (
      t(`is_${r.kind}`, { limit: r.limit ?? 0, calls: r.calls ?? 0, minutes: r.minutes ?? 0 })
    ) : (
      <span className="text-ink3">{t('off')}</span>
    )
  const change = (r: Rule) =>
    may && (
      <Button small aria-label={t('changeOf', { id: t(`kind_${r.kind}`) })} onClick={() => setForm(r)}>
        {t('change')}
      </Button>
    )
  return (
    <Panel title={t('rules')} flush>
      <Table<Rule>
        caption={t('rules')}
        rows={rules}
        rowKey={(r) => r.kind}
        columns={[
          {
            key: 'rule',
            head: t('rule'),
            cell: (r) => (
              <span className="font-medium">
                {t(`kind_${r.kind}`)}
                {r.open > 0 && (
                  <>
                    {' '}
                    <Tag tone="bad">{integer(r.open)}</Tag>
                  </>
                )}
              </span>
            ),
          },
          { key: 'limit', head: t('limit'), cell: says },
          { key: 'act', head: '', name: t('change'), align: 'end', cell: change },
        ]}
        phone={(r) => (
          <div className="flex items-center gap-2">
            <span className="min-w-0 flex-1">
              <span className="block font-medium">{t(`kind_${r.kind}`)}</span>
              <span className="block text-small text-ink2">{says(r)}</span>
            </span>
            {change(r)}
          </div>
        )}
      />
      {form && <RuleForm rule={form} onClose={() => setForm(null)} />}
    </Panel>
  )
}

function Incidents() {
  const t = useT('adminalerts')
  const c = useT('common')
  const q = useInfiniteQuery({
    queryKey: listAlertIncidents.key('pages'),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/alerts/incidents', { query: { before: pageParam, limit: 30 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  return (
    <Panel title={t('incidents')} flush>
      <Table<Incident>
        caption={t('incidents')}
        rows={q.data?.pages.flatMap((p) => p.data)}
        rowKey={(i) => i.id}
        error={q.error}
        onRetry={() => void q.refetch()}
        empty={
          <Empty icon="check" title={t('noIncidents')}>
            {t('noIncidentsText')}
          </Empty>
        }
        columns={[
          { key: 'what', head: t('what'), cell: (i) => <What i={i} /> },
          { key: 'began', head: t('began'), cell: (i) => <When at={i.began_at} /> },
          { key: 'ended', head: t('ended'), cell: (i) => <Ended i={i} /> },
          { key: 'said', head: t('saidTo'), cell: (i) => <SaidTo list={i.messages} /> },
        ]}
        phone={(i) => (
          <div className="flex flex-col gap-1">
            <What i={i} />
            <span className="flex flex-wrap gap-x-3 text-small text-ink3">
              <span>
                {t('began')}: <When at={i.began_at} />
              </span>
              <Ended i={i} />
            </span>
            <SaidTo list={i.messages} />
          </div>
        )}
      />
      {q.hasNextPage && (
        <div className="flex justify-center border-t border-line p-3">
          <Button small busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
            {c('loadMore')}
          </Button>
        </div>
      )}
    </Panel>
  )
}

function What({ i }: { i: Incident }) {
  const t = useT('adminalerts')
  const byHand = i.kind === 'ejected' ? /^(?:provider|endpoint|model):(.+)$/.exec(i.subject ?? '') : null
  const title = byHand
    ? t('of_out', { subject: byHand[1] ?? '' })
    : t(`of_${i.kind}`, { subject: i.name ?? i.subject ?? '', value: i.value })
  const numbers =
    i.kind === 'ejected'
      ? t('moves', { calls: i.calls, moved: i.value, failed: i.failed })
      : i.calls > 0 && t('failedOf', { failed: i.failed, calls: i.calls, minutes: i.minutes, value: i.value })
  return (
    <span className="block break-words">
      <span className="font-medium">
        {title} {i.severity === 'critical' && <Tag tone="bad">{t('isCritical')}</Tag>}
      </span>
      {numbers && <span className="block max-w-[60ch] text-small text-ink3">{numbers}</span>}
      {!(numbers && i.kind !== 'ejected') && i.detail && (
        <span className="block max-w-[60ch] text-small text-ink3">{i.detail}</span>
      )}
    </span>
  )
}

function Ended({ i }: { i: Incident }) {
  const t = useT('adminalerts')
  if (!i.ended_at) return <State tone="bad">{t('lasts')}</State>
  return (
    <span>
      <When at={i.ended_at} />
      {i.why && <span className="block text-small text-ink3">{t(`why_${i.why}`)}</span>}
    </span>
  )
}

/** Each channel with what it was sent: "ops: beginning, end". */
function SaidTo({ list }: { list: readonly Message[] }) {
  const t = useT('adminalerts')
  const by = new Map<string, string[]>()
  for (const m of list) {
    const what = t(`said_${m.what}`)
    const text =
      m.state === 'waiting'
        ? t('waits', { what })
        : m.state === 'dropped'
          ? t('dropped', { what })
          : m.state === 'in_summary'
            ? t('inSummary', { what })
            : what
    by.set(m.channel, [...(by.get(m.channel) ?? []), text])
  }
  if (by.size === 0) return <span className="text-small text-ink3">{t('nowhere')}</span>
  return (
    <span className="block text-small">
      {[...by].map(([channel, said]) => (
        <span key={channel} className="block">
          <span translate="no">{channel}</span>: {said.join(', ')}
        </span>
      ))}
    </span>
  )
}
