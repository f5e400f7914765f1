/** What the list of keys and the page of one share: how a key is shown, changed, renewed and ended. */
import { useState, type FormEvent, type ReactNode } from 'react'
import { ApiError, patch, post, remove, send, type Reply } from '../../api/client'
import { explain, said } from '../../api/explain'
import { queries } from '../../api/query'
import { chatSnippets } from '../../code/snippets'
import { dateTime, decimal, money, plain } from '../../format'
import { useT } from '../../i18n'
import { Button, IconButton } from '../../ui/button'
import { CodeTabs } from '../../ui/code'
import { Secret } from '../../ui/copy'
import { ErrorBox } from '../../ui/feedback'
import { Field, Input, Select, Textarea } from '../../ui/field'
import { Level, Tag } from '../../ui/marks'
import { Confirm, Menu, Sheet, type MenuItem } from '../../ui/overlay'
import { Panel } from '../../ui/page'
import { toast } from '../../ui/toast'

export type Key = Reply<'/api/keys'>['data'][number]
type Period = 'daily' | 'weekly' | 'monthly'
export const renew = () => queries.invalidateQueries({ queryKey: ['keys'] })
export const expired = (k: Key) => k.expires_at !== null && Date.parse(k.expires_at) <= Date.now()
const lines = (text: string) => text.split(/[\n,]/).map((x) => x.trim()).filter(Boolean)

/** The part of the limit that is spent, in thousandths: only for the width of a bar. */
function share(k: Key): number {
  const spent = decimal(k.spent), limit = decimal(k.limit)
  if (!spent || !limit || limit.digits === 0n) return 0
  return Math.min(1000, Math.max(spent.digits > 0n ? 1 : 0, Number((spent.digits * 1000n * 10n ** BigInt(limit.scale)) / (limit.digits * 10n ** BigInt(spent.scale)))))
}

export function Spending({ k }: { k: Key }) {
  const t = useT('keys')
  if (k.limit === null) return <span className="text-small text-ink2">{t('noLimit', { spent: money(k.spent) })}</span>
  const part = share(k)
  const words = { spent: money(k.spent), limit: money(k.limit) }
  return (
    <span className="block min-w-36">
      <span className="block pb-1 text-small text-ink2"><span className="tabular-nums">{t('spentOf', words)}</span> {t(`of_${k.limit_reset ?? 'never'}`)}</span>
      <Level label={t('levelName', words)} total={1000} parts={[{ key: 'spent', value: part, className: part >= 900 ? 'bg-warn' : 'bg-accent' }]} />
    </span>
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
      {k.web && <Tag>{t('browser')}</Tag>}
      {k.allowed_models && k.allowed_models.length > 0 && <Tag>{t('someModels', { n: k.allowed_models.length })}</Tag>}
      {k.allowed_ips && k.allowed_ips.length > 0 && <Tag>{t('someAddresses', { n: k.allowed_ips.length })}</Tag>}
    </>
  )
}

function Edit({ k, onClose }: { k: Key; onClose: () => void }) {
  const t = useT('keys'), c = useT('common')
  const [name, setName] = useState(k.name)
  const [limit, setLimit] = useState(k.limit ?? '')
  const [reset, setReset] = useState(k.limit_reset ?? 'never')
  const before = k.expires_at?.slice(0, 10) ?? ''
  const [expiry, setExpiry] = useState(before)
  const [models, setModels] = useState((k.allowed_models ?? []).join('\n'))
  const [addresses, setAddresses] = useState((k.allowed_ips ?? []).join('\n'))
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const amount = limit.trim() === '' ? null : decimal(limit.replace(/[\s\u202f]/g, '').replace(',', '.'))
  const limitWrong = limit.trim() !== '' && (!amount || amount.digits <= 0n)
  const past = expiry !== before && expiry !== '' && expiry < new Date().toISOString().slice(0, 10)
  const field = error instanceof ApiError ? error.field : null
  const at = (f: string) => (field && field.startsWith(f) ? said(error) : undefined)
  const known = ['name', 'limit', 'expires_at', 'allowed_models', 'allowed_ips'].some((f) => at(f))
  const save = async (e: FormEvent) => {
    e.preventDefault()
    if (busy || limitWrong || past || name.trim() === '') return
    setBusy(true)
    setError(null)
    try {
      await patch('/api/keys/{hash}', { path: { hash: k.hash }, body: {
        name: name.trim(), limit: amount ? plain(amount) : null, limit_reset: reset === 'never' || !amount ? null : reset as Period,
        ...(expiry === before ? {} : { expires_at: expiry === '' ? null : `${expiry}T23:59:59Z` }),
        allowed_models: lines(models).length ? lines(models) : null, allowed_ips: lines(addresses).length ? lines(addresses) : null,
      } })
      await renew()
      toast(c('saved'))
      onClose()
    } catch (e) { setError(e) } finally { setBusy(false) }
  }
  return (
    <Sheet open onOpenChange={(o) => { if (!o) onClose() }} title={k.name} footer={<><Button look="main" type="submit" form="key-form" busy={busy}>{c('save')}</Button><Button onClick={onClose}>{c('cancel')}</Button></>}>
      <form id="key-form" onSubmit={(e) => { void save(e) }} className="flex flex-col gap-4">
        <Field label={t('name')} error={at('name')}><Input value={name} maxLength={256} required onChange={(e) => setName(e.target.value)} autoComplete="off" /></Field>
        <Field label={t('limit')} help={t('limitHelp')} error={limitWrong ? t('limitWrong') : at('limit')}><Input value={limit} unit="₽" inputMode="decimal" onChange={(e) => setLimit(e.target.value)} autoComplete="off" /></Field>
        <Field label={t('reset')}><Select value={reset} disabled={limit.trim() === ''} onChange={(e) => setReset(e.target.value as Period | 'never')} options={(['never', 'daily', 'weekly', 'monthly'] as const).map((v) => ({ value: v, label: t(`reset_${v}`) }))} /></Field>
        <Field label={t('expiry')} help={t('expiryHelp')} error={past ? t('expiryPast') : at('expires_at')}><Input type="date" value={expiry} onChange={(e) => setExpiry(e.target.value)} /></Field>
        <Field label={t('models')} help={t('modelsHelp')} error={at('allowed_models')}><Textarea value={models} spellCheck={false} onChange={(e) => setModels(e.target.value)} /></Field>
        <Field label={t('addresses')} help={t('addressesHelp')} error={at('allowed_ips')}><Textarea value={addresses} spellCheck={false} onChange={(e) => setAddresses(e.target.value)} /></Field>
        {error !== null && !known && <ErrorBox error={error} title={explain(error)} />}
      </form>
    </Sheet>
  )
}

export interface Fresh { readonly key: Key; readonly secret: string; readonly rotated: boolean }
export function Made({ fresh, model, onEdit, onDone }: { fresh: Fresh; model: string; onEdit: () => void; onDone: () => void }) {
  const t = useT('keys')
  const k = fresh.key
  return (
    <Panel className="mb-5" title={t.rich(fresh.rotated ? 'rotated' : 'made', { name: <span translate="no" className="break-all">{k.name}</span> })}>
      <Secret value={fresh.secret} label={t('secret')} />
      {fresh.rotated && k.previous && <p className="pt-2 text-ink2">{t('oldWorks', { time: dateTime(k.previous.until) })}</p>}
      {!k.management && !fresh.rotated && <div className="pt-4"><CodeTabs label={t('firstCall')} snippets={chatSnippets({ base: location.origin, model, key: fresh.secret })} /></div>}
      <div className="flex flex-wrap gap-2 pt-4"><Button onClick={onDone}>{t('done')}</Button>{!fresh.rotated && <Button look="quiet" icon="sliders" onClick={onEdit}>{t('setLimit')}</Button>}</div>
    </Panel>
  )
}

/** A model that a first call can be made with. */
export async function firstModel(signal: AbortSignal): Promise<string> {
  const { data } = (await (await send('get', '/api/v1/models', { signal, quiet: true })).json()) as { data: { id: string }[] }
  const slugs = data.map((m) => m.id)
  return slugs.includes('sim/anywhere') ? 'sim/anywhere' : slugs[0] ?? 'openai/gpt-5'
}

/** What can be done with keys: their menus, the windows that ask first, and the key whose text is shown at present. */
export function useKeyActions(then: { readonly removed?: () => void; readonly rotated?: (k: Key) => void } = {}): { fresh: Fresh | null; show: (f: Fresh | null) => void; edit: (k: Key) => void; menu: (k: Key, trigger?: ReactNode) => ReactNode; windows: ReactNode } {
  const t = useT('keys'), c = useT('common')
  const [busy, setBusy] = useState(false)
  const [fresh, show] = useState<Fresh | null>(null)
  const [editing, edit] = useState<Key | null>(null)
  const [rotating, setRotating] = useState<Key | null>(null)
  const [removing, setRemoving] = useState<Key | null>(null)
  const act = async (run: () => Promise<unknown>) => {
    setBusy(true)
    try { await run(); await renew() } catch (e) { toast(explain(e)) } finally { setBusy(false) }
  }
  const turn = (k: Key, disabled: boolean) => act(async () => {
    await patch('/api/keys/{hash}', { path: { hash: k.hash }, body: { disabled } })
    toast(t(disabled ? 'disabled' : 'enabled', { name: k.name }), { label: c('undo'), run: () => { void turn(k, !disabled) } })
  })
  const rotate = (k: Key) => act(async () => {
    const made = await post('/api/keys/{hash}/rotate', { path: { hash: k.hash }, body: { hours: 24 } })
    setRotating(null)
    show({ key: made.data, secret: made.key, rotated: true })
    then.rotated?.(made.data)
    window.scrollTo(0, 0)
  })
  const erase = (k: Key) => act(async () => {
    await remove('/api/keys/{hash}', { path: { hash: k.hash } })
    setRemoving(null)
    if (fresh?.key.id === k.id) show(null)
    then.removed?.()
    toast(t('removed', { name: k.name }))
  })
  const menu = (k: Key, trigger?: ReactNode) => {
    const items: MenuItem[] = [
      { label: t('edit'), icon: 'sliders', onSelect: () => edit(k) },
      { label: t('rotate'), icon: 'refresh', onSelect: () => setRotating(k) },
      { label: t(k.disabled ? 'enable' : 'disable'), icon: k.disabled ? 'play' : 'stop', onSelect: () => { void turn(k, !k.disabled) } },
      { kind: 'line' },
      { label: t('remove'), icon: 'trash', tone: 'bad', onSelect: () => setRemoving(k) },
    ]
    // What is chosen in the menu must not open the row as well: events of portals rise through it.
    return <span onClick={(e) => e.stopPropagation()}><Menu trigger={trigger ?? <IconButton icon="more" label={t('actions', { name: k.name })} />} items={items} /></span>
  }
  const windows = (
    <>
      {editing && <Edit k={editing} onClose={() => edit(null)} />}
      <Confirm open={rotating !== null} onOpenChange={(o) => { if (!o) setRotating(null) }} title={t('rotateTitle', { name: rotating?.name ?? '' })} verb={t('rotate')} busy={busy} onConfirm={() => { if (rotating) void rotate(rotating) }}>{t('rotateText')}</Confirm>
      <Confirm open={removing !== null} onOpenChange={(o) => { if (!o) setRemoving(null) }} title={t('removeTitle', { name: removing?.name ?? '' })} verb={t('remove')} busy={busy} {...(removing ? { typed: removing.name } : {})} onConfirm={() => { if (removing) void erase(removing) }}>{t('removeText')}</Confirm>
    </>
  )
  return { fresh, show, edit, menu, windows }
}
