/** /admin/ledger: whether the books are right, what was posted under a number, and the charges that wait for a decision. */
import { useQuery } from '@tanstack/react-query'
import { useAction } from '../../api/action'
import { remove, post, type Reply } from '../../api/client'
import { getAdminLedger } from '../../api/operations'
import { renew } from '../../api/query'
import { integer } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Icon } from '../../ui/icons'
import { Tag } from '../../ui/marks'
import { Page, PageHead, Panel } from '../../ui/page'
import { Money, When } from '../../ui/values'
import { Asides } from './ledger-asides'
import { Finder, Found } from './ledger-transaction'

type Books = Reply<'/api/admin/ledger'>['data']
type Check = NonNullable<Books['check']>

export default function LedgerPage() {
  const t = useT('adminledger')
  const q = useQuery({
    ...getAdminLedger({}),
    refetchInterval: (now) => (isRunning(now.state.data?.data.check) ? 1_000 : 10_000),
  })
  const books = q.data?.data
  const start = useAction(async () => {
    await post('/api/admin/ledger/check', {})
    await renew(getAdminLedger)
  })
  const running = isRunning(books?.check)
  return (
    <Page>
      <PageHead title={t('title')} note={books && <Standing check={books.check} />}>
        <Finder />
        <Button
          look="main"
          icon="check"
          busy={start.busy}
          disabled={running || !books}
          onClick={() => start.run()}
        >
          {t('start')}
        </Button>
      </PageHead>
      {start.error !== null && (
        <div className="pb-4">
          <ErrorBox error={start.error} />
        </div>
      )}
      <div className="grid grid-cols-1 items-start gap-5 lg:grid-cols-[minmax(0,1fr)_minmax(0,420px)]">
        <div className="flex min-w-0 flex-col gap-5 max-lg:order-2">
          {q.error && !books ? (
            <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
          ) : !books ? (
            <SkeletonRows rows={8} />
          ) : (
            <>
              <CheckPanel check={books.check} />
              <Asides books={books} />
            </>
          )}
        </div>
        <div className="flex min-w-0 flex-col gap-5 max-lg:contents">
          <Found />
          {books && <Totals books={books} />}
        </div>
      </div>
    </Page>
  )
}

const isRunning = (check: Check | null | undefined) => !!check && check.ended_at === null

function Standing({ check }: { check: Check | null }) {
  const t = useT('adminledger')
  if (check === null) return <Tag>{t('unchecked')}</Tag>
  if (isRunning(check)) return <Tag tone="accent">{t('underWay')}</Tag>
  if (check.balanced === null) return <Tag tone="warn">{t('unfinished')}</Tag>
  if (!check.balanced) return <Tag tone="bad">{t('unbalanced')}</Tag>
  return (
    <Tag tone="good">
      <Icon name="check" size={14} />
      {t.rich('balanced', { time: <When at={check.ended_at} form="hour" /> })}
    </Tag>
  )
}

function CheckPanel({ check }: { check: Check | null }) {
  const t = useT('adminledger')
  const stop = useAction(async () => {
    await remove('/api/admin/ledger/check', {})
    await renew(getAdminLedger)
  })
  if (check === null)
    return (
      <Panel>
        <p className="text-ink2">{t('neverText')}</p>
      </Panel>
    )
  const running = isRunning(check)
  return (
    <Panel
      title={t.rich('checkAt', { time: <When at={check.began_at} form="full" /> })}
      note={<span translate="no">{t('begunBy', { who: check.by, node: check.node })}</span>}
      actions={
        running && (
          <Button
            small
            icon="stop"
            busy={stop.busy}
            disabled={check.stopped_by !== null}
            onClick={() => stop.run()}
          >
            {t('stop')}
          </Button>
        )
      }
      flush
    >
      <div role="status" className="px-4 pb-2 text-small text-ink2 empty:hidden">
        {running && check.stopped_by === null && t('goesOn')}
        {check.stopped_by !== null && t(running ? 'stopping' : 'stoppedBy', { who: check.stopped_by })}
      </div>
      {check.failed !== null && (
        <div className="px-4 pb-3">
          <Notice tone="warn" title={t('failed')}>
            <span lang="en">{check.failed}</span>
          </Notice>
        </div>
      )}
      {stop.error !== null && <ErrorBox error={stop.error} />}
      {check.parts.length > 0 && (
        <ul aria-label={t('parts')} className="divide-y divide-line border-t border-line">
          {check.parts.map((p) => (
            <li key={p.name} className="flex items-start gap-2.5 px-4 py-2.5">
              <Icon
                name={p.ok ? 'check' : 'warning'}
                label={t(p.ok ? 'right' : 'wrong')}
                className={`mt-0.5 flex-none ${p.ok ? 'text-good' : 'text-bad'}`}
              />
              <span
                lang="en"
                translate="no"
                className="grid min-w-0 flex-1 gap-x-4 md:grid-cols-[minmax(0,1fr)_minmax(0,2fr)]"
              >
                <span className="font-medium">{p.name}</span>
                <span className={`text-small wrap-anywhere ${p.ok ? 'text-ink2' : 'text-bad'}`}>
                  {p.detail}
                </span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function Totals({ books }: { books: Books }) {
  const t = useT('adminledger')
  const nameOf = (account: string) =>
    account.startsWith('topup:')
      ? t('total_topup', { source: account.slice('topup:'.length) })
      : t.or(`total_${account}`, account)
  return (
    <div className="min-w-0 max-lg:order-3">
      <Panel title={t('totals')} flush>
        {books.sum === null ? (
          <p className="px-4 pb-4 text-ink2">{t('totalsNone')}</p>
        ) : (
          <>
            <table className="w-full text-dense">
              <caption className="sr-only">{t('totals')}</caption>
              <thead className="sr-only">
                <tr>
                  <th scope="col">{t('kind')}</th>
                  <th scope="col">{t('amount')}</th>
                </tr>
              </thead>
              <tbody>
                {books.totals.map((k) => (
                  <tr key={k.account} className="border-t border-line">
                    <th scope="row" className="px-4 py-2 text-left font-normal break-words">
                      {nameOf(k.account)}
                    </th>
                    <td className="px-4 py-2 text-right">
                      <Money value={k.amount} exact />
                    </td>
                  </tr>
                ))}
              </tbody>
              <tfoot>
                <tr className="border-t border-line bg-sunken font-semibold">
                  <th scope="row" className="px-4 py-2 text-left">
                    {t('sum')}
                  </th>
                  <td className={`px-4 py-2 text-right ${books.sum === '0' ? '' : 'text-bad'}`}>
                    <Money value={books.sum} exact />
                  </td>
                </tr>
              </tfoot>
            </table>
            <p className="px-4 py-2.5 text-small text-ink3">
              {t.rich('totalsAt', {
                n: integer(books.entries),
                time: <When at={books.totals_at} form="hour" />,
              })}
            </p>
          </>
        )}
      </Panel>
    </div>
  )
}
