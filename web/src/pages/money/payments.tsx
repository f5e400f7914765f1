/** What the account has paid, for the statement and the page of a top-up. */
import { useQuery } from '@tanstack/react-query'
import type { Reply } from '../../api/client'
import { listPayments } from '../../api/operations'
import { useT } from '../../i18n'
import { Empty } from '../../ui/feedback'
import { LinkButton } from '../../ui/link'
import { State } from '../../ui/marks'
import type { Column } from '../../ui/columns'
import { Table } from '../../ui/table'
import { Money, When } from '../../ui/values'

type Payment = Reply<'/api/payments'>['data'][number]
const tones = { pending: 'hold', succeeded: 'good', canceled: 'plain' } as const

export const usePayments = () => useQuery(listPayments())

export function Payments({ rows }: { rows: readonly Payment[] }) {
  const t = useT('pay')
  const sum = (p: Payment) => <Money value={p.paid ?? p.amount} exact />
  const state = (p: Payment) => <State tone={tones[p.state]}>{t(`state_${p.state}`)}</State>
  const columns: Column<Payment>[] = [
    {
      key: 'date',
      head: t('date'),
      cell: (p) => (
        <>
          <When at={p.created_at} />
          {p.automatic && <span className="text-ink3"> · {t('automatic')}</span>}
        </>
      ),
    },
    { key: 'state', head: t('state'), cell: state },
    {
      key: 'method',
      head: t('method'),
      from: 'md',
      cell: (p) =>
        p.method ??
        (p.state === 'pending' && p.url ? (
          <LinkButton to="/money/top-up" search={{ payment: p.id }} small>
            {t('continue')}
          </LinkButton>
        ) : null),
    },
    {
      key: 'refunded',
      head: t('refunded'),
      align: 'end',
      from: 'lg',
      cell: (p) => p.refunded !== '0' && <Money value={p.refunded} exact />,
    },
    { key: 'amount', head: t('amount'), align: 'end', cell: sum },
  ]
  return (
    <div className="overflow-clip rounded-panel border border-line bg-surface">
      <Table
        caption={t('payments')}
        rows={[...rows]}
        rowKey={(p) => p.id}
        columns={columns}
        empty={
          <Empty icon="wallet" title={t('empty')}>
            {t('emptyText')}
          </Empty>
        }
        phone={(p) => (
          <div>
            <div className="flex gap-3">
              <span className="flex-1">{state(p)}</span>
              <span className="num">{sum(p)}</span>
            </div>
            <div className="pt-1 text-small text-ink3">
              <When at={p.created_at} />
              {p.automatic && ` · ${t('automatic')}`}
            </div>
          </div>
        )}
      />
    </div>
  )
}
