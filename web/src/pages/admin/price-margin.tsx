/** The margin of all endpoints, of a vendor's or of a provider's, into the draft: said as what it does. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import type { Reply } from '../../api/client'
import { post } from '../../api/client'
import { getAdminCatalog } from '../../api/operations'
import { add, decimal, multiply, percent, short, type Decimal } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Checkbox, Field, Input, Select } from '../../ui/field'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'
import { doubtful, fraction, renewPrices } from './price-data'
import { amount } from './provider-data'

type Rate = Reply<'/api/admin/prices'>['rate']

/** What a dollar costs a customer: with the margin, and the tax that is added to it. */
function dollar(rate: Rate, percents: Decimal): string | null {
  const r = decimal(rate.rate)
  if (!r) return null
  const more = (by: Decimal) => add(decimal('1')!, multiply(by, decimal('0.01')!))
  const sold = multiply(r, more(percents))
  const vat = rate.vat?.mode === 'on_top' ? decimal(rate.vat.percent) : null
  return short(vat ? multiply(sold, more(vat)) : sold, 4)
}

const each = (list: readonly string[]) => [...new Set(list)].sort()

export function SetMargin({ rate, q, version }: { rate: Rate; q: string; version: number }) {
  const t = useT('adminprices')
  const c = useT('common')
  const [open, setOpen] = useState(false)
  const [margin, setMargin] = useState('')
  const [whose, setWhose] = useState('')
  const [sure, setSure] = useState(false)
  const catalog = useQuery({ ...getAdminCatalog(), enabled: open })
  const ids = (catalog.data?.endpoints ?? []).filter((e) => e.on).map((e) => e.id.split('/'))
  const typed = decimal(amount(margin))
  const cost = typed && dollar(rate, typed)
  const high = doubtful(amount(margin))
  const save = useAction(async () => {
    const [kind, name] = whose.split(' ')
    await post('/api/admin/prices/margin', {
      body: {
        margin: margin.trim() === '' ? '' : fraction(amount(margin)),
        version,
        ...(kind === 'provider' && name ? { provider: name } : {}),
        ...(kind === 'vendor' && name ? { vendor: name } : {}),
        ...(kind === 'found' ? { q } : {}),
      },
    })
    await renewPrices()
    toast(t('drafted'))
    setOpen(false)
    setMargin('')
    setSure(false)
  })
  const error = save.except('margin')
  return (
    <Dialog
      open={open}
      onOpenChange={(o) => {
        save.clear()
        setOpen(o)
      }}
      trigger={<Button>{t('setMargin')}</Button>}
      title={t('setMargin')}
      description={t('setMarginText')}
      footer={
        <>
          <Button look="main" type="submit" form="margin" busy={save.busy} disabled={high && !sure}>
            {t('intoDraft')}
          </Button>
          <Button onClick={() => setOpen(false)}>{c('cancel')}</Button>
        </>
      }
    >
      <form id="margin" onSubmit={save.submit} noValidate className="flex flex-col gap-4">
        <Field label={t('whose')}>
          <Select
            value={whose}
            onChange={(e) => setWhose(e.target.value)}
            options={[
              { value: '', label: t('ofAll') },
              ...(q ? [{ value: 'found', label: t('ofFound', { q }) }] : []),
              ...each(ids.map((id) => id[1] ?? '')).map((v) => ({
                value: `vendor ${v}`,
                label: t('ofVendor', { name: v }),
              })),
              ...each(ids.map((id) => id[0] ?? '')).map((p) => ({
                value: `provider ${p}`,
                label: t('ofProvider', { name: p }),
              })),
            ]}
          />
        </Field>
        <Field label={t('marginMany')} help={t('marginHelp')} error={save.at('margin')}>
          <Input
            value={margin}
            onChange={(e) => setMargin(e.target.value)}
            inputMode="decimal"
            autoComplete="off"
          />
        </Field>
        {cost && (
          <p aria-live="polite">
            {t('marginDoes', { margin: percent(Number(amount(margin))), rubles: cost })}
          </p>
        )}
        {high && (
          <Notice tone="warn" title={t('marginHigh')}>
            <Checkbox checked={sure} onChange={setSure}>
              {t('marginMeant')}
            </Checkbox>
          </Notice>
        )}
        {error !== null && <ErrorBox error={error} />}
      </form>
    </Dialog>
  )
}
