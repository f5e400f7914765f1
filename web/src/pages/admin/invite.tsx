/** A link with which somebody makes an account. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { post } from '../../api/client'
import { listInvitations } from '../../api/operations'
import { renew, useMe } from '../../api/query'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Secret } from '../../ui/copy'
import { ErrorBox } from '../../ui/feedback'
import { Field, Input, Select } from '../../ui/field'
import { Dialog } from '../../ui/overlay'

export function Invite() {
  const t = useT('people')
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button look="main" icon="plus" onClick={() => setOpen(true)}>
        {t('invite')}
      </Button>
      {open && <Form onClose={() => setOpen(false)} />}
    </>
  )
}

function Form({ onClose }: { onClose: () => void }) {
  const t = useT('people'),
    c = useT('common')
  const administrator = useMe()?.user?.role === 'administrator'
  const [email, setEmail] = useState('')
  const [note, setNote] = useState('')
  const [role, setRole] = useState<'user' | 'operator' | 'administrator'>('user')
  const [url, setUrl] = useState<string | null>(null)
  const make = useAction(async () => {
    const { data } = await post('/api/invitations', {
      body: {
        role,
        ...(email.trim() ? { email: email.trim() } : {}),
        ...(note.trim() ? { note: note.trim() } : {}),
      },
    })
    setUrl(data.url ?? null)
    void renew(listInvitations)
  })
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('inviteTitle')}
      description={t('inviteText')}
      footer={
        url ? (
          <Button look="main" onClick={onClose}>
            {t('done')}
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>{c('cancel')}</Button>
            <Button look="main" type="submit" form="invite" busy={make.busy}>
              {t('inviteDo')}
            </Button>
          </>
        )
      }
    >
      {url ? (
        <Secret value={url} label={t('invited')} />
      ) : (
        <form id="invite" noValidate onSubmit={make.submit} className="flex flex-col gap-4">
          <Field label={t('inviteEmail')} optional help={t('inviteEmailHelp')} error={make.at('email')}>
            <Input type="email" value={email} onChange={(e) => setEmail(e.target.value)} autoComplete="off" />
          </Field>
          {administrator && (
            <Field label={t('inviteRole')} error={make.at('role')}>
              <Select
                value={role}
                onChange={(e) => setRole(e.target.value as typeof role)}
                options={(['user', 'operator', 'administrator'] as const).map((r) => ({
                  value: r,
                  label: t(`role_${r}`),
                }))}
              />
            </Field>
          )}
          <Field label={t('inviteNote')} optional help={t('inviteNoteHelp')} error={make.at('note')}>
            <Input
              value={note}
              onChange={(e) => setNote(e.target.value)}
              maxLength={200}
              autoComplete="off"
            />
          </Field>
          {make.except('email', 'role', 'note') !== null && <ErrorBox error={make.error} />}
        </form>
      )}
    </Dialog>
  )
}
