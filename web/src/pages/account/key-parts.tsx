/** What the list of keys and the page of one share: how a key is shown, changed, renewed and ended. */
import { useAction } from '../../api/action'
import { useEffect, useState, type ReactNode } from 'react'
import { patch, post, remove, send } from '../../api/client'
import { renew as again } from '../../api/query'
import { getAccountKey, listAccountKeys, listModels } from '../../api/operations'
import { decimal, money } from '../../format'
import { useT } from '../../i18n'
import { Button, IconButton } from '../../ui/button'
import { Secret } from '../../ui/copy'
import { Field, Input, Select } from '../../ui/field'
import { AskBeforeLeaving } from '../../ui/leaving'
import { Level, Tag } from '../../ui/marks'
import { Menu, type MenuItem } from '../../ui/menu'
import { Confirm, Sheet, usePhone } from '../../ui/overlay'
import { Panel } from '../../ui/page'
import { toast, toastError } from '../../ui/toast'
import { When } from '../../ui/values'
import type FirstCall from './first-call'
import { draftOf, KeyFields, useKeyForm, type Key } from './key-form'

export const renew = () => again(listAccountKeys, getAccountKey)
export const expired = (k: Key) =>
  k.agent === null && k.expires_at !== null && Date.parse(k.expires_at) <= Date.now()

/** The part of the limit that is spent, in thousandths: only for the width of a bar. */
function share(k: Key): number {
  const spent = decimal(k.spent),
    limit = decimal(k.limit)
  if (!spent || !limit || limit.digits === 0n) return 0
  return Math.min(
    1000,
    Math.max(
      spent.digits > 0n ? 1 : 0,
      Number(
        (spent.digits * 1000n * 10n ** BigInt(limit.scale)) / (limit.digits * 10n ** BigInt(spent.scale)),
      ),
    ),
  )
}

export function Spending({ k }: { k: Key }) {
  const t = useT('keys')
  if (k.limit === null)
    return <span className="text-small text-ink2">{t('noLimit', { spent: money(k.spent) })}</span>
  const part = share(k)
  const words = { spent: money(k.spent), limit: money(k.limit) }
  return (
    <span className="block min-w-36">
      <span className="block pb-1 text-small text-ink2">
        <span className="tabular-nums">{t('spentOf', words)}</span> {t(`of_${k.limit_reset ?? 'never'}`)}
      </span>
      <Level
        label={t('levelName', words)}
        total={1000}
        parts={[{ key: 'spent', value: part, className: part >= 900 ? 'bg-warn' : 'bg-accent' }]}
      />
    </span>
  )
}
/** So many keys are seen at a glance. */
export const SEARCH_FROM = 20
/** The keys with a text in their name or their label, or whose text it is the end of. */
export function found<K extends Key>(keys: readonly K[], text: string): readonly K[] {
  const words = text.trim().toLowerCase()
  return words === '' ? keys : keys.filter((k) => `${k.name}\n${k.label}`.toLowerCase().includes(words))
}
export function FindKey({ text, onText }: { text: string; onText: (text: string) => void }) {
  const t = useT('keys')
  return (
    <search className="mb-3 block">
      <Input
        data-page-search
        type="search"
        aria-label={t('find')}
        placeholder={t('find')}
        value={text}
        onChange={(e) => onText(e.target.value)}
      />
    </search>
  )
}

/** What a reset of a key's spending does, before it is done; operators say why. */
export function ResetSpending({
  k,
  reset,
  why,
  onClose,
}: {
  k: Key
  reset: (reason: string) => Promise<unknown>
  why?: boolean
  onClose: () => void
}) {
  const t = useT('keys')
  const [reason, setReason] = useState('')
  const act = useAction(
    async () => {
      await reset(reason.trim())
      toast(t('resetDone', { name: k.name }))
      onClose()
    },
    { failed: toastError },
  )
  return (
    <Confirm
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('resetTitle', { name: k.name })}
      verb={t('resetSpending')}
      busy={act.busy}
      onConfirm={() => {
        if (!why || reason.trim() !== '') act.run()
      }}
      fields={
        <Field label={t(why ? 'resetWhy' : 'resetWhyOwn')}>
          <Input maxLength={200} value={reason} onChange={(e) => setReason(e.target.value)} required={why} />
        </Field>
      }
    >
      {t('resetText', { spent: money(k.spent), limit: money(k.limit ?? '0') })}
    </Confirm>
  )
}

/** What is out of the ordinary with a key, in words. */
export function KeyTags({ k }: { k: Key }) {
  const t = useT('keys')
  return (
    <>
      {k.disabled && <Tag tone="warn">{t('off')}</Tag>}
      {expired(k) && <Tag tone="bad">{t('expired')}</Tag>}
      {k.management && <Tag tone="accent">{t('management')}</Tag>}
      {k.agent && <Tag tone="accent">{t('program')}</Tag>}
      {k.web && <Tag>{t('browser')}</Tag>}
      {k.allowed_models && k.allowed_models.length > 0 && (
        <Tag>{t('someModels', { n: k.allowed_models.length })}</Tag>
      )}
      {k.schema === 'strict' && <Tag>{t('strict')}</Tag>}
      {k.allowed_ips && k.allowed_ips.length > 0 && (
        <Tag>{t('someAddresses', { n: k.allowed_ips.length })}</Tag>
      )}
    </>
  )
}

function Edit({ k, onClose }: { k: Key; onClose: () => void }) {
  const c = useT('common')
  const form = useKeyForm(draftOf(k), async (body) => {
    await patch('/api/keys/{hash}', { path: { hash: k.hash }, body })
    await renew()
    toast(c('saved'))
    onClose()
  })
  return (
    <Sheet
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={k.name}
      footer={
        <>
          <Button look="main" type="submit" form="key-form" busy={form.action.busy}>
            {c('save')}
          </Button>
          <Button onClick={onClose}>{c('cancel')}</Button>
        </>
      }
    >
      <form
        id="key-form"
        onSubmit={(e) => {
          e.preventDefault()
          form.save()
        }}
        className="flex flex-col gap-4"
      >
        <KeyFields form={form} />
      </form>
    </Sheet>
  )
}

export interface Fresh {
  readonly key: Key
  readonly secret: string
  readonly rotated: boolean
}
/** A key's text, the one time it is shown: in its place on the page, on a phone in a sheet of its own. */
export function Made({ fresh, model, onDone }: { fresh: Fresh; model: string; onDone: () => void }) {
  const t = useT('keys')
  const phone = usePhone()
  const [closing, setClosing] = useState(false)
  // The text is shown at once, and whether or not the code beside it can be fetched.
  const [code, setCode] = useState<{ FirstCall: typeof FirstCall } | null>(null)
  useEffect(() => {
    void import('./first-call').then(
      (m) => setCode({ FirstCall: m.default }),
      () => {},
    )
  }, [])
  const k = fresh.key
  const title = t.rich(fresh.rotated ? 'rotated' : 'made', {
    name: (
      <span translate="no" className="break-all">
        {k.name}
      </span>
    ),
  })
  const inside = (
    <>
      <Secret value={fresh.secret} label={t('secret')} />
      {fresh.rotated && k.previous && (
        <p className="pt-2 text-ink2">
          {t.rich('oldWorks', { time: <When at={k.previous.until} form="full" /> })}
        </p>
      )}
      {!k.management && !fresh.rotated && (
        <div className="pt-4">{code && <code.FirstCall model={model} secret={fresh.secret} />}</div>
      )}
    </>
  )
  const done = (
    <Button look="main" onClick={onDone}>
      {t('done')}
    </Button>
  )
  return (
    <>
      {phone ? (
        <Sheet
          open
          onOpenChange={(o) => {
            if (!o) setClosing(true)
          }}
          title={title}
          footer={done}
        >
          {inside}
        </Sheet>
      ) : (
        <Panel className="mb-5" title={title}>
          {inside}
          <div className="pt-4">{done}</div>
        </Panel>
      )}
      <AskBeforeLeaving
        title={t('leaveTitle', { name: k.name })}
        text={t('leaveText')}
        verb={t('leave')}
        stays={(from, to) => from.startsWith('/keys/') && to === `/keys/${k.hash}`}
      />
      <Confirm
        open={closing}
        onOpenChange={setClosing}
        title={t('leaveTitle', { name: k.name })}
        verb={t('leave')}
        onConfirm={onDone}
      >
        {t('leaveText')}
      </Confirm>
    </>
  )
}
/** A model that a first call can be made with. */
export const firstModel = {
  queryKey: listModels.key('first'),
  queryFn: async ({ signal }: { signal: AbortSignal }): Promise<string> => {
    const { data } = (await (await send('get', '/api/v1/models', { signal, quiet: true })).json()) as {
      data: { id: string }[]
    }
    const slugs = data.map((m) => m.id)
    return slugs.includes('sim/anywhere') ? 'sim/anywhere' : (slugs[0] ?? 'openai/gpt-5')
  },
  staleTime: 600_000,
}

/** Hours that the former text of a key works on. */
const rotations = ['0', '1', '24', '72', '168']

/** What can be done with keys: their menus, the windows that ask first, and the key whose text is shown at present. */
export function useKeyActions(
  then: { readonly removed?: () => void; readonly rotated?: (k: Key) => void } = {},
): {
  fresh: Fresh | null
  show: (f: Fresh | null) => void
  edit: (k: Key) => void
  menu: (k: Key, trigger?: ReactNode) => ReactNode
  windows: ReactNode
} {
  const t = useT('keys'),
    c = useT('common')
  const [fresh, show] = useState<Fresh | null>(null)
  const [editing, edit] = useState<Key | null>(null)
  const [rotating, setRotating] = useState<Key | null>(null)
  const [hours, setHours] = useState('24')
  const [removing, setRemoving] = useState<Key | null>(null)
  const [resetting, setResetting] = useState<Key | null>(null)
  const act = useAction((run: () => Promise<unknown>) => run().then(renew), { failed: toastError })
  const turn = (k: Key, disabled: boolean) =>
    act.run(async () => {
      await patch('/api/keys/{hash}', { path: { hash: k.hash }, body: { disabled } })
      toast(t(disabled ? 'disabled' : 'enabled', { name: k.name }), {
        label: c('undo'),
        run: () => {
          turn(k, !disabled)
        },
      })
    })
  const rotate = (k: Key) =>
    act.run(async () => {
      const made = await post('/api/keys/{hash}/rotate', {
        path: { hash: k.hash },
        body: { hours: Number(hours) },
      })
      setRotating(null)
      show({ key: made.data, secret: made.key, rotated: true })
      then.rotated?.(made.data)
      window.scrollTo(0, 0)
    })
  const erase = (k: Key) =>
    act.run(async () => {
      await remove('/api/keys/{hash}', { path: { hash: k.hash } })
      setRemoving(null)
      if (fresh?.key.id === k.id) show(null)
      then.removed?.()
      toast(t('removed', { name: k.name }))
    })
  const menu = (k: Key, trigger?: ReactNode) => {
    const items: MenuItem[] = [
      { label: t('edit'), icon: 'sliders', onSelect: () => edit(k) },
      ...(k.agent
        ? [] // its text changes by itself
        : [{ label: t('rotate'), icon: 'refresh', onSelect: () => setRotating(k) } as const]),
      ...(k.limit === null
        ? []
        : [{ label: t('resetSpending'), icon: 'wallet', onSelect: () => setResetting(k) } as const]),
      {
        label: t(k.disabled ? 'enable' : 'disable'),
        icon: k.disabled ? 'play' : 'stop',
        onSelect: () => {
          turn(k, !k.disabled)
        },
      },
      { kind: 'line' },
      { label: t('remove'), icon: 'trash', tone: 'bad', onSelect: () => setRemoving(k) },
    ]
    // What is chosen in the menu must not open the row as well: events of portals rise through it.
    return (
      <span onClick={(e) => e.stopPropagation()}>
        <Menu
          trigger={trigger ?? <IconButton icon="more" label={t('actions', { name: k.name })} />}
          items={items}
        />
      </span>
    )
  }
  const windows = (
    <>
      {resetting && (
        <ResetSpending
          k={resetting}
          reset={(reason) =>
            post('/api/keys/{hash}/reset-spending', {
              path: { hash: resetting.hash },
              body: { reason },
            }).then(renew)
          }
          onClose={() => setResetting(null)}
        />
      )}
      {editing && <Edit k={editing} onClose={() => edit(null)} />}
      <Confirm
        open={rotating !== null}
        onOpenChange={(o) => {
          if (!o) setRotating(null)
        }}
        title={t('rotateTitle', { name: rotating?.name ?? '' })}
        verb={t('rotate')}
        busy={act.busy}
        onConfirm={() => {
          if (rotating) rotate(rotating)
        }}
        fields={
          <Field label={t('rotateHours')}>
            <Select
              value={hours}
              onChange={(e) => setHours(e.target.value)}
              options={rotations.map((v) => ({
                value: v,
                label: v === '0' ? t('rotateNow') : t('rotateFor', { n: Number(v) }),
              }))}
            />
          </Field>
        }
      >
        {t('rotateText')}
      </Confirm>
      <Confirm
        open={removing !== null}
        onOpenChange={(o) => {
          if (!o) setRemoving(null)
        }}
        title={t('removeTitle', { name: removing?.name ?? '' })}
        verb={t('remove')}
        busy={act.busy}
        {...(removing ? { typed: removing.name } : {})}
        onConfirm={() => {
          if (removing) erase(removing)
        }}
      >
        {t('removeText')}
      </Confirm>
    </>
  )
  return { fresh, show, edit, menu, windows }
}
