import { useQuery } from '@tanstack/react-query'
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactNode } from 'react'
import { ApiError } from '../../api/client'
import { availableQuery, useMe, type Me } from '../../api/query'
import { add, decimal, duration, integer, money, number, perToken, plain, seconds, times, ZERO, type Decimal } from '../../format'
import { useT } from '../../i18n'
import { hasPage } from '../../router'
import { Button, IconButton } from '../../ui/button'
import { CodeTabs } from '../../ui/code'
import { Copy } from '../../ui/copy'
import { Empty, ErrorBox, Notice, Skeleton } from '../../ui/feedback'
import { Field, Input, Select, Textarea } from '../../ui/field'
import { Icon } from '../../ui/icons'
import { Link, LinkButton, usePageSearch, type SearchShape } from '../../ui/link'
import { Kbd, Mark, State, Tag } from '../../ui/marks'
import { Dialog, Sheet } from '../../ui/overlay'
import { useTitle } from '../../ui/page'
import { toast } from '../../ui/toast'
import { Money } from '../../ui/values'
import { useCatalog } from '../catalog/data'
import type { Model } from '../catalog/filter'
import { AnswerText } from './answer'
import { useChat, type Chat } from './chat'
import { code } from './code'
import { efforts, guess, request, running, wrong, type Answer, type Failure, type Settings, type Turn } from './stream'

const shape: SearchShape<{ models: readonly string[] }> = {
  read: (raw) => ({ models: [...new Set((raw.models ?? '').split(',').filter(Boolean))].slice(0, 4) }),
  write: (v) => ({ models: v.models.join() || undefined }),
}
type T = ReturnType<typeof useT<'playground'>>

/** One to four models, side by side, that answer the same messages. */
export default function Playground() {
  const t = useT('playground')
  const me = useMe()
  const { prepared, error, refetch } = useCatalog()
  useTitle(t('title'))
  const talkers = useMemo(() => [...(prepared?.models.values() ?? [])].filter((m) => m.type === 'chat' && m.live && m.outs.includes('text')), [prepared])
  let inside: ReactNode
  if (me && !me.user) inside = <Empty icon="play" title={t('visitor')} action={<a href={`/sign-in?to=${encodeURIComponent(location.pathname + location.search)}`} className="font-medium text-accent-ink">{t('signIn')}</a>}>{t('visitorText')}</Empty>
  else if (error && !prepared) inside = <div className="p-5"><ErrorBox error={error} onRetry={() => void refetch()} /></div>
  else if (!me?.user || !prepared) inside = <div className="p-5"><Skeleton className="h-8 w-64" /></div>
  else if (talkers.length === 0) inside = <Empty icon="box" title={t('noModels')} action={<LinkButton to="/models">{t('toCatalog')}</LinkButton>}>{t('noModelsText')}</Empty>
  else return <Room key={me.user.id} me={me} models={talkers} />
  return <><h1 tabIndex={-1} className="sr-only">{t('title')}</h1>{inside}</>
}

function Room({ me, models }: { me: Me; models: readonly Model[] }) {
  const t = useT('playground')
  const [search, setSearch] = usePageSearch(shape)
  const common = useT('common')
  const [said, say] = useState('')
  const byId = useMemo(() => new Map(models.flatMap((m) => [m.id, ...(m.aliases ?? [])].map((id) => [id, m] as const))), [models])
  const name = (id: string) => byId.get(id)?.name ?? id
  const c = useChat(me.user!.id, (model, a) => { if (!a.error) say(t('said', { name: name(model), text: a.text.slice(0, 2000) })) })
  const { chat } = c
  const asked = [...new Set(search.models.flatMap((id) => byId.get(id)?.id ?? []))]
  const kept = chat.models.filter((id) => byId.has(id))
  const columns = asked.length ? asked : kept.length ? kept : [models.find((m) => m.rank === 1)?.id ?? models[0]!.id]
  const address = columns.join()
  const { models: remember } = c
  useEffect(() => { remember(address.split(',')) }, [address, remember])
  const choose = (next: readonly string[]) => setSearch({ models: next })

  const [draft, setDraft] = useState('')
  const [sheet, setSheet] = useState(false)
  const [codeOpen, setCode] = useState(false)
  const turns = (id: string): readonly Turn[] => chat.turns[id] ?? []
  const busy = columns.some((id) => turns(id).some((x) => running(x.answer)))
  const bad = wrong(chat.settings)
  const reasons = (id: string) => byId.get(id)?.caps.includes('reasoning') ?? false
  const { stop } = c
  useEffect(() => {
    if (!busy) return
    const f = (e: KeyboardEvent) => { if (e.key === 'Escape' && !e.defaultPrevented && !document.querySelector('[role=dialog],[role=alertdialog],[role=menu]')) { e.preventDefault(); stop() } }
    window.addEventListener('keydown', f)
    return () => window.removeEventListener('keydown', f)
  }, [busy, stop])
  const ready = draft.trim() !== '' && !busy && bad.length === 0
  const submit = () => {
    if (!ready) return
    for (const id of columns) void c.ask(id, draft, reasons(id))
    setDraft('')
    say(t('started'))
  }
  const fresh = models.filter((m) => !columns.includes(m.id))
  const estimate = useMemo(() => nextCost(columns.flatMap((id) => byId.get(id) ?? []), chat, draft), [address, byId, chat, draft]) // eslint-disable-line react-hooks/exhaustive-deps
  const settings = <Panel t={t} chat={chat} bad={bad} onChange={c.settings} onCode={() => { setSheet(false); setCode(true) }} canClear={!busy && Object.values(chat.turns).some((x) => x.length > 0)}
    onClear={() => { const before = { turns: chat.turns, spent: chat.spent }; c.put({ turns: {}, spent: {} }); toast(t('cleared'), { label: common('undo'), run: () => c.put(before) }) }} />
  return (
    <div className="flex h-[calc(100dvh-52px)] min-h-96 max-md:h-[calc(100dvh-132px)]">
      <h1 tabIndex={-1} className="sr-only">{t('title')}</h1>
      <span role="status" className="sr-only">{said}</span>
      <div className="flex min-w-0 flex-1 flex-col">
        <div className="relative flex min-h-0 flex-1 snap-x snap-mandatory overflow-x-auto">
          {columns.map((id, i) => (
            <Column key={i} t={t} id={id} n={i} of={columns.length} model={byId.get(id)} turns={turns(id)} settings={chat.settings} choices={models.filter((m) => m.id === id || !columns.includes(m.id))}
              onModel={(to) => { c.stop(id); c.exchange(id, to); choose(columns.map((x) => (x === id ? to : x))) }}
              onClose={() => { c.stop(id); choose(columns.filter((x) => x !== id)) }} onAgain={() => c.again(id, reasons(id))} />
          ))}
        </div>
        <form className="border-t border-line bg-surface p-3 md:px-5 md:py-4" onSubmit={(e) => { e.preventDefault(); submit() }}>
          <div className="rounded-panel border border-line2 bg-surface focus-within:border-accent">
            <textarea value={draft} onChange={(e) => setDraft(e.target.value)} aria-label={t('message')} placeholder={columns.length > 1 ? t('writeN', { n: columns.length }) : t('write')} rows={Math.min(8, Math.max(2, draft.split('\n').length))} dir="auto" autoFocus
              onKeyDown={(e) => { if (e.key === 'Enter' && !e.shiftKey && !e.nativeEvent.isComposing) { e.preventDefault(); submit() } }}
              className="block w-full resize-none rounded-panel bg-transparent px-3.5 pt-3 pb-1 text-answer text-ink placeholder:text-ink3 focus:outline-none" />
            <div className="flex flex-wrap items-center gap-2 px-2.5 pb-2.5">
              {columns.length < 4 && fresh.length > 0 && <Button small look="quiet" icon="plus" onClick={() => choose([...columns, fresh[0]!.id])}><span className="max-sm:sr-only">{t('addModel')}</span></Button>}
              <IconButton icon="sliders" label={t('panel')} className="lg:hidden" onClick={() => setSheet(true)} />
              <span className="flex-1" />
              {!busy && estimate && <span title={t('nextHelp')} className="text-small text-ink3 tabular-nums max-md:hidden">{estimate.to ? t('next', { from: money(plain(estimate.from)), to: money(plain(estimate.to)) }) : t('nextFrom', { from: money(plain(estimate.from)) })}</span>}
              {busy ? <><span className="max-md:hidden"><Kbd>Esc</Kbd></span><Button look="bad" icon="stop" onClick={() => c.stop()}>{t('stop')}</Button></> : <Button look="main" type="submit" icon="send" disabled={!ready}>{t('send')}</Button>}
            </div>
          </div>
        </form>
      </div>
      <aside aria-label={t('panel')} className="w-72 flex-none overflow-y-auto border-l border-line bg-surface p-5 max-lg:hidden">{settings}</aside>
      <Sheet open={sheet} onOpenChange={setSheet} title={t('panel')}>{settings}</Sheet>
      {codeOpen && <CodeDialog t={t} onClose={() => setCode(false)} models={columns} name={name} build={(id) => request(id, turns(id), draft.trim() ? draft : turns(id)[turns(id).length - 1]?.prompt ?? 'Hello', chat.settings, reasons(id))} />}
    </div>
  )
}

/** Rubles for tokens at the price of a thousand. */
function rubles(perThousand: string | null, tokens: number): Decimal {
  const one = decimal(perToken(perThousand))
  return one ? times(one, tokens) : ZERO
}
function promptTokens(turns: readonly Turn[], prompt: string, s: Settings): number {
  return guess(s.system + turns.filter((t) => t.answer.text).map((t) => t.prompt + t.answer.text).join('') + prompt)
}
function nextCost(models: readonly Model[], chat: Chat, draft: string): { from: Decimal; to: Decimal | null } | null {
  if (!draft.trim() || models.length === 0 || models.some((m) => m.in === null || m.out === null)) return null
  let from = ZERO, to: Decimal | null = ZERO
  for (const m of models) {
    const prompt = rubles(m.in, promptTokens(chat.turns[m.id] ?? [], draft, chat.settings))
    const set = Number(chat.settings.longest)
    const most = Number.isInteger(set) && set > 0 ? set : m.max
    from = add(from, prompt)
    to = to && most ? add(to, add(prompt, rubles(m.out, most))) : null
  }
  return { from, to }
}
const asError = (f: Failure) => new ApiError(f.type, f.message, f.status, f.requestId, null, f.retryAfter)

function Column({ t, id, n, of, model, turns, settings, choices, onModel, onClose, onAgain }: {
  t: T; id: string; n: number; of: number; model: Model | undefined; turns: readonly Turn[]; settings: Settings; choices: readonly Model[]; onModel: (id: string) => void; onClose: () => void; onAgain: () => void
}) {
  const last = turns[turns.length - 1]
  const log = useRef<HTMLDivElement>(null)
  const pinned = useRef(true)
  const [away, setAway] = useState(false)
  const pin = (on: boolean) => { pinned.current = on; setAway(!on) }
  const count = turns.length
  useLayoutEffect(() => { pinned.current = true; setAway(false) }, [count])
  useLayoutEffect(() => { if (pinned.current && log.current) log.current.scrollTop = log.current.scrollHeight })
  const name = model?.name ?? id
  return (
    <section aria-label={name} className="relative flex min-w-full flex-1 snap-start flex-col border-line not-first:border-l md:min-w-72">
      <header className="flex h-12 flex-none items-center gap-2 border-b border-line bg-surface px-4 md:px-5">
        <Mark name={name} />
        <Select value={id} aria-label={of > 1 ? t('modelN', { n: n + 1 }) : t('model')} translate="no" options={choices.map((m) => ({ value: m.id, label: m.name }))} onChange={(e) => onModel(e.target.value)} />
        <span className="flex-1" />
        {last && <span className="text-small whitespace-nowrap max-sm:hidden"><State tone={last.answer.status === 'failed' ? 'bad' : last.answer.status === 'stopped' ? 'plain' : running(last.answer) ? 'accent' : 'good'}>{t(last.answer.status === 'stopped' ? 'stoppedState' : last.answer.status)}</State></span>}
        {of > 1 && <span className="text-small whitespace-nowrap text-ink3 md:hidden">{t('place', { n: n + 1, of })}</span>}
        {of > 1 && <IconButton small icon="x" label={t('closeModel', { name })} onClick={onClose} />}
      </header>
      <div className="relative min-h-0 flex-1">
        <div ref={log} tabIndex={0} role="log" aria-live="off" aria-label={name} className="h-full overflow-y-auto px-4 py-4 focus-visible:outline-offset-[-2px] md:px-5"
          onWheel={(e) => { if (e.deltaY < 0 && e.currentTarget.scrollTop > 0) pin(false) }}
          onScroll={(e) => { const b = e.currentTarget; const near = b.scrollHeight - b.scrollTop - b.clientHeight < 48; if (near !== pinned.current && (near || !last || !running(last.answer) || b.scrollHeight - b.scrollTop - b.clientHeight >= 48)) pin(near) }}>
          {turns.length === 0 && <Empty title={t('empty')}>{t('emptyText')}</Empty>}
          {turns.map((x, i) => <TurnView key={x.answer.asked} t={t} turn={x} onAgain={i === turns.length - 1 ? onAgain : undefined} />)}
        </div>
        {away && <Button small className="absolute bottom-2 left-1/2 -translate-x-1/2 shadow-float" icon="down" onClick={() => { pin(true); if (log.current) log.current.scrollTop = log.current.scrollHeight }}>{t('newText')}</Button>}
      </div>
      {last && <Figures t={t} answer={last.answer} model={model} prompt={promptTokens(turns.slice(0, -1), last.prompt, settings)} onAgain={onAgain} />}
    </section>
  )
}

function TurnView({ t, turn: { prompt, answer: a }, onAgain }: { t: T; turn: Turn; onAgain: (() => void) | undefined }) {
  const [chosen, setChosen] = useState<boolean | null>(null)
  const thinking = a.status === 'streaming' && a.text === '' && a.reasoning !== ''
  const open = chosen ?? thinking
  return (
    <div className="pb-6">
      <div className="rounded-panel border border-line bg-surface px-3.5 py-2.5"><span className="sr-only">{t('you')}: </span><p dir="auto" translate="no" className="text-answer break-words whitespace-pre-wrap">{prompt}</p></div>
      <div className="pt-3">
        {a.reasoning && (
          <div className="pb-2">
            <button type="button" aria-expanded={open} onClick={() => setChosen(!open)} className="flex min-h-8 items-center gap-2 text-small text-ink2 hover:text-ink">
              <Icon name={open ? 'down' : 'right'} size={14} /><Icon name="reasoning" />
              <span>{thinking ? t('thinking') : t('thought', { time: duration(Math.max(1, (a.firstText ?? a.end ?? 0) - (a.first ?? 0))) })}</span>
              <span className="text-ink3">{thinking || !a.tokens?.reasoning ? `≈ ${t('reasoningTokens', { n: guess(a.reasoning) })}` : t('reasoningTokens', { n: a.tokens.reasoning })}</span>
            </button>
            {open && <p dir="auto" translate="no" className="ml-1.5 border-l-2 border-line py-0.5 pl-3 text-small break-words whitespace-pre-wrap text-ink2">{a.reasoning}</p>}
          </div>
        )}
        {a.text && <AnswerText text={a.text} />}
        {running(a) && <span aria-hidden className="inline-block h-4 w-2 bg-accent align-middle" />}
        {a.status === 'stopped' && <p className="pt-1 text-small text-ink3">{t('stopped')}</p>}
        {a.status === 'done' && a.finish === 'length' && <p className="pt-1 text-small text-warn">{t('cutOff')}</p>}
        {a.status === 'done' && a.finish === 'content_filter' && <p className="pt-1 text-small text-warn">{t('filtered')}</p>}
        {a.status === 'done' && !a.text && <p className="pt-1 text-small text-ink3">{t('noText')}</p>}
        {a.error && <div className="pt-2">{a.text || a.reasoning ? <Broken t={t} error={a.error} onAgain={onAgain} /> : <ErrorBox title={t('failedTitle')} error={asError(a.error)} {...(onAgain ? { onRetry: onAgain } : {})} />}</div>}
      </div>
    </div>
  )
}

/** The text that had come stays; it is charged, so the sentences about free failures do not hold. */
function Broken({ t, error, onAgain }: { t: T; error: Failure; onAgain: (() => void) | undefined }) {
  return (
    <div role="alert"><Notice tone="bad" title={t('failedAfter')} action={onAgain && <Button small icon="refresh" onClick={onAgain}>{t('again')}</Button>}>
      <p>{t('brokenText')}</p>
      <p className="pt-1 break-words"><code>{error.type}</code> <span lang="en" translate="no">{error.message}</span></p>
      {error.requestId && <p className="flex flex-wrap items-center gap-1 pt-1"><code className="break-all">{error.requestId}</code><Copy text={error.requestId} what={t('requestId')} /></p>}
    </Notice></div>
  )
}

/** Under the column: what the last answer took. */
function Figures({ t, answer: a, model, prompt, onAgain }: { t: T; answer: Answer; model: Model | undefined; prompt: number; onAgain: () => void }) {
  const live = running(a)
  const out = a.tokens?.out ?? (a.text || a.reasoning ? guess(a.text + a.reasoning) : null)
  const about = a.tokens ? '' : '≈\u202f'
  const taken = a.first !== null && a.end !== null ? a.end - a.first : 0
  const estimate = model && model.in !== null && model.out !== null ? plain(add(rubles(model.in, prompt), rubles(model.out, out ?? 0))) : null
  return (
    <footer className="flex min-h-10 flex-none flex-wrap items-center gap-x-3 gap-y-0.5 border-t border-line bg-surface px-4 py-1.5 text-small text-ink2 tabular-nums md:px-5">
      {a.provider && <span translate="no" className="text-ink3 max-sm:hidden">{a.provider}</span>}
      {a.tokens && <span>{t('inTokens', { n: a.tokens.in })}</span>}
      {out !== null && <span>{about}{t('outTokens', { n: integer(out) })}</span>}
      {a.first !== null && <span className="max-sm:hidden">{t('toFirst', { time: seconds(a.first) })}</span>}
      {a.tokens && taken > 50 && <span className="max-sm:hidden">{t('speed', { n: number(a.tokens.out / (taken / 1000), 0) })}</span>}
      <span className="flex-1" />
      {a.cost !== null ? <><Money value={a.cost} className="font-semibold text-ink" /><Tag tone="good">{t('settled')}</Tag></>
        : live && estimate ? <><Money value={estimate} about className="font-semibold text-ink" /><Tag tone="hold">{t('estimate')}</Tag></>
          : !live && a.id ? <Tag tone="hold">{t('settling')}</Tag> : null}
      {a.id && a.cost !== null && hasPage('/calls/$id') && <Link to={`/calls/${a.id}`} title={t('openCall')} className="inline-flex min-h-6 items-center text-accent-ink"><span className="max-sm:sr-only">{t('openCall')}</span><Icon name="arrow" className="sm:hidden" /></Link>}
      {!live && <span className="flex items-center gap-1"><IconButton small icon="refresh" label={t('again')} onClick={onAgain} />{a.text && <Copy text={a.text} what={t('copyAnswer')} />}</span>}
    </footer>
  )
}

function Panel({ t, chat, bad, onChange, onCode, onClear, canClear }: { t: T; chat: Chat; bad: readonly (keyof Settings)[]; onChange: (s: Partial<Settings>) => void; onCode: () => void; onClear: () => void; canClear: boolean }) {
  const { data: available } = useQuery(availableQuery)
  const s = chat.settings
  const costs = Object.values(chat.spent).flatMap((x) => decimal(x) ?? [])
  const empty = available !== undefined && available !== null && (available.startsWith('-') || decimal(available)?.digits === 0n)
  return (
    <div className="flex flex-col gap-4">
      <div className="border-b border-line pb-4">
        <p className="flex items-baseline justify-between gap-2"><span className="text-section">{t('thisChat')}</span><Money value={plain(costs.reduce(add, ZERO))} className="text-section" /></p>
        <p className="pt-0.5 text-small text-ink3">{t('callsN', { n: costs.length })}{available ? ` · ${t('available', { amount: money(available) })}` : ''}</p>
        {empty && <p className="pt-1 text-small text-warn">{t('noMoney')}</p>}
      </div>
      <Field label={t('instructions')} help={t('instructionsHelp')}><Textarea rows={4} value={s.system} dir="auto" onChange={(e) => onChange({ system: e.target.value })} /></Field>
      <Field label={t('temperature')} error={bad.includes('temperature') && t('badTemperature')}><Input inputMode="decimal" placeholder={t('byDefault')} value={s.temperature} onChange={(e) => onChange({ temperature: e.target.value })} /></Field>
      <Field label={t('topP')} error={bad.includes('topP') && t('badTopP')}><Input inputMode="decimal" placeholder={t('byDefault')} value={s.topP} onChange={(e) => onChange({ topP: e.target.value })} /></Field>
      <Field label={t('longest')} error={bad.includes('longest') && t('badLongest')}><Input inputMode="numeric" unit={t('tokens')} placeholder={t('byDefault')} value={s.longest} onChange={(e) => onChange({ longest: e.target.value })} /></Field>
      <Field label={t('effort')} help={t('effortHelp')}><Select value={s.effort} onChange={(e) => onChange({ effort: e.target.value })} options={[{ value: '', label: t('effort_default') }, ...efforts.map((v) => ({ value: v, label: t(`effort_${v}`) }))]} /></Field>
      <p className="text-small text-ink3">{t('onlySet')}</p>
      <div className="flex flex-wrap gap-2 border-t border-line pt-4">
        <Button small icon="json" onClick={onCode}>{t('showCode')}</Button>
        <Button small icon="trash" onClick={onClear} disabled={!canClear}>{t('newChat')}</Button>
      </div>
      <p className="text-small text-ink3">{t('kept')}</p>
    </div>
  )
}

function CodeDialog({ t, onClose, models, name, build }: { t: T; onClose: () => void; models: readonly string[]; name: (id: string) => string; build: (id: string) => ReturnType<typeof request> }) {
  const [id, setId] = useState(models[0]!)
  return (
    <Dialog open onOpenChange={(o) => { if (!o) onClose() }} title={t('codeTitle')} wide>
      {models.length > 1 && <Field label={t('model')} className="pb-3"><Select value={id} onChange={(e) => setId(e.target.value)} options={models.map((m) => ({ value: m, label: name(m) }))} /></Field>}
      <CodeTabs snippets={code(location.origin, build(id))} label={t('codeTitle')} foot={t('codeFoot')} />
    </Dialog>
  )
}
