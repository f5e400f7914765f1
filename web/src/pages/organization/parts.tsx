/** What the windows of an organization share. */
import { useAction } from '../../api/action'
import type { ReactNode } from 'react'
import type { Reply } from '../../api/client'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { Confirm, Dialog } from '../../ui/overlay'

export type Organization = Reply<'/api/organizations/{id}'>['data']
export type Member = Reply<'/api/organizations/{id}/members'>['data'][number]
export type Team = Organization['teams'][number]
export type Service = NonNullable<Organization['services']>[number]
export type Invitation = NonNullable<Organization['invitations']>[number]

/** Asks before something that cannot be undone, and does it. */
export function Sure({
  title,
  verb,
  act,
  typed,
  onClose,
  children,
}: {
  title: string
  verb: string
  typed?: string
  act: () => Promise<void>
  onClose: () => void
  children: ReactNode
}) {
  const doing = useAction(async () => {
    await act()
    onClose()
  })
  return (
    <Confirm
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={title}
      verb={verb}
      {...(typed === undefined ? {} : { typed })}
      busy={doing.busy}
      onConfirm={() => doing.run()}
      fields={doing.error !== null && <ErrorBox error={doing.error} />}
    >
      {children}
    </Confirm>
  )
}

/** A window with a form; once `shown` is there, with that alone: what is shown only now. */
export function Form({
  title,
  text,
  verb,
  shown,
  doing,
  fields,
  onClose,
  children,
}: {
  title: string
  text?: string
  verb: string
  shown?: ReactNode
  doing: ReturnType<typeof useAction<[]>>
  fields: readonly string[]
  onClose: () => void
  children: ReactNode
}) {
  const t = useT('organization'),
    c = useT('common')
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={title}
      description={text}
      footer={
        shown ? (
          <Button look="main" onClick={onClose}>
            {t('done')}
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>{c('cancel')}</Button>
            <Button look="main" type="submit" form="organization" busy={doing.busy}>
              {verb}
            </Button>
          </>
        )
      }
    >
      {shown || (
        <form id="organization" noValidate onSubmit={doing.submit} className="flex flex-col gap-4 pt-2">
          {children}
          {doing.except(...fields) !== null && <ErrorBox error={doing.error} />}
        </form>
      )}
    </Dialog>
  )
}

export function TeamField({
  groups,
  value,
  onChange,
  error,
}: {
  groups: readonly Team[]
  value: string
  onChange: (team: string) => void
  error: string | undefined
}) {
  const t = useT('organization')
  return (
    <Field label={t('team')} error={error}>
      <Select
        value={value}
        onChange={(e) => onChange(e.target.value)}
        options={[{ value: '', label: t('noTeam') }, ...groups.map((g) => ({ value: g.id, label: g.name }))]}
      />
    </Field>
  )
}
