/** The keys of a provider: what each did, what it is used for, and a new one in place of an old one in three steps. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { ApiError, patch, post, remove } from '../../api/client'
import { listAdminProviderKeys } from '../../api/operations'
import { integer } from '../../format'
import { useT, type T } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Link } from '../../ui/link'
import { State } from '../../ui/marks'
import { Confirm } from '../../ui/overlay'
import { Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast, toastError } from '../../ui/toast'
import { When } from '../../ui/values'
import { renewAll, type Key, type Test } from './provider-data'
import type { Provider } from './providers'
import { rotation } from './rotation'

const EVERY = 5_000

type Act = 'drain' | 'out' | 'back' | 'forget'
const becomes = { drain: 'draining', out: 'off', back: 'in_use' } as const

export function Keys({
  p,
  may,
  locked,
  onTested,
}: {
  p: Provider
  may: boolean
  locked: boolean
  onTested: (tests: readonly Test[]) => void
}) {
  const t = useT('providers')
  const q = useQuery({
    ...listAdminProviderKeys({ path: { id: p.id } }),
    refetchInterval: EVERY,
    staleTime: EVERY,
  })
  const [asking, setAsking] = useState<{ act: Act; key: Key } | null>(null)
  const [rotating, setRotating] = useState(false)
  const keys = q.data?.data
  const used = keys?.filter((k) => k.state === 'in_use').length ?? 0
  const change = useAction(
    async (act: Act, key: Key, sure: boolean) => {
      const path = { id: p.id, key: key.id! }
      if (act === 'forget') await remove('/api/admin/providers/{id}/keys/{key}', { path })
      else
        await patch('/api/admin/providers/{id}/keys/{key}', {
          path,
          body: { state: becomes[act], ...(sure ? { sure } : {}) },
        })
      await renewAll()
      toast(t(`keyDone_${act}`, { key: name(key, t) }))
    },
    { failed: toastError, settled: () => setAsking(null) },
  )
  /** The last one in use, and what nothing is left of, is asked about. */
  const start = (act: Act, key: Key) => {
    const last = key.state === 'in_use' && used === 1
    if (act === 'back' || (act === 'drain' && !last)) change.run(act, key, false)
    else setAsking({ act, key })
  }
  const steps = keys && rotation(keys)
  const open = steps !== undefined && (rotating || steps.step === 'out')
  return (
    <Panel
      title={t('keys')}
      actions={
        may &&
        !locked &&
        steps &&
        !open && (
          <Button small onClick={() => setRotating(true)}>
            {t('rotate')}
          </Button>
        )
      }
    >
      <div className="flex flex-col gap-4">
        {!keys && !q.error ? (
          <SkeletonRows rows={2} />
        ) : keys?.length === 0 ? (
          <p className="text-ink2">{t('noKeys')}</p>
        ) : (
          <div className="-mx-4">
            <List
              keys={keys}
              error={q.error}
              onRetry={() => void q.refetch()}
              may={may}
              busy={change.busy}
              onAct={start}
            />
          </div>
        )}
        {open && steps && (
          <Rotation steps={steps} busy={change.busy} onAct={start} onClose={() => setRotating(false)} />
        )}
        {locked ? (
          <p className="text-ink2">{t('inFile', { where: p.where ?? '' })}</p>
        ) : may ? (
          <Paste p={p} more={(keys?.length ?? 0) > 0} onTested={onTested} />
        ) : (
          <p className="text-ink2">{t('onlyAdministrators')}</p>
        )}
      </div>
      {asking && (
        <Confirm
          open
          onOpenChange={() => setAsking(null)}
          title={t(`keyTitle_${asking.act === 'back' ? 'out' : asking.act}`, { key: name(asking.key, t) })}
          verb={t(`key_${asking.act}`)}
          busy={change.busy}
          onConfirm={() => change.run(asking.act, asking.key, true)}
        >
          {asking.act !== 'forget' && (
            <>
              {t('keyCalls', { n: asking.key.calls })} {t('keyRunning', { n: asking.key.running })}{' '}
            </>
          )}
          {asking.key.state === 'in_use' && used === 1
            ? t('keyLast', { provider: p.name, n: p.models })
            : t(asking.act === 'forget' ? 'keyForgetText' : 'keyOutText')}
        </Confirm>
      )}
    </Panel>
  )
}

/** What people call a key. */
function name(k: Key, t: T<'providers'>): string {
  if (k.last4) return t('ends', { last4: k.last4 })
  return k.where ?? t('keyShort')
}

const tones = { in_use: 'good', draining: 'warn', off: 'plain' } as const

function List({
  keys,
  error,
  onRetry,
  may,
  busy,
  onAct,
}: {
  keys: readonly Key[] | undefined
  error: unknown
  onRetry: () => void
  may: boolean
  busy: boolean
  onAct: (act: Act, key: Key) => void
}) {
  const t = useT('providers')
  return (
    <Table<Key>
      caption={t('keys')}
      rows={keys}
      rowKey={(k) => k.id ?? `${k.where}${k.last4}`}
      error={error}
      onRetry={onRetry}
      columns={[
        {
          key: 'key',
          head: t('key'),
          cell: (k) => <Named k={k} />,
        },
        {
          key: 'state',
          head: t('state'),
          cell: (k) => <Stand k={k} />,
        },
        {
          key: 'age',
          head: t('keyAge'),
          from: 'lg',
          cell: (k) => (k.added_at ? <When at={k.added_at} /> : '—'),
        },
        {
          key: 'calls',
          head: t('keyCallsHead'),
          align: 'end',
          cell: (k) => (
            <Link
              to={`/admin/calls?pkey=${k.tag}`}
              className="text-ink"
              aria-label={`${integer(k.calls)}: ${t('keyCallsOf', { key: name(k, t) })}`}
            >
              {integer(k.calls)}
            </Link>
          ),
        },
        { key: 'failed', head: t('keyFailed'), align: 'end', from: 'md', cell: (k) => integer(k.failed) },
        { key: 'limited', head: '429', align: 'end', from: 'md', cell: (k) => integer(k.limited) },
        {
          key: 'acts',
          head: t('keyActs'),
          align: 'end',
          cell: (k) => k.id && <Acts k={k} may={may} busy={busy} onAct={onAct} />,
        },
      ]}
      phone={(k) => (
        <div className="flex flex-col gap-2">
          <div className="flex items-start justify-between gap-3">
            <Named k={k} />
            <span className="shrink-0 text-end text-small text-ink3">
              {t('keyCallsHead')}: {integer(k.calls)}
              <span className="block">
                {t('keyFailed')}: {integer(k.failed)} · 429: {integer(k.limited)}
              </span>
            </span>
          </div>
          <Stand k={k} />
          {k.id && <Acts k={k} may={may} busy={busy} onAct={onAct} />}
        </div>
      )}
    />
  )
}

function Named({ k }: { k: Key }) {
  const t = useT('providers')
  return (
    <span className="min-w-0 wrap-anywhere">
      <span translate="no" className="font-mono">
        {name(k, t)}
      </span>
      <span className="block text-small text-ink3">
        {k.note ??
          (k.source === 'database'
            ? null
            : k.where === null
              ? t('fromFile')
              : t(k.source === 'variable' ? 'keyVariable' : 'keyFile', { where: k.where }))}
      </span>
    </span>
  )
}

function Stand({ k }: { k: Key }) {
  const t = useT('providers')
  return (
    <span>
      <State tone={k.resting_until && k.state !== 'off' ? 'bad' : tones[k.state]}>
        {k.resting_until && k.state !== 'off'
          ? t.rich('keyRests', { time: <When at={k.resting_until} form="minutes" /> })
          : k.id === null && k.state === 'off'
            ? t('keyReplaced')
            : t(`keyIs_${k.state}`)}
      </State>
      {k.refusal && (
        <span className="block max-w-72 text-small wrap-anywhere text-ink3">
          {k.refusal.status} <When at={k.refusal.at} />: <span translate="no">{k.refusal.words}</span>
        </span>
      )}
    </span>
  )
}

function Acts({
  k,
  may,
  busy,
  onAct,
}: {
  k: Key
  may: boolean
  busy: boolean
  onAct: (act: Act, key: Key) => void
}) {
  const t = useT('providers')
  const acts: Act[] =
    k.state === 'in_use'
      ? ['drain', 'out']
      : k.state === 'draining'
        ? ['back', 'out']
        : may
          ? ['back', 'forget']
          : ['back']
  return (
    <span className="inline-flex flex-wrap justify-end gap-2">
      {acts.map((act) => (
        <Button
          key={act}
          small
          look={act === 'out' || act === 'forget' ? 'quiet' : 'plain'}
          disabled={busy}
          aria-label={`${t(`key_${act}`)}: ${name(k, t)}`}
          onClick={() => onAct(act, k)}
        >
          {t(`key_${act}`)}
        </Button>
      ))}
    </span>
  )
}

/** New in, old drained, old out. Where it stands is read from the keys, so that it goes on wherever it was left. */
function Rotation({
  steps,
  busy,
  onAct,
  onClose,
}: {
  steps: NonNullable<ReturnType<typeof rotation>>
  busy: boolean
  onAct: (act: Act, key: Key) => void
  onClose: () => void
}) {
  const t = useT('providers')
  const { step, old } = steps
  const order = ['in', 'drain', 'out'] as const
  const at = order.indexOf(step)
  return (
    <section aria-label={t('rotate')} className="rounded-float border border-line p-4">
      <ol className="flex flex-col gap-3">
        {order.map((one, i) => (
          <li
            key={one}
            aria-current={i === at ? 'step' : undefined}
            className={`flex flex-wrap items-center gap-x-3 gap-y-2 ${i === at ? '' : 'text-ink3'}`}
          >
            <span className="min-w-0 flex-1 basis-60">
              <span className="font-medium">
                {i + 1}. {t(`step_${one}`)}
              </span>{' '}
              {i < at && t('stepDone')}
              {i === at && <span className="block text-small text-ink2">{t(`stepText_${one}`)}</span>}
              {i === at && one === 'out' && (
                <span className="block text-small text-ink2">{t('keyRunning', { n: old.running })}</span>
              )}
            </span>
            {i === at && one !== 'in' && (
              <Button look="main" busy={busy} onClick={() => onAct(one, old)}>
                {t(`key_${one}`)}: <span translate="no">{name(old, t)}</span>
              </Button>
            )}
          </li>
        ))}
      </ol>
      {step !== 'out' && (
        <p className="pt-3">
          <Button small look="quiet" onClick={onClose}>
            {t('stepClose')}
          </Button>
        </p>
      )}
    </section>
  )
}

function Paste({
  p,
  more,
  onTested,
}: {
  p: Provider
  more: boolean
  onTested: (tests: readonly Test[]) => void
}) {
  const t = useT('providers')
  const [key, setKey] = useState('')
  const [note, setNote] = useState('')
  const save = useAction(async (sure: boolean) => {
    const added = await post('/api/admin/providers/{id}/keys', {
      path: { id: p.id },
      body: {
        api_key: key.trim(),
        ...(note.trim() ? { note: note.trim() } : {}),
        ...(sure ? { sure } : {}),
      },
    })
    setKey('')
    setNote('')
    await renewAll()
    if (added.tests.length > 0) onTested(added.tests)
    toast(t('keyAdded'))
  })
  const refused = save.error instanceof ApiError && save.error.metadata.code === 'key_refused'
  const error = save.except('api_key', 'note')
  return (
    <form onSubmit={(e) => save.submit(e, false)} noValidate className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-3">
        <Field
          className="min-w-0 flex-1 basis-80"
          label={t(more ? 'pasteNew' : 'pasteKey')}
          error={save.at('api_key')}
          help={
            <>
              {t('keyHelp')} {more && t('keyBeside')}
            </>
          }
        >
          <Input
            type="password"
            className="font-mono"
            value={key}
            onChange={(e) => setKey(e.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
        </Field>
        <Field className="min-w-0 basis-48" label={t('keyNote')} error={save.at('note')} optional>
          <Input value={note} onChange={(e) => setNote(e.target.value)} autoComplete="off" />
        </Field>
        <Button
          look="main"
          type="submit"
          className="self-start md:mt-[26px]"
          disabled={key.trim() === ''}
          busy={save.busy}
        >
          {t('saveAndTest')}
        </Button>
      </div>
      {refused && (
        <Notice
          tone="warn"
          title={t('keySure')}
          action={
            <Button busy={save.busy} onClick={() => save.run(true)}>
              {t('keySureVerb')}
            </Button>
          }
        />
      )}
      {error !== null && <ErrorBox error={error} />}
    </form>
  )
}
