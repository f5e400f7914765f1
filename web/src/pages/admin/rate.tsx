/** What a dollar of a provider costs the customers, and where that is changed. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { post, type Reply } from '../../api/client'
import { add, compare, decimal, multiply, percent, plain, short, ZERO } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'
import { amount, renewAll } from './provider-data'

export function Rate({ rate, may }: { rate: Reply<'/api/admin/providers/{id}'>['rate']; may: boolean }) {
  const t = useT('providers')
  const [setting, setSetting] = useState(false)
  const standard = rate.source === 'static' && rate.rate === '100'
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <p className="text-ink2">
          <Effect rate={rate.rate} margin={rate.margin} />
        </p>
        {may && (
          <Button small icon="edit" onClick={() => setSetting(true)}>
            {t('setRate')}
          </Button>
        )}
      </div>
      {standard && <Notice tone="warn" title={t('rateDefault')} />}
      {setting && <SetRate rate={rate.rate} margin={rate.margin} onClose={() => setSetting(false)} />}
    </div>
  )
}

/** A rate and a margin as what they do. */
function Effect({ rate, margin }: { rate: string; margin: string }) {
  const t = useT('providers')
  const r = decimal(rate),
    m = decimal(margin)
  if (!r || !m) return null
  const sold = short(multiply(r, add(decimal('1')!, m)), 4)
  return (
    <>
      {t('rate', { rate: short(r, 4) })}{' '}
      {compare(m, ZERO) !== 0 && t('rateMargin', { margin: percent(Number(margin) * 100), sold })}
    </>
  )
}

/** Above this margin a person is asked whether it is meant: 15 is more often 15 % than 1500 %. */
const doubtful = decimal('0.5')!

function SetRate({ rate, margin, onClose }: { rate: string; margin: string; onClose: () => void }) {
  const t = useT('providers')
  const c = useT('common')
  const [r, setR] = useState(rate)
  const [percents, setPercents] = useState(plain(multiply(decimal(margin)!, decimal('100')!)))
  const [asked, setAsked] = useState(false)
  const fraction = decimal(amount(percents))
  const part = fraction && plain(multiply(fraction, decimal('0.01')!))
  const high = fraction !== null && compare(multiply(fraction, decimal('0.01')!), doubtful) > 0
  const save = useAction(async () => {
    if (high && !asked) {
      setAsked(true)
      return
    }
    await post('/api/admin/rates', { body: { rate: amount(r), margin: part ?? amount(percents) } })
    await renewAll()
    toast(t('rateSet'))
    onClose()
  })
  const error = save.except('rate', 'margin')
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('setRate')}
      description={t('setRateText')}
      footer={
        <>
          <Button look="main" type="submit" form="rate" busy={save.busy}>
            {asked && high ? t('rateMeant') : t('setRate')}
          </Button>
          <Button onClick={onClose}>{c('cancel')}</Button>
        </>
      }
    >
      <form id="rate" onSubmit={save.submit} noValidate className="flex flex-col gap-4">
        <Field label={t('rateField')} error={save.at('rate')}>
          <Input value={r} onChange={(e) => setR(e.target.value)} inputMode="decimal" autoComplete="off" />
        </Field>
        <Field label={t('marginField')} error={save.at('margin')}>
          <Input
            value={percents}
            onChange={(e) => {
              setPercents(e.target.value)
              setAsked(false)
            }}
            inputMode="decimal"
            autoComplete="off"
          />
        </Field>
        {part && decimal(amount(r)) && (
          <p role="status" className="text-ink2">
            <Effect rate={amount(r)} margin={part} />
          </p>
        )}
        {asked && high && <Notice tone="warn" title={t('rateHigh', { margin: percents })} />}
        {error !== null && <ErrorBox error={error} />}
      </form>
    </Dialog>
  )
}
