/** The account's keys: made with a name alone, shown once, limited and ended here. */
import { useQuery } from '@tanstack/react-query'
import { useRef, useState, type FormEvent } from 'react'
import { ApiError, get, post } from '../../api/client'
import { explain, said } from '../../api/explain'
import { useRenewed } from '../../api/live'
import { useMe } from '../../api/query'
import { date, dateTime } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Link, useGo } from '../../ui/link'
import { Page, PageHead, Panel } from '../../ui/page'
import { useShortcuts } from '../../ui/shortcuts'
import { Table } from '../../ui/table'
import { When } from '../../ui/values'
import { ImportButton } from './import-button'
import { firstModel, KeyTags, Made, renew, Spending, useKeyActions, type Key } from './key-parts'

const queryKey = ['keys', 'page']

function Named({ k }: { k: Key }) {
  const t = useT('keys')
  return (
    <span className="block min-w-0 py-1.5">
      <span className="flex flex-wrap items-center gap-1.5"><Link to={`/keys/${k.hash}`} className="font-medium break-all text-ink no-underline hover:underline"><span translate="no">{k.name}</span></Link><KeyTags k={k} /></span>
      <code className="text-label text-ink3">{k.label}</code>
      {k.previous && <span className="block text-label text-ink3">{t('oldWorks', { time: dateTime(k.previous.until) })}</span>}
    </span>
  )
}

export default function Keys() {
  const t = useT('keys')
  const me = useMe()
  const go = useGo()
  const { data, error, refetch } = useQuery({ queryKey, queryFn: ({ signal }) => get('/api/keys', { signal }) })
  useRenewed(['keys', 'calls'], queryKey, { every: 5_000 })
  const model = useQuery({ queryKey: ['keys-model'], queryFn: ({ signal }) => firstModel(signal), staleTime: 600_000 })
  const [name, setName] = useState('')
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState<unknown>(null)
  const { fresh, show, edit, menu, windows } = useKeyActions()
  const field = useRef<HTMLInputElement>(null)
  useShortcuts({ n: () => field.current?.focus() })

  const make = async (e: FormEvent) => {
    e.preventDefault()
    if (busy || name.trim() === '') return
    setBusy(true)
    setFailed(null)
    try {
      const made = await post('/api/keys', { body: { name: name.trim() } })
      show({ key: made.data, secret: made.key, rotated: false })
      setName('')
      void renew()
    } catch (e) { setFailed(e) } finally { setBusy(false) }
  }
  return (
    <Page>
      <PageHead title={t('title')} note={t('note')}>{me && <ImportButton label={t('importOpen')} />}</PageHead>
      {me && (
        <form onSubmit={(e) => { void make(e) }} className="mb-5 flex max-w-xl flex-wrap items-end gap-2">
          <Field label={t('newName')} className="min-w-52 flex-1" error={failed ? (failed instanceof ApiError && failed.field ? said(failed) : explain(failed)) : undefined}>
            <Input ref={field} value={name} maxLength={256} placeholder={t('newHint')} onChange={(e) => setName(e.target.value)} autoComplete="off" />
          </Field>
          <Button look="main" type="submit" icon="plus" busy={busy} disabled={name.trim() === ''}>{t('make')}</Button>
        </form>
      )}
      {fresh && <Made key={fresh.secret} fresh={fresh} model={model.data ?? 'openai/gpt-5'} onEdit={() => edit(fresh.key)} onDone={() => show(null)} />}
      <Panel flush {...(data ? { note: t('count', { n: data.data.length, most: data.most }) } : {})}>
        <Table<Key> main caption={t('title')} rows={data?.data} rowKey={(k) => k.id} error={error} onRetry={() => { void refetch() }}
          empty={<Empty icon="key" title={t('empty')}>{t('emptyText')}</Empty>}
          onOpen={(k) => go(`/keys/${k.hash}`)}
          columns={[
            { key: 'name', head: t('name'), cell: (k) => <Named k={k} /> },
            { key: 'spent', head: t('spent'), width: '26%', cell: (k) => <Spending k={k} /> },
            { key: 'used', head: t('used'), cell: (k) => (k.last_used_at ? <When at={k.last_used_at} /> : <span className="text-ink3">{t('never')}</span>) },
            { key: 'expires', head: t('expires'), from: 'lg', cell: (k) => (k.expires_at ? date(k.expires_at) : <span className="text-ink3">{t('noExpiry')}</span>) },
            { key: 'menu', head: '', name: t('actionsHead'), align: 'end', width: '56px', cell: (k) => menu(k) },
          ]}
          phone={(k) => (
            <div className="flex items-start gap-2">
              <div className="min-w-0 flex-1"><Named k={k} /><Spending k={k} /></div>
              {menu(k)}
            </div>
          )} />
      </Panel>
      {windows}
    </Page>
  )
}
