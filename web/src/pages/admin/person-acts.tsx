/** What operators do with a person. Each window says first what will happen, with numbers. */
import { useState, type ReactNode } from 'react'
import { useAction } from '../../api/action'
import { patch, post } from '../../api/client'
import { useMe } from '../../api/query'
import { money } from '../../format'
import { useT } from '../../i18n'
import { Button, IconButton } from '../../ui/button'
import { Secret } from '../../ui/copy'
import { ErrorBox } from '../../ui/feedback'
import { Checkbox, Field, Select } from '../../ui/field'
import { Menu } from '../../ui/menu'
import { Confirm, Dialog, Sheet } from '../../ui/overlay'
import { toast, toastError } from '../../ui/toast'
import { draftOf, KeyFields, useKeyForm } from '../account/key-form'
import { ResetSpending } from '../account/key-parts'
import { Adjust, type Refund } from './adjust'
import { refresh, type Person, type UserKey } from './person-data'

type Window =
  | { kind: 'adjust'; of?: Refund | undefined }
  | { kind: 'reset' | 'role' | 'block' | 'end' }
  | { kind: 'key' | 'limit' | 'spending'; key: UserKey }

/** What can be done with a person; with `refund` giving back what a call cost is open. */
export function useActs(
  p: Person,
  refund?: Refund,
): {
  adjust: (call?: string) => void
  reset: () => void
  role: () => void
  block: () => void
  unblock: () => void
  end: () => void
  see: () => void
  turn: (k: UserKey) => ReactNode
  more: (k: UserKey) => ReactNode
  busy: boolean
  windows: ReactNode
} {
  const t = useT('people')
  const [at, show] = useState<Window | null>(refund ? { kind: 'adjust', of: refund } : null)
  const close = () => show(null)
  const act = useAction((run: () => Promise<unknown>) => run().then(refresh).then(close), {
    failed: toastError,
  })
  const path = { id: p.id }
  const switchKey = (k: UserKey, disabled: boolean) =>
    act.run(async () => {
      await patch('/api/admin/users/{id}/keys/{hash}', {
        path: { ...path, hash: k.hash },
        body: { disabled },
      })
      toast(t(disabled ? 'disabled' : 'enabled', { name: k.name }))
    })
  const block = (blocked: boolean) =>
    act.run(async () => {
      await post(blocked ? '/api/admin/users/{id}/block' : '/api/admin/users/{id}/unblock', { path })
      toast(t(blocked ? 'blockedNow' : 'unblockedNow', { name: p.name }))
    })
  const shut = (o: boolean) => {
    if (!o) close()
  }
  const working = p.keys.filter((k) => !k.disabled).length
  const windows = (
    <>
      {at?.kind === 'adjust' && <Adjust p={p} of={at.of} onClose={close} />}
      {at?.kind === 'reset' && <Reset p={p} onClose={close} />}
      {at?.kind === 'role' && <Role p={p} onClose={close} />}
      {at?.kind === 'limit' && <ChangeKey p={p} k={at.key} onClose={close} />}
      {at?.kind === 'spending' && (
        <ResetSpending
          why
          k={at.key}
          reset={(reason) =>
            post('/api/admin/users/{id}/keys/{hash}/reset-spending', {
              path: { ...path, hash: at.key.hash },
              body: { reason },
            }).then(refresh)
          }
          onClose={close}
        />
      )}
      {at?.kind === 'end' && <End p={p} working={working} onClose={close} />}
      <Confirm
        open={at?.kind === 'block'}
        onOpenChange={shut}
        title={t('blockTitle', { name: p.name })}
        verb={t('block')}
        busy={act.busy}
        onConfirm={() => block(true)}
      >
        {[
          working > 0 && t('blockKeys', { n: working }),
          p.sessions > 0 && t('blockSessions', { n: p.sessions }),
          p.running === null
            ? t('blockRunningSome')
            : p.running > 0
              ? t('blockRunning', { n: p.running })
              : t('blockRunningNone'),
        ]
          .filter(Boolean)
          .join(' ')}{' '}
        {t('blockMoney', { balance: money(p.balance, { exact: true }) })}
      </Confirm>
      <Confirm
        open={at?.kind === 'key'}
        onOpenChange={shut}
        title={t('disableTitle', { name: at?.kind === 'key' ? at.key.name : '' })}
        verb={t('disable')}
        busy={act.busy}
        onConfirm={() => {
          if (at?.kind === 'key') switchKey(at.key, true)
        }}
      >
        {t('disableText')}
      </Confirm>
    </>
  )
  return {
    adjust: (call) => show({ kind: 'adjust', ...(call ? { of: { call } } : {}) }),
    reset: () => show({ kind: 'reset' }),
    role: () => show({ kind: 'role' }),
    block: () => show({ kind: 'block' }),
    unblock: () => block(false),
    end: () => show({ kind: 'end' }),
    see: () =>
      act.run(async () => {
        await post('/api/admin/users/{id}/see', { path })
        location.assign('/')
      }),
    more: (k) => (
      <Menu
        trigger={<IconButton icon="more" label={t('keyMore', { name: k.name })} />}
        items={[
          { label: t('keyChange'), icon: 'sliders', onSelect: () => show({ kind: 'limit', key: k }) },
          ...(k.limit === null
            ? []
            : [
                {
                  label: t('keyReset'),
                  icon: 'wallet',
                  onSelect: () => show({ kind: 'spending', key: k }),
                } as const,
              ]),
        ]}
      />
    ),
    turn: (k) =>
      k.disabled ? (
        <Button
          small
          busy={act.busy}
          aria-label={`${t('enable')}: ${k.name}`}
          onClick={() => switchKey(k, false)}
        >
          {t('enable')}
        </Button>
      ) : (
        <Button small aria-label={`${t('disable')}: ${k.name}`} onClick={() => show({ kind: 'key', key: k })}>
          {t('disable')}
        </Button>
      ),
    busy: act.busy,
    windows,
  }
}

function ChangeKey({ p, k, onClose }: { p: Person; k: UserKey; onClose: () => void }) {
  const c = useT('common')
  const form = useKeyForm(draftOf(k), async (body) => {
    await patch('/api/admin/users/{id}/keys/{hash}', { path: { id: p.id, hash: k.hash }, body })
    await refresh()
    toast(c('saved'))
    onClose()
  })
  return (
    <Sheet
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={k.name}
      footer={
        <>
          <Button look="main" type="submit" form="user-key" busy={form.action.busy}>
            {c('save')}
          </Button>
          <Button onClick={onClose}>{c('cancel')}</Button>
        </>
      }
    >
      <form
        id="user-key"
        onSubmit={(e) => {
          e.preventDefault()
          form.save()
        }}
        className="flex flex-col gap-4"
      >
        <KeyFields form={form} />
      </form>
    </Sheet>
  )
}

function End({ p, working, onClose }: { p: Person; working: number; onClose: () => void }) {
  const t = useT('people')
  const [keys, setKeys] = useState(true)
  const withKeys = keys && working > 0
  const end = useAction(
    async () => {
      const { data } = await post('/api/admin/users/{id}/sign-out', {
        path: { id: p.id },
        body: { keys: withKeys },
      })
      toast(t('ended', { sessions: data.sessions, keys: data.keys }))
      await refresh()
      onClose()
    },
    { failed: toastError },
  )
  return (
    <Confirm
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('endTitle', { name: p.name })}
      verb={t(withKeys ? 'endWith' : 'end')}
      busy={end.busy}
      onConfirm={() => end.run()}
      fields={
        working > 0 && (
          <Checkbox checked={keys} onChange={setKeys}>
            {t('endKeys', { n: working })}
          </Checkbox>
        )
      }
    >
      {t('endText', { sessions: p.sessions })}
    </Confirm>
  )
}

function Reset({ p, onClose }: { p: Person; onClose: () => void }) {
  const t = useT('people'),
    c = useT('common')
  const administrator = useMe()?.user?.role === 'administrator'
  const [url, setUrl] = useState<string | null>(null)
  const make = useAction(async () => {
    const { data } = await post('/api/admin/users/{id}/password-link', { path: { id: p.id } })
    if (data.url) setUrl(data.url)
    else {
      toast(t('resetSent', { email: p.email ?? '' }))
      onClose()
    }
  })
  const may = p.sends_mail || administrator
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('resetTitle', { name: p.name })}
      description={
        p.sends_mail ? t('resetMail', { email: p.email ?? '—' }) : t(may ? 'resetHand' : 'resetNot')
      }
      footer={
        url ? (
          <Button look="main" onClick={onClose}>
            {t('done')}
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>{c('cancel')}</Button>
            {may && (
              <Button look="main" busy={make.busy} onClick={() => make.run()}>
                {t(p.sends_mail ? 'resetDo' : 'resetMake')}
              </Button>
            )}
          </>
        )
      }
    >
      {url && <Secret value={url} label={t('resetLink')} />}
      {make.error !== null && <ErrorBox error={make.error} />}
    </Dialog>
  )
}

function Role({ p, onClose }: { p: Person; onClose: () => void }) {
  const t = useT('people'),
    c = useT('common')
  const [role, setRole] = useState<Person['role']>(p.role)
  const give = useAction(async () => {
    await patch('/api/admin/users/{id}', { path: { id: p.id }, body: { role } })
    toast(t('roleDone', { name: p.name, role: t(`role_${role}`) }))
    await refresh()
    onClose()
  })
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('roleTitle', { name: p.name })}
      description={t('roleText')}
      footer={
        <>
          <Button onClick={onClose}>{c('cancel')}</Button>
          <Button look="main" type="submit" form="role" busy={give.busy} disabled={role === p.role}>
            {t('roleDo')}
          </Button>
        </>
      }
    >
      <form id="role" onSubmit={give.submit}>
        <Field label={t('role')}>
          <Select
            value={role}
            onChange={(e) => setRole(e.target.value as Person['role'])}
            options={(['user', 'operator', 'administrator'] as const).map((r) => ({
              value: r,
              label: t(`role_${r}`),
            }))}
          />
        </Field>
      </form>
      {give.error !== null && (
        <div className="pt-3">
          <ErrorBox error={give.error} />
        </div>
      )}
    </Dialog>
  )
}
