/** /admin/statements: statements of the bank: imported ones, and the import of another, which says first what it will do. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useAction } from '../../api/action'
import { get, post } from '../../api/client'
import { said } from '../../api/explain'
import { listBankStatements } from '../../api/operations'
import { useMe } from '../../api/query'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox } from '../../ui/feedback'
import { Link, useGo } from '../../ui/link'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { Money, When } from '../../ui/values'
import { Preview } from './statement-import'
import { Counts, type Chosen, type Report, type Statement } from './statement-data'

function read(file: File): Promise<Chosen> {
  return new Promise((done, failed) => {
    const r = new FileReader()
    r.onload = () => done({ name: file.name, base64: String(r.result).split(',')[1] ?? '' })
    r.onerror = () => failed(r.error ?? new Error('the file cannot be read'))
    r.readAsDataURL(file)
  })
}

export default function Statements() {
  const t = useT('adminbank')
  const c = useT('common')
  const administrator = useMe()?.user?.role === 'administrator'
  const input = useRef<HTMLInputElement>(null)
  const go = useGo()
  const [tried, setTried] = useState<{ file: Chosen; report: Report } | null>(null)
  const q = useInfiniteQuery({
    queryKey: listBankStatements.key('pages'),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/statements', { query: { cursor: pageParam, limit: 50 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const look = useAction(async (file: File) => {
    const chosen = await read(file)
    const { data } = await post('/api/admin/invoices/import', {
      body: { statement: chosen.base64, name: chosen.name, dry_run: true },
    })
    setTried({ file: chosen, report: data })
  })
  return (
    <Page>
      <PageHead
        title={t('statements')}
        note={t('statementsNote')}
        crumbs={[{ label: t('invoices'), to: '/admin/invoices' }, { label: t('statements') }]}
      >
        {administrator && (
          <>
            <input
              ref={input}
              type="file"
              accept=".txt,text/plain"
              aria-label={t('file')}
              className="sr-only"
              tabIndex={-1}
              onChange={(e) => {
                const file = e.target.files?.[0]
                e.target.value = ''
                if (file) look.run(file)
              }}
            />
            <Button look="main" busy={look.busy} onClick={() => input.current?.click()}>
              {t('importFile')}
            </Button>
          </>
        )}
      </PageHead>
      <div className="flex flex-col gap-4">
        {look.error !== null && <ErrorBox error={look.error} title={said(look.error)} />}
        {tried && (
          <Preview
            key={tried.file.base64.length + tried.file.name}
            file={tried.file}
            first={tried.report}
            onClose={() => setTried(null)}
          />
        )}
        <Panel flush>
          <Table<Statement>
            main
            caption={t('statements')}
            rows={q.data?.pages.flatMap((p) => p.data)}
            rowKey={(s) => s.id}
            error={q.error}
            onRetry={() => void q.refetch()}
            onOpen={(s) => go(`/admin/statements/${s.id}`)}
            empty={
              <Empty icon="file" title={t('noStatements')}>
                {t('noStatementsText')}
              </Empty>
            }
            columns={[
              { key: 'name', head: t('fileName'), cell: (s) => <Name s={s} /> },
              { key: 'at', head: t('importedAt'), cell: (s) => <When at={s.imported_at} /> },
              {
                key: 'by',
                head: t('by'),
                from: 'md',
                cell: (s) => <span translate="no">{s.actor_name ?? s.actor}</span>,
              },
              { key: 'what', head: t('documents'), cell: (s) => <Counts s={s} /> },
              {
                key: 'amount',
                head: t('creditedRubles'),
                align: 'end',
                cell: (s) => <Money value={s.amount} exact sign={false} />,
              },
            ]}
            phone={(s) => (
              <div className="flex flex-col gap-1 py-1">
                <span className="flex gap-2">
                  <span className="min-w-0 flex-1">
                    <Name s={s} />
                  </span>
                  <Money value={s.amount} exact />
                </span>
                <span className="text-small text-ink3">
                  <When at={s.imported_at} /> · <span translate="no">{s.actor_name ?? s.actor}</span>
                </span>
                <Counts s={s} />
              </div>
            )}
          />
          {q.hasNextPage && (
            <div className="flex justify-center border-t border-line p-3">
              <Button small busy={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
                {c('loadMore')}
              </Button>
            </div>
          )}
        </Panel>
      </div>
    </Page>
  )
}

function Name({ s }: { s: Statement }) {
  return (
    <Link to={`/admin/statements/${s.id}`} translate="no" className="wrap-anywhere">
      {s.name ?? s.id}
    </Link>
  )
}
