import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { Suspense, lazy, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Me } from '../../api/query'
import { listChats } from '../../api/operations'
import {
  add,
  decimal,
  integer,
  money,
  number,
  perToken,
  plain,
  seconds,
  times,
  ZERO,
  type Decimal,
} from '../../format'
import { useT } from '../../i18n'
import { hasPage } from '../../routes/paths'
import { remember, remembered } from '../../settings'
import { Button, IconButton } from '../../ui/button'
import { Copy } from '../../ui/copy'
import { Empty, Skeleton } from '../../ui/feedback'
import { Checkbox, Field, Input, Select } from '../../ui/field'
import { useDraft } from '../../ui/draft'
import { Icon } from '../../ui/icons'
import { Link, useGo, usePageSearch } from '../../ui/link'
import { State, Tag } from '../../ui/marks'
import { Confirm, Dialog } from '../../ui/overlay'
import { Money, When } from '../../ui/values'
import { toast } from '../../ui/toast'
import { VendorMark } from '../../ui/vendor'
import { ModelPicker } from '../catalog/choose'
import type { Model } from '../catalog/filter'
import { Composer } from './composer'
import { ask, forget, roomOf, useRoom, type Can, type Room } from './chat'
import { BegunNote, Fresh } from './fresh'
import { deleteEverywhere, keeps, listAll } from './history'
import { Explain, Frame, Ready } from './modes'
import { Panel } from './panel'
import { linkTo, shape } from './share'
import {
  bytesOf,
  guess,
  request,
  running,
  wrong,
  type Answer,
  type Attachment,
  type Settings,
  type Turn,
  type Chat,
} from './stream'
import { FrameList, TurnView, type Acts, type T } from './turn'
import { CodeOf } from './works'

const SavePreset = lazy(() => import('../presets/save'))

/** One to four models, side by side, that answer the same messages. One address for each chat. */
export default function Playground() {
  const { chat } = useParams({ strict: false }) as { chat?: string }
  return (
    <Ready mode="chat" fits={(m) => m.type === 'chat' && m.outs.includes('text')}>
      {(me, models) =>
        chat === undefined ? (
          <Fresh me={me} models={models} />
        ) : (
          <Chatroom key={`${me.user!.id} ${chat}`} me={me} room={roomOf(me.user!.id, chat)} models={models} />
        )
      }
    </Ready>
  )
}
type Over =
  | { kind: 'code' }
  | { kind: 'explain' }
  | { kind: 'share' }
  | { kind: 'preset' }
  | { kind: 'history' }
  | { kind: 'frames'; asked: number }
  | { kind: 'other'; model: string; at: number }
  | null
const can = (m: Model | undefined): Can => ({
  reasoning: m?.caps.includes('reasoning') ?? false,
  tools: m?.caps.includes('tools') ?? false,
})
/** A kind of file that the model does not take. The gateway reads PDF files and texts for every model. */
const lacks = (m: Model | undefined, files: readonly Attachment[]) =>
  (['image', 'audio'] as const).find((k) => files.some((f) => f.kind === k) && !m?.ins.includes(k))

function Chatroom({ me, room, models }: { me: Me; room: Room; models: readonly Model[] }) {
  const t = useT('playground'),
    c = useT('common')
  useRoom(room)
  const { chat } = room
  const [search, setSearch] = usePageSearch(shape)
  const go = useGo()
  const [said, say] = useState('')
  const byId = useMemo(
    () => new Map(models.flatMap((m) => [m.id, ...(m.aliases ?? [])].map((id) => [id, m] as const))),
    [models],
  )
  const name = (id: string) => byId.get(id)?.name ?? id
  useEffect(() => {
    room.onEnd = (model, a) => {
      if (!a.error) say(t('said', { name: name(model), text: a.text.slice(0, 2000) }))
    }
    return () => {
      room.onEnd = null
    }
  })
  // Who leaves the page pays for no more of the answer.
  useEffect(() => () => room.stop(), [room])
  const known = (ids: readonly string[]) =>
    [...new Set(ids.flatMap((id) => byId.get(id)?.id ?? []))].slice(0, 4)
  const choices = [
    known(search.models),
    known(chat.models),
    known((remembered('playground') ?? '').split(',')),
  ]
  const columns = choices.find((c) => c.length) ?? [models.find((m) => m.rank === 1)?.id ?? models[0]!.id]
  const address = columns.join()
  useEffect(() => {
    if (room.ready) {
      room.models(address.split(','))
      remember('playground', address)
    }
  }, [address, room, room.ready])
  const choose = (next: readonly string[]) => setSearch({ models: next })
  // The chat keeps the messages of a column that is closed.
  const back = { label: c('undo'), run: () => choose(columns) }

  const [draft, setDraft] = useDraft(`chat ${room.id}`, '', { quiet: true })
  const begun = useRef(room.begun?.prompt)
  useEffect(() => {
    if (begun.current) setDraft(begun.current)
  }, [setDraft])
  const [files, setFiles] = useState<readonly Attachment[]>(room.begun?.files ?? [])
  const [sheet, setSheet] = useState(false)
  const [over, setOver] = useState<Over>(null)
  const turns = (id: string): readonly Turn[] => chat.turns[id] ?? []
  const busy = columns.some((id) => turns(id).some((x) => running(x.answer)))
  const bad = wrong(chat.settings)
  useEffect(() => {
    const f = (e: KeyboardEvent) => {
      if (document.querySelector('[role=dialog],[role=alertdialog],[role=menu]') || e.defaultPrevented) return
      if (e.key === 'Escape' && busy) {
        e.preventDefault()
        room.stop()
      } else if (e.altKey && /^Digit[1-4]$/.test(e.code)) {
        const c = document.querySelectorAll<HTMLElement>('[data-column]')[Number(e.code.slice(5)) - 1]
        if (c) {
          e.preventDefault()
          c.scrollIntoView({ inline: 'start', block: 'nearest' })
          c.querySelector<HTMLElement>('[role=log]')?.focus()
        }
      } else if ((e.metaKey || e.ctrlKey) && e.key === '.') {
        e.preventDefault()
        setSheet(true)
      }
    }
    window.addEventListener('keydown', f)
    return () => window.removeEventListener('keydown', f)
  }, [busy, room])
  const unable =
    columns.flatMap((id) => {
      const k = lacks(byId.get(id), files)
      return k ? [t(`lacks_${k}`, { name: name(id) })] : []
    })[0] ?? null
  const why = unable ?? (bad.length > 0 ? t('badSetting') : null)
  const ready = (draft.trim() !== '' || files.length > 0) && !busy && why === null
  const submit = () => {
    if (!ready) return
    for (const id of columns)
      void room.ask(id, { prompt: draft, ...(files.length ? { files } : {}) }, can(byId.get(id)))
    room.begun = null
    setDraft('')
    setFiles([])
    say(t('started'))
  }
  const fresh = models.filter((m) => !columns.includes(m.id))
  const estimate = useMemo(
    () =>
      nextCost(
        columns.flatMap((id) => byId.get(id) ?? []),
        chat,
        draft,
      ),
    [address, byId, busy, chat.settings, draft],
  ) // eslint-disable-line react-hooks/exhaustive-deps

  // Each column has the same acts as long as it is there; they read what is now.
  const now = { room, columns, byId, t, choose, go, say }
  const latest = useRef(now)
  useEffect(() => {
    latest.current = now
  })
  const acts = useCallback(
    (id: string): Acts => ({
      again: () => room.again(id, can(latest.current.byId.get(id))),
      goOn: () => {
        void room.ask(id, { prompt: latest.current.t('goOnPrompt') }, can(latest.current.byId.get(id)))
      },
      edit: (at, prompt) => {
        const turn = room.turns(id)[at]!
        const branch = room.branch(id, at)
        const { byId, go, say, t } = latest.current
        for (const m of branch.models) void branch.room.ask(m, { ...ask(turn), prompt }, can(byId.get(m)))
        go(`/playground/${branch.room.id}`, { search: { models: branch.models.join() } })
        say(t('started'))
      },
      other: (at) => setOver({ kind: 'other', model: id, at }),
      frames: (asked) => setOver({ kind: 'frames', asked }),
      results: (results) => {
        void room.ask(id, { prompt: '', results }, can(latest.current.byId.get(id)))
      },
      hasFrames: (asked) => (room.raw.get(asked)?.frames.length ?? 0) > 0,
    }),
    [room],
  )
  const build = (id: string) => {
    const last = turns(id)[turns(id).length - 1]
    const next =
      draft.trim() || files.length ? { prompt: draft, files } : last ? ask(last) : { prompt: 'Hello' }
    return request(
      id,
      draft.trim() || files.length || !last ? turns(id) : turns(id).slice(0, -1),
      next,
      chat.settings,
      can(byId.get(id)),
    )
  }
  const show = (o: Over) => {
    setSheet(false)
    setOver(o)
  }
  const settings = (
    <Panel
      t={t}
      chat={chat}
      models={models}
      columns={columns.flatMap((id) => byId.get(id) ?? [])}
      bad={bad}
      kept={room.kept}
      onChange={room.settings}
      onCode={() => show({ kind: 'code' })}
      onExplain={() => show({ kind: 'explain' })}
      onPreset={() => show({ kind: 'preset' })}
      onShare={() => show({ kind: 'share' })}
      onHistory={() => show({ kind: 'history' })}
      onNew={() => go('/playground', { search: { models: address } })}
    />
  )
  if (!room.ready)
    return (
      <>
        <h1 tabIndex={-1} className="sr-only">
          {t('title')}
        </h1>
        <div className="p-5">
          <Skeleton className="h-8 w-64" />
        </div>
      </>
    )
  return (
    <Frame
      mode="chat"
      settings={settings}
      open={sheet}
      onOpen={setSheet}
      foot={
        <Composer
          draft={draft}
          onDraft={setDraft}
          files={files}
          onFiles={setFiles}
          placeholder={columns.length > 1 ? t('writeN', { n: columns.length }) : t('write')}
          busy={busy}
          ready={ready}
          why={why}
          onSubmit={submit}
          onStop={() => room.stop()}
          onLast={() => {
            const all = turns(columns[0]!)
            const last = all[all.length - 1]
            if (last?.prompt) setDraft(last.prompt)
          }}
          left={
            columns.length < 4 &&
            fresh.length > 0 && (
              <ModelPicker
                quiet
                value=""
                label={t('addModel')}
                shown={<span className="max-sm:sr-only">{t('addModel')}</span>}
                fits={(m) => fresh.includes(m)}
                onChange={(id) => choose([...columns, id])}
              />
            )
          }
          right={
            !busy &&
            estimate && (
              <span title={t('nextHelp')} className="pr-2 text-small text-ink3 tabular-nums max-md:hidden">
                {estimate.to
                  ? t('next', { from: money(plain(estimate.from)), to: money(plain(estimate.to)) })
                  : t('nextFrom', { from: money(plain(estimate.from)) })}
              </span>
            )
          }
        />
      }
    >
      <span role="status" className="sr-only">
        {said}
      </span>
      {room.begun && <BegunNote t={t} begun={room.begun} />}
      <div className="relative flex min-h-0 flex-1 snap-x snap-mandatory overflow-x-auto">
        {columns.map((id, i) => (
          <Column
            key={i}
            t={t}
            id={id}
            n={i}
            of={columns.length}
            model={byId.get(id)}
            turns={turns(id)}
            acts={acts}
            settings={chat.settings}
            onStarter={setDraft}
            fits={(m) => m.id === id || fresh.includes(m)}
            mark={(m) => {
              const k = lacks(m, files)
              return k ? t(`no_${k}`) : null
            }}
            onModel={(to) => {
              room.stop(id)
              room.exchange(id, to)
              choose(columns.map((x) => (x === id ? to : x)))
            }}
            onMain={() => {
              for (const x of columns) if (x !== id) room.stop(x)
              choose([id])
              toast(t('aloneNow', { name: name(id) }), back)
            }}
            onClose={() => {
              room.stop(id)
              choose(columns.filter((x) => x !== id))
              toast(t('closedNow', { name: name(id) }), back)
            }}
          />
        ))}
      </div>
      {over?.kind === 'code' && (
        <CodeDialog t={t} onClose={() => setOver(null)} models={columns} name={name} build={build} />
      )}
      {over?.kind === 'explain' && (
        <Suspense fallback={null}>
          <Explain body={build(columns[0]!)} onClose={() => setOver(null)} />
        </Suspense>
      )}
      {over?.kind === 'share' && (
        <ShareDialog t={t} models={columns} settings={chat.settings} onClose={() => setOver(null)} />
      )}
      {over?.kind === 'preset' && (
        <Suspense fallback={null}>
          <SavePreset model={columns[0]!} settings={chat.settings} onClose={() => setOver(null)} />
        </Suspense>
      )}
      {over?.kind === 'history' && (
        <HistoryDialog
          t={t}
          person={me.user!.id}
          now={room.id}
          onClose={() => setOver(null)}
          onGone={(ids) => {
            forget(me.user!.id, ids)
            if (ids.includes(room.id)) go('/playground', { search: { models: address } })
          }}
        />
      )}
      {over?.kind === 'frames' && (
        <Dialog
          open
          wide
          onOpenChange={(o) => {
            if (!o) setOver(null)
          }}
          title={t('rawFrames')}
          description={t('framesText')}
        >
          <FrameList t={t} frames={room.raw.get(over.asked)?.frames ?? []} />
        </Dialog>
      )}
      {over?.kind === 'other' && (
        <OtherDialog
          t={t}
          choices={fresh}
          full={columns.length === 4}
          onClose={() => setOver(null)}
          onModel={(to) => {
            const turn = turns(over.model)[over.at]
            setOver(null)
            if (!turn || (turns(to).length > 0 && columns.includes(to))) return
            room.restart(over.model, over.at, to)
            choose(columns.length < 4 ? [...columns, to] : columns.map((x) => (x === over.model ? to : x)))
            void room.ask(to, ask(turn), can(byId.get(to)))
          }}
        />
      )}
    </Frame>
  )
}

/** Rubles for tokens at the price of a thousand. */
function rubles(perThousand: string | null, tokens: number): Decimal {
  const one = decimal(perToken(perThousand))
  return one ? times(one, tokens) : ZERO
}
function promptTokens(turns: readonly Turn[], prompt: string, s: Settings): number {
  return guess(
    bytesOf(s.system) +
      turns.reduce((n, t) => n + (t.answer.text ? bytesOf(t.prompt) + t.answer.size : 0), 0) +
      bytesOf(prompt),
  )
}
function nextCost(
  models: readonly Model[],
  chat: Chat,
  draft: string,
): { from: Decimal; to: Decimal | null } | null {
  if (!draft.trim() || models.length === 0 || models.some((m) => m.in === null || m.out === null)) return null
  let from = ZERO,
    to: Decimal | null = ZERO
  for (const m of models) {
    const prompt = rubles(m.in, promptTokens(chat.turns[m.id] ?? [], draft, chat.settings))
    const set = Number(chat.settings.longest)
    const most = Number.isInteger(set) && set > 0 ? set : m.max
    from = add(from, prompt)
    to = to && most ? add(to, add(prompt, rubles(m.out, most))) : null
  }
  return { from, to }
}

const starters = ['starter1', 'starter2', 'starter3', 'starter4'] as const
function Column({
  t,
  id,
  n,
  of,
  model,
  turns,
  acts: actsOf,
  settings,
  fits,
  mark,
  onModel,
  onMain,
  onClose,
  onStarter,
}: {
  t: T
  id: string
  n: number
  of: number
  model: Model | undefined
  turns: readonly Turn[]
  acts: (id: string) => Acts
  settings: Settings
  fits: (m: Model) => boolean
  mark: (m: Model) => string | null
  onModel: (id: string) => void
  onMain: () => void
  onClose: () => void
  onStarter: (text: string) => void
}) {
  const acts = useMemo(() => actsOf(id), [actsOf, id])
  const last = turns[turns.length - 1]
  const log = useRef<HTMLDivElement>(null)
  const pinned = useRef(true)
  const lastTop = useRef(0)
  const [away, setAway] = useState(false)
  const pin = (on: boolean) => {
    pinned.current = on
    setAway(!on)
  }
  const count = turns.length
  useLayoutEffect(() => {
    pinned.current = true
    setAway(false)
  }, [count])
  useLayoutEffect(() => {
    if (pinned.current && log.current) log.current.scrollTop = log.current.scrollHeight
  })
  // Text that is being marked does not run away.
  useEffect(() => {
    const f = () => {
      const s = document.getSelection()
      if (s && !s.isCollapsed && log.current?.contains(s.anchorNode)) pin(false)
    }
    document.addEventListener('selectionchange', f)
    return () => document.removeEventListener('selectionchange', f)
  }, [])
  const name = model?.name ?? id
  return (
    <section
      aria-label={name}
      data-column
      className="relative flex min-w-full flex-1 snap-start snap-always flex-col border-line not-first:border-l md:min-w-72"
    >
      <header className="flex h-12 flex-none items-center gap-2 border-b border-line bg-surface px-4 md:px-5">
        <VendorMark vendor={model?.vendor ?? id.split('/')[0]!} />
        <ModelPicker
          value={id}
          shown={model && mark(model) ? `${name} — ${mark(model)!}` : name}
          label={of > 1 ? t('modelN', { n: n + 1 }) : t('model')}
          fits={fits}
          mark={mark}
          onChange={onModel}
        />
        <span className="flex-1" />
        {last && (
          <span className="text-small whitespace-nowrap max-sm:hidden">
            <State
              tone={
                last.answer.status === 'failed'
                  ? 'bad'
                  : last.answer.status === 'stopped'
                    ? 'plain'
                    : running(last.answer)
                      ? 'accent'
                      : 'good'
              }
            >
              {t(last.answer.status === 'stopped' ? 'stoppedState' : last.answer.status)}
            </State>
          </span>
        )}
        {of > 1 && (
          <span className="text-small whitespace-nowrap text-ink3 md:hidden">
            {t('place', { n: n + 1, of })}
          </span>
        )}
        {of > 1 && <IconButton small icon="check" label={t('mainModel', { name })} onClick={onMain} />}
        {of > 1 && <IconButton small icon="x" label={t('closeModel', { name })} onClick={onClose} />}
      </header>
      <div className="relative min-h-0 flex-1">
        <div
          ref={log}
          tabIndex={0}
          role="log"
          aria-live="off"
          aria-label={name}
          className="h-full overflow-y-auto px-4 py-4 focus-visible:outline-offset-[-2px] md:px-5"
          onWheel={(e) => {
            if (e.deltaY < 0 && e.currentTarget.scrollTop > 0) pin(false)
          }}
          onTouchMove={() => {
            if (last && running(last.answer)) pin(false)
          }}
          onKeyDown={(e) => {
            if (e.target === e.currentTarget && ['ArrowUp', 'PageUp', 'Home'].includes(e.key)) pin(false)
          }}
          onScroll={(e) => {
            const b = e.currentTarget,
              gap = b.scrollHeight - b.scrollTop - b.clientHeight
            if (gap < 4) {
              if (!pinned.current) pin(true)
            } else if (gap >= 48 && b.scrollTop < lastTop.current) {
              if (last && running(last.answer)) pin(false)
              else pinned.current = false
            }
            lastTop.current = b.scrollTop
          }}
        >
          {turns.length === 0 && (
            <Empty
              title={t('empty')}
              action={
                n === 0 &&
                starters.map((s) => (
                  <Button
                    key={s}
                    small
                    onClick={() => {
                      onStarter(t(s))
                      document.querySelector<HTMLElement>('[data-composer] textarea')?.focus()
                    }}
                  >
                    {t(s)}
                  </Button>
                ))
              }
            >
              {t('emptyText')}
            </Empty>
          )}
          {turns.map((x, i) => (
            <TurnView
              key={x.answer.asked}
              turn={x}
              at={i}
              calls={turns[i - 1]?.answer.calls}
              last={i === turns.length - 1}
              acts={acts}
            />
          ))}
        </div>
        {away && (
          <Button
            small
            className="absolute bottom-2 left-1/2 -translate-x-1/2 shadow-float"
            icon="down"
            onClick={() => {
              pin(true)
              if (log.current) log.current.scrollTop = log.current.scrollHeight
            }}
          >
            {t('newText')}
          </Button>
        )}
      </div>
      {last && (
        <Figures
          t={t}
          answer={last.answer}
          model={model}
          prompt={running(last.answer) ? promptTokens(turns.slice(0, -1), last.prompt, settings) : 0}
          onAgain={acts.again}
        />
      )}
    </section>
  )
}

/** Refused before its stream began: such a call costs nothing. A connection that broke says nothing of it. */
export const unpaid = (a: Answer) =>
  a.status === 'failed' && a.cost === null && a.id === null && a.error !== null && a.error.status >= 400

/** Under the column: what the last answer took. */
function Figures({
  t,
  answer: a,
  model,
  prompt,
  onAgain,
}: {
  t: T
  answer: Answer
  model: Model | undefined
  prompt: number
  onAgain: () => void
}) {
  const live = running(a)
  const out = a.tokens?.out ?? (a.size ? guess(a.size) : null)
  const about = a.tokens ? '' : '≈\u202f'
  const taken = a.first !== null && a.end !== null ? a.end - a.first : 0
  const estimate =
    live && model && model.in !== null && model.out !== null
      ? plain(add(rubles(model.in, prompt), rubles(model.out, out ?? 0)))
      : null
  return (
    <footer
      className={
        'flex min-h-10 flex-none flex-wrap items-center gap-x-3 gap-y-0.5 border-t border-line ' +
        'bg-surface px-4 py-1.5 text-small text-ink2 tabular-nums md:px-5'
      }
    >
      {a.provider && (
        <span translate="no" className="text-ink3 max-sm:hidden">
          {a.provider}
        </span>
      )}
      {a.tokens && <span>{t('inTokens', { n: a.tokens.in })}</span>}
      {out !== null && (
        <span>
          {about}
          {t('outTokens', { n: integer(out) })}
        </span>
      )}
      {a.first !== null && <span className="max-sm:hidden">{t('toFirst', { time: seconds(a.first) })}</span>}
      {a.tokens && taken > 50 && (
        <span className="max-sm:hidden">{t('speed', { n: number(a.tokens.out / (taken / 1000), 0) })}</span>
      )}
      <span className="flex-1" />
      {a.cost !== null ? (
        <>
          <Money value={a.cost} className="font-semibold text-ink" />
          <Tag tone="good">{t('settled')}</Tag>
        </>
      ) : live && estimate ? (
        <>
          <Money value={estimate} about className="font-semibold text-ink" />
          <Tag tone="hold">{t('estimate')}</Tag>
        </>
      ) : unpaid(a) ? (
        <>
          <Money value="0" className="font-semibold text-ink" />
          <Tag>{t('notCharged')}</Tag>
        </>
      ) : !live && a.id ? (
        <Tag tone="hold">{t('settling')}</Tag>
      ) : null}
      {a.id && a.cost !== null && hasPage('/calls/$id') && (
        <Link
          to={`/calls/${a.id}`}
          title={t('openCall')}
          className="inline-flex min-h-6 items-center text-accent-ink"
        >
          <span className="max-sm:sr-only">{t('openCall')}</span>
          <Icon name="arrow" className="sm:hidden" />
        </Link>
      )}
      {!live && <IconButton small icon="refresh" label={t('again')} onClick={onAgain} />}
    </footer>
  )
}

function CodeDialog({
  t,
  onClose,
  models,
  name,
  build,
}: {
  t: T
  onClose: () => void
  models: readonly string[]
  name: (id: string) => string
  build: (id: string) => ReturnType<typeof request>
}) {
  const [id, setId] = useState(models[0]!)
  return (
    <CodeOf onClose={onClose} of={{ kind: 'chat', body: build(id) }} foot={t('codeFoot')}>
      {models.length > 1 && (
        <Field label={t('model')} className="pb-3">
          <Select
            value={id}
            onChange={(e) => setId(e.target.value)}
            options={models.map((m) => ({ value: m, label: name(m) }))}
          />
        </Field>
      )}
    </CodeOf>
  )
}
function ShareDialog({
  t,
  models,
  settings,
  onClose,
}: {
  t: T
  models: readonly string[]
  settings: Settings
  onClose: () => void
}) {
  const [text, setText] = useState(false)
  const query = new URLSearchParams(linkTo(models, settings, text) as Record<string, string>).toString()
  const link = `${location.origin}/playground?${query.replaceAll('%2C', ',').replaceAll('%2F', '/')}`
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('share')}
      description={t('shareText')}
    >
      <div className="flex items-end gap-2 pt-2">
        <Field label={t('link')} className="min-w-0 flex-1">
          <Input readOnly value={link} onFocus={(e) => e.target.select()} translate="no" />
        </Field>
        <Copy text={link} small={false} look="main">
          {t('copyLink')}
        </Copy>
      </div>
      {settings.system.trim() !== '' && (
        <div className="pt-2">
          <Checkbox checked={text} onChange={setText}>
            {t('shareInstructions')}
          </Checkbox>
        </div>
      )}
      {link.length > 6000 && <p className="pt-2 text-small text-warn">{t('linkLong')}</p>}
    </Dialog>
  )
}
function HistoryDialog({
  t,
  person,
  now,
  onClose,
  onGone,
}: {
  t: T
  person: string
  now: string
  onClose: () => void
  onGone: (ids: readonly string[]) => void
}) {
  const { data: kept, refetch } = useQuery({
    queryKey: listChats.key('of', person),
    queryFn: () => listAll(person),
    staleTime: 0,
    gcTime: 0,
  })
  const [asking, setAsking] = useState(false)
  const remove = async (ids: readonly string[]) => {
    onGone(ids)
    try {
      await deleteEverywhere(ids, ids.length === kept?.length)
    } catch {
      toast(t('notDeleted'))
    }
    void refetch()
  }
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('history')}
      description={t(keeps() ? 'historyThere' : 'historyText')}
      footer={
        kept &&
        kept.length > 0 && (
          <Button look="bad" icon="trash" onClick={() => setAsking(true)}>
            {t('deleteAll')}
          </Button>
        )
      }
    >
      {kept?.length === 0 && <Empty title={t('noHistory')} />}
      <ul aria-label={t('history')} className="pt-1">
        {kept?.map((k) => (
          <li key={k.id} className="flex items-center gap-2 not-last:border-b not-last:border-line">
            <Link
              to={`/playground/${k.id}`}
              onClick={onClose}
              aria-current={k.id === now ? 'page' : undefined}
              className="flex min-h-11 min-w-0 flex-1 items-center gap-3 text-ink no-underline hover:text-accent-ink aria-[current=page]:font-medium"
            >
              <span translate="no" dir="auto" className="min-w-0 flex-1 truncate">
                {k.title}
              </span>
              {k.there && (
                <span className="max-sm:sr-only">
                  <Tag>{t('thereTag')}</Tag>
                </span>
              )}
              <When at={k.at} className="text-small text-ink3" />
            </Link>
            <IconButton
              small
              icon="trash"
              label={t('deleteChat', { name: k.title.slice(0, 60) })}
              onClick={() => void remove([k.id])}
            />
          </li>
        ))}
      </ul>
      <Confirm
        open={asking}
        onOpenChange={setAsking}
        title={t(keeps() ? 'deleteAllThere' : 'deleteAllTitle')}
        verb={t('deleteAll')}
        onConfirm={() => {
          setAsking(false)
          void remove((kept ?? []).map((k) => k.id))
        }}
      >
        {t('deleteAllText')}
      </Confirm>
    </Dialog>
  )
}
function OtherDialog({
  t,
  choices,
  full,
  onClose,
  onModel,
}: {
  t: T
  choices: readonly Model[]
  full: boolean
  onClose: () => void
  onModel: (id: string) => void
}) {
  const [id, setId] = useState(choices[0]?.id ?? '')
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('otherModel')}
      description={full ? t('otherFull') : t('otherText')}
      footer={
        <Button look="main" icon="play" disabled={!id} onClick={() => onModel(id)}>
          {t('runIt')}
        </Button>
      }
    >
      <Field label={t('model')} className="pt-2">
        <ModelPicker
          value={id}
          shown={choices.find((m) => m.id === id)?.name ?? id}
          fits={(m) => choices.includes(m)}
          onChange={setId}
        />
      </Field>
    </Dialog>
  )
}
