/** All prices, or those that were found, by a percentage. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { post } from '../../api/client'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'
import { renewPrices } from './price-data'
import { amount } from './provider-data'

export function Raise({ q, version }: { q: string; version: number }) {
  const t = useT('adminprices')
  const c = useT('common')
  const [open, setOpen] = useState(false)
  const [percent, setPercent] = useState('')
  const raise = useAction(async () => {
    await post('/api/admin/prices/raise', {
      body: { percent: amount(percent), version, ...(q ? { q } : {}) },
    })
    await renewPrices()
    toast(t('drafted'))
    setOpen(false)
    setPercent('')
  })
  const error = raise.except('percent')
  return (
    <Dialog
      open={open}
      onOpenChange={(o) => {
        raise.clear()
        setOpen(o)
      }}
      trigger={<Button>{t('raise')}</Button>}
      title={t('raise')}
      description={q ? t('raiseFound', { q }) : t('raiseAll')}
      footer={
        <>
          <Button look="main" type="submit" form="raise" busy={raise.busy} disabled={percent.trim() === ''}>
            {t('intoDraft')}
          </Button>
          <Button onClick={() => setOpen(false)}>{c('cancel')}</Button>
        </>
      }
    >
      <form id="raise" onSubmit={raise.submit} noValidate className="flex flex-col gap-4">
        <Field label={t('percent')} help={t('percentHelp')} error={raise.at('percent')}>
          <Input
            value={percent}
            onChange={(e) => setPercent(e.target.value)}
            inputMode="text"
            autoComplete="off"
          />
        </Field>
        {error !== null && <ErrorBox error={error} />}
      </form>
    </Dialog>
  )
}
