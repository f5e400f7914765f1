/**
 * Why a call went where it went: its candidates as lanes through the filters, what was tried and who answered. A picture with the same as a
 * sentence, a table with everything, and on narrow screens a list of steps. Names of filters and reasons are in the area `route`.
 */
import { useEffect, useMemo, useRef, useState } from 'react'
import { divide, decimal, duration, integer, list, money, perUnit, plain } from '../format'
import { useT, type T } from '../i18n'
import { Segmented } from './controls'
import { useShortcuts } from './shortcuts'
import { Table } from './table'
import { Tag } from './marks'

export interface FlowCandidate {
  readonly endpoint: string
  readonly own_key?: string | null
  readonly order: number
  readonly dropped_by: string | null
  readonly detail: string | null
  readonly score: { readonly value: number | null; readonly by: string } | null
  readonly price: { readonly prompt_per_1k: string; readonly completion_per_1k: string } | null
}
export interface FlowAttempt {
  readonly endpoint: string
  readonly own_key?: string | null
  readonly status: number
  readonly reason: string | null
  readonly started_ms: number
  readonly first_token_ms: number | null
  readonly ended_ms: number
}
export interface Lane {
  readonly key: string
  readonly endpoint: string
  readonly provider: string
  readonly kind: 'answered' | 'failed' | 'first' | 'then' | 'spare' | 'dropped'
  readonly place: number
  readonly candidate: FlowCandidate | null
  readonly attempt: FlowAttempt | null
}

/** The filters in the order in which candidates pass them. */
const pipeline = [
  'allowed_models',
  'only',
  'ignore',
  'zdr',
  'data_collection',
  'quantizations',
  'max_price',
  'context_length',
  'max_completion_tokens',
  'input_modalities',
  'output_modalities',
  'tokenizer',
  'n',
  'require_parameters',
  'variant',
  'tier',
  'web',
  'unpriced',
  'out_of_service',
  'tools',
  'response_format',
  'structured_outputs',
  'verbosity',
  'wire',
  'allow_fallbacks',
  'own_keys',
  'duplicate',
  'ejected',
  'max_in_flight',
  'max_user_share',
]
const rank = (filter: string) => {
  const i = pipeline.indexOf(filter)
  return i < 0 ? pipeline.length : i
}
export const providerOf = (endpoint: string) => endpoint.split('/')[0] ?? endpoint

/** An endpoint with an own key is another lane than the same endpoint without. */
const idOf = (x: { endpoint: string; own_key?: string | null }) =>
  x.endpoint + (x.own_key ? ` ${x.own_key}` : '')

/** Lanes in the order in which they are shown: tried, spare, dropped. Those of a plan that is not carried out yet: first, then, dropped. */
export function lanesOf(
  candidates: readonly FlowCandidate[],
  attempts: readonly FlowAttempt[],
  planned = false,
): { lanes: readonly Lane[]; gates: readonly string[] } {
  const tried = new Set(attempts.map(idOf))
  const lane = (
    kind: Lane['kind'],
    endpoint: string,
    place: number,
    candidate: FlowCandidate | null,
    attempt: FlowAttempt | null,
    key = endpoint,
  ): Lane => ({ key, endpoint, provider: providerOf(endpoint), kind, place, candidate, attempt })
  const good = (a: FlowAttempt) => a.status >= 200 && a.status < 300 && !a.reason
  const first = attempts.map((a, i) =>
    lane(
      good(a) ? 'answered' : 'failed',
      a.endpoint,
      i + 1,
      candidates.find((c) => idOf(c) === idOf(a)) ?? null,
      a,
      `${i} ${idOf(a)}`,
    ),
  )
  const rest = candidates.filter((c) => !tried.has(idOf(c)))
  const spare = rest
    .filter((c) => !c.dropped_by)
    .sort((a, b) => a.order - b.order)
    .map((c, i) =>
      lane(
        planned ? (i === 0 ? 'first' : 'then') : 'spare',
        c.endpoint,
        attempts.length + i + 1,
        c,
        null,
        `s${i} ${idOf(c)}`,
      ),
    )
  const out = rest
    .filter((c) => c.dropped_by)
    .sort((a, b) => rank(b.dropped_by!) - rank(a.dropped_by!))
    .map((c, i) => lane('dropped', c.endpoint, 0, c, null, `d${i} ${idOf(c)}`))
  const gates = [...new Set(out.map((l) => l.candidate!.dropped_by!))].sort((a, b) => rank(a) - rank(b))
  return { lanes: [...first, ...spare, ...out], gates }
}

type Names = (provider: string) => string
function outcome(t: T<'route'>, l: Lane): string {
  const text = outcomeOf(t, l)
  return l.candidate?.own_key || l.attempt?.own_key ? t('withOwnKey', { text }) : text
}
function outcomeOf(t: T<'route'>, l: Lane): string {
  const a = l.attempt
  if (l.kind === 'dropped') return t.or(`why_${l.candidate!.dropped_by}`, l.candidate!.dropped_by!)
  if (!a) return t(l.kind === 'first' ? 'askedFirst' : l.kind === 'then' ? 'askedThen' : 'spare')
  const time = a.ended_ms - a.started_ms
  if (l.kind === 'answered') {
    const took = a.first_token_ms === null ? time : a.first_token_ms - a.started_ms
    if (took < 1) return t('answeredAtOnce')
    return t(a.first_token_ms === null ? 'answeredIn' : 'answeredFirst', { time: duration(took) })
  }
  const why = a.reason ? t.or(`fault_${a.reason}`, a.reason.replace(/_/g, ' ')) : ''
  if (time < 1) return t('failedAtOnce', { status: a.status ? String(a.status) : '', why }).trim()
  return t('failedAfter', { status: a.status ? String(a.status) : '', why, time: ms(t, time) }).trim()
}
/** Times are recorded in whole milliseconds. */
export const ms = (t: { (key: 'underMs'): string }, n: number) => (n < 1 ? t('underMs') : duration(n))

/** What the picture says, in sentences. */
export function sentence(t: T<'route'>, lanes: readonly Lane[], name: Names): string {
  const out: string[] = []
  for (const l of lanes)
    if (l.attempt)
      out.push(t('saysTried', { place: l.place, provider: name(l.provider), outcome: outcome(t, l) }))
  const first = lanes.find((l) => l.kind === 'first')
  if (first) out.push(t('saysFirst', { provider: name(first.provider) }))
  const then = lanes.filter((l) => l.kind === 'then')
  if (then.length > 0) out.push(t('saysThen', { providers: then.map((l) => name(l.provider)).join(' → ') }))
  const spare = lanes.filter((l) => l.kind === 'spare')
  if (spare.length > 0) out.push(t('saysSpare', { providers: list(spare.map((l) => name(l.provider))) }))
  for (const l of lanes)
    if (l.kind === 'dropped') out.push(t('saysDropped', { provider: name(l.provider), why: outcome(t, l) }))
  return out.join(' ')
}

/** Over this many dropped lanes fold into one. */
const FOLD = 8
const cut = (text: string, pixels: number, per = /[а-я]/i.test(text) ? 6.8 : 6.1) => {
  const n = Math.max(4, Math.floor(pixels / per))
  return text.length > n ? text.slice(0, n - 1) + '…' : text
}

export function RouteFlow({
  candidates,
  attempts,
  asked,
  wishes = '',
  answer,
  answerNote,
  title,
  names = (p) => p,
  planned = false,
}: {
  candidates: readonly FlowCandidate[]
  attempts: readonly FlowAttempt[]
  /** The model, and in the second line what else the call wanted */
  asked: string
  wishes?: string
  /** What left at the right, such as "286 tokens" */
  answer?: string
  answerNote?: string
  title: string
  names?: Names
  /** A dry run: nothing was asked, and the lanes say what would be */
  planned?: boolean
}) {
  const t = useT('route')
  const [view, setView] = useState<'picture' | 'table'>('picture')
  const turn = () => setView(view === 'table' ? 'picture' : 'table')
  useShortcuts({ t: turn, T: turn })
  const [width, box] = useWidth()
  const { lanes, gates } = useMemo(
    () => lanesOf(candidates, attempts, planned),
    [candidates, attempts, planned],
  )
  const says = sentence(t, lanes, names)
  const narrow = width < 620
  return (
    <section className="min-w-0 rounded-panel border border-line bg-surface">
      <div className="flex flex-wrap items-center gap-2 px-4 pt-3.5 pb-2.5">
        <h2 className="text-section">{title}</h2>
        <span className="flex-1" />
        <Segmented
          small
          label={t('view')}
          value={view}
          onChange={setView}
          options={[
            { value: 'picture', label: narrow ? t('steps') : t('picture') },
            { value: 'table', label: t('table') },
          ]}
        />
      </div>
      <div ref={box} className="min-w-0">
        {lanes.length === 0 ? (
          <p className="px-4 pb-4 text-ink2">{t('nobody')}</p>
        ) : view === 'table' ? (
          <FlowTable lanes={lanes} title={title} names={names} />
        ) : narrow ? (
          <Steps lanes={lanes} names={names} />
        ) : (
          <Picture {...{ lanes, gates, asked, wishes, answer, answerNote, names, width, says }} />
        )}
      </div>
    </section>
  )
}

function useWidth(): [number, (e: HTMLDivElement | null) => void] {
  const [width, setWidth] = useState(() => (window.innerWidth < 768 ? 340 : 1080))
  const seen = useRef<ResizeObserver | null>(null)
  useEffect(() => () => seen.current?.disconnect(), [])
  const [attach] = useState(() => (e: HTMLDivElement | null) => {
    seen.current?.disconnect()
    if (!e || typeof ResizeObserver === 'undefined') return
    if (e.clientWidth > 0) setWidth(e.clientWidth)
    seen.current = new ResizeObserver((all) => {
      const w = all[0]?.contentRect.width
      if (w) setWidth(Math.round(w))
    })
    seen.current.observe(e)
  })
  return [width, attach]
}

const ink: Record<Lane['kind'], string> = {
  answered: 'stroke-accent',
  failed: 'stroke-warn',
  first: 'stroke-accent',
  then: 'stroke-ink3',
  spare: 'stroke-ink3',
  dropped: 'stroke-ink3',
}
const weight: Record<Lane['kind'], number> = {
  answered: 4,
  failed: 3,
  first: 3,
  then: 1.6,
  spare: 1.6,
  dropped: 1.6,
}
const frame: Record<Lane['kind'], string> = {
  answered: 'fill-accent-soft stroke-accent',
  failed: 'fill-warn-soft stroke-warn',
  first: 'fill-accent-soft stroke-accent',
  then: 'fill-surface stroke-line',
  spare: 'fill-surface stroke-line',
  dropped: '',
}

function Picture({
  lanes,
  gates,
  asked,
  wishes,
  answer,
  answerNote,
  names,
  width,
  says,
}: {
  lanes: readonly Lane[]
  gates: readonly string[]
  asked: string
  wishes: string
  answer: string | undefined
  answerNote: string | undefined
  names: Names
  width: number
  says: string
}) {
  const t = useT('route')
  const dropped = lanes.filter((l) => l.kind === 'dropped')
  const shown =
    dropped.length > FOLD
      ? [...lanes.filter((l) => l.kind !== 'dropped'), ...dropped.slice(0, FOLD - 1)]
      : lanes
  const folded = dropped.slice(FOLD - 1)
  const more = dropped.length > FOLD
  const row = 50,
    top = 16
  const rows = shown.length + (more ? 1 : 0)
  const height = top + rows * row + (gates.length > 0 ? 26 : 6)
  const y = (i: number) => top + i * row + row / 2 - 4
  const left = 20,
    asks = 164,
    boxWide = Math.min(230, Math.max(170, width * (gates.length > 2 ? 0.2 : 0.3))),
    right = answer ? 128 : 24
  const boxAt = width - right - boxWide - 16
  const mid = (y(0) + y(rows - 1)) / 2
  const from = left + asks,
    bend = from + 76
  const gateAt = (i: number) =>
    bend +
    26 +
    (((boxAt - bend - 52) * (i + (gates.length === 1 ? 0.4 : 0))) /
      Math.max(1, gates.length - (gates.length === 1 ? 0 : 1) || 1)) *
      (gates.length > 1 ? 0.82 : 1)
  const served = shown.findIndex((l) => l.kind === 'answered')
  return (
    <svg
      role="img"
      aria-label={says}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      className="block max-w-full pb-2 text-small select-text"
      data-flow
    >
      {gates.map((g, i) => (
        <g key={g}>
          <line
            x1={gateAt(i)}
            x2={gateAt(i)}
            y1={6}
            y2={height - 26}
            className="stroke-line"
            strokeDasharray="3 4"
          />
          <text x={gateAt(i)} y={height - 8} textAnchor="middle" className="fill-ink3 text-label">
            {cut(t.or(`gate_${g}`, g.replace(/_/g, ' ')), Math.max(80, (boxAt - bend) / gates.length))}
          </text>
        </g>
      ))}
      {/* The heavy lines are drawn last, over the others */}
      {[...shown.keys()]
        .sort((a, b) => weight[shown[a]!.kind] - weight[shown[b]!.kind])
        .map((i) => {
          const l = shown[i]!
          const stop = l.kind === 'dropped' ? gates.indexOf(l.candidate!.dropped_by!) : gates.length
          const end = l.kind === 'dropped' ? gateAt(stop) : boxAt
          return (
            <g key={l.key}>
              <path
                d={`M${from} ${mid} C${from + 44} ${mid} ${bend - 44} ${y(i)} ${bend} ${y(i)} H${end}`}
                fill="none"
                className={ink[l.kind]}
                strokeWidth={weight[l.kind]}
              />
              {gates.slice(0, stop).map((g, n) => (
                <circle
                  key={g}
                  cx={gateAt(n)}
                  cy={y(i)}
                  r={4}
                  className={`fill-surface ${ink[l.kind]}`}
                  strokeWidth={1.6}
                />
              ))}
              {l.kind === 'dropped' && (
                <line
                  x1={end}
                  x2={end}
                  y1={y(i) - 10}
                  y2={y(i) + 10}
                  className="stroke-bad"
                  strokeWidth={3}
                />
              )}
            </g>
          )
        })}
      <rect x={left} y={mid - 32} width={asks} height={64} rx={8} className="fill-surface stroke-line2" />
      <text x={left + 14} y={mid - 12} className="fill-ink font-semibold">
        {t('yourCall')}
      </text>
      <text x={left + 14} y={mid + 6} className="fill-ink2 text-label">
        {cut(asked, asks - 24)}
        <title>{asked}</title>
      </text>
      <text x={left + 14} y={mid + 22} className="fill-ink2 text-label">
        {cut(wishes, asks - 24)}
      </text>
      {shown.map((l, i) => {
        const name = names(l.provider),
          what = outcome(t, l)
        if (l.kind === 'dropped') {
          const x = gateAt(gates.indexOf(l.candidate!.dropped_by!)) + 14
          const room = width - x - 12
          return (
            <text key={l.key} x={x} y={y(i) + 5} className="fill-ink2">
              <title>{`${name}: ${what}`}</title>
              <tspan className="fill-ink font-semibold">{cut(name, room / 2, 7.4)}</tspan>{' '}
              {cut(what, room - Math.min(name.length * 7.4, room / 2) - 8)}
            </text>
          )
        }
        return (
          <g key={l.key}>
            <rect x={boxAt} y={y(i) - 20} width={boxWide} height={40} rx={6} className={frame[l.kind]} />
            <text x={boxAt + 12} y={y(i) - 3} className="fill-ink font-semibold">
              {cut(`${integer(l.place)} · ${name}`, boxWide - 20, 7.4)}
              <title>{name}</title>
            </text>
            <text x={boxAt + 12} y={y(i) + 13} className="fill-ink2 text-label">
              {cut(what, boxWide - 20)}
              <title>{what}</title>
            </text>
            {l.kind === 'failed' && shown[i + 1]?.attempt && (
              <>
                <path
                  d={`M${boxAt + boxWide} ${y(i)} c30 4 30 ${row - 12} 8 ${row - 8}`}
                  fill="none"
                  className="stroke-warn"
                  strokeWidth={2}
                  strokeDasharray="4 3"
                />
                <path d={`M${boxAt + boxWide + 1} ${y(i) + row - 7} l10 -5 l0 10 z`} className="fill-warn" />
              </>
            )}
          </g>
        )
      })}
      {more && (
        <text x={bend + 14} y={y(rows - 1) + 5} className="fill-ink2">
          {cut(t('folded', { n: folded.length, what: folds(t, folded) }), width - bend - 30)}
        </text>
      )}
      {served >= 0 && answer && (
        <>
          <path d={`M${boxAt + boxWide} ${y(served)} h16`} className="stroke-accent" strokeWidth={4} />
          <path d={`M${boxAt + boxWide + 14} ${y(served) - 7} l12 7 l-12 7 z`} className="fill-accent" />
          <text x={boxAt + boxWide + 34} y={y(served) - 1} className="fill-ink font-semibold">
            {cut(answer, right - 22, 7.4)}
          </text>
          {answerNote && (
            <text x={boxAt + boxWide + 34} y={y(served) + 15} className="fill-ink2 text-label">
              {answerNote}
            </text>
          )}
        </>
      )}
    </svg>
  )
}
function folds(t: T<'route'>, lanes: readonly Lane[]): string {
  const counts = new Map<string, number>()
  for (const l of lanes) counts.set(l.candidate!.dropped_by!, (counts.get(l.candidate!.dropped_by!) ?? 0) + 1)
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([k, n]) => `${integer(n)} ${t.or(`gate_${k}`, k)}`)
    .join(', ')
}

const tones = {
  answered: 'accent',
  failed: 'warn',
  first: 'accent',
  then: 'plain',
  spare: 'plain',
  dropped: 'bad',
} as const
function Steps({ lanes, names }: { lanes: readonly Lane[]; names: Names }) {
  const t = useT('route')
  return (
    <ol className="m-0 list-none px-4 pb-3">
      {lanes.map((l) => (
        <li key={l.key} className="flex gap-3 border-b border-line py-2.5 last:border-b-0">
          <span
            className={
              `grid size-6 flex-none place-items-center rounded-full text-label font-semibold ` +
              `${l.kind === 'answered' ? 'bg-accent text-on-accent' : l.kind === 'failed' ? 'bg-warn-soft text-warn' : 'bg-sunken text-ink2'}`
            }
          >
            {l.place > 0 ? integer(l.place) : '×'}
          </span>
          <span className="min-w-0 flex-1">
            <span translate="no" className="block font-medium break-words">
              {names(l.provider)}
            </span>
            <span className="block text-small text-ink2">{outcome(t, l)}</span>
          </span>
          <span>
            <Tag tone={tones[l.kind]}>{t(l.kind)}</Tag>
          </span>
        </li>
      ))}
    </ol>
  )
}

function FlowTable({ lanes, title, names }: { lanes: readonly Lane[]; title: string; names: Names }) {
  const t = useT('route')
  const price = (perK: string | undefined) => {
    const d = decimal(perK)
    const one = d && divide(d, decimal('1000')!, 30)
    return one ? money(plain(perUnit(plain(one), '1M')!), { exact: true, sign: false }) : '—'
  }
  return (
    <Table<Lane>
      dense
      caption={title}
      rows={lanes}
      rowKey={(l) => l.key}
      columns={[
        { key: 'place', head: '№', cell: (l) => (l.place > 0 ? integer(l.place) : '—'), width: '48px' },
        {
          key: 'provider',
          head: t('provider'),
          cell: (l) => (
            <span translate="no" title={l.endpoint} className="font-medium">
              {names(l.provider)}
            </span>
          ),
        },
        { key: 'state', head: t('state'), cell: (l) => <Tag tone={tones[l.kind]}>{t(l.kind)}</Tag> },
        {
          key: 'gate',
          head: t('gate'),
          cell: (l) =>
            l.candidate?.dropped_by ? t.or(`gate_${l.candidate.dropped_by}`, l.candidate.dropped_by) : '—',
        },
        {
          key: 'why',
          head: t('reason'),
          cell: (l) => (
            <span className="block max-w-[420px] min-w-[180px] py-1 whitespace-normal">
              {outcome(t, l)}
              {l.candidate?.detail && (
                <span lang="en" className="block text-small text-ink3">
                  {l.candidate.detail}
                </span>
              )}
            </span>
          ),
        },
        {
          key: 'score',
          head: t('order'),
          cell: (l) =>
            l.candidate?.score ? (
              <span className="whitespace-nowrap">
                {t.or(`by_${l.candidate.score.by}`, l.candidate.score.by)}
                {l.candidate.score.value !== null && (
                  <span className="text-ink3 tabular-nums">
                    {' '}
                    {money(l.candidate.score.value, { exact: true, sign: false })}
                  </span>
                )}
              </span>
            ) : (
              '—'
            ),
        },
        {
          key: 'in',
          head: t('priceIn'),
          align: 'end',
          cell: (l) => price(l.candidate?.price?.prompt_per_1k),
        },
        {
          key: 'out',
          head: t('priceOut'),
          align: 'end',
          cell: (l) => price(l.candidate?.price?.completion_per_1k),
        },
      ]}
    />
  )
}
