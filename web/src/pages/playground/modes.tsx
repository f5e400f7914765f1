/** The frame that all kinds of the playground share: where one goes from one to another, the work at the left, its settings at the right. */
import { lazy, useEffect, useRef, useState, type ReactNode } from 'react'
import { ApiError } from '../../api/client'
import { useMe, type Me } from '../../api/query'
import { loadMessages, useT } from '../../i18n'
import { hasPage } from '../../routes/paths'
import { IconButton, buttonClass } from '../../ui/button'
import { Empty, ErrorBox, Skeleton } from '../../ui/feedback'
import { Icon } from '../../ui/icons'
import { Link, LinkButton } from '../../ui/link'
import { Sheet } from '../../ui/overlay'
import { useTitle } from '../../ui/page'
import { useCatalog } from '../catalog/data'
import type { Model } from '../catalog/filter'

export const modes = ['chat', 'image', 'video', 'audio', 'embeddings'] as const
export type Mode = (typeof modes)[number]
const pathOf = (m: Mode) => (m === 'chat' ? '/playground' : `/playground/${m}`)

export function Modes({ now }: { now: Mode }) {
  const t = useT('playground')
  const there = modes.filter((m) => hasPage(pathOf(m)))
  if (there.length < 2) return null
  return (
    <nav aria-label={t('modes')} className="flex flex-wrap rounded-control border border-line bg-surface">
      {there.map((m) => (
        <Link
          key={m}
          to={pathOf(m)}
          {...({ activeOptions: { exact: true } } as object)}
          aria-current={m === now ? 'page' : undefined}
          className={
            'flex h-[30px] min-w-0 flex-auto items-center justify-center truncate px-1 text-small ' +
            'font-medium text-ink2 no-underline first:rounded-l-[5px] last:rounded-r-[5px] ' +
            'hover:text-ink aria-[current=page]:bg-sunken aria-[current=page]:text-ink max-md:h-11'
          }
        >
          {t(`mode_${m}`)}
        </Link>
      ))}
    </nav>
  )
}

/** Pixels that only a keyboard on the screen takes; bars of browsers are smaller. */
const keyboard = 120
/** While a keyboard covers the end of the page: how high an element may be to end above it. The size of the page itself does not tell. */
function useAboveKeyboard() {
  const box = useRef<HTMLDivElement>(null)
  const [height, setHeight] = useState<number | null>(null)
  useEffect(() => {
    const v = window.visualViewport
    if (!v) return
    const look = () => {
      // A person who has zoomed in sees a part as well, but has no keyboard open.
      const covered = v.scale < 1.05 && window.innerHeight - v.height > keyboard
      setHeight(
        covered && box.current
          ? Math.max(160, Math.round(v.offsetTop + v.height - box.current.getBoundingClientRect().top))
          : null,
      )
    }
    look()
    v.addEventListener('resize', look)
    v.addEventListener('scroll', look)
    return () => {
      v.removeEventListener('resize', look)
      v.removeEventListener('scroll', look)
    }
  }, [])
  return { box, covered: height !== null, style: height === null ? {} : { height, minHeight: 0 } }
}

/** The page, its settings beside it or in a sheet. */
export function Frame({
  mode,
  settings,
  children,
  foot,
  open,
  onOpen,
}: {
  mode: Mode
  settings: ReactNode
  children: ReactNode
  foot?: ReactNode
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const t = useT('playground'),
    c = useT('common')
  const { box, covered, style } = useAboveKeyboard()
  return (
    <div
      ref={box}
      style={style}
      className="flex h-[calc(100dvh-52px-var(--mark,0px))] min-h-96 max-md:h-[calc(100dvh-132px-var(--mark,0px))]"
    >
      <h1 tabIndex={-1} className="sr-only">
        {t('titleOf', { mode: t(`mode_${mode}`) })}
      </h1>
      <div className="flex min-w-0 flex-1 flex-col">
        {!covered && (
          <div className="flex items-center gap-2 border-b border-line bg-surface px-3 py-1.5 lg:hidden">
            <div className="min-w-0 flex-1">
              <Modes now={mode} />
            </div>
            {mode !== 'embeddings' && (
              <Link
                to="/gallery"
                aria-label={c('gallery')}
                title={c('gallery')}
                className={buttonClass('quiet', true) + ' h-8 max-md:size-11'}
              >
                <Icon name="image" />
              </Link>
            )}
            <IconButton icon="sliders" label={t('panel')} onClick={() => onOpen(true)} />
          </div>
        )}
        {children}
        {foot}
      </div>
      <aside
        aria-label={t('panel')}
        className="w-72 flex-none overflow-y-auto border-l border-line bg-surface p-5 max-lg:hidden"
      >
        <div className="pb-4">
          <Modes now={mode} />
          {mode !== 'embeddings' && (
            <Link
              to="/gallery"
              className="mt-2 inline-flex min-h-6 items-center gap-1.5 text-small text-accent-ink"
            >
              <Icon name="image" size={14} />
              {c('gallery')}
            </Link>
          )}
        </div>
        {settings}
      </aside>
      <Sheet open={open} onOpenChange={onOpen} title={t('panel')}>
        {settings}
      </Sheet>
    </div>
  )
}

/** Asks visitors to sign in, waits for the catalog, and says when there is no model for it. */
export function Ready({
  mode,
  fits,
  children,
}: {
  mode: Mode
  fits: (m: Model) => boolean
  children: (me: Me, models: readonly Model[], all: readonly Model[]) => ReactNode
}) {
  const t = useT('playground')
  const me = useMe()
  const { prepared, error, refetch } = useCatalog()
  useTitle(mode === 'chat' ? t('title') : t('titleOf', { mode: t(`mode_${mode}`) }))
  const all = [...(prepared?.models.values() ?? [])]
  const models = all.filter((m) => m.live && fits(m))
  let inside: ReactNode
  if (me && !me.user)
    inside = (
      <Empty
        icon="play"
        title={t('visitor')}
        action={
          <a
            href={`/sign-in?to=${encodeURIComponent(location.pathname + location.search)}`}
            className="font-medium text-accent-ink"
          >
            {t('signIn')}
          </a>
        }
      >
        {t('visitorText')}
      </Empty>
    )
  else if (error && !prepared)
    inside = (
      <div className="p-5">
        <ErrorBox error={error} onRetry={() => void refetch()} />
      </div>
    )
  else if (!me?.user || !prepared)
    inside = (
      <div className="p-5">
        <Skeleton className="h-8 w-64" />
      </div>
    )
  else if (models.length === 0)
    inside = (
      <>
        <div className="mx-auto max-w-md px-4 pt-4">
          <Modes now={mode} />
        </div>
        <Empty
          icon="box"
          title={t('noModels')}
          action={<LinkButton to="/models">{t('toCatalog')}</LinkButton>}
        >
          {t('noModelsText')}
        </Empty>
      </>
    )
  else return children(me, models, all)
  return (
    <>
      <h1 tabIndex={-1} className="sr-only">
        {t('title')}
      </h1>
      {inside}
    </>
  )
}
/** What failed; where money is missing, with the way to it. */
export function FailedBox({ error, ...rest }: { error: unknown; onRetry?: () => void; title?: string }) {
  const t = useT('playground')
  const pays = useMe()?.features.payments === true
  const poor = error instanceof ApiError && error.status === 402
  return (
    <ErrorBox
      error={error}
      {...rest}
      {...(poor
        ? {
            action: (
              <LinkButton small look="main" icon="wallet" to={pays ? '/money/top-up' : '/money'}>
                {t(pays ? 'topUp' : 'toMoney')}
              </LinkButton>
            ),
          }
        : {})}
    />
  )
}
export function useSheet(): [boolean, (open: boolean) => void] {
  return useState(false)
}

/** The route that a request would take, in a chunk of its own. */
export const Explain = lazy(() =>
  Promise.all([import('./explain'), loadMessages(['route'])]).then(([m]) => m),
)
