/** Who answers: the providers that are connected, and those that could be. */
import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { useAction } from '../../api/action'
import { post, type Reply } from '../../api/client'

import { listAdminProviders } from '../../api/operations'
import { renew, useMe } from '../../api/query'
import { useT, type T } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Field, Input, Select } from '../../ui/field'
import { Link, useGo } from '../../ui/link'
import { Mark, State, type Tone } from '../../ui/marks'
import { Dialog } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { score } from '../../ui/search'
import { Table } from '../../ui/table'
import { When } from '../../ui/values'
import { pageOf } from './provider-data'

export type Provider = Reply<'/api/admin/providers'>['data'][number]

/** What a provider is up to, in a word. */
export function stateOf(p: Provider, t: T<'providers'>): [tone: Tone, text: ReactNode] {
  if (p.reason) return ['bad', t('leftOut')]
  if (!p.on) return ['plain', t('off')]
  if (p.absence)
    return [
      'plain',
      p.absence.until ? t.rich('outUntil', { time: <When at={p.absence.until} form="minutes" /> }) : t('out'),
    ]
  if (p.key_missing) return ['bad', t('keyMissing')]
  return p.models > 0 ? ['good', t('serving', { n: p.models })] : ['warn', t('servesNone')]
}
export function keyOf(p: Provider, t: T<'providers'>): string {
  if (!p.api_key) return t('noKey')
  if (p.api_key.last4) return t('ends', { last4: p.api_key.last4 })
  return t(p.api_key.source === 'variable' ? 'fromVariable' : 'fromFile')
}
/** Whether it is one that somebody has connected, or only one that Weir knows. */
const isConnected = (p: Provider) => p.on || p.version !== null || p.origin !== 'builtin'

export default function ProvidersPage() {
  const t = useT('providers')
  const me = useMe()
  const go = useGo()
  const { data, error, refetch } = useQuery(listAdminProviders())
  const [text, setText] = useState('')
  const [adding, setAdding] = useState(false)
  const connected = data?.data.filter(isConnected)
  const known = (data?.data ?? [])
    .filter((p) => !isConnected(p))
    .filter((p) => text === '' || score(text, [p.name, p.id]) > 0)
  const may = me?.user?.role === 'administrator'
  return (
    <Page>
      <PageHead title={t('title')} />
      {error && !data ? (
        <ErrorBox error={error} onRetry={() => void refetch()} />
      ) : (
        <div className="flex flex-col gap-6">
          <Panel title={t('connected')} flush>
            <Table<Provider>
              main
              caption={t('connected')}
              rows={connected}
              rowKey={(p) => p.id}
              onOpen={(p) => go(pageOf(p.id))}
              empty={
                <Empty icon="box" title={t('none')}>
                  {t('noneText')}
                </Empty>
              }
              columns={[
                {
                  key: 'provider',
                  head: t('provider'),
                  cell: (p) => (
                    <Link to={pageOf(p.id)} className="font-medium text-ink no-underline hover:underline">
                      {p.name}
                    </Link>
                  ),
                },
                {
                  key: 'state',
                  head: t('state'),
                  cell: (p) => {
                    const [tone, words] = stateOf(p, t)
                    return <State tone={tone}>{words}</State>
                  },
                },
                { key: 'key', head: t('key'), cell: (p) => <span translate="no">{keyOf(p, t)}</span> },
                {
                  key: 'address',
                  head: t('address'),
                  from: 'lg',
                  cell: (p) => (
                    <span translate="no" className="text-small text-ink2">
                      {host(p)}
                    </span>
                  ),
                },
              ]}
              phone={(p) => {
                const [tone, words] = stateOf(p, t)
                return (
                  <Link to={pageOf(p.id)} className="block text-ink no-underline">
                    <span className="block font-medium">{p.name}</span>
                    <span className="flex gap-2 pt-1 text-small text-ink3">
                      <span className="flex-1">
                        <State tone={tone}>{words}</State>
                      </span>
                      <span translate="no">{keyOf(p, t)}</span>
                    </span>
                  </Link>
                )
              }}
            />
          </Panel>
          <section aria-labelledby="known">
            <div className="flex flex-wrap items-end gap-3 pb-3">
              <div className="min-w-0 flex-1 basis-72">
                <h2 id="known" className="text-section">
                  {t('connect')}
                </h2>
                <p className="text-ink2">{t('connectText')}</p>
              </div>
              <Field label={t('find')} hideLabel className="w-64 max-w-full">
                <Input
                  type="search"
                  data-page-search
                  placeholder={t('find')}
                  value={text}
                  onChange={(e) => setText(e.target.value)}
                />
              </Field>
              {may && (
                <Button icon="plus" onClick={() => setAdding(true)}>
                  {t('other')}
                </Button>
              )}
            </div>
            {!data ? (
              <SkeletonRows rows={4} />
            ) : known.length === 0 ? (
              <p className="text-ink3">{t('noneFound')}</p>
            ) : (
              <ul className="m-0 grid list-none grid-cols-1 gap-2 p-0 sm:grid-cols-2 lg:grid-cols-3 xl:grid-cols-4">
                {known.map((p) => (
                  <li key={p.id}>
                    <Link
                      to={pageOf(p.id)}
                      className={
                        'flex h-full items-center gap-3 rounded-panel border border-line ' +
                        'bg-surface px-3.5 py-3 text-ink no-underline hover:border-line2'
                      }
                    >
                      <Mark name={p.name} size={32} />
                      <span className="min-w-0">
                        <span className="block truncate font-medium">{p.name}</span>
                        <span translate="no" className="block truncate text-small text-ink3">
                          {host(p)}
                        </span>
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
            )}
          </section>
        </div>
      )}
      {adding && (
        <Another
          wires={[...new Set(data?.data.map((p) => p.dialect))].sort()}
          onClose={() => setAdding(false)}
        />
      )}
    </Page>
  )
}
const host = (p: Provider) => (p.base_url ?? '').replace(/^https?:\/\//, '').replace(/\/.*$/, '')

function Another({ wires, onClose }: { wires: readonly string[]; onClose: () => void }) {
  const t = useT('providers')
  const c = useT('common')
  const go = useGo()
  const [id, setId] = useState('')
  const [address, setAddress] = useState('')
  const [dialect, setDialect] = useState('openai')
  const [key, setKey] = useState('')
  const save = useAction(async () => {
    await post('/api/admin/providers', {
      body: {
        id: id.trim(),
        base_url: address.trim(),
        dialect,
        ...(key.trim() ? { api_key: key.trim() } : {}),
      },
    })
    await renew(listAdminProviders)
    go(pageOf(id.trim()))
  })
  const error = save.except('id', 'base_url', 'dialect', 'api_key')
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('other')}
      description={t('otherText')}
      footer={
        <>
          <Button look="main" type="submit" form="another" busy={save.busy}>
            {t('add')}
          </Button>
          <Button onClick={onClose}>{c('cancel')}</Button>
        </>
      }
    >
      <form id="another" onSubmit={save.submit} noValidate className="flex flex-col gap-4">
        <Field label={t('id')} help={t('idHelp')} error={save.at('id')}>
          <Input value={id} onChange={(e) => setId(e.target.value)} autoComplete="off" spellCheck={false} />
        </Field>
        <Field label={t('baseUrl')} help={t('baseUrlHelp')} error={save.at('base_url')}>
          <Input
            value={address}
            onChange={(e) => setAddress(e.target.value)}
            inputMode="url"
            autoComplete="off"
            spellCheck={false}
          />
        </Field>
        <Field label={t('wire')} error={save.at('dialect')}>
          <Select
            value={dialect}
            onChange={(e) => setDialect(e.target.value)}
            options={wires.map((w) => ({ value: w, label: w }))}
          />
        </Field>
        <Field label={t('key')} help={t('keyHelp')} error={save.at('api_key')} optional>
          <Input
            type="password"
            className="font-mono"
            value={key}
            onChange={(e) => setKey(e.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
        </Field>
        {error !== null && <ErrorBox error={error} />}
      </form>
    </Dialog>
  )
}
