/** Corrects a balance, or gives back what a call cost: what it will be afterwards, and what the person will read of it. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { post } from '../../api/client'
import { add, compare, decimal, money, negate, plain, ZERO } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Segmented } from '../../ui/controls'
import { ErrorBox } from '../../ui/feedback'
import { Checkbox, Field, Input } from '../../ui/field'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'
import { refresh, type Person } from './person-data'

type How = 'add' | 'take' | 'refund'

/** A reference for a correction that has no ticket or letter. */
function made() {
  const bytes = crypto.getRandomValues(new Uint8Array(6))
  return `console-${[...bytes].map((b) => b.toString(16).padStart(2, '0')).join('')}`
}

export interface Refund {
  readonly call: string
  readonly reference?: string | undefined
}

export function Adjust({ p, of, onClose }: { p: Person; of?: Refund | undefined; onClose: () => void }) {
  const call = of?.call ?? ''
  const t = useT('people'),
    c = useT('common')
  const [how, setHow] = useState<How>(call ? 'refund' : 'add')
  const [typed, setAmount] = useState('')
  const [generation, setGeneration] = useState(call)
  const [reason, setReason] = useState('')
  const [reference, setReference] = useState(of?.reference ?? '')
  const [own] = useState(made) // of this window: sent again, it moves money once, too
  const [below, setBelow] = useState(false)
  const [tried, setTried] = useState(false)
  const amount = decimal(typed.replace(',', '.').replace(/\s/g, ''))
  const good = amount !== null && amount.digits > 0n
  const signed = good ? (how === 'take' ? negate(amount) : amount) : ZERO
  const balance = decimal(p.balance) ?? ZERO
  const more = how === 'take' && good && compare(amount, decimal(p.available) ?? ZERO) > 0
  const move = useAction(async () => {
    setTried(true)
    if (how === 'refund' ? typed.trim() !== '' && !good : !good) return
    const shared = { reason, reference: reference.trim() || own }
    const { data } =
      how === 'refund'
        ? await post('/api/admin/refunds', {
            body: { generation, ...shared, ...(good ? { amount: plain(amount) } : {}) },
          })
        : await post('/api/admin/adjustments', {
            body: {
              user: p.id,
              amount: plain(signed),
              ...shared,
              ...(more && below ? { below_zero: true } : {}),
            },
          })
    await refresh()
    toast(t('adjusted', { amount: money(data.amount, { exact: true, plus: true }) }))
    onClose()
  })
  const shown = good ? money(plain(amount), { exact: true }) : '…'
  const words = { amount: shown, reason: reason.trim() || t('noReason') }
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('adjustTitle', { name: p.name })}
      footer={
        <>
          <Button onClick={onClose}>{c('cancel')}</Button>
          <Button look="main" type="submit" form="adjust" busy={move.busy}>
            {how === 'refund' ? t('refundDo') : t(`${how}Do`, { amount: shown })}
          </Button>
        </>
      }
    >
      <form id="adjust" noValidate onSubmit={move.submit} className="flex flex-col gap-4 pt-1">
        <div>
          <Segmented
            label={t('how')}
            value={how}
            onChange={setHow}
            options={(['add', 'take', 'refund'] as const).map((v) => ({ value: v, label: t(v) }))}
          />
        </div>
        {how === 'refund' && (
          <Field label={t('call')} error={move.at('generation')}>
            <Input
              value={generation}
              onChange={(e) => setGeneration(e.target.value.trim())}
              placeholder="gen-…"
              autoComplete="off"
              spellCheck={false}
            />
          </Field>
        )}
        <Field
          label={t('amount')}
          optional={how === 'refund'}
          {...(how === 'refund' ? { help: t('refundAmountHelp') } : {})}
          error={
            move.at('amount') ??
            (tried && !good && (how !== 'refund' || typed.trim() !== '') ? t('amountWrong') : undefined)
          }
        >
          <Input
            value={typed}
            onChange={(e) => setAmount(e.target.value)}
            inputMode="decimal"
            autoComplete="off"
            unit="₽"
          />
        </Field>
        <Field label={t('reason')} error={move.at('reason')}>
          <Input
            value={reason}
            onChange={(e) => setReason(e.target.value)}
            maxLength={1000}
            autoComplete="off"
          />
        </Field>
        <Field label={t('reference')} optional help={t('referenceHelp')} error={move.at('reference')}>
          <Input
            value={reference}
            onChange={(e) => setReference(e.target.value)}
            maxLength={200}
            autoComplete="off"
          />
        </Field>
        {more && (
          <Checkbox checked={below} onChange={setBelow}>
            {t('below')}
          </Checkbox>
        )}
        <div className="rounded-control bg-sunken px-3 py-2.5 text-small text-ink2" role="status">
          <p>
            {how === 'refund'
              ? t('effectRefund', { before: money(p.balance, { exact: true }) })
              : t('effect', {
                  before: money(p.balance, { exact: true }),
                  after: money(plain(add(balance, signed)), { exact: true }),
                })}
          </p>
          <p className="pt-1">{t('reads', { text: t(`reads_${how}`, words) })}</p>
        </div>
        {move.except('generation', 'amount', 'reason', 'reference') !== null && (
          <ErrorBox error={move.error} />
        )}
      </form>
    </Dialog>
  )
}
