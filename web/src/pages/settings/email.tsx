/** Asks for another e-mail address. It changes when the link that goes there is opened. */
import { useState, type FormEvent } from 'react'
import { ApiError, post } from '../../api/client'
import { explain, said } from '../../api/explain'
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
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const field = error instanceof ApiError && error.field === 'email' ? said(error) : undefined
  const ask = async (e: FormEvent) => {
    e.preventDefault()
    if (busy) return
    setBusy(true)
    setError(null)
    try {
      await post('/api/auth/email', { body: { email, locale } })
      setSent(email)
    } catch (e) {
      setError(e)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Panel title={t('newEmail')}>
      {sent ? (
        <Notice tone="good" title={t('emailSent', { email: sent })} />
      ) : (
        <form
          onSubmit={(e) => {
            void ask(e)
          }}
          className="flex max-w-md flex-col gap-4"
        >
          <Field label={t('newEmail')} help={t('newEmailHelp')} error={field}>
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
          {error !== null && !field && <ErrorBox error={error} title={explain(error)} />}
          <div className="flex gap-2">
            <Button type="submit" look="main" busy={busy}>
              {t('sendLink')}
            </Button>
            <Button onClick={onClose}>{c('cancel')}</Button>
          </div>
        </form>
      )}
    </Panel>
  )
}
