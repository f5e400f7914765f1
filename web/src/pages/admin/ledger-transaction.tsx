/** One search for what was posted: by the id of a call, a reference or a number. What is looked for is in the address. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState, type ReactNode } from 'react'
import type { Reply } from '../../api/client'
import { getLedgerTransaction } from '../../api/operations'
import { add, decimal, money, negate, plain, ZERO } from '../../format'
import { useT } from '../../i18n'
import { IconButton } from '../../ui/button'
import { ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Link, usePageSearch, type SearchShape } from '../../ui/link'
import { Panel } from '../../ui/page'
import { When } from '../../ui/values'

type Transaction = Reply<'/api/admin/ledger/transaction'>['data']

const shape: SearchShape<{ readonly q: string }> = {
  read: (raw) => ({ q: raw.q ?? '' }),
  write: (c) => ({ q: c.q || undefined }),
}

export function Finder() {
  const t = useT('adminledger')
  const [{ q }, choose] = usePageSearch(shape)
  const [text, setText] = useState(q)
  useEffect(() => setText(q), [q])
  return (
    <form
      role="search"
      onSubmit={(e) => {
        e.preventDefault()
        choose({ q: text.trim() }, { push: true })
      }}
    >
      <Field label={t('search')} hideLabel>
        <Input
          icon="search"
          value={text}
          onChange={(e) => setText(e.target.value)}
          placeholder={t('searchHint')}
          autoComplete="off"
          spellCheck={false}
          maxLength={200}
          className="md:w-72"
        />
      </Field>
    </form>
  )
}

export function Found() {
  const t = useT('adminledger')
  const [{ q }, choose] = usePageSearch(shape)
  const found = useQuery({ ...getLedgerTransaction({ query: { q } }), enabled: q !== '', retry: false })
  if (q === '') return null
  const x = found.data?.data
  return (
    <div className="min-w-0 max-lg:order-1">
      {found.error ? (
        <ErrorBox error={found.error} />
      ) : x ? (
        <Panel
          title={t('transaction', { n: x.id })}
          actions={
            <>
              {callOf(x) !== undefined && <Link to={`/admin/calls/${callOf(x)}`}>{t('openCall')}</Link>}
              <IconButton small icon="x" label={t('forget')} onClick={() => choose({ q: '' })} />
            </>
          }
          flush
        >
          <Facts x={x} />
          <Entries x={x} />
        </Panel>
      ) : (
        <SkeletonRows rows={6} />
      )}
    </div>
  )
}

/** The call that one of its entries names. */
function callOf(x: Transaction): string | undefined {
  return x.entries
    .map((e) => /gen-[\w-]+/.exec(`${e.ref} ${e.account}`)?.[0])
    .find((call) => call !== undefined)
}

function Facts({ x }: { x: Transaction }) {
  const t = useT('adminledger')
  const rows: [string, ReactNode][] = [
    [t('at'), <When at={x.at} form="full" />],
    [t('kind'), t.or(`kind_${x.kind}`, x.kind)],
    [t('ref'), x.ref],
    [t('actor'), x.actor],
    [t('reason'), x.reason],
  ]
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 px-4 pb-3">
      {rows.map(
        ([name, value]) =>
          value !== null && (
            <div key={name} className="contents">
              <dt className="text-ink3">{name}</dt>
              <dd className="text-right wrap-anywhere" translate="no">
                {value}
              </dd>
            </div>
          ),
      )}
    </dl>
  )
}

const exact = (v: string) => money(v, { exact: true, sign: false })

/** What leaves an account is its debit. Both columns have the same sum. */
function Entries({ x }: { x: Transaction }) {
  const t = useT('adminledger')
  const rows = [
    ...x.entries.map((e) => ({ account: e.account, title: e.ref, amount: decimal(e.amount) ?? ZERO })),
    ...(x.others === null || x.others === '0'
      ? []
      : [{ account: t('others'), title: x.ref, amount: decimal(x.others) ?? ZERO }]),
  ]
  const sum = (of: 'debit' | 'credit') =>
    plain(
      rows
        .filter((r) => (of === 'debit' ? r.amount.digits < 0n : r.amount.digits > 0n))
        .reduce((all, r) => add(all, of === 'debit' ? negate(r.amount) : r.amount), ZERO),
    )
  const number = 'px-4 py-2 text-right whitespace-nowrap tabular-nums'
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label={t('entries')}>
      <table className="w-full text-dense">
        <caption className="sr-only">{t('entries')}</caption>
        <thead>
          <tr className="border-y border-line text-label text-ink3">
            <th scope="col" className="px-4 py-1.5 text-left font-normal">
              {t('account')}
            </th>
            <th scope="col" className="px-4 py-1.5 text-right font-normal">
              {t('debit')}
            </th>
            <th scope="col" className="px-4 py-1.5 text-right font-normal">
              {t('credit')}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((r, i) => (
            <tr key={i} className="border-b border-line">
              <th
                scope="row"
                translate="no"
                title={r.title}
                className="px-4 py-2 text-left font-normal wrap-anywhere"
              >
                {r.account}
              </th>
              <td className={number}>{r.amount.digits < 0n && exact(plain(negate(r.amount)))}</td>
              <td className={number}>{r.amount.digits > 0n && exact(plain(r.amount))}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr className="bg-sunken font-semibold">
            <th scope="row" className="px-4 py-2 text-left">
              {t('sum')}
            </th>
            <td className={number}>{exact(sum('debit'))}</td>
            <td className={number}>{exact(sum('credit'))}</td>
          </tr>
        </tfoot>
      </table>
    </div>
  )
}
