import { Suspense, lazy, useState } from 'react'
import { useAction } from '../api/action'
import { ApiError, post } from '../api/client'
import { explain } from '../api/explain'
import { explainPasskey, proveWithPasskey, signInWithPasskey } from '../api/passkey'
import { meQuery, queries, useMe } from '../api/query'
import { useT } from '../i18n'
import { Button } from '../ui/button'
import { Field, Input } from '../ui/field'
import { Dialog } from '../ui/overlay'

const Elsewhere = lazy(() => import('../api/elsewhere'))

/** Sign-in over the page: when the session is over, or before something that matters. What was typed on the page stays. */
export default function Gate({ why, onDone }: { why: 'expired' | 'prove'; onDone: (ok: boolean) => void }) {
  const t = useT('common')
  const me = useMe()
  const [email, setEmail] = useState(me?.user?.email ?? '')
  const [password, setPassword] = useState('')
  const [second, setSecond] = useState<string | undefined>()
  const required = second !== undefined || (why === 'prove' && me?.user?.second_step === true)
  const withPassword =
    !required && me?.features.passwords !== false && (why === 'expired' || me?.user?.has_password !== false)
  const withPasskey =
    me?.features.passkeys === true &&
    'PublicKeyCredential' in window &&
    (why === 'expired' || (me.user?.passkeys ?? 0) > 0)
  const others = required
    ? []
    : (me?.features.oidc.filter((p) => why === 'expired' || me.user?.providers.includes(p.id)) ?? [])
  const enter = async (by: 'password' | 'passkey') => {
    if (why === 'prove')
      await (by === 'passkey'
        ? proveWithPasskey()
        : post('/api/auth/prove', { body: { password }, quiet: true }))
    else {
      const reply =
        by === 'passkey'
          ? await signInWithPasskey(second)
          : await post('/api/auth/sign-in', { body: { email, password }, quiet: true })
      if ('second_step' in reply) {
        setSecond(reply.second_step)
        return
      }
      queries.setQueryData(meQuery.queryKey, reply as never)
    }
    onDone(true)
  }
  const byPassword = useAction(() => enter('password'))
  const byPasskey = useAction(() => enter('passkey'), {
    failed: (e) => {
      if (e instanceof ApiError) setSecond(undefined) // a step works once
    },
  })
  const busy = byPassword.busy || byPasskey.busy
  const wrong = byPassword.at('password')
    ? t('error_authentication')
    : byPassword.error !== null && explain(byPassword.error)
  return (
    <Dialog
      open
      onOpenChange={(open) => {
        if (!open) onDone(false)
      }}
      title={why === 'prove' ? t('prove') : t('sessionOver')}
      description={why === 'prove' ? t('proveText') : t('sessionOverText')}
    >
      <div className="flex flex-col gap-4 pt-2">
        {withPassword && (
          <form
            className="flex flex-col gap-4"
            onSubmit={(e) => {
              e.preventDefault()
              if (busy) return
              byPasskey.clear()
              byPassword.run()
            }}
          >
            {why === 'expired' && (
              <Field label={t('email')}>
                <Input
                  type="email"
                  autoComplete="username"
                  value={email}
                  onChange={(e) => setEmail(e.target.value)}
                  required
                />
              </Field>
            )}
            <Field label={t('password')} error={wrong}>
              <Input
                type="password"
                autoComplete="current-password"
                value={password}
                onChange={(e) => setPassword(e.target.value)}
                required
                autoFocus
              />
            </Field>
            <Button type="submit" look="main" busy={byPassword.busy}>
              {why === 'prove' ? t('confirm') : t('signIn')}
            </Button>
          </form>
        )}
        {!withPassword && <p>{t(required ? 'secondRequired' : 'proveNoPassword')}</p>}
        {withPasskey && (
          <Button
            icon="passkey"
            look={withPassword ? 'plain' : 'main'}
            busy={byPasskey.busy}
            onClick={() => {
              if (busy) return
              byPassword.clear()
              byPasskey.run()
            }}
          >
            {t('usePasskey')}
          </Button>
        )}
        {me && others.length > 0 && (
          <Suspense fallback={null}>
            <Elsewhere
              providers={others}
              purpose={why === 'prove' ? 'prove' : 'sign_in'}
              to={location.pathname + location.search}
            />
          </Suspense>
        )}
        {byPasskey.error !== null && (
          <p role="alert" className="text-small text-bad">
            {explainPasskey(byPasskey.error)}
          </p>
        )}
        {!withPassword && (
          <Button
            look={withPasskey ? 'plain' : 'main'}
            onClick={() =>
              location.assign(`/sign-in?to=${encodeURIComponent(location.pathname + location.search)}`)
            }
          >
            {t('signIn')}
          </Button>
        )}
      </div>
    </Dialog>
  )
}
