import { Suspense, lazy, useEffect, useRef, useState, type ReactNode } from 'react'
import { useAction } from '../api/action'
import { ApiError, get, post, type Reply } from '../api/client'
import { explain } from '../api/explain'
import { useLanguage, useT } from '../i18n'
import { chooseLanguage } from '../settings'
import { Button, IconButton } from '../ui/button'
import { Field, Input } from '../ui/field'
import { Logo } from '../ui/icons'
import { Bad, Problem, TextButton } from './parts'

type Me = Reply<'/api/me'>
type Link = Reply<'/api/auth/link', 'post'>
type View =
  | 'sign-in'
  | 'sign-up'
  | 'invite'
  | 'recover'
  | 'reset'
  | 'setup'
  | 'confirm'
  | 'new-email'
  | 'keep-email'

/** Where to go after a sign-in: a page of ours only. */
export function destination(search: string): string {
  const to = new URLSearchParams(search).get('to') ?? '/'
  return /^\/(?![/\\])/.test(to) && !/[\u0000-\u001f\\]/.test(to) ? to : '/'
}
const leave = () => location.assign(destination(location.search))
/** Goes on after a sign-in, or to the passkey that the account requires besides. */
const entered = (reply: unknown, onSecond: (step: string) => void) => {
  const step = (reply as { second_step?: string } | null)?.second_step
  if (step) onSecond(step)
  else leave()
}
const MIN = 10

/** Pages behind a link, which ask for a password. */
const isLink = (view: View) => view === 'invite' || view === 'reset' || view === 'setup' || view === 'confirm'

function firstView(path: string, token: string): View {
  if (path === '/sign-up') return token ? 'confirm' : 'sign-up'
  if (path === '/invite') return 'invite'
  if (path === '/reset') return token ? 'reset' : 'recover'
  if (path === '/setup') return 'setup'
  if (path === '/new-email' || path === '/keep-email')
    return path === '/new-email' ? 'new-email' : 'keep-email'
  return 'sign-in'
}

export function SignIn({ path, token }: { path: string; token: string }) {
  const t = useT('signin')
  const language = useLanguage()
  const [view, setView] = useState<View>(() => firstView(path, token))
  const [me, setMe] = useState<Me | null>(null)
  const [failed, setFailed] = useState<unknown>(null)
  const [link, setLink] = useState<Link | 'bad' | null>(null)
  const [sent, setSent] = useState<string | null>(null)
  const [second, setSecond] = useState(() => (path === '/sign-in' ? token : ''))
  const title = second
    ? t('secondTitle')
    : {
        'sign-in': t('signInTitle'),
        'sign-up': t('signUpTitle'),
        invite: t('inviteTitle'),
        recover: t('recoverTitle'),
        reset: t('resetTitle'),
        setup: t('setupTitle'),
        confirm: t('confirmTitle'),
        'new-email': t('newEmailTitle'),
        'keep-email': t('keepEmailTitle'),
      }[view]
  useEffect(() => {
    document.title = `${title} · Weir`
  }, [title])
  useEffect(() => {
    get('/api/me').then(setMe, setFailed)
  }, [])
  // What the link is for is asked first, so that nobody chooses a password for a link that does not work.
  useEffect(() => {
    if (!isLink(view)) return
    if (!token) {
      setLink('bad')
      return
    }
    post('/api/auth/link', { body: { kind: view === 'invite' ? 'invitation' : view, token } }).then(
      setLink,
      (e: unknown) => {
        if (e instanceof ApiError && e.status >= 400 && e.status < 500 && e.status !== 429) setLink('bad')
        else setFailed(e)
      },
    )
  }, [view, token])

  let inside: ReactNode = null
  const needsLink = isLink(view)
  if (failed) inside = <Problem>{explain(failed)}</Problem>
  else if (second)
    inside = (
      <Suspense fallback={<div className="late h-20" aria-hidden />}>
        <Second
          step={second}
          onBack={() => {
            setSecond('')
            setView('sign-in')
          }}
          onDone={leave}
        />
      </Suspense>
    )
  else if (needsLink && link === 'bad') inside = <Bad onBack={() => setView('sign-in')} />
  else if (sent)
    inside = (
      <p className="text-ink2">
        {view === 'recover'
          ? t.rich('sentRecover', { email: <strong className="font-medium text-ink">{sent}</strong> })
          : t.rich('sentConfirm', { email: <strong className="font-medium text-ink">{sent}</strong> })}
      </p>
    )
  else if (!me || (needsLink && !link))
    inside = <div className="late h-40 rounded-panel bg-sunken" aria-hidden />
  else if (view === 'sign-in') inside = <PasswordForm me={me} onView={setView} onSecond={setSecond} />
  else if (view === 'sign-up') inside = <SignUpForm me={me} onView={setView} onSent={setSent} />
  else if (view === 'recover') inside = <RecoverForm me={me} onView={setView} onSent={setSent} />
  else if (view === 'new-email' || view === 'keep-email')
    inside = (
      <Suspense fallback={<div className="late h-40" aria-hidden />}>
        <Address view={view} token={token} me={me} onView={setView} />
      </Suspense>
    )
  else if (link && link !== 'bad')
    inside = <LinkForm me={me!} view={view} link={link} token={token} onSecond={setSecond} />

  const text = sent
    ? null
    : second
      ? t('secondText')
      : {
          'sign-in': null,
          'sign-up': null,
          invite: t('inviteText'),
          recover: t('recoverText'),
          reset: t('resetText'),
          setup: t('setupText'),
          confirm: t('confirmText'),
          'new-email': null,
          'keep-email': null,
        }[view]
  return (
    <div className="flex min-h-dvh flex-col">
      <header className="flex h-[52px] items-center px-5 max-md:px-4">
        <a
          href="/"
          className="flex items-center gap-2 text-[16px] leading-5 font-semibold tracking-[-0.02em] text-ink no-underline"
        >
          <Logo />
          Weir
        </a>
        <span className="flex-1" />
        <button
          type="button"
          lang={language === 'ru' ? 'en' : 'ru'}
          onClick={() => void chooseLanguage(language === 'ru' ? 'en' : 'ru')}
          className="h-8 rounded-control px-2.5 font-medium text-ink2 hover:bg-sunken hover:text-ink max-md:h-11"
        >
          {t('language')}
        </button>
      </header>
      <main className="flex flex-1 justify-center px-4 pt-[10vh] pb-16 max-md:pt-6">
        <div className="w-full max-w-[400px]">
          <div className="rounded-float border border-line bg-surface px-7 py-7 max-md:px-5">
            <h1 className="text-title">{sent ? t('sentTitle') : title}</h1>
            {text && link !== 'bad' && <p className="pt-1 text-ink2">{text}</p>}
            <div className="pt-5">{inside}</div>
          </div>
          <p className="pt-5 text-center text-small text-ink3">{t('tagline')}</p>
        </div>
      </main>
    </div>
  )
}

/** An action whose form shows what went wrong beside the field it is about, and goes there. */
function useForm(run: () => Promise<void>) {
  const action = useAction(run, { leaves: true })
  const { error } = action
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])
  return { ...action, form, general: action.except('email', 'password', 'name') }
}
function useGeneral(error: unknown): ReactNode {
  const t = useT('signin')
  if (!error) return null
  const insecure = error instanceof ApiError && /TLS|https/i.test(error.message)
  return (
    <Problem>
      {insecure ? t('insecure') : explain(error)}
      {error instanceof ApiError && error.requestId && error.status >= 500 && (
        <code className="block pt-1 break-all">{error.requestId}</code>
      )}
    </Problem>
  )
}

function Password({
  value,
  onChange,
  label,
  fresh,
  error,
}: {
  value: string
  onChange: (v: string) => void
  label: string
  fresh?: boolean
  error?: string | undefined
}) {
  const t = useT('signin')
  const [shown, setShown] = useState(false)
  return (
    <div className="relative">
      <Field
        label={label}
        help={
          fresh
            ? value.length > 0 && value.length < MIN
              ? t('short', { n: MIN - [...value].length })
              : t('passwordHelp')
            : undefined
        }
        error={error}
      >
        <Input
          type={shown ? 'text' : 'password'}
          autoComplete={fresh ? 'new-password' : 'current-password'}
          value={value}
          onChange={(e) => onChange(e.target.value)}
          required
          minLength={fresh ? MIN : 1}
          maxLength={256}
          className="pr-10"
          spellCheck={false}
        />
      </Field>
      <span className="absolute top-[24px] right-0">
        <IconButton
          icon="eye"
          label={shown ? t('hidePassword') : t('showPassword')}
          aria-pressed={shown}
          onClick={() => setShown(!shown)}
        />
      </span>
    </div>
  )
}

const Address = lazy(() => import('./address'))
const Second = lazy(() => import('./second'))
const passkeys = () => import('../api/passkey')
const Elsewhere = lazy(() => import('../api/elsewhere'))
/** What the other providers offer; there is nothing where there are none. */
function Others({ me, invitation }: { me: Me; invitation?: string }) {
  if (me.features.oidc.length === 0) return null
  return (
    <Suspense fallback={null}>
      <Elsewhere
        providers={me.features.oidc}
        purpose="sign_in"
        to={destination(location.search)}
        {...(invitation ? { invitation } : {})}
      />
    </Suspense>
  )
}

function PasswordForm({
  me,
  onView,
  onSecond,
}: {
  me: Me
  onView: (v: View) => void
  onSecond: (step: string) => void
}) {
  const t = useT('signin')
  const common = useT('common')
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const form = useForm(async () => {
    entered(await post('/api/auth/sign-in', { body: { email, password } }), onSecond)
  })
  const general = useGeneral(form.general)
  const demo = useForm(async () => {
    entered(await post('/api/auth/demo'), onSecond)
  })
  const demoProblem = useGeneral(demo.general)
  const withPasskey = me.features.passkeys && 'PublicKeyCredential' in window
  useEffect(() => {
    if (withPasskey) void passkeys()
  }, [withPasskey])
  const [noPasskey, setNoPasskey] = useState<string | null>(null)
  const passkey = useForm(async () => {
    setNoPasskey(null)
    const p = await passkeys()
    try {
      await p.signInWithPasskey()
      leave()
    } catch (e) {
      setNoPasskey(p.explainPasskey(e))
      throw e
    }
  })
  return (
    <div className="flex flex-col gap-4">
      {me.features.demo && (
        <form onSubmit={demo.submit} className="flex flex-col gap-3 border-b border-line pb-5">
          <p className="text-small text-ink2">{t('demoText')}</p>
          <Button type="submit" look="main" wide icon="play" busy={demo.busy}>
            {t('demo')}
          </Button>
          {demoProblem}
        </form>
      )}
      {me.features.passwords && (
        <form ref={form.form} onSubmit={form.submit} className="flex flex-col gap-4">
          {general}
          <Field label={t('email')} error={form.at('email')}>
            <Input
              type="email"
              autoComplete="username"
              value={email}
              onChange={(e) => setEmail(e.target.value)}
              required
              maxLength={254}
              autoFocus={!me.features.demo}
            />
          </Field>
          <Password
            label={t('password')}
            value={password}
            onChange={setPassword}
            error={form.at('password')}
          />
          <Button type="submit" look={me.features.demo ? 'plain' : 'main'} wide busy={form.busy}>
            {t('signIn')}
          </Button>
        </form>
      )}
      {withPasskey && (
        <form onSubmit={passkey.submit} className="flex flex-col gap-3">
          <Button type="submit" wide icon="passkey" busy={passkey.busy}>
            {common('usePasskey')}
          </Button>
          {noPasskey && <Problem>{noPasskey}</Problem>}
        </form>
      )}
      <Others me={me} />
      {me.features.passwords && (
        <div className="flex flex-wrap justify-between gap-x-4 gap-y-2 pt-1 text-small">
          <TextButton onClick={() => onView('recover')}>{t('forgot')}</TextButton>
          {me.features.sign_up === 'open' && (
            <span className="text-ink2">
              {t('noAccount')} <TextButton onClick={() => onView('sign-up')}>{t('signUp')}</TextButton>
            </span>
          )}
        </div>
      )}
      {me.features.sign_up !== 'open' && !me.features.demo && (
        <p className="text-small text-ink3">
          {me.features.sign_up === 'invitation' ? t('onlyInvited') : t('closed')}
        </p>
      )}
    </div>
  )
}

function SignUpForm({
  me,
  onView,
  onSent,
}: {
  me: Me
  onView: (v: View) => void
  onSent: (email: string) => void
}) {
  const t = useT('signin')
  const language = useLanguage()
  const [email, setEmail] = useState('')
  const form = useForm(async () => {
    await post('/api/auth/sign-up', { body: { email, locale: language } })
    onSent(email)
  })
  const general = useGeneral(form.general)
  if (me.features.sign_up !== 'open')
    return (
      <>
        <p className="text-ink2">{me.features.sign_up === 'invitation' ? t('onlyInvited') : t('closed')}</p>
        <p className="pt-4">
          <TextButton onClick={() => onView('sign-in')}>{t('backToSignIn')}</TextButton>
        </p>
      </>
    )
  return (
    <form ref={form.form} onSubmit={form.submit} className="flex flex-col gap-4">
      {general}
      <Field label={t('email')} error={form.at('email')}>
        <Input
          type="email"
          autoComplete="username"
          value={email}
          onChange={(e) => setEmail(e.target.value)}
          required
          maxLength={254}
          autoFocus
        />
      </Field>
      <Button type="submit" look="main" wide busy={form.busy}>
        {t('sendLink')}
      </Button>
      <p className="text-small text-ink2">
        {t('haveAccount')} <TextButton onClick={() => onView('sign-in')}>{t('signIn')}</TextButton>
      </p>
    </form>
  )
}

function RecoverForm({
  me,
  onView,
  onSent,
}: {
  me: Me
  onView: (v: View) => void
  onSent: (email: string) => void
}) {
  const t = useT('signin')
  const language = useLanguage()
  const [email, setEmail] = useState('')
  const form = useForm(async () => {
    await post('/api/auth/recover', { body: { email, locale: language } })
    onSent(email)
  })
  const general = useGeneral(form.general)
  return (
    <form ref={form.form} onSubmit={form.submit} className="flex flex-col gap-4">
      {general}
      {me.features.mail ? (
        <>
          <Field label={t('email')} error={form.at('email')}>
            <Input
              type="email"
              autoComplete="username"
              value={email}
              onChange={(e) => setEmail(e.target.value)}
              required
              maxLength={254}
              autoFocus
            />
          </Field>
          <Button type="submit" look="main" wide busy={form.busy}>
            {t('sendLink')}
          </Button>
        </>
      ) : (
        <p className="text-ink2">{t('noMail')}</p>
      )}
      <TextButton onClick={() => onView('sign-in')}>{t('backToSignIn')}</TextButton>
    </form>
  )
}

/** Forms behind a link: an invitation, a sign-up's mail, a new password, the first administrator. A link proves an address and does nothing by itself. */
function LinkForm({
  me,
  view,
  link,
  token,
  onSecond,
}: {
  me: Me
  view: View
  link: Link
  token: string
  onSecond: (step: string) => void
}) {
  const t = useT('signin')
  const language = useLanguage()
  const known = link?.email ?? ''
  const [email, setEmail] = useState(known)
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const form = useForm(async () => {
    const person = { email: known || email, password, ...(name ? { name } : {}) }
    if (view === 'reset')
      return entered(await post('/api/auth/reset', { body: { token, password } }), onSecond)
    else if (view === 'confirm')
      await post('/api/auth/confirm', { body: { token, password, ...(name ? { name } : {}) } })
    else if (view === 'setup') {
      await post('/api/auth/setup', { body: { ...person, token } })
      location.assign('/welcome') // the next step is a provider
      return
    } else await post('/api/auth/sign-up', { body: { ...person, invitation: token, locale: language } })
    leave()
  })
  const general = useGeneral(form.general)
  const role =
    link?.role === 'operator'
      ? t('roleOperator')
      : link?.role === 'administrator'
        ? t('roleAdministrator')
        : null
  return (
    <div className="flex flex-col gap-4">
      {(view !== 'invite' || me.features.passwords) && (
        <form ref={form.form} onSubmit={form.submit} className="flex flex-col gap-4">
          {general}
          {view === 'invite' && role && <p className="text-ink2">{t('inviteRole', { role })}</p>}
          {view !== 'reset' && (
            <Field label={t('email')} error={form.at('email')}>
              <Input
                type="email"
                autoComplete="username"
                value={known || email}
                readOnly={known !== ''}
                onChange={(e) => setEmail(e.target.value)}
                required
                maxLength={254}
                autoFocus={known === ''}
              />
            </Field>
          )}
          {view !== 'reset' && (
            <Field label={t('name')} optional error={form.at('name')}>
              <Input
                autoComplete="name"
                value={name}
                onChange={(e) => setName(e.target.value)}
                maxLength={64}
              />
            </Field>
          )}
          {view === 'reset' && <input type="email" autoComplete="username" value={known} readOnly hidden />}
          <Password
            label={view === 'reset' ? t('newPassword') : t('password')}
            value={password}
            onChange={setPassword}
            fresh
            error={form.at('password')}
          />
          <Button type="submit" look="main" wide busy={form.busy}>
            {view === 'reset'
              ? t('setPassword')
              : view === 'setup'
                ? t('makeAdministrator')
                : view === 'confirm'
                  ? t('signUp')
                  : t('accept')}
          </Button>
        </form>
      )}
      {view === 'invite' && <Others me={me} invitation={token} />}
    </div>
  )
}
