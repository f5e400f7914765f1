/** /admin/vouchers: batches of codes that put money into wallets. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { get, post, remove, type Reply } from '../../api/client'
import { listVouchers } from '../../api/operations'
import { renew, useMe } from '../../api/query'
import { decimal, endOfDay, integer, money, plain, times, zoneName } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Copy } from '../../ui/copy'
import { Empty, ErrorBox } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Tag } from '../../ui/marks'
import { Confirm, Dialog } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast } from '../../ui/toast'
import { Money, When } from '../../ui/values'

type Batch = Reply<'/api/admin/vouchers'>['data'][number]

const left = (b: Batch) => b.codes * b.uses - b.redeemed
const expired = (b: Batch) => b.expires_at !== null && Date.parse(b.expires_at) <= Date.now()

export default function Vouchers() {
  const t = useT('vouchers')
  const c = useT('common')
  const administrator = useMe()?.user?.role === 'administrator'
  const [making, setMaking] = useState(false)
  const [ending, setEnding] = useState<Batch | null>(null)
  const q = useInfiniteQuery({
    queryKey: listVouchers.key('pages'),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/vouchers', { query: { cursor: pageParam, limit: 50 }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const end = useAction(async (b: Batch) => {
    await remove('/api/admin/vouchers/{id}', { path: { id: b.id } })
    await renew(listVouchers)
    setEnding(null)
    toast(t('ended'))
  })
  const act = (b: Batch) =>
    administrator &&
    !b.revoked_at &&
    !expired(b) &&
    left(b) > 0 && (
      <Button small onClick={() => setEnding(b)}>
        {t('revoke')}
      </Button>
    )
  return (
    <Page>
      <PageHead
        title={t('title')}
        note={t('note')}
        crumbs={[{ label: t('people'), to: '/admin/people' }, { label: t('title') }]}
      >
        {administrator && (
          <Button look="main" icon="plus" onClick={() => setMaking(true)}>
            {t('make')}
          </Button>
        )}
      </PageHead>
      <Panel flush>
        <Table<Batch>
          main
          caption={t('title')}
          rows={q.data?.pages.flatMap((p) => p.data)}
          rowKey={(b) => b.id}
          error={q.error}
          onRetry={() => void q.refetch()}
          empty={
            <Empty icon="wallet" title={t('none')}>
              {t('noneText')}
            </Empty>
          }
          columns={[
            { key: 'note', head: t('reason'), cell: (b) => <Named b={b} /> },
            {
              key: 'worth',
              head: t('worth'),
              align: 'end',
              cell: (b) => <Money value={b.amount} sign={false} />,
            },
            { key: 'redeemed', head: t('redeemed'), align: 'end', cell: (b) => <Redeemed b={b} /> },
            { key: 'created', head: t('created'), from: 'lg', cell: (b) => <When at={b.created_at} /> },
            { key: 'state', head: t('state'), cell: (b) => <State b={b} /> },
            { key: 'act', head: '', name: t('revoke'), align: 'end', cell: act },
          ]}
          phone={(b) => (
            <div>
              <div className="flex gap-2">
                <span className="min-w-0 flex-1">
                  <Named b={b} />
                </span>
                <Money value={b.amount} />
              </div>
              <div className="flex flex-wrap items-center gap-2 text-small text-ink3">
                <span className="flex-1">
                  {t('redeemed')}: <Redeemed b={b} />
                </span>
                <State b={b} />
                {act(b)}
              </div>
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
      {making && <Make onClose={() => setMaking(false)} />}
      <Confirm
        open={ending !== null}
        onOpenChange={(o) => {
          if (o) return
          end.clear()
          setEnding(null)
        }}
        title={t('revokeTitle')}
        verb={t('revokeDo')}
        busy={end.busy}
        onConfirm={() => ending && end.run(ending)}
        fields={end.error !== null && <ErrorBox error={end.error} />}
      >
        {ending && t('revokeText', { n: left(ending) })}
      </Confirm>
    </Page>
  )
}

function Named({ b }: { b: Batch }) {
  return (
    <span translate="no" className="block max-w-[40ch] break-words">
      {b.note}
      <code className="block text-label text-ink3">{b.id}</code>
    </span>
  )
}

function Redeemed({ b }: { b: Batch }) {
  const t = useT('vouchers')
  return (
    <span className="tabular-nums">
      {t('of', { part: integer(b.redeemed), all: integer(b.codes * b.uses) })}
    </span>
  )
}

function State({ b }: { b: Batch }) {
  const t = useT('vouchers')
  if (b.revoked_at) return <Tag>{t.rich('revoked', { date: <When at={b.revoked_at} form="date" /> })}</Tag>
  if (expired(b)) return <Tag>{t.rich('expired', { date: <When at={b.expires_at} form="date" /> })}</Tag>
  if (left(b) <= 0) return <Tag>{t('used')}</Tag>
  return (
    <Tag tone="good">
      {b.expires_at ? t.rich('until', { date: <When at={b.expires_at} form="date" /> }) : t('open')}
    </Tag>
  )
}

function Make({ onClose }: { onClose: () => void }) {
  const t = useT('vouchers')
  const c = useT('common')
  const [worth, setWorth] = useState('500')
  const [codes, setCodes] = useState('1')
  const [uses, setUses] = useState('1')
  const [note, setNote] = useState('')
  const [until, setUntil] = useState('')
  const [secrets, setSecrets] = useState<readonly string[] | null>(null)
  const amount = decimal(worth.trim().replace(',', '.'))
  const count = /^\d+$/.test(codes) && /^\d+$/.test(uses) ? Number(codes) * Number(uses) : 0
  const make = useAction(async () => {
    const { data } = await post('/api/admin/vouchers', {
      body: {
        amount: amount ? plain(amount) : '0',
        codes: Number(codes) || 0,
        uses: Number(uses) || 0,
        ...(note.trim() ? { note: note.trim() } : {}),
        ...(until ? { expires_at: endOfDay(until) } : {}),
      },
    })
    setSecrets(data.secrets ?? [])
    void renew(listVouchers)
  })
  return (
    <Dialog
      open
      onOpenChange={(o) => !o && onClose()}
      title={secrets ? t('made') : t('make')}
      description={t('makeText')}
      footer={
        secrets ? (
          <>
            <Copy text={secrets.join('\n')}>{c('copy')}</Copy>
            <Button look="main" onClick={onClose}>
              {t('done')}
            </Button>
          </>
        ) : (
          <>
            <Button onClick={onClose}>{c('cancel')}</Button>
            <Button look="main" type="submit" form="vouchers" busy={make.busy}>
              {t('makeDo')}
            </Button>
          </>
        )
      }
    >
      {secrets ? (
        <ul className="m-0 max-h-80 list-none overflow-y-auto p-0" aria-label={t('made')}>
          {secrets.map((s) => (
            <li key={s}>
              <code className="break-all">{s}</code>
            </li>
          ))}
        </ul>
      ) : (
        <form id="vouchers" noValidate onSubmit={make.submit} className="flex flex-col gap-4 pt-1">
          <Field label={t('amount')} error={make.at('amount')}>
            <Input
              value={worth}
              onChange={(e) => setWorth(e.target.value)}
              inputMode="decimal"
              autoComplete="off"
              unit="₽"
            />
          </Field>
          <Field label={t('codes')} error={make.at('codes')}>
            <Input
              value={codes}
              onChange={(e) => setCodes(e.target.value)}
              inputMode="numeric"
              autoComplete="off"
            />
          </Field>
          <Field label={t('uses')} error={make.at('uses')}>
            <Input
              value={uses}
              onChange={(e) => setUses(e.target.value)}
              inputMode="numeric"
              autoComplete="off"
            />
          </Field>
          <Field label={t('reason')} error={make.at('note')}>
            <Input
              value={note}
              onChange={(e) => setNote(e.target.value)}
              maxLength={500}
              autoComplete="off"
            />
          </Field>
          <Field
            label={t('expires')}
            help={c('endOfDay', { zone: zoneName() })}
            optional
            error={make.at('expires_at')}
          >
            <Input type="date" value={until} onChange={(e) => setUntil(e.target.value)} />
          </Field>
          {amount && count > 0 && (
            <p role="status" className="text-small text-ink2">
              {t('effect', { sum: money(plain(times(amount, count)), { exact: true }) })}
            </p>
          )}
          {make.except('amount', 'codes', 'uses', 'note', 'expires_at') !== null && (
            <ErrorBox error={make.error} />
          )}
        </form>
      )}
    </Dialog>
  )
}
