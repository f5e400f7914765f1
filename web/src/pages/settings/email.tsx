/** Asks for another e-mail address. It changes when the link that goes there is opened. */
import { useAction } from '../../api/action'
import { useState } from 'react'
import { post } from '../../api/client'
import { explain } from '../../api/explain'
import { useLanguage, useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Panel } from '../../ui/page'

export default function Email({ onClose }: { onClose: () => void }) {
  const t = useT('settings'),
    c = useT('common')
  const locale = useLanguage()
  const [email, setEmail] = useState('')
  const [sent, setSent] = useState<string | null>(null)
  const ask = useAction(async () => {
    await post('/api/auth/email', { body: { email, locale } })
    setSent(email)
  })
  const error = ask.except('email')
  return (
    <Panel title={t('newEmail')}>
      {sent ? (
        <Notice tone="good" title={t('emailSent', { email: sent })} />
      ) : (
        <form onSubmit={ask.submit} className="flex max-w-md flex-col gap-4">
          <Field label={t('newEmail')} help={t('newEmailHelp')} error={ask.at('email')}>
            <Input
              type="email"
              autoComplete="email"
              value={email}
              required
              maxLength={254}
              autoFocus
              onChange={(e) => setEmail(e.target.value)}
            />
          </Field>
          {error !== null && <ErrorBox error={error} title={explain(error)} />}
          <div className="flex gap-2">
            <Button type="submit" look="main" busy={ask.busy}>
              {t('sendLink')}
            </Button>
            <Button onClick={onClose}>{c('cancel')}</Button>
          </div>
        </form>
      )}
    </Panel>
  )
}
