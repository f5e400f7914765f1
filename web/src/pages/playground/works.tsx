/** What the kinds beside chat share: what was made in this tab, the model, the cost, and a failure. */
import { useRouterState } from '@tanstack/react-router'
import {
  Suspense,
  lazy,
  useCallback,
  useLayoutEffect,
  useRef,
  useSyncExternalStore,
  type ReactNode,
} from 'react'
import { ApiError } from '../../api/client'
import type { Me } from '../../api/query'
import { translator, useT } from '../../i18n'
import { hasPage } from '../../routes/paths'
import { remember, remembered } from '../../settings'
import { SkeletonRows } from '../../ui/feedback'
import { Field } from '../../ui/field'
import { Link } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'
import { Money } from '../../ui/values'
import { ModelPicker } from '../catalog/choose'
import type { Model } from '../catalog/filter'
import type { Asked } from './code'
import { keepDays, type keepMade } from './made'
import { FailedBox } from './modes'

/** A request of this tab: its answer is made apart from the page, so that it goes on while the person looks elsewhere. */
export interface Work {
  readonly id: string
  readonly model: string
  readonly at: number
  readonly state: 'running' | 'done' | 'failed' | 'stopped'
  readonly call: string | null
  readonly cost: string | null
  readonly error: ApiError | null
  readonly took: number | null
}
export const work = (model: string): Work => ({
  id: crypto.randomUUID?.() ?? String(Math.random()),
  model,
  at: Date.now(),
  state: 'running',
  call: null,
  cost: null,
  error: null,
  took: null,
})
export const asFailure = (e: unknown) =>
  e instanceof ApiError
    ? e
    : new ApiError('offline', 'The connection broke off before the end of the answer.', 0)

interface Shelf<V> {
  value: V
  listeners: Set<() => void>
}
const shelves = new Map<string, Shelf<unknown>>()
/** A value that outlives the page, as long as the tab. Names begin with the person. */
export function useKept<V>(name: string, first: V): [V, (f: (now: V) => V) => void] {
  let shelf = shelves.get(name) as Shelf<V> | undefined
  if (!shelf) {
    shelf = { value: first, listeners: new Set() }
    shelves.set(name, shelf as Shelf<unknown>)
  }
  const s = shelf
  const subscribe = useCallback(
    (f: () => void) => {
      s.listeners.add(f)
      return () => {
        s.listeners.delete(f)
      }
    },
    [s],
  )
  const value = useSyncExternalStore(subscribe, () => s.value)
  return [
    value,
    useCallback(
      (f) => {
        s.value = f(s.value)
        for (const l of s.listeners) l()
      },
      [s],
    ),
  ]
}
/** What the address asks for, once for each visit of a page: `take` gets its members. A link to the playground decides, whatever was chosen here before. */
export function useAsked(take: (asked: { readonly [name: string]: string | undefined }) => void): void {
  const done = useRef('')
  // Not of the window: after a step within the interface its address comes later than the page.
  const asked = useRouterState({ select: (s) => s.location.searchStr })
  useLayoutEffect(() => {
    if (asked === done.current) return
    done.current = asked
    if (asked) take(Object.fromEntries(new URLSearchParams(asked)))
  })
}
/** A setting of the address, when it is one of these. */
export const oneOf = (v: string | undefined, of: readonly string[], otherwise: string) =>
  v !== undefined && of.includes(v) ? v : otherwise
/** The model of a kind; that of the address comes first, then the last choice of this browser. */
export function useModel(kind: string, models: readonly Model[]): [Model, (id: string) => void] {
  const [id, setId] = useKept(`model ${kind}`, remembered(`playground.${kind}`) ?? '')
  useAsked(({ models: asked = '' }) => {
    const there = asked.split(',').find((a) => models.some((m) => m.id === a))
    if (there) setId(() => there)
  })
  return [
    models.find((m) => m.id === id) ?? models[0]!,
    (next) => {
      remember(`playground.${kind}`, next)
      setId(() => next)
    },
  ]
}
export function ModelField({
  models,
  model,
  onModel,
  mark,
}: {
  models: readonly Model[]
  model: Model
  onModel: (id: string) => void /** Why a model does not fit */
  mark?: (m: Model) => string | null
}) {
  const t = useT('playground')
  return (
    <Field label={t('model')}>
      <ModelPicker
        value={model.id}
        shown={[model.name, mark?.(model)].filter(Boolean).join(' — ')}
        className="w-full"
        fits={(m) => models.includes(m)}
        mark={mark}
        onChange={onModel}
      />
    </Field>
  )
}
/** What one work cost, and its call. */
export function Foot({ w, name, children }: { w: Work; name: string; children?: ReactNode }) {
  const t = useT('playground')
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 pt-2 text-small text-ink2 tabular-nums">
      <span translate="no">{name}</span>
      {children}
      <span className="flex-1" />
      {w.cost !== null ? (
        <>
          <Money value={w.cost} exact className="font-semibold text-ink" />
          <Tag tone="good">{t('settled')}</Tag>
        </>
      ) : w.state !== 'failed' && w.call ? (
        <Tag tone="hold">{t('settling')}</Tag>
      ) : null}
      {w.call && w.cost !== null && hasPage('/calls/$id') && (
        <Link to={`/calls/${w.call}`} className="inline-flex min-h-6 items-center text-accent-ink">
          {t('openCall')}
        </Link>
      )}
    </p>
  )
}
export function Failed({ w, onRetry }: { w: Work; onRetry?: () => void }) {
  const t = useT('playground')
  if (w.state === 'stopped') return <p className="text-small text-ink3">{t('stopped')}</p>
  return w.error ? (
    <FailedBox title={t('failedTitle')} error={w.error} {...(onRetry ? { onRetry } : {})} />
  ) : null
}
/** Says it where the browser took nothing. */
export function kept(how: Awaited<ReturnType<typeof keepMade>>): void {
  if (how === 'failed') toast(translator('media')('noRoom'))
}
/** Where what is made here can be seen again. */
export function KeptNote({ me, children }: { me: Me; children: ReactNode }) {
  const t = useT('media'),
    c = useT('common')
  return (
    <p className="text-small text-ink3">
      {keepDays(me) === 0 ? t('tabOnly') : children}{' '}
      <Link to="/gallery" className="text-accent-ink underline">
        {c('gallery')}
      </Link>
    </p>
  )
}
const RequestCode = lazy(() => import('./code'))
/** The window with a request as code. `children` stand above it. */
export function CodeOf({
  of,
  onClose,
  foot,
  children,
}: {
  of: Asked
  onClose: () => void
  foot?: ReactNode
  children?: ReactNode
}) {
  const t = useT('playground')
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('codeTitle')}
      wide
    >
      {children}
      <Suspense fallback={<SkeletonRows rows={8} />}>
        <RequestCode of={of} foot={foot} />
      </Suspense>
    </Dialog>
  )
}
