import { useAction } from '../../api/action'
import { useState } from 'react'
import { post } from '../../api/client'
import { explain } from '../../api/explain'
import { renew } from '../../api/query'
import { listAccountKeys } from '../../api/operations'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox } from '../../ui/feedback'
import { Checkbox, Field, Input } from '../../ui/field'
import { Dialog } from '../../ui/overlay'

/** A key for programs, made where its code is. Its text is on the page until it is left, and nowhere else. */
export default function MakeKey({
  model,
  onClose,
  onMade,
}: {
  model: string
  onClose: () => void
  onMade: (secret: string) => void
}) {
  const t = useT('model'),
    c = useT('common')
  const [name, setName] = useState(model.slice(0, 60))
  const [only, setOnly] = useState(false)
  const make = useAction(async () => {
    if (!name.trim()) return
    const made = await post('/api/keys', {
      body: { name: name.trim(), ...(only ? { allowed_models: [model] } : {}) },
    })
    void renew(listAccountKeys)
    onMade(made.key)
  })
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('makeKey')}
      description={t('makeKeyText')}
      footer={
        <>
          <Button look="main" type="submit" form="make-key" busy={make.busy} disabled={!name.trim()}>
            {t('makeKey')}
          </Button>
          <Button onClick={onClose}>{c('cancel')}</Button>
        </>
      }
    >
      <form id="make-key" onSubmit={make.submit} className="flex flex-col gap-3 pt-2">
        <Field label={t('keyName')}>
          <Input
            value={name}
            maxLength={256}
            required
            autoComplete="off"
            onChange={(e) => setName(e.target.value)}
          />
        </Field>
        <Checkbox checked={only} onChange={setOnly}>
          {t('keyOnly')}
        </Checkbox>
        {make.error !== null && <ErrorBox error={make.error} title={explain(make.error)} />}
      </form>
    </Dialog>
  )
}
