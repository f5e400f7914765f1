/** How the person signs in: password, passkeys, and the browsers in which they are signed in. */
import { useAction } from '../../api/action'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState, type ReactNode } from 'react'
import { ApiError, patch, remove, type Reply } from '../../api/client'
import { explain } from '../../api/explain'
import { problemOf, visit } from '../../api/elsewhere'
import { addPasskey, explainPasskey, requirePasskey } from '../../api/passkey'
import { useMe, type Me } from '../../api/query'
import { listIdentities, listPasskeys, listSessions } from '../../api/operations'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Tag } from '../../ui/marks'
import { Menu } from '../../ui/menu'
import { Confirm, Dialog } from '../../ui/overlay'
import { IconButton } from '../../ui/button'
import { Panel } from '../../ui/page'
import { toast, toastError } from '../../ui/toast'
import { When } from '../../ui/values'
import { Settings, browserOf, renew } from './parts'

type Session = Reply<'/api/auth/sessions'>['data'][number]
type Identity = Reply<'/api/auth/identities'>['data'][number]
type Passkey = Reply<'/api/auth/passkeys'>['data'][number]
const Password = lazy(() => import('./password'))

function useBrowser() {
  const t = useT('settings')
  return (agent: string | null) => {
    const b = browserOf(agent)
    return b ? t('browserOn', b) : t('unknownBrowser')
  }
}

/** A row of a list: what it is, what more there is to say, and what can be done. */
function Row({ title, note, children }: { title: ReactNode; note: ReactNode; children: ReactNode }) {
  return (
    <li className="flex items-center gap-3 border-t border-line px-4 py-3 first:border-t-0">
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-center gap-2 font-medium break-words">{title}</div>
        <div className="text-small text-ink3">{note}</div>
      </div>
      {children}
    </li>
  )
}

/** A name, asked for in a window. */
function Naming({
  title,
  name: before,
  verb,
  run,
  onClose,
  help,
}: {
  title: string
  name: string
  verb: string
  help?: string
  run: (name: string) => Promise<void>
  onClose: () => void
}) {
  const t = useT('settings'),
    c = useT('common')
  const [name, setName] = useState(before)
  const save = useAction(async () => {
    if (name.trim() === '') return
    await run(name.trim())
    onClose()
  })
  const error = save.except('name')
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={title}
      footer={
        <>
          <Button look="main" type="submit" form="naming" busy={save.busy}>
            {verb}
          </Button>
          <Button onClick={onClose}>{c('cancel')}</Button>
        </>
      }
    >
      <form id="naming" onSubmit={save.submit} className="flex flex-col gap-3 pt-2">
        <Field label={t('passkeyName')} help={help} error={save.at('name')}>
          <Input
            value={name}
            required
            maxLength={60}
            autoFocus
            autoComplete="off"
            onChange={(e) => setName(e.target.value)}
          />
        </Field>
        {error !== null && (
          <p role="alert" className="text-small text-bad">
            {explainPasskey(error)}
          </p>
        )}
      </form>
    </Dialog>
  )
}

function Passkeys({ me }: { me: Me }) {
  const t = useT('settings')
  const browser = useBrowser()
  const { data, error, refetch } = useQuery(listPasskeys())
  const [adding, setAdding] = useState(false)
  const [renaming, setRenaming] = useState<Passkey | null>(null)
  const [removing, setRemoving] = useState<Passkey | null>(null)
  const can = me.features.passkeys && 'PublicKeyCredential' in window
  const end = useAction(
    async (k: Passkey) => {
      await remove('/api/auth/passkeys/{id}', { path: { id: k.id } })
      await renew(listPasskeys, listSessions)
    },
    {
      failed: (e) =>
        toast(
          e instanceof ApiError && e.status === 409
            ? t(me.user?.second_step ? 'lastRequired' : 'lastWay')
            : explain(e),
        ),
      settled: () => setRemoving(null),
    },
  )
  return (
    <Panel
      title={t('passkeys')}
      flush
      actions={
        can && (
          <Button small icon="plus" onClick={() => setAdding(true)}>
            {t('addPasskey')}
          </Button>
        )
      }
    >
      <p className="px-4 pb-3 text-ink2">
        {can ? t('passkeysText') : me.features.passkeys ? t('passkeysBrowser') : t('passkeysAddress')}
      </p>
      {error && !data ? (
        <div className="px-4 pb-4">
          <ErrorBox error={error} onRetry={() => void refetch()} />
        </div>
      ) : !data ? (
        <div className="px-4 pb-4">
          <SkeletonRows rows={2} />
        </div>
      ) : data.data.length === 0 ? (
        <p className="border-t border-line px-4 py-3 text-ink3">{t('passkeysNone')}</p>
      ) : (
        <ul className="m-0 list-none border-t border-line p-0">
          {data.data.map((k) => (
            <Row
              key={k.id}
              title={<span translate="no">{k.name}</span>}
              note={
                k.used_at
                  ? t.rich('passkeyUsed', {
                      added: <When at={k.created_at} form="full" />,
                      used: <When at={k.used_at} form="full" />,
                    })
                  : t.rich('passkeyUnused', { added: <When at={k.created_at} form="full" /> })
              }
            >
              <Menu
                align="end"
                trigger={<IconButton icon="more" label={t('actions', { name: k.name })} />}
                items={[
                  { label: t('rename'), icon: 'edit', onSelect: () => setRenaming(k) },
                  { label: t('remove'), icon: 'trash', onSelect: () => setRemoving(k) },
                ]}
              />
            </Row>
          ))}
        </ul>
      )}
      {data && (data.data.length > 0 || me.user?.second_step) && <Required me={me} can={can} />}
      {adding && (
        <Naming
          title={t('addPasskey')}
          name={browser(navigator.userAgent)}
          verb={t('passkeyAddNow')}
          help={t('passkeyNameHelp')}
          onClose={() => setAdding(false)}
          run={async (name) => {
            await addPasskey(name)
            await renew(listPasskeys)
            toast(t('passkeyAdded'))
          }}
        />
      )}
      {renaming && (
        <Naming
          title={t('renameTitle')}
          name={renaming.name}
          verb={t('rename')}
          onClose={() => setRenaming(null)}
          run={async (name) => {
            await patch('/api/auth/passkeys/{id}', { path: { id: renaming.id }, body: { name } })
            await renew(listPasskeys)
          }}
        />
      )}
      {removing && (
        <Confirm
          open
          onOpenChange={(o) => {
            if (!o) setRemoving(null)
          }}
          title={t('removePasskey', { name: removing.name })}
          verb={t('remove')}
          busy={end.busy}
          onConfirm={() => end.run(removing)}
        >
          {t('removePasskeyText')}
        </Confirm>
      )}
    </Panel>
  )
}

/** Whether every way to sign in needs a passkey, too. */
function Required({ me, can }: { me: Me; can: boolean }) {
  const t = useT('settings')
  const on = me.user?.second_step === true
  const [ending, setEnding] = useState(false)
  const change = useAction(
    async (run: () => Promise<unknown>, said: string) => {
      await run()
      await renew(listPasskeys, listSessions)
      toast(said)
    },
    { settled: () => setEnding(false) },
  )
  const failed = change.error === null ? null : explainPasskey(change.error)
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-t border-line px-4 py-3">
      <div className="min-w-60 flex-1">
        <div className="flex flex-wrap items-center gap-2 font-medium">
          {t('required')}
          {on && <Tag tone="good">{t('requiredOn')}</Tag>}
        </div>
        <p className="text-small text-ink3">{t(on ? 'requiredText' : 'requiredOff')}</p>
        {failed && (
          <p role="alert" className="pt-1 text-small text-bad">
            {failed}
          </p>
        )}
      </div>
      {on ? (
        <Button small busy={change.busy} onClick={() => setEnding(true)}>
          {t('requiredEnd')}
        </Button>
      ) : (
        can && (
          <Button
            small
            icon="passkey"
            busy={change.busy}
            onClick={() => change.run(requirePasskey, t('requiredNow'))}
          >
            {t('requiredBegin')}
          </Button>
        )
      )}
      {ending && (
        <Confirm
          open
          onOpenChange={(o) => {
            if (!o) setEnding(false)
          }}
          title={t('requiredEndTitle')}
          verb={t('requiredEnd')}
          busy={change.busy}
          onConfirm={() => change.run(() => remove('/api/auth/second-step'), t('requiredEnded'))}
        >
          {t('requiredEndText')}
        </Confirm>
      )}
    </div>
  )
}

/** Identities at other providers. */
function Linked({ me }: { me: Me }) {
  const t = useT('settings')
  const providers = me.features.oidc
  const { data, error, refetch } = useQuery(listIdentities())
  const [removing, setRemoving] = useState<Identity | null>(null)
  const [before, setBefore] = useState(() => problemOf(location.search, providers))
  const [linked] = useState(() => {
    const id = new URLSearchParams(location.search).get('linked')
    return providers.find((p) => p.id === id)?.name ?? null
  })
  const nameOf = (i: Identity) => i.provider_name ?? i.issuer
  const link = useAction(
    (id: string) => {
      setBefore(null)
      return visit(id, 'link', '/settings/security')
    },
    { leaves: true },
  )
  const failed = before ?? (link.error === null ? null : explain(link.error))
  const end = useAction(
    async (i: Identity) => {
      await remove('/api/auth/identities/{id}', { path: { id: i.id } })
      await renew(listIdentities, listSessions)
    },
    {
      failed: (e) => toast(e instanceof ApiError && e.status === 409 ? t('lastWay') : explain(e)),
      settled: () => setRemoving(null),
    },
  )
  if (providers.length === 0 && data?.data.length === 0) return null
  return (
    <Panel title={t('linked')} flush>
      <p className="px-4 pb-3 text-ink2">{t('linkedText')}</p>
      {failed ? (
        <div className="px-4 pb-4">
          <Notice tone="bad" title={failed} />
        </div>
      ) : (
        linked && (
          <div className="px-4 pb-4">
            <Notice tone="good" title={t('linkedNow', { provider: linked })} />
          </div>
        )
      )}
      {error && !data ? (
        <div className="px-4 pb-4">
          <ErrorBox error={error} onRetry={() => void refetch()} />
        </div>
      ) : !data ? (
        <div className="px-4 pb-4">
          <SkeletonRows rows={1} />
        </div>
      ) : data.data.length === 0 ? (
        <p className="border-t border-line px-4 py-3 text-ink3">{t('linkedNone')}</p>
      ) : (
        <ul className="m-0 list-none border-t border-line p-0">
          {data.data.map((i) => (
            <Row
              key={i.id}
              title={
                <>
                  <span translate="no">{nameOf(i)}</span>
                  {!i.provider && <Tag tone="warn">{t('gone')}</Tag>}
                </>
              }
              note={
                <>
                  {i.email && (
                    <>
                      <span translate="no">{i.email}</span>,{' '}
                    </>
                  )}
                  {t.rich('linkedSince', { added: <When at={i.created_at} form="full" /> })}
                </>
              }
            >
              <Button small onClick={() => setRemoving(i)}>
                {t('unlink')}
              </Button>
            </Row>
          ))}
        </ul>
      )}
      {providers.length > 0 && (
        <div className="flex flex-wrap gap-2 border-t border-line px-4 py-3">
          {providers.map((p) => (
            <Button key={p.id} small busy={link.running?.[0] === p.id} onClick={() => link.run(p.id)}>
              {t('link', { provider: p.name })}
            </Button>
          ))}
        </div>
      )}
      {removing && (
        <Confirm
          open
          onOpenChange={(o) => {
            if (!o) setRemoving(null)
          }}
          title={t('unlinkTitle', { provider: nameOf(removing) })}
          verb={t('unlink')}
          busy={end.busy}
          onConfirm={() => end.run(removing)}
        >
          {t('unlinkText', { provider: nameOf(removing) })}
        </Confirm>
      )}
    </Panel>
  )
}

function Sessions({ me }: { me: Me }) {
  const t = useT('settings')
  const browser = useBrowser()
  const { data, error, refetch } = useQuery(listSessions())
  const [ending, setEnding] = useState<Session | 'others' | null>(null)
  const all = data?.data
  const how = (s: Session) =>
    s.method.startsWith('oidc:')
      ? t('by_oidc', {
          provider: me.features.oidc.find((p) => `oidc:${p.id}` === s.method)?.name ?? s.method.slice(5),
        })
      : t.or(`by_${s.method}`, s.method)
  const end = useAction(
    async (which: Session | 'others') => {
      const n =
        which === 'others'
          ? (await remove('/api/auth/sessions')).ended
          : (await remove('/api/auth/sessions/{id}', { path: { id: which.id } }), 1)
      await renew(listSessions)
      toast(t('ended', { n }))
    },
    { failed: toastError, settled: () => setEnding(null) },
  )
  return (
    <Panel
      title={t('sessions')}
      flush
      actions={
        all &&
        all.length > 1 && (
          <Button small onClick={() => setEnding('others')}>
            {t('endOthers')}
          </Button>
        )
      }
    >
      <p className="px-4 pb-3 text-ink2">{t('sessionsText')}</p>
      {error && !all ? (
        <div className="px-4 pb-4">
          <ErrorBox error={error} onRetry={() => void refetch()} />
        </div>
      ) : !all ? (
        <div className="px-4 pb-4">
          <SkeletonRows rows={3} />
        </div>
      ) : (
        <ul className="m-0 list-none border-t border-line p-0">
          {all.map((s) => (
            <Row
              key={s.id}
              title={
                <>
                  {browser(s.user_agent)}
                  {s.current && <Tag tone="accent">{t('thisBrowser')}</Tag>}
                </>
              }
              note={
                <>
                  {t.rich('sessionSeen', {
                    seen: <When at={s.seen_at} />,
                    address: <span translate="no">{s.address ?? t('unknownAddress')}</span>,
                  })}
                  <br />
                  {t.rich('sessionBegan', { began: <When at={s.created_at} />, how: how(s) })}
                </>
              }
            >
              {!s.current && (
                <Button small onClick={() => setEnding(s)}>
                  {t('end')}
                </Button>
              )}
            </Row>
          ))}
        </ul>
      )}
      {ending && (
        <Confirm
          open
          onOpenChange={(o) => {
            if (!o) setEnding(null)
          }}
          title={ending === 'others' ? t('endOthersTitle') : t('endTitle')}
          verb={ending === 'others' ? t('endOthers') : t('end')}
          busy={end.busy}
          onConfirm={() => end.run(ending)}
        >
          {ending === 'others' ? t('endOthersText') : t('endText', { browser: browser(ending.user_agent) })}
        </Confirm>
      )}
    </Panel>
  )
}

export default function Security() {
  const me = useMe()
  return (
    <Settings at="security">
      {!me ? (
        <Panel>
          <SkeletonRows rows={6} />
        </Panel>
      ) : (
        <>
          {me.features.passwords && me.user?.email && (
            <Suspense
              fallback={
                <Panel>
                  <SkeletonRows rows={6} />
                </Panel>
              }
            >
              <Password me={me} />
            </Suspense>
          )}
          <Passkeys me={me} />
          <Linked me={me} />
          <Sessions me={me} />
        </>
      )}
    </Settings>
  )
}
