/** /admin/catalog: what customers pay for every model, and the draft in which that is changed. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { get } from '../../api/client'
import { getPriceDraft, listAdminPrices } from '../../api/operations'
import { useMe } from '../../api/query'
import { decimal, short } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox } from '../../ui/feedback'
import { Checkbox, Field, Input } from '../../ui/field'
import { usePageSearch, type SearchShape } from '../../ui/link'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { Money } from '../../ui/values'
import type { Row } from './price-data'
import { DraftBar } from './price-draft'
import { EditPrices } from './price-edit'
import { History } from './price-history'
import { Imports } from './price-import'
import { SetMargin } from './price-margin'
import { Raise } from './price-raise'
import { Margin, Name, Pays, Source, Vat } from './price-row'

interface Chosen {
  readonly q: string
  readonly changed: boolean
}
const shape: SearchShape<Chosen> = {
  read: (raw) => ({ q: raw.q ?? '', changed: raw.changed === '1' }),
  write: ({ q, changed }) => ({ q: q || undefined, changed: changed ? '1' : undefined }),
}

export default function Prices() {
  const t = useT('adminprices')
  const me = useMe()
  const may = me?.user?.role === 'administrator'
  const [chosen, choose] = usePageSearch(shape)
  const [editing, setEditing] = useState<Row | null>(null)
  const draft = useQuery(getPriceDraft())
  const q = useInfiniteQuery({
    queryKey: listAdminPrices.key(chosen.q, chosen.changed),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/prices', {
        query: { q: chosen.q, changed: chosen.changed, after: pageParam, limit: 50 },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const rows = q.data?.pages.flatMap((p) => p.data)
  const force = q.data?.pages[0]?.rate
  const rate = decimal(force?.rate)
  const version = draft.data?.draft?.version ?? 0
  const drafting = draft.data !== undefined
  return (
    <Page>
      <PageHead title={t('title')} note={rate && t('rate', { rate: short(rate, 4) })}>
        {may && drafting && force && <SetMargin rate={force} q={chosen.q} version={version} />}
        {may && drafting && <Raise q={chosen.q} version={version} />}
      </PageHead>
      <div className="flex flex-col gap-4">
        {draft.error && <ErrorBox error={draft.error} onRetry={() => void draft.refetch()} />}
        {draft.data?.draft && <DraftBar draft={draft.data.draft} may={may} />}
        {!may && <p className="text-small text-ink3">{t('onlyAdministrators')}</p>}
        <Imports may={may} version={version} />
        <div className="flex flex-wrap items-center gap-3">
          <Find q={chosen.q} choose={(text) => choose({ q: text })} />
          <Checkbox checked={chosen.changed} onChange={(changed) => choose({ changed })}>
            {t('changedOnly')}
          </Checkbox>
        </div>
        <Panel flush>
          <List
            rows={rows}
            error={q.error}
            onRetry={() => void q.refetch()}
            stale={q.isPlaceholderData}
            filtered={chosen.q !== '' || chosen.changed}
            onEdit={may && drafting ? setEditing : null}
          />
          {q.hasNextPage && (
            <div className="px-4 py-2">
              <Button small look="quiet" busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
                {t('more')}
              </Button>
            </div>
          )}
        </Panel>
        <History may={may} settled={rows !== undefined} />
      </div>
      {editing && <EditPrices row={editing} version={version} onClose={() => setEditing(null)} />}
    </Page>
  )
}

interface ListProps {
  readonly rows: readonly Row[] | undefined
  readonly error: unknown
  readonly onRetry: () => void
  readonly stale: boolean
  readonly filtered: boolean
  readonly onEdit: ((row: Row) => void) | null
}

function List({ rows, error, onRetry, stale, filtered, onEdit }: ListProps) {
  const t = useT('adminprices')
  const change = (r: Row) =>
    onEdit &&
    r.origin !== 'file' && (
      <Button small aria-label={t('changeOf', { id: r.id })} onClick={() => onEdit(r)}>
        {t('change')}
      </Button>
    )
  return (
    <Table<Row>
      main
      caption={t('title')}
      rows={rows}
      rowKey={(r) => r.id}
      error={error}
      onRetry={onRetry}
      stale={stale}
      empty={
        filtered ? (
          <Empty icon="search" title={t('notFound')} />
        ) : (
          <Empty icon="sliders" title={t('none')}>
            {t('noneText')}
          </Empty>
        )
      }
      columns={[
        { key: 'endpoint', head: t('endpoint'), cell: (r) => <Name r={r} /> },
        { key: 'source', head: t('source'), align: 'end', from: 'lg', cell: (r) => <Source r={r} /> },
        { key: 'margin', head: t('margin'), align: 'end', cell: (r) => <Margin r={r} /> },
        { key: 'vat', head: t('vat'), align: 'end', from: 'xl', cell: (r) => <Vat r={r} /> },
        { key: 'pays', head: t('pays'), align: 'end', cell: (r) => <Pays r={r} /> },
        {
          key: 'sales',
          head: t('sales'),
          align: 'end',
          from: 'lg',
          cell: (r) => <Money value={r.revenue} sign={false} />,
        },
        ...(onEdit ? [{ key: 'act', head: '', name: t('change'), align: 'end' as const, cell: change }] : []),
      ]}
      phone={(r) => (
        <div className="flex flex-col gap-1">
          <div className="flex items-start gap-2">
            <div className="min-w-0 flex-1">
              <Name r={r} />
            </div>
            {change(r)}
          </div>
          <div className="flex items-start gap-2 text-small">
            <div className="flex-1">
              <Margin r={r} />
            </div>
            <div className="text-right">
              <Pays r={r} />
            </div>
          </div>
          <p className="text-small text-ink3">
            {t('sales')}: <Money value={r.revenue} />
          </p>
        </div>
      )}
    />
  )
}

function Find({ q, choose }: { q: string; choose: (text: string) => void }) {
  const t = useT('adminprices')
  const [text, setText] = useState(q)
  const typed = text.trim()
  useEffect(() => {
    if (typed === q) return
    const timer = setTimeout(() => choose(typed), 250)
    return () => clearTimeout(timer)
  }, [typed, q, choose])
  return (
    <form
      role="search"
      className="min-w-0 flex-1 basis-72"
      onSubmit={(e) => {
        e.preventDefault()
        choose(typed)
      }}
    >
      <Field label={t('find')} hideLabel>
        <Input
          icon="search"
          value={text}
          onChange={(e) => setText(e.target.value)}
          placeholder={t('find')}
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
    </form>
  )
}
