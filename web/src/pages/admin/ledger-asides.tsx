/** Charges that could not be posted: charged after all, or given up with a reason. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { post, type Reply } from '../../api/client'
import { getAdminLedger } from '../../api/operations'
import { renew, useMe } from '../../api/query'
import { money } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Link } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Confirm } from '../../ui/overlay'
import { Panel } from '../../ui/page'
import { toast } from '../../ui/toast'
import { When } from '../../ui/values'

type Books = Reply<'/api/admin/ledger'>['data']
type Aside = Books['set_aside'][number]

export function Asides({ books }: { books: Books }) {
  const t = useT('adminledger')
  const decides = useMe()?.user?.role === 'administrator'
  const [dismissing, dismiss] = useState<Aside | null>(null)
  const all = books.set_aside
  if (all.length === 0)
    return (
      <Panel title={t('aside')}>
        <p className="text-ink2">{t('nothingWaits')}</p>
      </Panel>
    )
  return (
    <Panel
      title={t('aside')}
      note={<Tag tone="warn">{t('asideCount', { n: all.length, amount: money(books.aside_cost) })}</Tag>}
      flush
    >
      <ul aria-label={t('aside')} className="divide-y divide-line border-t border-line">
        {all.map((a) => (
          <Row key={a.id} a={a} decides={decides} dismiss={dismiss} />
        ))}
      </ul>
      {!decides && <p className="px-4 py-2.5 text-small text-ink3">{t('onlyAdministrators')}</p>}
      {dismissing && <Dismiss key={dismissing.id} a={dismissing} close={() => dismiss(null)} />}
    </Panel>
  )
}

function Row({ a, decides, dismiss }: { a: Aside; decides: boolean; dismiss: (a: Aside) => void }) {
  const t = useT('adminledger')
  const amount = money(a.cost, { exact: true })
  const again = useAction(async () => {
    await post('/api/admin/ledger/aside/{id}/post', { path: { id: String(a.id) } })
    toast(t('posted', { amount }))
    await renew(getAdminLedger)
  })
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-64">
        <p className="font-medium">{t('asideOf', { amount })}</p>
        <p className="flex flex-wrap gap-x-3 text-small text-ink2">
          <When at={a.at} form="full" />
          <span translate="no" className="break-all">
            {a.wallet === null ? t('asideNobody') : t('asideWallet', { wallet: a.wallet })}
          </span>
          {a.generation !== null && (
            <Link to={`/admin/calls/${a.generation}`} className="break-all">
              {a.generation}
            </Link>
          )}
        </p>
        <p lang="en" className="text-small wrap-anywhere text-ink2">
          {a.reason}
        </p>
        {again.error !== null && <ErrorBox error={again.error} />}
      </div>
      {decides && (
        <span className="flex flex-wrap gap-2">
          <Button small busy={again.busy} onClick={() => again.run()}>
            {t('again')}
          </Button>
          <Button small look="bad" onClick={() => dismiss(a)}>
            {t('dismiss')}
          </Button>
        </span>
      )}
    </li>
  )
}

function Dismiss({ a, close }: { a: Aside; close: () => void }) {
  const t = useT('adminledger')
  const [reason, setReason] = useState('')
  const amount = money(a.cost, { exact: true })
  const dismiss = useAction(async () => {
    await post('/api/admin/ledger/aside/{id}/dismiss', { path: { id: String(a.id) }, body: { reason } })
    toast(t('dismissed', { amount }))
    await renew(getAdminLedger)
    close()
  })
  const other = dismiss.except('reason')
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={t('dismissTitle')}
      verb={t('dismiss')}
      busy={dismiss.busy}
      onConfirm={() => dismiss.run()}
      fields={
        <>
          <Field label={t('reason')} error={dismiss.at('reason')}>
            <Input value={reason} onChange={(e) => setReason(e.target.value)} maxLength={1000} />
          </Field>
          {other !== null && <ErrorBox error={other} />}
        </>
      }
    >
      {t('dismissText', {
        amount,
        who: a.wallet === null ? t('dismissNobody') : t('asideWallet', { wallet: a.wallet }),
      })}
    </Confirm>
  )
}
