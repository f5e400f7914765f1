/** Values as the interface shows them. Each re-renders when the language changes; each says the exact value in its title. */
import { useEffect, useState } from 'react'
import * as format from '../format'
import { useLanguage, useT } from '../i18n'

/** An amount. `exact`: every digit, for details. `headline`: two decimals, for what heads a page. `about`: not settled yet. */
export function Money({
  value,
  exact,
  headline,
  sign,
  about,
  plus,
  className,
}: {
  value: string | number | null | undefined
  exact?: boolean
  headline?: boolean
  sign?: boolean
  about?: boolean
  plus?: boolean
  className?: string
}) {
  useLanguage()
  const o = {
    ...(exact === undefined ? {} : { exact }),
    ...(sign === undefined ? {} : { sign }),
    ...(about === undefined ? {} : { about }),
    ...(plus === undefined ? {} : { plus }),
  }
  return (
    <span
      className={`whitespace-nowrap tabular-nums ${className ?? ''}`}
      title={value === null || value === undefined ? undefined : format.money(value, { exact: true })}
    >
      {headline ? format.headline(value, o) : format.money(value, o)}
    </span>
  )
}
/** The price of one token, shown for a million or a thousand. */
export function Price({
  value,
  unit = '1M',
  bare,
  className,
}: {
  value: string | number | null | undefined
  unit?: format.PriceUnit
  bare?: boolean
  className?: string
}) {
  useLanguage()
  return (
    <span className={`whitespace-nowrap tabular-nums ${className ?? ''}`}>
      {format.price(value, unit, bare ? { bare } : {})}
    </span>
  )
}
export function Tokens({ value, className }: { value: number | null | undefined; className?: string }) {
  useLanguage()
  return (
    <span
      className={`whitespace-nowrap tabular-nums ${className ?? ''}`}
      title={value === null || value === undefined ? undefined : format.integer(value)}
    >
      {format.tokens(value)}
    </span>
  )
}
/**
 * A moment, by the clock of the person's time zone: relative under an hour and renewed each half minute, or in the form that is asked for.
 * The title has it in full, in UTC. Pages write moments with this alone.
 */
export function When({ at, form, className }: { at: format.Moment; form?: format.Form; className?: string }) {
  useLanguage()
  const t = useT('common')
  const [now, setNow] = useState(() => Date.now())
  const fresh = !form && at !== null && at !== undefined && Math.abs(now - new Date(at).getTime()) < 3_600_000
  useEffect(() => {
    if (!fresh) return
    const timer = setInterval(() => setNow(Date.now()), 30_000)
    return () => clearInterval(timer)
  }, [fresh])
  if (at === null || at === undefined || at === '')
    return (
      <span className={className} aria-label={t('unknown')}>
        {format.NONE}
      </span>
    )
  return (
    <time
      dateTime={new Date(at).toISOString()}
      title={format.inUtc(at)}
      className={`whitespace-nowrap ${className ?? ''}`}
    >
      {form ? format.local(at, form) : format.when(at, now)}
    </time>
  )
}
/** Said once on a page with many times: whose clock it is. */
export function Zone() {
  return useT('common')('yourZone', { zone: format.zoneName() })
}
