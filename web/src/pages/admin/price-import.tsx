/** By what the public price lists differ from the list in use, and the way of that into the draft. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { get, post, type Reply } from '../../api/client'
import { getPriceImport } from '../../api/operations'
import { renew } from '../../api/query'
import { compare, date, decimal, money, tokens } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Segmented } from '../../ui/controls'
import { Empty, ErrorBox, Notice } from '../../ui/feedback'
import { Tag } from '../../ui/marks'
import { Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast, toastError } from '../../ui/toast'
import { When } from '../../ui/values'
import { PriceName } from './price-row'
import { renewPrices, whoOf, type Imported, type ImportChange } from './price-data'

type Kind = ImportChange['kind']
const tones = { new: 'accent', raised: 'warn', lowered: 'good', gone: 'bad', limits: 'plain' } as const

export function Imports({ may, version }: { may: boolean; version: number }) {
  const t = useT('adminprices')
  const [kind, setKind] = useState<Kind | 'all'>('all')
  const [open, setOpen] = useState(false)
  const [fetched, setFetched] = useState<Fetched | null>(null)
  const fetching = useAction(async () => {
    setFetched(null)
    setFetched(await post('/api/admin/prices/import/fetch'))
    await renew(getPriceImport)
  })
  const q = useInfiniteQuery({
    queryKey: getPriceImport.key(kind),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/prices/import', {
        query: { ...(kind === 'all' ? {} : { kind }), skip: pageParam, limit: 50 },
        signal,
      }),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    refetchInterval: (query) => (fetching.busy || query.state.data?.pages[0]?.fetching ? 1500 : false),
  })
  const first = q.data?.pages[0]
  const runs = first?.fetching
  const take = useAction(
    async (what: { offers?: string[]; kind?: Kind }) => {
      await post('/api/admin/prices/import', { body: { ...what, version } })
      await renewPrices()
      toast(t('drafted'))
    },
    { failed: toastError },
  )
  if (!first) return null
  const made = first.import
  const all = made?.counts.reduce((n, c) => n + c.count, 0) ?? 0
  const count = kind === 'all' ? all : (made?.counts.find((c) => c.kind === kind)?.count ?? 0)
  const act = (c: ImportChange) =>
    c.taken ? (
      <Tag tone="accent">{t('inDraft')}</Tag>
    ) : (
      may && (
        <Button
          small
          aria-label={t('takeOf', { id: c.offer })}
          busy={take.running?.[0].offers?.[0] === c.offer}
          onClick={() => take.run({ offers: [c.offer] })}
        >
          {t('take')}
        </Button>
      )
    )
  return (
    <Panel
      title={t('imports')}
      note={made && <Made made={made} />}
      actions={
        <>
          {may && (
            <Button small busy={fetching.busy || Boolean(runs)} onClick={() => fetching.run()}>
              {t('fetch')}
            </Button>
          )}
          {all > 0 && (
            <Button small aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? t('hide') : t('show')}
            </Button>
          )}
        </>
      }
    >
      <div role="status" className="empty:hidden [&>*]:mb-3">
        {(fetching.busy || runs) && (
          <p className="text-ink2">
            {runs && runs.of > 0 ? t('fetches', { done: runs.done + 1, of: runs.of }) : t('fetchBegins')}
          </p>
        )}
        {fetched && <WasFetched f={fetched} />}
        {fetching.error !== null && <ErrorBox error={fetching.error} />}
      </div>
      {made ? <Counts made={made} all={all} /> : <p className="text-ink2">{t('noImport')}</p>}
      {made && made.notes.length > 0 && (
        <ul className="pt-2 text-small text-ink3">
          {made.notes.map((note) => (
            <li key={note} translate="no" className="break-words">
              {note}
            </li>
          ))}
        </ul>
      )}
      {open && made && all > 0 && (
        <div className="flex flex-col gap-3 pt-3">
          <div className="flex flex-wrap items-center gap-3">
            <div className="max-w-full overflow-x-auto">
              <Segmented
                label={t('kinds')}
                value={kind}
                onChange={setKind}
                options={[
                  { value: 'all' as const, label: t('kind_all') },
                  ...made.counts
                    .filter((c) => c.count > 0)
                    .map((c) => ({ value: c.kind, label: t(`kind_${c.kind}`) })),
                ]}
              />
            </div>
            {may && count > 0 && (
              <Button
                busy={take.running !== null && take.running[0].offers === undefined}
                onClick={() => take.run(kind === 'all' ? {} : { kind })}
              >
                {t('takeAll', { n: count })}
              </Button>
            )}
          </div>
          <Table<ImportChange>
            caption={t('imports')}
            rows={q.data?.pages.flatMap((p) => p.data)}
            rowKey={(c) => c.offer}
            error={q.error}
            onRetry={() => void q.refetch()}
            stale={q.isPlaceholderData}
            empty={<Empty title={t('importSame')} />}
            columns={[
              { key: 'model', head: t('endpoint'), cell: (c) => <Offer c={c} /> },
              { key: 'prices', head: t('importPrices'), align: 'end', cell: (c) => <Prices c={c} /> },
              {
                key: 'source',
                head: t('importSource'),
                from: 'lg',
                cell: (c) => (
                  <span className="text-small text-ink3" translate="no">
                    {c.source}
                  </span>
                ),
              },
              { key: 'act', head: '', name: t('take'), align: 'end' as const, cell: act },
            ]}
            phone={(c) => (
              <div className="flex flex-col gap-1">
                <div className="flex items-start gap-2">
                  <div className="min-w-0 flex-1">
                    <Offer c={c} />
                  </div>
                  {act(c)}
                </div>
                <Prices c={c} />
              </div>
            )}
          />
          {q.hasNextPage && (
            <div>
              <Button small look="quiet" busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
                {t('more')}
              </Button>
            </div>
          )}
        </div>
      )}
    </Panel>
  )
}

type Import = NonNullable<Imported['import']>
type Fetched = Reply<'/api/admin/prices/import/fetch', 'post'>

/** What became of a fetch: one line for each list that is new or could not be had. */
function WasFetched({ f }: { f: Fetched }) {
  const t = useT('adminprices')
  return (
    <Notice tone={f.error ? 'bad' : 'good'} title={f.error ? t('notFetched') : t('fetched')}>
      {f.error ? (
        <ul>
          {f.notes.map((note) => (
            <li key={note} translate="no" className="break-words">
              {note}
            </li>
          ))}
        </ul>
      ) : (
        t('fetchedText')
      )}
    </Notice>
  )
}

function Made({ made }: { made: Import }) {
  const t = useT('adminprices')
  return (
    <>
      {t('importOf', { day: date(made.as_of) })} ·{' '}
      <span translate="no" title={made.actor}>
        {whoOf(made)}
      </span>{' '}
      · <When at={made.at} />
    </>
  )
}

function Counts({ made, all }: { made: Import; all: number }) {
  const t = useT('adminprices')
  if (all === 0) return <p className="text-ink2">{t('importSame')}</p>
  return (
    <p className="flex flex-wrap gap-2">
      {made.counts
        .filter((c) => c.count > 0)
        .map((c) => (
          <Tag key={c.kind} tone={tones[c.kind]}>
            {t(`count_${c.kind}`, { n: c.count })}
          </Tag>
        ))}
    </p>
  )
}

function Offer({ c }: { c: ImportChange }) {
  const t = useT('adminprices')
  return (
    <span className="block min-w-0 py-1">
      <span translate="no" className="font-medium break-all">
        {c.model}
      </span>{' '}
      <Tag tone={tones[c.kind]}>{t(`kind_${c.kind}`)}</Tag>
      <span className="block text-label text-ink3" translate="no">
        {c.provider}
      </span>
    </span>
  )
}

const lengths = ['context', 'output', 'budget_least', 'budget_most']
/** A price in dollars, a length in tokens, or words. */
const shown = (name: string, value: string | null) =>
  value === null
    ? null
    : lengths.includes(name)
      ? tokens(Number(value))
      : name === 'efforts'
        ? value
        : `${money(value, { sign: false, exact: true })} $`

/** How many prices a row shows; an endpoint of images may have dozens. */
const most = 4

function Prices({ c }: { c: ImportChange }) {
  const t = useT('adminprices')
  return (
    <span className="block py-1 text-small">
      {c.prices.slice(0, most).map((p) => {
        const [a, b] = [decimal(p.old), decimal(p.new)]
        const up = a && b ? compare(b, a) > 0 : false
        return (
          <span key={p.name} className="block tabular-nums">
            <span className="text-ink3">
              <PriceName name={p.name} />
            </span>{' '}
            {p.old !== null && <span className="text-ink3">{shown(p.name, p.old)}</span>}
            {p.old !== null && p.new !== null && ' → '}
            {p.new !== null && <span className={up ? 'font-medium' : ''}>{shown(p.name, p.new)}</span>}
            {p.old !== null && p.new === null && c.kind !== 'gone' && ` → ${t('noPrice')}`}
          </span>
        )
      })}
      {c.prices.length > most && (
        <span className="block text-ink3">{t('rest', { n: c.prices.length - most })}</span>
      )}
    </span>
  )
}
