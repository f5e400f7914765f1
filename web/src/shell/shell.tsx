import { useQuery } from '@tanstack/react-query'
import { Outlet, useRouter, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import { believe, setGate } from '../api/client'
import { useLive } from '../api/live'
import { availableQuery, meQuery, queries, useMe } from '../api/query'
import { loadMessages, useLanguage, useT } from '../i18n'
import { hasPage } from '../routes/paths'
import { chooseLanguage } from '../settings'
import { buttonClass } from '../ui/button'
import { Icon, Logo } from '../ui/icons'
import { Link } from '../ui/link'
import { shortcutsAllowed } from '../ui/shortcuts'
import { Toasts } from '../ui/toast'
import { Money, When } from '../ui/values'
import { DemoMark } from './demo-mark'
import { bar } from './first'
import { initials, isAt, phone, phoneConsole, side, top, visitorPhone } from './nav'
import { catchTyped, endTyped } from './typed'

// Menus come after the first paint: the page does not wait for what opens on a press.
const PersonMenu = lazy(
  async () =>
    (
      await Promise.all([
        import('./menus').then((m) => ({ default: m.PersonMenu })),
        loadMessages(['accounts']),
      ])
    )[0],
)
const Bell = lazy(
  async () =>
    (
      await Promise.all([
        import('./bell').then((m) => ({ default: m.Bell })),
        loadMessages(['notices', 'facts']),
      ])
    )[0],
)
const ThemeMenu = lazy(() => import('./menus').then((m) => ({ default: m.ThemeMenu })))
const Palette = lazy(
  async () => (await Promise.all([import('./palette'), loadMessages(['admin', 'settings'])]))[0],
)
const Seeing = lazy(() => import('./seeing'))
const Gate = lazy(() => import('./gate'))
const Keys = lazy(async () => (await Promise.all([import('./keys'), loadMessages(['shortcuts'])]))[0])
const mac = /Mac|iPhone|iPad/.test(navigator.userAgent)

/** The frame of every page: top bar, the page, the bar below on the phone, and what lies over all of them. */
export function Shell() {
  const t = useT('common')
  const me = useMe()
  const router = useRouter()
  const path = useRouterState({ select: (s) => s.location.pathname })
  const [palette, setPalette] = useState(false)
  const [keys, setKeys] = useState(false)
  const [asked, setAsked] = useState<{ why: 'expired' | 'prove'; done: (ok: boolean) => void } | null>(null)
  const running = me?.operator === true && (path === '/admin' || path.startsWith('/admin/'))
  const below = !me
    ? []
    : (running ? phoneConsole : me.user ? phone : visitorPhone).filter((p) =>
        p.to === '/docs' ? me.features.docs : hasPage(p.to),
      )
  const finding = useRef(false)
  const found = useCallback(() => {
    finding.current = false
    endTyped()
    setPalette(false)
  }, [])
  const find = useCallback(() => {
    if (finding.current) return
    finding.current = true
    catchTyped(found)
    setPalette(true)
  }, [found])
  const loading = useRouterState({ select: (s) => s.status === 'pending' })

  useEffect(() => {
    let waiting: Promise<boolean> | null = null
    setGate((why) => {
      if (why === 'expired' && queries.getQueryData(meQuery.queryKey)?.user === null)
        return Promise.resolve(false) // a visitor has no session that could be over
      waiting ??= new Promise<boolean>((done) => setAsked({ why, done })).finally(() => {
        waiting = null
        setAsked(null)
      })
      return waiting
    })
    return () => setGate(null)
  }, [])

  // Whose pages these are must not change under them: what was read of one person would stand beside what belongs to another.
  const seen = useRef<string | null | undefined>(undefined)
  const sees = me && (me.seeing && me.user ? me.user.id : null)
  useEffect(() => {
    if (sees === undefined) return
    if (seen.current !== undefined && seen.current !== sees) {
      location.reload()
      return
    }
    seen.current = sees
    believe(sees, () => void queries.invalidateQueries({ queryKey: meQuery.queryKey }))
  }, [sees])

  // The h1 gets the focus when another page came, so that people who hear the page know where they are.
  const before = useRef(path)
  useEffect(
    () =>
      router.subscribe('onRendered', () => {
        const now = router.state.location.pathname
        if (now === before.current) return
        before.current = now
        requestAnimationFrame(() => document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true }))
      }),
    [router],
  )

  useEffect(() => {
    let going = 0
    const f = (e: KeyboardEvent) => {
      if ((e.metaKey || e.ctrlKey) && e.key.toLowerCase() === 'k' && !e.shiftKey && !e.altKey) {
        e.preventDefault()
        find()
        return
      }
      if (!shortcutsAllowed(e)) return
      if (e.key === '?') {
        e.preventDefault()
        setKeys(true)
        return
      }
      if (e.key === '/') {
        e.preventDefault()
        const field = document.querySelector<HTMLInputElement>('[data-page-search]')
        if (field && field.offsetParent !== null) {
          field.focus()
          field.select()
        } else find()
        return
      }
      if (e.key === 'g') {
        going = e.timeStamp
        return
      }
      if (going && e.timeStamp - going < 1500) {
        going = 0
        const place = [...side, ...top].find((p) => p.key === e.key)
        if (place && hasPage(place.to)) {
          e.preventDefault()
          void router.navigate({ to: place.to as never })
        }
      }
    }
    window.addEventListener('keydown', f)
    return () => window.removeEventListener('keydown', f)
  }, [router, find])

  return (
    <>
      <a
        href="#content"
        className="sr-only z-50 rounded-control bg-surface px-3 py-2 text-accent-ink focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
        onClick={(e) => {
          e.preventDefault()
          ;(document.querySelector<HTMLElement>('h1') ?? document.getElementById('content'))?.focus()
        }}
      >
        {t('skip')}
      </a>
      <Offline />
      {me?.user && me.seeing && (
        <Suspense
          fallback={<div className="sticky top-0 z-40 min-h-[52px] border-b border-warn bg-warn-soft" />}
        >
          <Seeing me={{ ...me, user: me.user, seeing: me.seeing }} />
        </Suspense>
      )}
      <header data-bar className={me?.seeing ? bar.header.replace('sticky', '') : bar.header}>
        {loading && <span aria-hidden className="late absolute inset-x-0 -bottom-px h-px bg-accent" />}
        <Link to="/" className={bar.home}>
          <Logo />
          {t('product')}
        </Link>
        <nav aria-label={t('mainNav')} className={bar.nav}>
          {top
            .filter((p) => hasPage(p.to))
            .map((p) => (
              <TopLink key={p.to} to={p.to} on={isAt(p, path)}>
                {t(p.label)}
              </TopLink>
            ))}
          {me?.features.docs && (
            <TopLink to="/docs" on={false}>
              {t('docs')}
            </TopLink>
          )}
        </nav>
        <span className="flex-1" />
        <button
          type="button"
          onClick={find}
          aria-keyshortcuts="Control+K Meta+K"
          className="mr-1 hidden h-8 w-[280px] items-center gap-2 rounded-control border border-line bg-surface px-2.5 text-ink3 hover:border-line2 lg:flex"
        >
          <Icon name="search" />
          <span className="flex-1 truncate text-left">{t('find')}</span>
          <kbd aria-hidden className="rounded-tag border border-line px-[5px] text-[11px] leading-4">
            {mac ? '⌘K' : 'Ctrl K'}
          </kbd>
        </button>
        <button
          type="button"
          onClick={find}
          aria-label={t('find')}
          className="grid size-8 place-items-center rounded-control text-ink2 hover:bg-sunken max-md:size-11 lg:hidden"
        >
          <Icon name="search" />
        </button>
        <LanguageSwitch />
        {me &&
          (me.user ? (
            <>
              <Available />
              {me.features.notices && (
                <Suspense
                  fallback={<span data-waits aria-hidden className="size-8 flex-none max-md:size-11" />}
                >
                  <Bell />
                </Suspense>
              )}
              <Suspense
                fallback={
                  <span
                    data-waits
                    aria-hidden
                    className="grid size-8 place-items-center rounded-full bg-sunken text-label font-semibold text-ink2 max-md:size-11 max-md:bg-transparent"
                  >
                    <span className="grid size-7 place-items-center rounded-full bg-sunken">
                      {initials(me.user.name)}
                    </span>
                  </span>
                }
              >
                <PersonMenu
                  name={me.user.name}
                  email={me.user.email ?? null}
                  docs={me.features.docs}
                  operator={me.operator}
                  onKeys={() => setKeys(true)}
                />
              </Suspense>
            </>
          ) : (
            <Visitor signUp={me.features.sign_up === 'open'} demo={me.features.demo} />
          ))}
        {!me && <span className="w-24" />}
      </header>
      <DemoMark />
      <main
        id="content"
        tabIndex={-1}
        className={`focus:outline-none ${below.length > 2 ? 'max-md:pb-20' : ''}`}
      >
        <Outlet />
      </main>
      {below.length > 2 && (
        <nav
          data-bar
          aria-label={t('mainNav')}
          className="fixed inset-x-0 bottom-0 z-30 flex h-16 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
        >
          {below.map((p) => (
            <Link
              key={p.to}
              to={p.to}
              aria-current={path === p.to || (p.to !== '/admin' && isAt(p, path)) ? 'page' : undefined}
              className={
                'flex flex-1 flex-col items-center justify-center gap-1 text-label font-medium ' +
                'text-ink3 no-underline aria-[current=page]:text-accent-ink'
              }
            >
              <Icon name={p.icon} size={20} />
              {t(p.label)}
            </Link>
          ))}
        </nav>
      )}
      <Suspense fallback={null}>
        {palette && <Palette onClose={found} />}
        {keys && <Keys onClose={() => setKeys(false)} />}
        {asked && <Gate why={asked.why} onDone={asked.done} />}
      </Suspense>
      <Toasts />
    </>
  )
}

function TopLink({ to, on, children }: { to: string; on: boolean; children: string }) {
  return (
    <Link to={to} aria-current={on ? 'page' : undefined} className={bar.link}>
      {children}
    </Link>
  )
}

function LanguageSwitch() {
  const t = useT('common')
  const l = useLanguage()
  const other = l === 'ru' ? 'en' : 'ru'
  return (
    <button
      type="button"
      lang={other}
      aria-label={`${other.toUpperCase()}, ${t('language')}: ${t('otherLanguage')}`}
      onClick={() => void chooseLanguage(other)}
      className="rounded-control px-2.5 py-1.5 font-medium text-ink2 hover:bg-sunken hover:text-ink max-md:h-11"
    >
      {other.toUpperCase()}
    </button>
  )
}

function Visitor({ signUp, demo }: { signUp: boolean; demo: boolean }) {
  const t = useT('common')
  const path = useRouterState({ select: (s) => s.location.href })
  const to = path === '/' || path.startsWith('/welcome') ? '' : `?to=${encodeURIComponent(path)}`
  return (
    <>
      <Suspense fallback={<span data-waits className="size-8 max-md:size-11" />}>
        <ThemeMenu />
      </Suspense>
      <a
        href={`/sign-in${to}`}
        className={`${buttonClass(signUp || demo ? 'quiet' : 'main')} no-underline ${signUp ? 'max-md:hidden' : ''}`}
      >
        {t('signIn')}
      </a>
      {signUp && (
        <a href={`/sign-up${to}`} className={`${buttonClass('main')} no-underline`}>
          {t('getKey')}
        </a>
      )}
    </>
  )
}
/** What the wallet has left; the same figure as everywhere. */
function Available() {
  const t = useT('common')
  const { data: available } = useQuery(availableQuery)
  useLive(['money'], (_, data) => {
    if (data === undefined) void queries.invalidateQueries({ queryKey: availableQuery.queryKey })
  })
  if (available === undefined || available === null) return null
  const inside = (
    <>
      <Icon name="wallet" />
      <Money value={available} headline className="font-medium" />
    </>
  )
  const className =
    'hidden items-center gap-1.5 rounded-control px-2 py-1.5 text-small text-ink2 no-underline md:flex'
  return hasPage('/money') ? (
    <Link to="/money" title={t('available')} className={`${className} hover:bg-sunken hover:text-ink`}>
      <span className="sr-only">{t('available')}</span>
      {inside}
    </Link>
  ) : (
    <span title={t('available')} className={className}>
      <span className="sr-only">{t('available')}</span>
      {inside}
    </span>
  )
}

function Offline() {
  const t = useT('common')
  const [since, setSince] = useState<number | null>(navigator.onLine ? null : Date.now())
  useEffect(() => {
    const off = () => setSince(Date.now()),
      on = () => setSince(null)
    window.addEventListener('offline', off)
    window.addEventListener('online', on)
    return () => {
      window.removeEventListener('offline', off)
      window.removeEventListener('online', on)
    }
  }, [])
  return since === null ? null : (
    <div
      role="status"
      className="sticky top-0 z-40 bg-warn-soft px-5 py-1.5 text-center text-small text-warn"
    >
      {t.rich('offline', { time: <When at={since} form="minutes" /> })}
    </div>
  )
}
