/** Returns money of a payment: says first how much of how much, and what the wallet keeps. */
import { useId, useState } from 'react'
import { useAction } from '../../api/action'
import { post } from '../../api/client'
import { said } from '../../api/explain'
import { compare, decimal, money, plain, subtract, ZERO } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox } from '../../ui/feedback'
import { Checkbox, Field, Input } from '../../ui/field'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'
import { refreshPayments, type Detail } from './payment-data'

const exact = (v: string) => money(v, { exact: true })

export function Refund({ p, onClose }: { p: Detail; onClose: () => void }) {
  const t = useT('adminmoney')
  const c = useT('common')
  const form = useId()
  const [typed, setTyped] = useState(p.left)
  const [reason, setReason] = useState('')
  const [reference, setReference] = useState('')
  const [below, setBelow] = useState(false)
  const left = decimal(p.left) ?? ZERO
  const amount = decimal(typed.replace(',', '.').replace(/\s/g, ''))
  const good = amount !== null && amount.digits > 0n && compare(amount, left) <= 0
  const after = good && p.available !== null ? subtract(decimal(p.available) ?? ZERO, amount) : null
  const owes = after !== null && after.digits < 0n
  const give = useAction(async () => {
    if (!good) return
    const { data } = await post('/api/admin/payments/{id}/refund', {
      path: { id: p.id },
      body: {
        amount: plain(amount),
        reason: reason.trim(),
        reference: reference.trim(),
        refunded: p.refunded,
        ...(owes && below ? { below_zero: true } : {}),
      },
    })
    await refreshPayments()
    toast(t(`refund_${data.state}`, { amount: exact(data.amount) }))
    onClose()
  })
  const shown = good ? exact(plain(amount)) : '…'
  return (
    <Dialog
      open
      onOpenChange={(o) => !o && onClose()}
      title={t('refundTitle')}
      footer={
        <>
          <Button onClick={onClose}>{c('cancel')}</Button>
          <Button look="bad" type="submit" form={form} busy={give.busy} disabled={!good || (owes && !below)}>
            {t('refundDo', { amount: shown })}
          </Button>
        </>
      }
    >
      <form id={form} noValidate onSubmit={give.submit} className="flex flex-col gap-4 pt-1">
        <Field
          label={t('refundAmount')}
          error={give.at('amount') ?? (good ? undefined : t('refundWrong', { left: exact(p.left) }))}
        >
          <Input
            value={typed}
            onChange={(e) => setTyped(e.target.value)}
            inputMode="decimal"
            autoComplete="off"
            unit="₽"
          />
        </Field>
        <Field label={t('refundReason')} help={t('refundReasonHelp')} error={give.at('reason')}>
          <Input
            value={reason}
            onChange={(e) => setReason(e.target.value)}
            maxLength={1000}
            autoComplete="off"
          />
        </Field>
        <Field label={t('reference')} help={t('referenceHelp')} error={give.at('reference')}>
          <Input
            value={reference}
            onChange={(e) => setReference(e.target.value)}
            maxLength={50}
            autoComplete="off"
          />
        </Field>
        <p role="status" className="rounded-control bg-sunken px-3 py-2.5 text-small text-ink2">
          {t('refundEffect', {
            amount: shown,
            paid: exact(p.paid ?? '0'),
            method: p.method ?? p.provider,
          })}{' '}
          {after !== null &&
            (owes
              ? t('refundOwes', { owes: exact(plain(subtract(ZERO, after))) })
              : t('refundKeeps', { keeps: exact(plain(after)) }))}
        </p>
        {owes && (
          <Checkbox checked={below} onChange={setBelow}>
            {t('refundBelow')}
          </Checkbox>
        )}
        {give.except('amount', 'reason', 'reference') !== null && (
          <ErrorBox error={give.error} title={said(give.error)} />
        )}
      </form>
    </Dialog>
  )
}
