/** What Weir stores of the account's texts, for how long, and who can see it. */
import { useAction } from '../../api/action'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { address, put, remove, type Reply } from '../../api/client'
import { explain } from '../../api/explain'
import { meQuery, queries } from '../../api/query'
import { getAccountData } from '../../api/operations'
import { bytes, dayText, integer } from '../../format'
import { useT } from '../../i18n'
import { hasPage } from '../../routes/paths'
import { Button, buttonClass } from '../../ui/button'
import { ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Checkbox, Field, Select } from '../../ui/field'
import { Link } from '../../ui/link'
import { Confirm } from '../../ui/overlay'
import { Panel } from '../../ui/page'
import { toast, toastError } from '../../ui/toast'
import { When } from '../../ui/values'
import { Settings } from './parts'

const reading = getAccountData()
type Data = Reply<'/api/account/data'>['data']
const modes = ['by_default', 'on_request', 'never'] as const

export default function DataPage() {
  const t = useT('storing')
  const { data, error, refetch } = useQuery(reading)
  return (
    <Settings at="data">
      {error && !data ? (
        <ErrorBox error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Panel>
          <SkeletonRows rows={8} />
        </Panel>
      ) : (
        <>
          <Notice title={t('calls')}>{t('callsText')}</Notice>
          {data.data.zdr && (
            <Notice
              tone="accent"
              title={t('zdr')}
              action={hasPage('/settings/routing') && <Link to="/settings/routing">{t('zdrLink')}</Link>}
            >
              {t('zdrText')}
            </Notice>
          )}
          <Responses d={data.data} />
          <Chats d={data.data} />
          <Panel title={t('see')}>
            <dl className="m-0 grid gap-x-6 gap-y-2 sm:grid-cols-[minmax(140px,auto)_1fr]">
              {(['account', 'operators', 'providers', 'logs', 'files'] as const).map((w) => (
                <div key={w} className="contents">
                  <dt className="font-medium">{t(`who_${w}`)}</dt>
                  <dd className="m-0 text-ink2 max-sm:pb-2">{t(`sees_${w}`)}</dd>
                </div>
              ))}
            </dl>
            <p className="pt-3">
              <Link to="/docs/security#what-is-stored-and-for-how-long">{t('more')}</Link>
            </p>
          </Panel>
          <Panel title={t('export')}>
            <p className="pb-3 text-ink2">{t('exportText')}</p>
            <div className="flex flex-wrap gap-2">
              {(
                [
                  ['/api/calls.csv', 'exportCalls'],
                  ['/api/usage.csv', 'exportUsage'],
                  ['/api/ledger.csv', 'exportLedger'],
                ] as const
              ).map(([path, label]) => (
                <a
                  key={path}
                  href={address(path, { query: { from: yearAgo() } })}
                  download
                  className={`${buttonClass('plain', true)} no-underline`}
                >
                  {t(label)}
                </a>
              ))}
              {data.data.stored_chats.chats > 0 && (
                <a href="/api/chats.json" download className={`${buttonClass('plain', true)} no-underline`}>
                  {t('exportChats')}
                </a>
              )}
            </div>
          </Panel>
        </>
      )}
    </Settings>
  )
}
/** As far back as one file reaches. */
const yearAgo = () => dayText(Date.now() - 90 * 86_400_000, 'UTC')

function Responses({ d }: { d: Data }) {
  const t = useT('storing'),
    c = useT('common')
  const [mode, setMode] = useState<Data['responses']>(d.responses)
  const [days, setDays] = useState(d.days)
  const [asking, setAsking] = useState(false)
  const none = d.max_days === 0
  const same = mode === d.responses && days === d.days
  const choices = [1, 3, 7, 14, 30, 90].filter((n) => n < d.max_days)
  if (days !== null && !choices.includes(days)) choices.push(days)
  const save = useAction(async () => {
    queries.setQueryData(
      reading.queryKey,
      await put('/api/account/data', { body: { responses: mode, days, chats: d.chats } }),
    )
    toast(t('saved'))
  })
  const failed = save.except('days')
  const wipe = useAction(
    async () => {
      const n = (await remove('/api/account/responses')).data.deleted
      await queries.invalidateQueries({ queryKey: reading.queryKey })
      toast(t('deleted', { n }))
    },
    { failed: toastError, settled: () => setAsking(false) },
  )
  const shorter = days !== null && (d.days ?? d.max_days) > days && d.stored.responses > 0
  return (
    <Panel title={t('responses')}>
      <p className="pb-4 text-ink2">{none ? t('responsesNone') : t('responsesText')}</p>
      {!none && (
        <fieldset className="m-0 min-w-0 border-0 p-0">
          <legend className="sr-only">{t('responses')}</legend>
          <div className="flex flex-col gap-1">
            {modes.map((m) => (
              <label key={m} className="flex min-h-8 cursor-pointer items-start gap-2.5 py-1 max-md:min-h-11">
                <input
                  type="radio"
                  name="storing"
                  className="mt-1 size-4 flex-none accent-[var(--accent)]"
                  checked={mode === m}
                  onChange={() => setMode(m)}
                  aria-describedby={`storing-${m}`}
                />
                <span>
                  <span className="block">{t(m)}</span>
                  <span id={`storing-${m}`} className="block text-small text-ink3">
                    {t(`help_${m}`)}
                  </span>
                </span>
              </label>
            ))}
          </div>
          {mode !== 'never' && (
            <Field
              className="pt-4"
              label={t('keep')}
              help={shorter ? t('shorter') : t('keepHelp')}
              error={save.at('days') && explain(save.error)}
            >
              <Select
                value={days === null ? '' : String(days)}
                onChange={(e) => setDays(e.target.value ? Number(e.target.value) : null)}
                options={[
                  ...choices
                    .sort((a, b) => a - b)
                    .map((n) => ({ value: String(n), label: t('daysN', { n }) })),
                  { value: '', label: t('longest', { n: d.max_days }) },
                ]}
              />
            </Field>
          )}
          {failed !== null && (
            <div className="pt-3">
              <ErrorBox error={failed} title={explain(failed)} />
            </div>
          )}
          <div className="pt-4">
            <Button look="main" busy={save.busy} disabled={same} onClick={() => save.run()}>
              {c('save')}
            </Button>
          </div>
        </fieldset>
      )}
      <div className="mt-5 flex flex-wrap items-center gap-3 border-t border-line pt-4">
        <p className="min-w-0 flex-1" data-stored>
          {d.stored.responses === 0
            ? t('storedNone')
            : t.rich('stored', {
                n: d.stored.responses,
                number: integer(d.stored.responses),
                size: bytes(d.stored.bytes),
                since: <When at={d.stored.oldest_at} form="date" />,
              })}
        </p>
        <Button
          look="bad"
          small
          icon="trash"
          disabled={d.stored.responses === 0}
          onClick={() => setAsking(true)}
        >
          {t('delete')}
        </Button>
      </div>
      {mode === 'never' && d.stored.responses > 0 && (
        <p className="pt-2 text-small text-warn">{t('neverKeeps')}</p>
      )}
      {asking && (
        <Confirm
          open
          onOpenChange={(o) => {
            if (!o) setAsking(false)
          }}
          title={t('deleteTitle', { n: d.stored.responses, number: integer(d.stored.responses) })}
          verb={t('delete')}
          busy={wipe.busy}
          onConfirm={() => wipe.run()}
        >
          {t('deleteText')}
        </Confirm>
      )}
    </Panel>
  )
}

/** Chats of the playground: in the browser alone, or with the account, too. */
function Chats({ d }: { d: Data }) {
  const t = useT('storing')
  const [asking, setAsking] = useState(false)
  const forbidden = d.zdr || d.responses === 'never' || d.max_days === 0
  const n = d.stored_chats.chats
  const turn = useAction(async (chats: boolean) => {
    queries.setQueryData(
      reading.queryKey,
      await put('/api/account/data', { body: { responses: d.responses, days: d.days, chats } }),
    )
    void queries.invalidateQueries({ queryKey: meQuery.queryKey })
    toast(t(chats ? 'chatsOn' : 'chatsOff'))
  })
  const failed = turn.error
  const wipe = useAction(
    async () => {
      const gone = (await remove('/api/chats')).data.deleted
      await queries.invalidateQueries({ queryKey: reading.queryKey })
      toast(t('chatsDeleted', { n: gone }))
    },
    { failed: toastError, settled: () => setAsking(false) },
  )
  return (
    <Panel title={t('chats')}>
      <p className="pb-3 text-ink2">{t('chatsText')}</p>
      <Checkbox
        checked={d.chats}
        disabled={turn.busy || wipe.busy || (forbidden && !d.chats)}
        onChange={turn.run}
      >
        {t('chatsKeep')}
      </Checkbox>
      {forbidden && <p className="pt-2 text-small text-warn">{t('chatsForbidden')}</p>}
      {failed !== null && (
        <div className="pt-3">
          <ErrorBox error={failed} title={explain(failed)} />
        </div>
      )}
      <div className="mt-5 flex flex-wrap items-center gap-3 border-t border-line pt-4">
        <p className="min-w-0 flex-1" data-chats>
          {n === 0 ? t('chatsNone') : t('chatsStored', { n, size: bytes(d.stored_chats.bytes) })}
        </p>
        <Button look="bad" small icon="trash" disabled={n === 0} onClick={() => setAsking(true)}>
          {t('chatsDelete')}
        </Button>
      </div>
      {asking && (
        <Confirm
          open
          onOpenChange={(o) => {
            if (!o) setAsking(false)
          }}
          title={t('chatsDeleteTitle', { n })}
          verb={t('chatsDelete')}
          busy={wipe.busy}
          onConfirm={() => wipe.run()}
        >
          {t('chatsDeleteText')}
        </Confirm>
      )}
    </Panel>
  )
}
