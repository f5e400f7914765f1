import { useState } from 'react'
import { ApiError, post } from '../api/client'
import { explain } from '../api/explain'
import { meQuery, queries, useMe } from '../api/query'
import { useT } from '../i18n'
import { Button } from '../ui/button'
import { Field, Input } from '../ui/field'
import { Dialog } from '../ui/overlay'

/** Sign-in over the page: when the session is over, or before something that matters. What was typed on the page stays. */
export default function Gate({ why, onDone }: { why: 'expired' | 'prove'; onDone: (ok: boolean) => void }) {
  const t = useT('common')
  const me = useMe()
  const [email, setEmail] = useState(me?.user?.email ?? '')
  const [password, setPassword] = useState('')
  const [error, setError] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const withoutPassword = why === 'prove' && me?.user?.has_password === false
  const submit = async () => {
    setBusy(true)
    setError(null)
    try {
      if (why === 'prove') await post('/api/auth/prove', { body: { password }, quiet: true })
      else queries.setQueryData(meQuery.queryKey, await post('/api/auth/sign-in', { body: { email, password }, quiet: true }) as never)
      onDone(true)
    } catch (e) {
      setError(e instanceof ApiError && e.field === 'password' ? t('error_authentication') : explain(e))
      setBusy(false)
    }
  }
  return (
    <Dialog open onOpenChange={(open) => { if (!open) onDone(false) }} title={why === 'prove' ? t('prove') : t('sessionOver')} description={why === 'prove' ? t('proveText') : t('sessionOverText')}>
      {withoutPassword
        ? <div className="pt-2"><p className="pb-3">{t('proveNoPassword')}</p><Button look="main" onClick={() => location.assign(`/sign-in?to=${encodeURIComponent(location.pathname + location.search)}`)}>{t('signIn')}</Button></div>
        : (
          <form className="flex flex-col gap-4 pt-2" onSubmit={(e) => { e.preventDefault(); void submit() }}>
            {why === 'expired' && <Field label={t('email')}><Input type="email" autoComplete="username" value={email} onChange={(e) => setEmail(e.target.value)} required /></Field>}
            <Field label={t('password')} error={error}><Input type="password" autoComplete="current-password" value={password} onChange={(e) => setPassword(e.target.value)} required autoFocus /></Field>
            <Button type="submit" look="main" busy={busy}>{why === 'prove' ? t('confirm') : t('signIn')}</Button>
          </form>
        )}
    </Dialog>
  )
}
