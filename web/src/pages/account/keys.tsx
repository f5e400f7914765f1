/** The account's keys: made with a name alone, shown once, limited and ended here. */
import { useQuery } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { ApiError, get, patch, post, remove, send, type Reply } from '../../api/client'
import { explain, said } from '../../api/explain'
import { useRenewed } from '../../api/live'
import { queries, useMe } from '../../api/query'
import { chatSnippets } from '../../code/snippets'
import { date, dateTime, decimal, money, plain } from '../../format'
import { useT } from '../../i18n'
import { ImportButton } from './import-button'
import { Button, IconButton } from '../../ui/button'
import { CodeTabs } from '../../ui/code'
import { Secret } from '../../ui/copy'
import { Empty, ErrorBox } from '../../ui/feedback'
import { Field, Input, Select, Textarea } from '../../ui/field'
import { Level, Tag } from '../../ui/marks'
import { Confirm, Menu, Sheet, type MenuItem } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast } from '../../ui/toast'
import { When } from '../../ui/values'

type Key = Reply<'/api/keys'>['data'][number]
type Period = 'daily' | 'weekly' | 'monthly'
const queryKey = ['keys', 'page']
const renew = () => queries.invalidateQueries({ queryKey: ['keys'] })
const expired = (k: Key) => k.expires_at !== null && Date.parse(k.expires_at) <= Date.now()
const lines = (text: string) => text.split(/[\n,]/).map((x) => x.trim()).filter(Boolean)

/** The part of the limit that is spent, in thousandths: only for the width of a bar. */
function share(k: Key): number {
  const spent = decimal(k.spent), limit = decimal(k.limit)
  if (!spent || !limit || limit.digits === 0n) return 0
  return Math.min(1000, Math.max(spent.digits > 0n ? 1 : 0, Number((spent.digits * 1000n * 10n ** BigInt(limit.scale)) / (limit.digits * 10n ** BigInt(spent.scale)))))
}

function Spending({ k }: { k: Key }) {
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
function Named({ k }: { k: Key }) {
  const t = useT('keys')
  return (
    <span className="block min-w-0 py-1.5">
      <span className="flex flex-wrap items-center gap-1.5"><span className="font-medium break-all" translate="no">{k.name}</span>
        {k.disabled && <Tag tone="warn">{t('off')}</Tag>}
        {expired(k) && <Tag tone="bad">{t('expired')}</Tag>}
        {k.management && <Tag tone="accent">{t('management')}</Tag>}
        {k.web && <Tag>{t('browser')}</Tag>}
        {k.allowed_models && k.allowed_models.length > 0 && <Tag>{t('someModels', { n: k.allowed_models.length })}</Tag>}
        {k.allowed_ips && k.allowed_ips.length > 0 && <Tag>{t('someAddresses', { n: k.allowed_ips.length })}</Tag>}
      </span>
      <code className="text-label text-ink3">{k.label}</code>
      {k.previous && <span className="block text-label text-ink3">{t('oldWorks', { time: dateTime(k.previous.until) })}</span>}
    </span>
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

interface Fresh { readonly key: Key; readonly secret: string; readonly rotated: boolean }
function Made({ fresh, model, onEdit, onDone }: { fresh: Fresh; model: string; onEdit: () => void; onDone: () => void }) {
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

export default function Keys() {
  const t = useT('keys'), c = useT('common')
  const me = useMe()
  const { data, error, refetch } = useQuery({ queryKey, queryFn: ({ signal }) => get('/api/keys', { signal }) })
  useRenewed(['keys', 'calls'], queryKey, { every: 5_000 })
  const models = useQuery({ queryKey: ['keys-model'], queryFn: async ({ signal }) => (await send('get', '/api/v1/models', { signal, quiet: true })).json() as Promise<{ data: { id: string }[] }>, staleTime: 600_000 })
  const [name, setName] = useState('')
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState<unknown>(null)
  const [fresh, setFresh] = useState<Fresh | null>(null)
  const [edit, setEdit] = useState<Key | null>(null)
  const [rotating, setRotating] = useState<Key | null>(null)
  const [removing, setRemoving] = useState<Key | null>(null)
  const slugs = (models.data?.data ?? []).map((m) => m.id)
  const model = slugs.includes('sim/anywhere') ? 'sim/anywhere' : slugs[0] ?? 'openai/gpt-5'

  const make = async (e: FormEvent) => {
    e.preventDefault()
    if (busy || name.trim() === '') return
    setBusy(true)
    setFailed(null)
    try {
      const made = await post('/api/keys', { body: { name: name.trim() } })
      setFresh({ key: made.data, secret: made.key, rotated: false })
      setName('')
      void renew()
    } catch (e) { setFailed(e) } finally { setBusy(false) }
  }
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
    setFresh({ key: made.data, secret: made.key, rotated: true })
    window.scrollTo(0, 0)
  })
  const erase = (k: Key) => act(async () => {
    await remove('/api/keys/{hash}', { path: { hash: k.hash } })
    setRemoving(null)
    if (fresh?.key.id === k.id) setFresh(null)
    toast(t('removed', { name: k.name }))
  })
  const menu = (k: Key) => {
    const items: MenuItem[] = [
      { label: t('edit'), icon: 'sliders', onSelect: () => setEdit(k) },
      { label: t('rotate'), icon: 'refresh', onSelect: () => setRotating(k) },
      { label: t(k.disabled ? 'enable' : 'disable'), icon: k.disabled ? 'play' : 'stop', onSelect: () => { void turn(k, !k.disabled) } },
      { kind: 'line' },
      { label: t('remove'), icon: 'trash', tone: 'bad', onSelect: () => setRemoving(k) },
    ]
    // What is chosen in the menu must not open the row as well: events of portals rise through it.
    return <span onClick={(e) => e.stopPropagation()}><Menu trigger={<IconButton icon="more" label={t('actions', { name: k.name })} />} items={items} /></span>
  }
  return (
    <Page>
      <PageHead title={t('title')} note={t('note')}>{me && <ImportButton label={t('importOpen')} />}</PageHead>
      {me && (
        <form onSubmit={(e) => { void make(e) }} className="mb-5 flex max-w-xl flex-wrap items-end gap-2">
          <Field label={t('newName')} className="min-w-52 flex-1" error={failed ? (failed instanceof ApiError && failed.field ? said(failed) : explain(failed)) : undefined}>
            <Input value={name} maxLength={256} placeholder={t('newHint')} onChange={(e) => setName(e.target.value)} autoComplete="off" />
          </Field>
          <Button look="main" type="submit" icon="plus" busy={busy} disabled={name.trim() === ''}>{t('make')}</Button>
        </form>
      )}
      {fresh && <Made key={fresh.secret} fresh={fresh} model={model} onEdit={() => setEdit(fresh.key)} onDone={() => setFresh(null)} />}
      <Panel flush {...(data ? { note: t('count', { n: data.data.length, most: data.most }) } : {})}>
        <Table<Key> main caption={t('title')} rows={data?.data} rowKey={(k) => k.id} error={error} onRetry={() => { void refetch() }}
          empty={<Empty icon="key" title={t('empty')}>{t('emptyText')}</Empty>}
          onOpen={setEdit}
          columns={[
            { key: 'name', head: t('name'), cell: (k) => <Named k={k} /> },
            { key: 'spent', head: t('spent'), width: '26%', cell: (k) => <Spending k={k} /> },
            { key: 'used', head: t('used'), cell: (k) => (k.last_used_at ? <When at={k.last_used_at} /> : <span className="text-ink3">{t('never')}</span>) },
            { key: 'expires', head: t('expires'), from: 'lg', cell: (k) => (k.expires_at ? date(k.expires_at) : <span className="text-ink3">{t('noExpiry')}</span>) },
            { key: 'menu', head: '', name: t('actionsHead'), align: 'end', width: '56px', cell: menu },
          ]}
          phone={(k) => (
            <div className="flex items-start gap-2">
              <div className="min-w-0 flex-1"><Named k={k} /><Spending k={k} /></div>
              {menu(k)}
            </div>
          )} />
      </Panel>
      {edit && <Edit k={edit} onClose={() => setEdit(null)} />}
      <Confirm open={rotating !== null} onOpenChange={(o) => { if (!o) setRotating(null) }} title={t('rotateTitle', { name: rotating?.name ?? '' })} verb={t('rotate')} busy={busy} onConfirm={() => { if (rotating) void rotate(rotating) }}>{t('rotateText')}</Confirm>
      <Confirm open={removing !== null} onOpenChange={(o) => { if (!o) setRemoving(null) }} title={t('removeTitle', { name: removing?.name ?? '' })} verb={t('remove')} busy={busy} {...(removing ? { typed: removing.name } : {})} onConfirm={() => { if (removing) void erase(removing) }}>{t('removeText')}</Confirm>
    </Page>
  )
}
