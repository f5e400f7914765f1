/** The cells of an endpoint: its name, and its prices from the source to the customer. */
import type { ReactNode } from 'react'
import { decimal, integer, money, percent, short } from '../../format'
import { useT } from '../../i18n'
import { Icon } from '../../ui/icons'
import { Tag } from '../../ui/marks'
import { Money } from '../../ui/values'
import { limitOf, ofTokens, percents, shown, type Line, type Row } from './price-data'

/** What a row shows: the two main prices, usually of tokens in and out. The others are in its window. */
const limited = (l: Line) => {
  const limit = limitOf(l.name)
  return limit !== null && (limit.above !== null || limit.hours !== null)
}
const main = (r: Row) => r.prices.filter((l) => !limited(l)).slice(0, 2)
const others = (r: Row) => {
  const shown = main(r)
  return r.prices.filter((l) => !shown.includes(l))
}

/** What else its id has: region, variant, tier. */
const kind = (r: Row) => r.id.slice(`${r.provider}/${r.model}/`.length).split('/').filter(Boolean)

export function Name({ r }: { r: Row }) {
  const t = useT('adminprices')
  return (
    <span className="block min-w-0 py-1">
      <span translate="no" className="font-medium break-all">
        {r.model}
      </span>{' '}
      {r.drafted && <Tag tone="accent">{t('inDraft')}</Tag>}
      {!r.on && <Tag>{t('off')}</Tag>}
      <span className="flex items-center gap-1 text-label text-ink3">
        <span translate="no">{[r.provider, ...kind(r)].join(' · ')}</span>
        {r.origin === 'file' && (
          <span
            className="inline-flex min-w-0 items-center gap-1"
            title={t('locked', { where: r.where ?? '' })}
          >
            <Icon name="shield" size={12} />
            <span translate="no" className="break-all">
              {r.where}
            </span>
          </span>
        )}
      </span>
    </span>
  )
}

/** The name of a price as people say it, where they do; else as the API has it. */
export function PriceName({ name }: { name: string }) {
  const t = useT('adminprices')
  const limit = limitOf(name)
  const base = limit?.name ?? name.replace(/ .*/, '')
  const label = t.or(`name_${base}`, base)
  if (limit && limit.above !== null) return `${label} ${t('above', { n: integer(Number(limit.above)) })}`
  const [, rest = '', sound] = /^(.*?) ?(with(?:out)? sound)?$/.exec(name.slice(base.length + 1)) ?? []
  return (
    <>
      {label}
      {rest && (
        <>
          {' '}
          <span translate="no">{rest}</span>
        </>
      )}
      {sound && ` ${t(sound === 'with sound' ? 'withSound' : 'withoutSound')}`}
    </>
  )
}

/** What a price is for, in the words of the page where it has them. */
export function Per({ per }: { per: string }) {
  return useT('adminprices').or(`per_${per.replaceAll(' ', '_')}`, per)
}

/** After a price that is not of a million tokens: what it is for. */
export function Unit({ line }: { line: Line }) {
  return ofTokens(line) ? null : (
    <span className="text-ink3">
      {' '}
      / <Per per={line.per} />
    </span>
  )
}

function Lines({ r, cell }: { r: Row; cell: (line: Line) => ReactNode }) {
  return (
    <>
      {main(r).map((line) => (
        <span key={line.name} className="block whitespace-nowrap tabular-nums">
          {cell(line)}
        </span>
      ))}
    </>
  )
}

export function Source({ r }: { r: Row }) {
  const t = useT('adminprices')
  return (
    <Lines
      r={r}
      cell={(l) =>
        l.usd === null ? <span className="text-ink3">{t('inRubles')}</span> : <>{dollars(l.usd)}</>
      }
    />
  )
}
const dollars = (usd: string) => money(usd, { sign: false, exact: true }) + ' $'

/** A margin as what it does: what a dollar of the provider costs the customer. */
export function Margin({ r }: { r: Row }) {
  const t = useT('adminprices')
  if (!r.prices.some((l) => l.usd !== null)) return <span className="text-ink3">{t('inRubles')}</span>
  const now = r.drafted ?? r
  return (
    <span className="tabular-nums">
      <span className={r.drafted && r.drafted.margin !== r.margin ? 'font-medium text-accent-ink' : ''}>
        +{percent(Number(percents(now.margin)))}
      </span>
      <span className="block text-label whitespace-nowrap text-ink3">
        {t('dollar', { rubles: short(decimal(now.dollar)!, 4) })}
      </span>
    </span>
  )
}

export function Vat({ r }: { r: Row }) {
  return <Lines r={r} cell={(l) => <Money value={shown(l, l.vat)} sign={false} className="text-ink2" />} />
}

/** What the customer pays; with a draft that changes it, both. */
export function Pays({ r }: { r: Row }) {
  const t = useT('adminprices')
  const under = others(r).filter(limited)
  const rest = others(r).length - under.length
  return (
    <>
      <Lines
        r={r}
        cell={(l) => (
          <>
            <span className="text-label text-ink3">
              <PriceName name={l.name} />
            </span>{' '}
            {l.draft !== null && l.draft !== l.price ? (
              <>
                <Money value={shown(l, l.price)} sign={false} className="text-ink3 line-through" />{' '}
                <Money value={shown(l, l.draft)} sign={false} className="font-medium text-accent-ink" />
              </>
            ) : (
              <Money value={shown(l, l.price)} sign={false} className="font-medium" />
            )}
            <Unit line={l} />
          </>
        )}
      />
      {under.map((l) => (
        <span key={l.name} className="block text-label text-ink3">
          <PriceName name={l.name} /> <Money value={shown(l, l.draft ?? l.price)} sign={false} />
        </span>
      ))}
      {rest > 0 && <span className="block text-label text-ink3">{t('rest', { n: rest })}</span>}
    </>
  )
}
