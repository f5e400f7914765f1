/** The pages behind the links of a change of address: one uses the new address, the other keeps the former one. */
import { useEffect, useState } from 'react'
import { useAction } from '../api/action'
import { ApiError, post, type Reply } from '../api/client'
import { explain } from '../api/explain'
import { loadMessages, useT } from '../i18n'
import { Button } from '../ui/button'
import { Bad, Problem, TextButton } from './parts'

interface Props {
  view: 'new-email' | 'keep-email'
  token: string
  me: Reply<'/api/me'>
  onView: (v: 'sign-in' | 'recover') => void
}

export default function Address(props: Props) {
  const [ready, setReady] = useState(false)
  useEffect(() => {
    void loadMessages(['address']).then(() => setReady(true))
  }, [])
  return ready ? <Page {...props} /> : <div className="late h-40" aria-hidden />
}

function Page({ view, token, me, onView }: Props) {
  const t = useT('address')
  const [email, setEmail] = useState<string | null>(null)
  const [state, setState] = useState<'asking' | 'bad' | 'ready' | 'done'>('asking')
  const [unknown, setUnknown] = useState<unknown>(null)
  const isBad = (e: unknown) => e instanceof ApiError && (e.field === 'token' || e.status === 404)
  // What the link is for is asked first. The button uses it: programs that look into mails open links, and press nothing.
  useEffect(() => {
    post('/api/auth/link', { body: { kind: view === 'new-email' ? 'address' : 'undo', token } }).then(
      (l) => {
        setEmail(l.email)
        setState('ready')
      },
      (e: unknown) => (isBad(e) ? setState('bad') : setUnknown(e)),
    )
  }, [view, token])
  const use = useAction(
    async () => {
      await (view === 'new-email'
        ? post('/api/auth/email/confirm', { body: { token }, quiet: true })
        : post('/api/auth/keep-email', { body: { token } }))
      setState('done')
    },
    {
      failed: (e) => {
        if (isBad(e)) setState('bad')
      },
    },
  )
  const address = (
    <strong className="font-medium break-words text-ink" translate="no">
      {email}
    </strong>
  )
  if (state === 'bad') return <Bad onBack={() => onView('sign-in')} />
  if (state === 'asking')
    return unknown ? <Problem>{explain(unknown)}</Problem> : <div className="late h-24" aria-hidden />
  if (state === 'done') {
    return view === 'new-email' ? (
      <>
        <p role="status" className="text-ink2">
          {t.rich('moved', { email: address })}
        </p>
        <p className="pt-4">
          <a href="/settings/profile" className="font-medium text-accent-ink">
            {t('toProfile')}
          </a>
        </p>
      </>
    ) : (
      <>
        <p role="status" className="text-ink2">
          {t.rich('kept', { email: address })}
        </p>
        {me.features.mail && (
          <p className="pt-4">
            <TextButton onClick={() => onView('recover')}>{t('newPassword')}</TextButton>
          </p>
        )}
      </>
    )
  }
  if (view === 'new-email' && !me.user)
    return (
      <>
        <p className="text-ink2">{t.rich('signInFirst', { email: address })}</p>
        <p className="pt-4">
          <TextButton onClick={() => onView('sign-in')}>{t('signIn')}</TextButton>
        </p>
      </>
    )
  const { error } = use
  const wrong =
    error instanceof ApiError && error.status === 403
      ? t('otherAccount')
      : use.at('email')
        ? t('taken')
        : error
          ? explain(error)
          : null
  return (
    <div className="flex flex-col gap-4">
      <p className="text-ink2">
        {view === 'new-email'
          ? t.rich('useText', {
              email: address,
              name: (
                <span className="text-ink" translate="no">
                  {me.user?.name}
                </span>
              ),
            })
          : t.rich('keepText', { email: address })}
      </p>
      {wrong && <Problem>{wrong}</Problem>}
      <Button look="main" wide busy={use.busy} onClick={() => use.run()}>
        {view === 'new-email' ? t('use') : t('keep')}
      </Button>
    </div>
  )
}
