/** The window in which an operator gives a setting another value for a while. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { put, remove, type Reply } from '../../api/client'
import { listSettings } from '../../api/operations'
import { renew } from '../../api/query'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'

type Setting = Reply<'/api/admin/settings'>['data'][number]

const spans = ['900', '3600', '28800', '86400'] as const

export function Change({ s }: { s: Setting }) {
  const t = useT('adminsettings')
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button small onClick={() => setOpen(true)} aria-label={t('changeOf', { key: s.key })}>
        {t('change')}
      </Button>
      {open && <Window s={s} onClose={() => setOpen(false)} />}
    </>
  )
}

function Window({ s, onClose }: { s: Setting; onClose: () => void }) {
  const t = useT('adminsettings')
  const c = useT('common')
  const [value, setValue] = useState(s.value ?? s.values[0]!)
  const [span, setSpan] = useState<string>('3600')
  const after = async (said: 'heldFor' | 'back') => {
    await renew(listSettings)
    toast(t(said))
    onClose()
  }
  const save = useAction(async () => {
    await put('/api/admin/settings/{key}', {
      path: { key: s.key },
      body: { value, seconds: Number(span) },
    })
    await after('heldFor')
  })
  const back = useAction(async () => {
    await remove('/api/admin/settings/{key}', { path: { key: s.key } })
    await after('back')
  })
  const error = save.error ?? back.error
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={<span translate="no">{s.key}</span>}
      description={t('forAWhile')}
      footer={
        <>
          <Button look="main" type="submit" form="setting" busy={save.busy}>
            {t('setFor')}
          </Button>
          {s.until !== null && (
            <Button busy={back.busy} onClick={() => back.run()}>
              {t('reset')}
            </Button>
          )}
          <Button onClick={onClose}>{c('cancel')}</Button>
        </>
      }
    >
      <form id="setting" onSubmit={save.submit} className="flex flex-col gap-4">
        <Field label={t('value')}>
          <Select
            value={value}
            onChange={(e) => setValue(e.target.value)}
            options={s.values.map((v) => ({ value: v, label: v }))}
          />
        </Field>
        <Field label={t('howLong')}>
          <Select
            value={span}
            onChange={(e) => setSpan(e.target.value)}
            options={spans.map((v) => ({ value: v, label: t(`span_${v}`) }))}
          />
        </Field>
        {error !== null && <ErrorBox error={error} />}
      </form>
    </Dialog>
  )
}
