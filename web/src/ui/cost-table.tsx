/** What a call cost: each part as quantity × price = cost, with every digit, and the one rounding at the end. */
import {
  add,
  compare,
  decimal,
  money,
  NONE,
  plain,
  subtract,
  times,
  tokens,
  integer,
  unitName,
  ZERO,
} from '../format'
import { useT } from '../i18n'

export interface CostLine {
  readonly kind: string
  readonly quantity: number
  readonly measure: string
  readonly unit: string
  readonly price: string
  readonly cost: string
}

/** The sum of the lines, and what the one rounding up added: cost - sum. */
export function addUp(parts: readonly CostLine[], cost: string): { sum: string; rounding: string } {
  const sum = parts.reduce((all, p) => add(all, decimal(p.cost) ?? ZERO), ZERO)
  return { sum: plain(sum), rounding: plain(subtract(decimal(cost) ?? ZERO, sum)) }
}
/** Token prices for a million, others for their unit. */
export function unitPrice(p: Pick<CostLine, 'unit' | 'price'>): string {
  const d = decimal(p.price)
  return d ? plain(p.unit === '1k_tokens' ? times(d, 1000) : d) : p.price
}

const exact = (v: string) => money(v, { exact: true, sign: false })
export function CostTable({
  parts,
  cost,
  settled,
  caption,
}: {
  parts: readonly CostLine[]
  cost: string
  settled: boolean
  caption: string
}) {
  const t = useT('calls')
  const { rounding } = addUp(parts, cost)
  const cell = 'border-b border-line py-2'
  const quantity = (p: CostLine) => {
    const m = /^([\d.]+) (\w+)$/.exec(p.measure)
    if (p.unit === '1k_tokens') return <span title={integer(p.quantity)}>{tokens(p.quantity)}</span>
    return m ? `${exact(m[1]!)} ${t.or(`measure_${m[2]}`, m[2])}` : p.measure
  }
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label={caption}>
      <table className="w-full text-dense">
        <caption className="sr-only">{caption}</caption>
        <thead>
          <tr className="text-label text-ink3">
            <th scope="col" className={`${cell} pr-2 text-left font-medium`}>
              {t('part')}
            </th>
            <th scope="col" className={`${cell} num px-2 font-medium`}>
              {t('quantity')}
            </th>
            <th scope="col" className={`${cell} num px-2 font-medium`}>
              {t('priceRub')}
            </th>
            <th scope="col" className={`${cell} num pl-2 font-medium`}>
              {t('costRub')}
            </th>
          </tr>
        </thead>
        <tbody>
          {parts.map((p, i) => (
            <tr key={i}>
              <th scope="row" className={`${cell} pr-2 text-left font-normal`}>
                {t.or(`part_${p.kind}`, p.kind.replace(/_/g, ' '))}
              </th>
              <td className={`${cell} num px-2`}>{quantity(p)}</td>
              <td className={`${cell} num px-2 whitespace-nowrap`}>
                {exact(unitPrice(p))}
                <span className="text-ink3">
                  {' '}
                  {p.unit === '1k_tokens'
                    ? t('per', { unit: unitName('1M') })
                    : t.or(`per_${p.unit}`, p.unit)}
                </span>
              </td>
              <td className={`${cell} num pl-2`}>{exact(p.cost)}</td>
            </tr>
          ))}
          {parts.length === 0 && (
            <tr>
              <td colSpan={4} className={`${cell} text-ink2`}>
                {t('noParts')}
              </td>
            </tr>
          )}
          {parts.length > 0 && compare(decimal(rounding) ?? ZERO, ZERO) !== 0 && (
            <tr>
              <th scope="row" colSpan={3} className={`${cell} text-left font-normal`}>
                {t('rounding')}
              </th>
              <td className={`${cell} num`}>{exact(rounding)}</td>
            </tr>
          )}
        </tbody>
        <tfoot>
          <tr className="font-semibold">
            <th scope="row" colSpan={3} className="py-2 text-left">
              {settled ? t('settled') : t('notSettled')}
            </th>
            <td className="num py-2">{cost ? exact(cost) : NONE}</td>
          </tr>
        </tfoot>
      </table>
    </div>
  )
}
