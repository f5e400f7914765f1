/** /admin/reconciliation: give what a provider exported, and compare it with the calls; what was compared before. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useAction } from '../../api/action'
import { get, post, type Reply } from '../../api/client'
import { explain, said } from '../../api/explain'
import { listAdminProviderKeys, listAdminProviders, listReconciliations } from '../../api/operations'
import { renew } from '../../api/query'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox, Notice } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { Link, useGo } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { When } from '../../ui/values'
import { columnNames, dollars, excess, kindsOf, spanOf, wrongOf } from './reconciliation-data'

type Look = Reply<'/api/admin/reconciliations/look', 'post'>['data'][number]
type Kept = Reply<'/api/admin/reconciliations'>['data'][number]
interface File64 {
  readonly name: string
  readonly content: string
}
type Columns = Partial<Record<(typeof columnNames)[number], string>>

const MOST = 16 << 20

export default function Reconciliations() {
  const t = useT('reconciliation')
  const q = useInfiniteQuery({
    queryKey: listReconciliations.key('pages'),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/reconciliations', { query: { cursor: pageParam, limit: 20 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const rows = q.data?.pages.flatMap((p) => p.data)
  const go = useGo()
  return (
    <Page>
      <PageHead title={t('title')} note={t('note')} />
      <div className="flex flex-col gap-5">
        <Compare />
        {rows?.length === 0 ? (
          <Where />
        ) : (
          <Panel title={t('earlier')} flush>
            <Table<Kept>
              main
              caption={t('earlier')}
              rows={rows}
              rowKey={(k) => k.id}
              onOpen={(k) => go(`/admin/reconciliation/${k.id}`)}
              error={q.error}
              onRetry={() => void q.refetch()}
              columns={[
                { key: 'bill', head: t('bill'), cell: (k) => <Bill k={k} /> },
                { key: 'found', head: t('found'), cell: (k) => <Found k={k} /> },
                { key: 'excess', head: t('difference'), align: 'end', cell: (k) => excess(k.delta) },
                { key: 'files', head: t('files'), cell: (k) => <Files k={k} /> },
                { key: 'at', head: t('made'), cell: (k) => <When at={k.at} className="text-ink2" /> },
              ]}
              phone={(k) => (
                <div className="flex flex-col gap-1.5 py-1">
                  <span className="flex items-start justify-between gap-2">
                    <Bill k={k} />
                    {k.delta.dollars !== null && <span>{dollars(k.delta.dollars, true)}</span>}
                  </span>
                  <Found k={k} />
                  <Files k={k} />
                </div>
              )}
            />
            {q.hasNextPage && (
              <div className="flex justify-end px-4 py-2">
                <Button small look="quiet" busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
                  {t('more')}
                </Button>
              </div>
            )}
          </Panel>
        )}
      </div>
    </Page>
  )
}

function Bill({ k }: { k: Kept }) {
  return (
    <Link to={`/admin/reconciliation/${k.id}`} className="font-medium">
      <span translate="no">{k.provider}</span>, {spanOf(k)}
    </Link>
  )
}

function Found({ k }: { k: Kept }) {
  const t = useT('reconciliation')
  const kinds = kindsOf(t, k.sums)
  return (
    <Tag tone={wrongOf(k.sums) > 0 ? 'warn' : 'good'}>
      <span className="whitespace-normal">{kinds === '' ? t('equal') : kinds}</span>
    </Tag>
  )
}

function Files({ k }: { k: Kept }) {
  return (
    <span translate="no" className="block max-w-56 truncate text-small text-ink2">
      {k.files.map((f) => f.name).join(', ')}
    </span>
  )
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const r = new FileReader()
    r.onload = () => resolve(String(r.result).replace(/^[^,]*,/, ''))
    r.onerror = () => reject(r.error ?? new Error('unreadable'))
    r.readAsDataURL(file)
  })
}

/** Files are looked at first: what they are, which columns are read, which keys they have. */
function Compare() {
  const t = useT('reconciliation')
  const go = useGo()
  const picker = useRef<HTMLInputElement>(null)
  const providers = useQuery(listAdminProviders()).data?.data
  const [files, setFiles] = useState<readonly File64[]>([])
  const [looks, setLooks] = useState<readonly Look[] | null>(null)
  const [columns, setColumns] = useState<Columns>({})
  const [provider, setProvider] = useState('')
  const [ours, setOurs] = useState<Readonly<Record<string, string>>>({}) // what was chosen here
  const [large, setLarge] = useState(false)
  const look = useAction(async (list: readonly File64[], chosen: Columns, of: string) => {
    const ask = async (provider: string) =>
      (
        await post('/api/admin/reconciliations/look', {
          body: { files: [...list], columns: chosen, ...(provider === '' ? {} : { provider }) },
        })
      ).data
    let data = await ask(of)
    const service = data.find((l) => l.service !== null)?.service
    if (of === '' && service && providers?.some((p) => p.id === service)) {
      setProvider(service)
      if (data.some((l) => l.keys.length > 0)) data = await ask(service)
    }
    setLooks(data)
  })
  const take = async (list: readonly File[]) => {
    if (list.length === 0) return
    compare.clear()
    setLooks(null)
    setColumns({})
    setOurs({})
    const tooLarge = list.reduce((n, f) => n + f.size, 0) > MOST
    setLarge(tooLarge)
    if (tooLarge) return setFiles([])
    const read = await Promise.all(list.map(async (f) => ({ name: f.name, content: await base64(f) })))
    setFiles(read)
    look.run(read, {}, provider)
  }
  const keys = [...new Set((looks ?? []).flatMap((l) => l.keys))]
  const known: Readonly<Record<string, string>> = Object.assign({}, ...(looks ?? []).map((l) => l.our_keys))
  const held = useQuery({
    ...listAdminProviderKeys({ path: { id: provider } }),
    enabled: provider !== '' && keys.length > 0,
  }).data?.data
  const compare = useAction(async () => {
    const { data } = await post('/api/admin/reconciliations', {
      body: {
        provider,
        files: [...files],
        columns,
        ...(Object.keys(ours).length > 0 ? { our_keys: ours } : {}),
      },
    })
    await renew(listReconciliations)
    go(`/admin/reconciliation/${data.id}`)
  })
  const other = compare.except('provider')
  const choose = (name: keyof Columns, value: string) => {
    const next = { ...columns, [name]: value }
    setColumns(next)
    look.run(files, next, provider)
  }
  const ready = looks?.every((l) => l.wrong === null && l.rows > 0) ?? false
  return (
    <Panel
      title={t('compare')}
      note={t('compareNote')}
      actions={
        <>
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            data-export
            accept=".json,.csv,.tsv,.txt,application/json,text/csv"
            onChange={(e) => {
              void take([...(e.target.files ?? [])])
              e.target.value = ''
            }}
          />
          <Button
            icon="plus"
            look={looks ? 'plain' : 'main'}
            busy={look.busy}
            onClick={() => picker.current?.click()}
          >
            {t('choose')}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4 empty:hidden">
        {large && <Notice tone="bad" title={t('tooLarge')} />}
        {look.error !== null && (
          <ErrorBox error={look.error} title={said(look.error) || explain(look.error)} />
        )}
        {looks?.map((l, i) => (
          <Looked key={`${i} ${l.name}`} l={l} choose={choose} />
        ))}
        {provider !== '' && keys.length > 0 && (
          <fieldset>
            <legend className="text-small font-medium text-ink2">{t('whose')}</legend>
            <p className="pb-2 text-small text-ink3">{t('whoseNote')}</p>
            <div className="grid grid-cols-[repeat(auto-fill,minmax(200px,1fr))] gap-3">
              {keys.map((k) => {
                const chosen = ours[k] ?? known[k] ?? ''
                const tags = (held ?? []).filter((h) => h.tag !== '')
                const options = [
                  { value: '', label: t('unknownKey') },
                  ...tags.map((h) => ({
                    value: h.tag,
                    label:
                      `${h.last4 === null ? t('ourTag', { tag: h.tag }) : t('ourKey', { last4: h.last4 })} ${h.note ?? ''}`.trim(),
                  })),
                  { value: '-', label: t('otherProgram') },
                ]
                if (!options.some((o) => o.value === chosen))
                  options.push({ value: chosen, label: t('ourTag', { tag: chosen }) })
                return (
                  <Field key={k} label={k === '' ? t('noName') : k}>
                    <Select
                      className="w-full"
                      value={chosen}
                      onChange={(e) => setOurs({ ...ours, [k]: e.target.value })}
                      options={options}
                    />
                  </Field>
                )
              })}
            </div>
          </fieldset>
        )}
        {looks && (
          <div className="flex flex-wrap items-end gap-3">
            <Field label={t('provider')} error={compare.at('provider')}>
              <Select
                value={provider}
                onChange={(e) => {
                  setProvider(e.target.value)
                  setOurs({})
                  look.run(files, columns, e.target.value)
                }}
                options={[
                  { value: '', label: t('chooseProvider') },
                  ...(providers ?? []).map((p) => ({ value: p.id, label: p.name })),
                ]}
              />
            </Field>
            <Button
              look="main"
              busy={compare.busy}
              disabled={!ready || provider === ''}
              onClick={() => compare.run()}
            >
              {t('doCompare')}
            </Button>
          </div>
        )}
        {other !== null && <ErrorBox error={other} title={said(other) || explain(other)} />}
      </div>
    </Panel>
  )
}

function Looked({ l, choose }: { l: Look; choose: (name: keyof Columns, value: string) => void }) {
  const t = useT('reconciliation')
  return (
    <section
      aria-label={l.name}
      className="flex flex-col gap-3 border-t border-line pt-3 first:border-0 first:pt-0"
    >
      <p className="flex flex-wrap items-baseline gap-x-3 gap-y-1" role="status">
        <b translate="no" className="font-semibold break-all">
          {l.name}
        </b>
        <span className="text-small text-ink2">
          {l.wrong === null && l.first !== null && l.last !== null
            ? t('looked', { format: l.format, n: l.rows, span: spanOf({ first: l.first, last: l.last }) })
            : l.format}
        </span>
      </p>
      {l.wrong !== null && (
        <Notice tone="warn" title={t(l.header.length > 0 ? 'chooseColumns' : 'unreadable')}>
          <span lang="en" translate="no" className="break-words">
            {l.wrong}
          </span>
        </Notice>
      )}
      {l.header.length > 0 && (
        <div className="grid grid-cols-[repeat(auto-fill,minmax(150px,1fr))] gap-3">
          {columnNames.map((name) => {
            const chosen = l.columns[name] ?? ''
            const options = chosen === '' || l.header.includes(chosen) ? l.header : [chosen, ...l.header]
            return (
              <Field key={name} label={t(`col_${name}`)}>
                <Select
                  className="w-full"
                  value={chosen}
                  onChange={(e) => choose(name, e.target.value)}
                  options={[
                    { value: '', label: t('noColumn') },
                    ...[...new Set(options)].map((h) => ({ value: h, label: h })),
                  ]}
                />
              </Field>
            )
          })}
        </div>
      )}
      {l.models.length > 0 && (
        <p className="text-small text-ink3">
          {t('models', { n: l.models.length })} <span translate="no">{l.models.slice(0, 6).join(', ')}</span>
          {l.models.length > 6 && ' …'}
        </p>
      )}
    </section>
  )
}

/** Where each provider has its export, for those who have compared nothing yet. */
function Where() {
  const t = useT('reconciliation')
  return (
    <Panel>
      <Empty icon="file" title={t('nothing')}>
        <ul className="flex flex-col gap-2 pt-2 text-start">
          {(['openai', 'anthropic', 'openrouter', 'csv'] as const).map((s) => (
            <li key={s}>{t(`where_${s}`)}</li>
          ))}
        </ul>
        <a className="mt-3 inline-block underline" href="/docs/reconciliation">
          {t('docs')}
        </a>
      </Empty>
    </Panel>
  )
}
