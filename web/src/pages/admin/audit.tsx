/** /admin/audit: who changed what, before and after, and whether the log is whole. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useAction } from '../../api/action'
import { address, get, post, type Reply } from '../../api/client'
import { listAudit } from '../../api/operations'
import { renew } from '../../api/query'
import { daysBefore, integer } from '../../format'
import { useLanguage, useT } from '../../i18n'
import { Button, buttonClass } from '../../ui/button'
import { Copy } from '../../ui/copy'
import { Empty, ErrorBox, Notice } from '../../ui/feedback'
import { Field, Input, Select } from '../../ui/field'
import { Chip } from '../../ui/chip'
import { FilterBar } from '../../ui/filters'
import { Link, usePageSearch, type SearchShape } from '../../ui/link'
import { Dot } from '../../ui/marks'
import { Dialog } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { When, Zone } from '../../ui/values'
import { acts, families } from './audit-acts'
import { inRussian } from './audit-said'

type Row = Reply<'/api/admin/audit'>['data'][number]
type Chain = Reply<'/api/admin/audit'>['chain']

const periods = ['', '1', '7', '30', '90'] as const
interface Chosen {
  readonly who: string
  readonly target: string
  readonly action: string
  readonly days: (typeof periods)[number]
}
const shape: SearchShape<Chosen> = {
  read: (raw) => ({
    who: raw.who ?? '',
    target: raw.target ?? '',
    action: raw.action ?? '',
    days: periods.find((d) => d === raw.days) ?? '',
  }),
  write: (c) => ({
    who: c.who || undefined,
    target: c.target || undefined,
    action: c.action || undefined,
    days: c.days || undefined,
  }),
}
const nothing: Chosen = { who: '', target: '', action: '', days: '' }

/** What the API is asked for: days of the person's time zone, as the times in the table, of which the running one is the last. */
function asked(c: Chosen): Record<string, string> {
  const q: Record<string, string> = {}
  if (c.who) q.who = c.who
  if (c.target) q.target = c.target
  if (c.action) q.action = c.action
  if (c.days) q.from = daysBefore(Number(c.days) - 1)
  return q
}

export default function Audit() {
  const t = useT('adminaudit')
  const [chosen, choose] = usePageSearch(shape)
  const query = asked(chosen)
  const q = useInfiniteQuery({
    queryKey: listAudit.key(query),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/audit', { query: { ...query, cursor: pageParam, limit: 50 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const rows = q.data?.pages.flatMap((p) => p.data)
  const chain = q.data?.pages[0]?.chain
  const active = [chosen.who, chosen.target, chosen.action, chosen.days].filter((v) => v !== '').length
  return (
    <Page>
      <PageHead
        title={t('title')}
        note={
          <>
            {t('note')} <Zone />.
          </>
        }
      >
        <Verify />
        {(['csv', 'jsonl'] as const).map((format) => (
          <a
            key={format}
            href={address('/api/admin/audit/file', { query: { ...query, format } })}
            download
            className={`${buttonClass()} no-underline`}
          >
            {t(format)}
          </a>
        ))}
      </PageHead>
      {chain && <Whole chain={chain} />}
      <FilterBar active={active} onClear={() => choose(nothing)}>
        <Filters chosen={chosen} choose={choose} />
      </FilterBar>
      <Panel flush>
        <Table<Row>
          main
          caption={t('title')}
          rows={rows}
          rowKey={(r) => String(r.seq)}
          error={q.error}
          onRetry={() => void q.refetch()}
          stale={q.isPlaceholderData}
          empty={
            active > 0 ? (
              <Empty
                icon="search"
                title={t('noMatch')}
                action={<Button onClick={() => choose(nothing)}>{t('showAll')}</Button>}
              >
                {chain && chain.rows > 0 && t('without', { n: chain.rows })}
              </Empty>
            ) : (
              <Empty icon="shield" title={t('nothing')} />
            )
          }
          columns={[
            {
              key: 'at',
              head: t('time'),
              cell: (r) => <When at={r.at} form="full" className="whitespace-nowrap" />,
            },
            { key: 'who', head: t('who'), cell: (r) => <Who r={r} choose={choose} /> },
            { key: 'act', head: t('what'), cell: (r) => <What r={r} /> },
            { key: 'target', head: t('target'), cell: (r) => <Target r={r} choose={choose} /> },
            { key: 'change', head: t('change'), cell: (r) => <Change r={r} /> },
          ]}
          phone={(r) => (
            <div className="flex flex-col gap-1 py-1">
              <div className="flex items-start gap-2">
                <span className="min-w-0 flex-1 font-medium">
                  <What r={r} />
                </span>
                <When at={r.at} form="full" className="text-small text-ink3" />
              </div>
              <span className="flex flex-wrap gap-x-2 text-small">
                <Who r={r} choose={choose} /> <Target r={r} choose={choose} />
              </span>
              <Change r={r} />
            </div>
          )}
        />
        {rows && rows.length > 0 && (
          <div className="flex items-center gap-2 px-4 py-2 text-small text-ink3">
            <span className="flex-1">{t('newest')}</span>
            {q.hasNextPage && (
              <Button small look="quiet" busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
                {t('more')}
              </Button>
            )}
          </div>
        )}
      </Panel>
    </Page>
  )
}

function Filters({ chosen, choose }: { chosen: Chosen; choose: (c: Partial<Chosen>) => void }) {
  const t = useT('adminaudit')
  const [text, setText] = useState(chosen.target)
  useEffect(() => setText(chosen.target), [chosen.target])
  const known = chosen.action === '' || families.some((f) => f === chosen.action)
  return (
    <>
      <form
        role="search"
        onSubmit={(e) => {
          e.preventDefault()
          choose({ target: text.trim() })
        }}
      >
        <Field label={t('about')} hideLabel>
          <Input
            icon="search"
            value={text}
            onChange={(e) => setText(e.target.value)}
            placeholder={t('aboutHint')}
            autoComplete="off"
            spellCheck={false}
            maxLength={200}
            className="md:w-64"
          />
        </Field>
      </form>
      <Field label={t('kind')} hideLabel>
        <Select
          value={chosen.action}
          onChange={(e) => choose({ action: e.target.value })}
          options={[
            { value: '', label: t('anyKind') },
            ...families.map((f) => ({ value: f, label: t(`family_${f}`) })),
            ...(known ? [] : [{ value: chosen.action, label: nameOf(t, chosen.action) }]),
          ]}
        />
      </Field>
      <Field label={t('period')} hideLabel>
        <Select
          value={chosen.days}
          onChange={(e) => choose({ days: periods.find((d) => d === e.target.value) ?? '' })}
          options={periods.map((d) => ({
            value: d,
            label: d === '' ? t('always') : d === '1' ? t('today') : t('days', { n: Number(d) }),
          }))}
        />
      </Field>
      {chosen.who && (
        <Chip name={t('who')} onRemove={() => choose({ who: '' })}>
          {t('by', { who: chosen.who })}
        </Chip>
      )}
    </>
  )
}

/** Whether the chain holds, as the last check found it. */
function Whole({ chain }: { chain: Chain }) {
  const t = useT('adminaudit')
  if (!chain.ok)
    return (
      <div className="pb-4">
        <Notice tone="bad" title={t('broken')}>
          <span translate="no">{chain.detail}</span> {t('brokenText', { n: chain.rows })}
        </Notice>
      </div>
    )
  return (
    <p className="pb-3 text-small text-ink2">
      {chain.at === null ? (
        t('unchecked')
      ) : (
        <>
          <Dot tone="good" />{' '}
          {t.rich('whole', { rows: integer(chain.rows), at: <When at={chain.at} form="full" /> })}
        </>
      )}
    </p>
  )
}

/** Walks the whole chain now, and compares it with a mark that was kept elsewhere, if there is one. */
function Verify() {
  const t = useT('adminaudit')
  const [open, setOpen] = useState(false)
  const [mark, setMark] = useState('')
  const [found, setFound] = useState<Reply<'/api/admin/audit/verify', 'post'>['data'] | null>(null)
  const verify = useAction(async () => {
    setFound(null)
    const noted = mark.trim()
    setFound((await post('/api/admin/audit/verify', { body: noted ? { mark: noted } : {} })).data)
    await renew(listAudit)
  })
  return (
    <>
      <Button icon="shield" onClick={() => setOpen(true)}>
        {t('verify')}
      </Button>
      <Dialog
        open={open}
        onOpenChange={(o) => {
          setOpen(o)
          setFound(null)
        }}
        title={t('verifyTitle')}
        description={t('verifyText')}
        footer={
          <Button look="main" busy={verify.busy} onClick={() => verify.run()}>
            {t('verifyDo')}
          </Button>
        }
      >
        <div className="flex flex-col gap-4">
          <Field label={t('mark')} help={t('markHelp')} error={verify.at('mark')}>
            <Input
              value={mark}
              onChange={(e) => setMark(e.target.value)}
              autoComplete="off"
              spellCheck={false}
              maxLength={100}
            />
          </Field>
          {verify.error !== null && verify.at('mark') === undefined && <ErrorBox error={verify.error} />}
          {found && (
            <div role="status">
              <Notice
                tone={found.ok ? 'good' : 'bad'}
                title={found.ok ? t('foundWhole', { n: found.rows }) : t('broken')}
              >
                {found.detail !== null && <span translate="no">{found.detail} </span>}
                {found.mark !== null && found.ok && (
                  <span className="flex flex-wrap items-center gap-2">
                    {t('keepMark')}
                    <code translate="no" className="text-small break-all">
                      {found.mark}
                    </code>
                    <Copy text={found.mark} what={t('markName')} />
                  </span>
                )}
              </Notice>
            </div>
          )}
        </div>
      </Dialog>
    </>
  )
}

type T = ReturnType<typeof useT<'adminaudit'>>

/** The name of an action; one of a newer program is shown as it is. */
function nameOf(t: T, action: string): string {
  const known = acts.find((a) => a === action)
  return known ? t(`act_${known}`) : action
}

function Who({ r, choose }: { r: Row; choose: (c: Partial<Chosen>) => void }) {
  const t = useT('adminaudit')
  const name = r.actor_name ?? r.actor
  return (
    <span className="flex min-w-0 flex-col items-start">
      <button
        type="button"
        title={r.actor}
        aria-label={t('onlyBy', { who: name })}
        onClick={() => choose({ who: r.actor })}
        className="max-w-44 truncate text-left text-ink hover:underline"
      >
        <span translate="no">{name}</span>
      </button>
      <span className="text-label text-ink3">
        {r.actor.startsWith('key:') && `${t('byKey')} · `}
        {r.from === null ? t('onMachine') : <span translate="no">{r.from}</span>}
      </span>
    </span>
  )
}

function What({ r }: { r: Row }) {
  const t = useT('adminaudit')
  return <span title={r.action}>{nameOf(t, r.action)}</span>
}

function Target({ r, choose }: { r: Row; choose: (c: Partial<Chosen>) => void }) {
  const t = useT('adminaudit')
  if (r.target === '') return null
  if (r.target.startsWith('usr_'))
    return (
      <Link to={`/admin/people/${r.target}`} title={r.target} className="block max-w-44 truncate">
        <span translate="no">{r.target_name ?? r.target}</span>
      </Link>
    )
  const shown = (r.target.startsWith('wal_') && r.target_name) || r.target
  return (
    <button
      type="button"
      title={r.target}
      aria-label={t('onlyAbout', { what: shown })}
      onClick={() => choose({ target: r.target })}
      className="block max-w-44 truncate text-left text-ink2 hover:underline"
    >
      <span translate="no">{shown}</span>
    </button>
  )
}

/** What it was and what it is: the old struck out for the eye, and in words for who hears the page. */
function Change({ r }: { r: Row }) {
  const t = useT('adminaudit')
  const russian = useLanguage() === 'ru'
  if (r.erased && r.before === '' && r.after === '') return <span className="text-ink3">{t('erased')}</span>
  const say = (text: string) => (russian ? inRussian(r.action, text) : text)
  return (
    <span translate="no" className="block max-w-[44ch] text-small break-words">
      {r.before !== '' && (
        <del className="text-ink3">
          <span className="sr-only">{t('was')} </span>
          {say(r.before)}
        </del>
      )}
      {r.before !== '' && r.after !== '' && <span aria-hidden="true"> → </span>}
      {r.after !== '' && (
        <ins className="text-ink no-underline">
          {r.before !== '' && <span className="sr-only">{t('is')} </span>}
          {say(r.after)}
        </ins>
      )}
    </span>
  )
}
