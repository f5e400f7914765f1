/** Small marks: words with a colour, levels, ticks. A colour is never the only sign. */
import type { ReactNode } from 'react'
import { useT } from '../i18n'
import { local } from '../format'

export type Tone = 'plain' | 'accent' | 'good' | 'warn' | 'bad' | 'hold'
const tones: Record<Tone, string> = {
  plain: 'bg-sunken text-ink2',
  accent: 'bg-accent-soft text-accent-ink',
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  hold: 'bg-hold-soft text-hold',
}
export function Tag({
  tone = 'plain',
  children,
  title,
  long = false,
}: {
  tone?: Tone
  children: ReactNode
  title?: string
  /** It may take two lines rather than make its column wider */
  long?: boolean
}) {
  return (
    <span
      title={title}
      className={`inline-flex items-center gap-1 rounded-tag px-[7px] py-px text-label leading-[18px] font-medium ${long ? 'text-left whitespace-normal' : 'whitespace-nowrap'} ${tones[tone]}`}
    >
      {children}
    </span>
  )
}
const dots: Record<Tone, string> = {
  plain: 'bg-line2',
  accent: 'bg-accent',
  good: 'bg-good',
  warn: 'bg-warn',
  bad: 'bg-bad',
  hold: 'bg-hold',
}
/** A dot; the word beside it, or `label`, says what it means. */
export function Dot({ tone = 'plain', label }: { tone?: Tone; label?: string }) {
  return (
    <span
      data-mark
      className={`inline-block size-2 flex-none rounded-full ${dots[tone]}`}
      {...(label ? { role: 'img', 'aria-label': label, title: label } : { 'aria-hidden': true })}
    />
  )
}
/** A state in a word, with its dot. */
export function State({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap">
      <Dot tone={tone} />
      {children}
    </span>
  )
}

/** The level of something: parts of a whole. `label` says it in words. */
export function Level({
  parts,
  total,
  label,
  tall,
}: {
  parts: readonly { value: number; className: string; key: string }[]
  total: number
  label: string
  tall?: boolean
}) {
  return (
    <div
      role="img"
      aria-label={label}
      data-mark
      className={`flex gap-0.5 overflow-hidden bg-line ${tall ? 'h-3 rounded-control' : 'h-1.5 rounded-[3px]'}`}
    >
      {parts.map(
        (p) =>
          p.value > 0 &&
          total > 0 && (
            <span
              key={p.key}
              className={`block h-full ${p.className}`}
              style={{ width: `${Math.min(100, Math.max(0.5, (p.value / total) * 100))}%` }}
            />
          ),
      )}
    </div>
  )
}

/** Health by the hour, oldest first: the share of calls that went well, 0 to 1; null where there were none. Only bad hours take colour. */
export function Ticks({
  values,
  label,
  times,
  tall,
}: {
  values: readonly (number | null)[]
  label?: string
  times?: readonly string[] // moments
  tall?: boolean
}) {
  const t = useT('common')
  const word = (v: number | null) =>
    v === null ? t('tickNone') : v >= 0.99 ? t('tickGood') : v >= 0.9 ? t('tickSome') : t('tickBad')
  const known = values.filter((v): v is number => v !== null)
  return (
    <span
      role="img"
      aria-label={
        label ?? t('ticksSummary', { good: known.filter((v) => v >= 0.99).length, n: known.length })
      }
      data-mark
      className="inline-flex items-end gap-0.5"
    >
      {values.map((v, i) => (
        <span
          key={i}
          title={`${times?.[i] ? local(times[i], 'minutes') + ' · ' : ''}${word(v)}`}
          className={
            `block w-[2px] rounded-[1px] ${tall ? 'h-5' : 'h-[18px]'} ` +
            `${v === null ? 'bg-line' : v >= 0.99 ? 'bg-up' : v >= 0.9 ? 'bg-warn' : 'bg-bad'}`
          }
        />
      ))}
    </span>
  )
}

/** The first letter of a name, as its picture. */
export function Mark({ name, size = 26 }: { name: string; size?: 26 | 32 | 44 }) {
  const classes = {
    26: 'size-[26px] rounded-control text-label',
    32: 'size-8 rounded-control text-dense',
    44: 'size-11 rounded-float text-[18px]',
  }[size]
  return (
    <span
      aria-hidden
      className={`grid flex-none place-items-center bg-sunken leading-none font-semibold text-ink2 ${classes}`}
    >
      {[...name.trim()][0]?.toUpperCase() ?? '?'}
    </span>
  )
}
export function Kbd({ children }: { children: ReactNode }) {
  return (
    <kbd className="rounded-tag border border-line bg-surface px-[5px] text-[11px] leading-4 text-ink3">
      {children}
    </kbd>
  )
}
