/** The password: set, changed, removed. Loaded with the page of the account's security. */
import { useAction } from '../../api/action'
import { useState } from 'react'
import { ApiError, post, remove } from '../../api/client'
import { explain } from '../../api/explain'
import type { Me } from '../../api/query'
import { listSessions } from '../../api/operations'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Confirm } from '../../ui/overlay'
import { Panel } from '../../ui/page'
import { toast } from '../../ui/toast'
import { renew } from './parts'

export default function Password({ me }: { me: Me }) {
  const t = useT('settings')
  const has = me.user?.has_password === true
  // The passkey that the account requires says more than the present password.
  const asks = has && me.user?.second_step !== true
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const [removing, setRemoving] = useState(false)
  const save = useAction(async () => {
    await post('/api/auth/password', { body: { password, ...(asks ? { current } : {}) } })
    setCurrent('')
    setPassword('')
    await renew(listSessions)
    toast(t('passwordSaved'))
  })
  const error = save.except('current', 'password')
  const end = useAction(
    async () => {
      await remove('/api/auth/password')
      await renew(listSessions)
      toast(t('passwordRemoved'))
    },
    {
      failed: (e) => toast(e instanceof ApiError && e.status === 409 ? t('lastWay') : explain(e)),
      settled: () => setRemoving(false),
    },
  )
  const others = (me.user?.passkeys ?? 0) > 0 || (me.user?.providers.length ?? 0) > 0
  return (
    <Panel
      title={t('passwordTitle')}
      actions={
        has &&
        others && (
          <Button small onClick={() => setRemoving(true)}>
            {t('removePassword')}
          </Button>
        )
      }
    >
      <p className="pb-4 text-ink2">{has ? t('passwordText') : t('passwordNone')}</p>
      <form onSubmit={save.submit} className="flex max-w-md flex-col gap-4">
        <input type="email" autoComplete="username" value={me.user?.email ?? ''} readOnly hidden />
        {asks && (
          <Field label={t('current')} error={save.at('current')}>
            <Input
              type="password"
              autoComplete="current-password"
              value={current}
              required
              maxLength={256}
              onChange={(e) => setCurrent(e.target.value)}
            />
          </Field>
        )}
        <Field label={t('newPassword')} help={t('newPasswordHelp')} error={save.at('password')}>
          <Input
            type="password"
            autoComplete="new-password"
            value={password}
            required
            minLength={10}
            maxLength={256}
            onChange={(e) => setPassword(e.target.value)}
          />
        </Field>
        {error !== null && <ErrorBox error={error} title={explain(error)} />}
        <div>
          <Button type="submit" busy={save.busy}>
            {has ? t('changePassword') : t('setPassword')}
          </Button>
        </div>
      </form>
      {removing && (
        <Confirm
          open
          onOpenChange={(o) => {
            if (!o) setRemoving(false)
          }}
          title={t('removePasswordTitle')}
          verb={t('remove')}
          busy={end.busy}
          onConfirm={() => end.run()}
        >
          {t('removePasswordText')}
        </Confirm>
      )}
    </Panel>
  )
}
