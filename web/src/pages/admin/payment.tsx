/** /admin/payments/$id: one payment, what happened to it, and its refund. */
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { getAnyPayment } from '../../api/operations'
import { useMe } from '../../api/query'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Link } from '../../ui/link'
import { Page, PageHead, Panel, Strip } from '../../ui/page'
import { Table } from '../../ui/table'
import { Money, When } from '../../ui/values'
import { Ask, How, Remedy, Who, type Detail } from './payment-data'
import { Refund } from './payment-refund'

type Event = Detail['events'][number]

export default function Payment() {
  const t = useT('adminmoney')
  const { id } = useParams({ strict: false }) as { id: string }
  const administrator = useMe()?.user?.role === 'administrator'
  const q = useQuery(getAnyPayment({ path: { id } }))
  const [refunding, setRefunding] = useState(false)
  const p = q.data?.data
  const crumbs = [{ label: t('payments'), to: '/admin/payments' }, { label: id }]
  if (p?.id !== id)
    return (
      <Page>
        <PageHead title={t('payment')} crumbs={crumbs} />
        {q.error ? <ErrorBox error={q.error} onRetry={() => void q.refetch()} /> : <SkeletonRows rows={6} />}
      </Page>
    )
  return (
    <Page>
      <PageHead
        title={
          <span className="flex flex-wrap items-center gap-x-3">
            <Money value={p.paid ?? p.amount} exact />
            <How p={p} />
          </span>
        }
        name={t('payment')}
        crumbs={crumbs}
      >
        {p.hangs === null && p.may_check && <Ask id={p.id} provider={p.provider} />}
        {administrator && p.may_refund && (
          <Button look="bad" onClick={() => setRefunding(true)}>
            {t('refund')}
          </Button>
        )}
      </PageHead>
      <div className="flex flex-col gap-4">
        <Remedy p={p} />
        <Strip
          items={[
            { label: t('person'), value: <Who r={p} /> },
            { label: t('asked_for'), value: <Money value={p.amount} headline /> },
            { label: t('refunded'), value: <Money value={p.refunded} headline /> },
            { label: t('left'), value: <Money value={p.left} headline /> },
            { label: t('wallet'), value: <Money value={p.available} headline /> },
          ]}
        />
        <Panel title={t('history')} flush>
          <Table<Event>
            caption={t('history')}
            rows={p.events}
            rowKey={(e) => `${e.at} ${e.what} ${e.refund ?? ''}`}
            columns={[
              { key: 'at', head: t('at'), cell: (e) => <When at={e.at} form="full" /> },
              { key: 'what', head: t('what'), cell: (e) => <What e={e} /> },
              { key: 'by', head: t('by'), from: 'md', cell: (e) => <By e={e} /> },
              {
                key: 'amount',
                head: t('amountRubles'),
                align: 'end',
                cell: (e) => e.amount !== null && <Money value={e.amount} exact sign={false} />,
              },
            ]}
            phone={(e) => (
              <div className="flex flex-col gap-0.5 py-1">
                <span className="flex gap-2">
                  <span className="min-w-0 flex-1">
                    <What e={e} />
                  </span>
                  {e.amount !== null && <Money value={e.amount} exact />}
                </span>
                <span className="text-small text-ink3">
                  <When at={e.at} form="full" /> <By e={e} />
                </span>
              </div>
            )}
          />
        </Panel>
        <Panel title={t('known')}>
          <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
            {(
              [
                [t('id'), p.id],
                [t('provider'), p.provider],
                [t('providerID'), p.provider_id],
                [t('method'), p.method],
                [t('reason'), p.reason],
              ] as const
            ).map(
              ([name, value]) =>
                value !== null && (
                  <div key={name} className="contents">
                    <dt className="text-ink3">{name}</dt>
                    <dd className="m-0 wrap-anywhere" translate="no">
                      {value}
                    </dd>
                  </div>
                ),
            )}
            {p.next_at !== null && (
              <>
                <dt className="text-ink3">{t('next')}</dt>
                <dd className="m-0">
                  <When at={p.next_at} />
                </dd>
              </>
            )}
          </dl>
          <p className="pt-3">
            <Link to="/admin/audit" search={{ target: p.id }}>
              {t('inAudit')}
            </Link>
          </p>
        </Panel>
      </div>
      {refunding && <Refund p={p} onClose={() => setRefunding(false)} />}
    </Page>
  )
}

function What({ e }: { e: Event }) {
  const t = useT('adminmoney')
  return (
    <span className="wrap-anywhere">
      {t(`event_${e.what}`)}
      {e.note !== null && (
        <span translate="no" className="block max-w-[60ch] text-small text-ink3">
          {e.note}
        </span>
      )}
    </span>
  )
}

function By({ e }: { e: Event }) {
  return (
    <span translate="no" className="wrap-anywhere">
      {e.actor_name ?? e.actor}
    </span>
  )
}
