/** Makes an organization, and goes to its members. */
import { useState } from 'react'
import { useAction } from '../api/action'
import { post } from '../api/client'
import { useT } from '../i18n'
import { Button } from '../ui/button'
import { ErrorBox } from '../ui/feedback'
import { Field, Input } from '../ui/field'
import { Dialog } from '../ui/overlay'

export default function NewOrganization({ onClose }: { onClose: () => void }) {
  const t = useT('accounts'),
    c = useT('common')
  const [name, setName] = useState('')
  const make = useAction(
    async () => {
      const { data } = await post('/api/organizations', { body: { name: name.trim() } })
      location.assign(`/org/members?account=${data.id}`)
    },
    { leaves: true },
  )
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('make')}
      description={t('makeText')}
      footer={
        <>
          <Button onClick={onClose}>{c('cancel')}</Button>
          <Button look="main" type="submit" form="organization" busy={make.busy}>
            {t('makeDo')}
          </Button>
        </>
      }
    >
      <form id="organization" noValidate onSubmit={make.submit} className="flex flex-col gap-4 pt-2">
        <Field label={t('name')} error={make.at('name')}>
          <Input
            value={name}
            onChange={(e) => setName(e.target.value)}
            maxLength={256}
            autoComplete="off"
            required
            autoFocus
          />
        </Field>
        {make.except('name') !== null && <ErrorBox error={make.error} />}
      </form>
    </Dialog>
  )
}
