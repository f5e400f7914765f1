/** /admin/settings: every setting with its value, where it is set, and what it means. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { listSettings } from '../../api/operations'
import type { Reply } from '../../api/client'
import { integer } from '../../format'
import { useLanguage, useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Checkbox, Field, Input, Select } from '../../ui/field'
import { Link, usePageSearch, type SearchShape } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { When } from '../../ui/values'
import { Change } from './setting-change'

type Answer = Reply<'/api/admin/settings'>
type Setting = Answer['data'][number]

interface Chosen {
  readonly q: string
  readonly section: string
  readonly changed: boolean
}
const shape: SearchShape<Chosen> = {
  read: (raw) => ({ q: raw.q ?? '', section: raw.section ?? '', changed: raw.changed === 'yes' }),
  write: (c) => ({
    q: c.q || undefined,
    section: c.section || undefined,
    changed: c.changed ? 'yes' : undefined,
  }),
}

/** Where settings are changed that have a page of their own. */
const places: Record<string, string> = {
  'pricing.rub_per_usd': '/admin/catalog',
  'pricing.margin': '/admin/catalog',
  providers: '/admin/providers',
  builtin: '/admin/providers',
  models: '/admin/catalog',
}

/** What settings mean, by the English sentence of the example file; empty in English. */
type Meanings = { readonly [english: string]: string }
const none: Meanings = {}

function useMeanings(): Meanings {
  const russian = useLanguage() === 'ru'
  const q = useQuery({
    queryKey: ['meanings'],
    queryFn: async (): Promise<Meanings> => (await import('../../messages/meanings.ru.json')).default,
    staleTime: Infinity,
    enabled: russian,
  })
  return (russian && q.data) || none
}

const matches = (s: Setting, q: string, meanings: Meanings) => {
  const words = q.toLowerCase().split(/\s+/)
  const text =
    `${s.key} ${s.means} ${meanings[s.means] ?? ''} ${s.value ?? ''} ${s.where ?? ''}`.toLowerCase()
  return words.every((w) => text.includes(w))
}

export default function Settings() {
  const t = useT('adminsettings')
  const [chosen, choose] = usePageSearch(shape)
  const q = useQuery(listSettings())
  const meanings = useMeanings()
  const data = q.data?.data
  const sections = [...new Set(data?.map((s) => s.section))]
  const rows = data?.filter(
    (s) =>
      (chosen.section === '' || s.section === chosen.section) &&
      (!chosen.changed || s.from !== 'default') &&
      (chosen.q === '' || matches(s, chosen.q, meanings)),
  )
  return (
    <Page>
      <PageHead
        title={t('title')}
        {...(q.data ? { note: t('note', { nodes: t('nodes', { n: q.data.nodes.length }) }) } : {})}
      />
      {q.error ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !q.data ? (
        <SkeletonRows rows={12} />
      ) : (
        <>
          <Differing data={q.data} />
          <Filters chosen={chosen} choose={choose} sections={sections} />
          <Panel flush>
            <Table<Setting>
              main
              caption={t('title')}
              rows={rows}
              rowKey={(s) => s.key}
              empty={
                <Empty
                  icon="search"
                  title={t('noMatch')}
                  action={
                    <Button onClick={() => choose({ q: '', section: '', changed: false })}>{t('all')}</Button>
                  }
                />
              }
              columns={[
                { key: 'setting', head: t('setting'), cell: (s) => <Name s={s} meanings={meanings} /> },
                { key: 'value', head: t('value'), cell: (s) => <Value s={s} /> },
                { key: 'from', head: t('from'), cell: (s) => <From s={s} /> },
                { key: 'applies', head: t('applies'), cell: (s) => <Applies s={s} /> },
              ]}
              phone={(s) => (
                <div className="flex flex-col gap-1 py-1">
                  <Name s={s} meanings={meanings} />
                  <Value s={s} />
                  <span className="flex flex-wrap gap-x-3 text-small">
                    <From s={s} /> <Applies s={s} />
                  </span>
                </div>
              )}
            />
          </Panel>
        </>
      )}
    </Page>
  )
}

/** Nodes that differ, and changes of the file that wait for a restart. */
function Differing({ data }: { data: Answer }) {
  const t = useT('adminsettings')
  const others = data.nodes.filter((n) => n.differs !== null)
  const pending = data.data.filter((s) => s.pending)
  if (others.length + pending.length === 0) return null
  return (
    <div className="flex flex-col gap-3 pb-4">
      {others.map((n) => (
        <Notice key={n.id} tone="bad" title={t('differs', { node: n.id })}>
          <span translate="no">{n.differs}</span>
        </Notice>
      ))}
      {pending.length > 0 && (
        <Notice tone="warn" title={t('pending', { n: pending.length })}>
          <span translate="no">{pending.map((s) => s.key).join(', ')}</span>
        </Notice>
      )}
    </div>
  )
}

function Filters({
  chosen,
  choose,
  sections,
}: {
  chosen: Chosen
  choose: (c: Partial<Chosen>) => void
  sections: readonly string[]
}) {
  const t = useT('adminsettings')
  const [text, setText] = useState(chosen.q)
  return (
    <div className="flex flex-wrap items-center gap-3 pb-4">
      <form role="search" className="min-w-0 flex-1 basis-60" onSubmit={(e) => e.preventDefault()}>
        <Field label={t('find')} hideLabel>
          <Input
            icon="search"
            value={text}
            onChange={(e) => {
              setText(e.target.value)
              choose({ q: e.target.value.trim() })
            }}
            placeholder={t('find')}
            autoComplete="off"
            spellCheck={false}
          />
        </Field>
      </form>
      <Field label={t('section')} hideLabel>
        <Select
          value={chosen.section}
          onChange={(e) => choose({ section: e.target.value })}
          options={[
            { value: '', label: t('everySection') },
            ...sections.map((s) => ({ value: s, label: s })),
          ]}
        />
      </Field>
      <Checkbox checked={chosen.changed} onChange={(changed) => choose({ changed })}>
        {t('changed')}
      </Checkbox>
    </div>
  )
}

function Name({ s, meanings }: { s: Setting; meanings: Meanings }) {
  const t = useT('adminsettings')
  const means = meanings[s.means]
  return (
    <span className="block max-w-[52ch] py-1">
      <span className="flex flex-wrap items-center gap-2">
        <code translate="no" className="font-medium break-all">
          {s.key}
        </code>
        {s.pending && <Tag tone="warn">{t('waits')}</Tag>}
      </span>
      {s.means !== '' && (
        <span {...(means ? {} : { lang: 'en' })} className="block text-small text-ink3">
          {means ?? s.means}
        </span>
      )}
    </span>
  )
}

function Value({ s }: { s: Setting }) {
  const t = useT('adminsettings')
  if (s.secret) return <span className="text-ink2">{s.set ? t('set') : t('notSet')}</span>
  if (s.count !== null) return <span className="text-ink2">{t('entries', { n: s.count })}</span>
  if (s.value === '' || s.value === null) return <span className="text-ink3">{t('empty')}</span>
  const n = Number(s.value)
  return (
    <span translate="no" className="block max-w-[36ch] break-words tabular-nums">
      {s.type === 'integer' && Number.isSafeInteger(n) ? integer(n) : s.value}
    </span>
  )
}

/** When a change holds, and where it is made. */
function Applies({ s }: { s: Setting }) {
  const t = useT('adminsettings')
  const place = places[s.key]
  return (
    <span className="flex flex-wrap items-center gap-x-2 whitespace-nowrap text-ink3">
      {s.live ? t('live') : t('restart')}
      {place && (
        <Link to={place} className="text-accent-ink" aria-label={t('changeOf', { key: s.key })}>
          {t('change')}
        </Link>
      )}
      {s.values.length > 0 && <Change s={s} />}
    </span>
  )
}

function From({ s }: { s: Setting }) {
  const t = useT('adminsettings')
  return (
    <span className={s.from === 'default' ? 'text-ink3' : 'text-ink'}>
      {t(`from_${s.from}`)}
      {s.until !== null && (
        <span className="block text-small text-ink3">
          {t('until')} <When at={s.until} />
        </span>
      )}
      {s.where !== null && (
        <span translate="no" className="block text-small break-all text-ink3">
          {s.where}
        </span>
      )}
    </span>
  )
}
