/** The code of a voucher into the wallet. */
import { useAction } from '../../api/action'
import { useState } from 'react'
import { ApiError, post, type Reply } from '../../api/client'
import { explain } from '../../api/explain'
import { renew } from '../../api/query'
import { getCredits, getLedger, getOverview } from '../../api/operations'
import { money } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Notice } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Dialog } from '../../ui/overlay'

type Done = Reply<'/api/vouchers/redeem', 'post'>['data']

export function Redeem() {
  const t = useT('money')
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('redeem')}</Button>
      {open && <Form onClose={() => setOpen(false)} />}
    </>
  )
}

function Form({ onClose }: { onClose: () => void }) {
  const t = useT('money')
  const [code, setCode] = useState('')
  const [done, setDone] = useState<Done | null>(null)
  const why = (e: unknown) => {
    if (!(e instanceof ApiError)) return explain(e)
    if (e.status === 409) return t.or(`code_${String(e.metadata.reason)}`, explain(e))
    return e.status === 404
      ? t('code_unknown')
      : e.status === 429
        ? t('code_limited')
        : e.status === 400
          ? t('code_wrong')
          : explain(e)
  }
  const redeem = useAction(async () => {
    setDone((await post('/api/vouchers/redeem', { body: { code } })).data)
    void renew(getLedger, getCredits, getOverview)
  })
  const again = done?.repeated === true
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('redeem')}
      description={t('redeemText')}
      footer={
        done ? (
          <Button look="main" onClick={onClose}>
            OK
          </Button>
        ) : (
          <Button look="main" type="submit" form="redeeming" busy={redeem.busy}>
            {t('redeemDo')}
          </Button>
        )
      }
    >
      {done ? (
        <div role="status">
          <Notice
            tone={again ? 'warn' : 'good'}
            title={
              again ? t('redeemedBefore') : t('redeemed', { amount: money(done.amount, { exact: true }) })
            }
          >
            {again
              ? t('redeemedBeforeText', { amount: money(done.amount, { exact: true }) })
              : t('redeemedText')}
          </Notice>
        </div>
      ) : (
        <form id="redeeming" onSubmit={redeem.submit} noValidate>
          <Field label={t('code')} error={redeem.error === null ? undefined : why(redeem.error)}>
            <Input
              value={code}
              onChange={(e) => setCode(e.target.value)}
              autoComplete="off"
              autoCapitalize="characters"
              spellCheck={false}
              maxLength={100}
              placeholder="7K3M-Q2XV-0000-0000-0000"
              className="font-mono"
            />
          </Field>
        </form>
      )}
    </Dialog>
  )
}
