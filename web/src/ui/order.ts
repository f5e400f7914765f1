/** The order of rows by a column. */
import { compare, type Decimal } from '../format'

export interface Order {
  /** The key of a column */
  readonly by: string
  readonly down: boolean
}
/** What a row is sorted by; null is unknown and comes last in both directions. */
export type Sortable = string | number | Decimal | null | undefined
export interface Sort<R> {
  readonly value: (row: R) => Sortable
  /** The first press sorts downwards: largest or newest first, as one looks for them */
  readonly down?: boolean
}

/** What a press on a head leads to: its first direction, the other one, and then the order of the list itself. */
export function after<R>(
  now: Order | null,
  column: { readonly key: string; readonly sort?: Sort<R> },
): Order | null {
  const first = column.sort?.down === true
  if (now?.by !== column.key) return { by: column.key, down: first }
  return now.down === first ? { by: column.key, down: !first } : null
}

/** Sorts rows, without changing those that were given. Equal rows stay in their order, and rows that are `last` below all others. */
export function sorted<R>(
  rows: readonly R[],
  value: (row: R) => Sortable,
  down: boolean,
  language: string,
  last?: (row: R) => boolean,
): readonly R[] {
  const text = new Intl.Collator(language, { numeric: true, sensitivity: 'base' })
  const of = rows.map((row, i) => ({ row, i, last: last?.(row) === true, value: value(row) }))
  const both = (a: NonNullable<Sortable>, b: NonNullable<Sortable>): number =>
    typeof a === 'object' && typeof b === 'object'
      ? compare(a, b)
      : typeof a === 'number' && typeof b === 'number'
        ? a - b
        : text.compare(String(a), String(b))
  of.sort((a, b) => {
    if (a.last || b.last) return Number(a.last) - Number(b.last) || a.i - b.i
    const x = a.value ?? null,
      y = b.value ?? null
    if (x === null || y === null) return Number(x === null) - Number(y === null) || a.i - b.i
    return (down ? both(y, x) : both(x, y)) || a.i - b.i
  })
  return of.map((x) => x.row)
}
/** A moment for sorting. */
export const moment = (at: string | null | undefined): number | null => (at ? Date.parse(at) : null)
