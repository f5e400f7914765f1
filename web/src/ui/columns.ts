/** Which columns of a table are shown: where it is narrow some are left out, and a person may choose otherwise. */
import { useState, type ReactNode } from 'react'
import { useT } from '../i18n'
import { remember, remembered } from '../settings'
import type { MenuItem } from './menu'
import type { Sort } from './order'

export interface Column<R> {
  readonly key: string
  readonly head: ReactNode
  /** Name for people who cannot see the head, when the head is a picture or empty */
  readonly name?: string
  readonly cell: (row: R) => ReactNode
  readonly align?: 'end'
  readonly width?: string
  /** Left out where it is narrow */
  readonly from?: 'md' | 'lg' | 'xl'
  /** Rows can be sorted by it, where the table has an order */
  readonly sort?: Sort<R>
}

/** As the styles have it: a column is left out below this width. */
const widths = { md: '(width >= 48rem)', lg: '(width >= 64rem)', xl: '(width >= 80rem)' }

/** Kept as "+key,-cost": shown and hidden against the usual. Names that no column has are forgotten. */
export function readChoice(text: string | null, keys: readonly string[]): ReadonlyMap<string, boolean> {
  return new Map(
    (text ?? '')
      .split(',')
      .flatMap((x): [string, boolean][] =>
        /^[+-]/.test(x) && keys.includes(x.slice(1)) ? [[x.slice(1), x.startsWith('+')]] : [],
      ),
  )
}
export const writeChoice = (choice: ReadonlyMap<string, boolean>): string | null =>
  choice.size === 0 ? null : [...choice].map(([key, on]) => (on ? '+' : '-') + key).join(',')

/** The columns to show, and the menu that chooses them. The first one stays, and those without a head. */
export function useColumns<R>(
  name: string | undefined,
  columns: readonly Column<R>[],
): { shown: readonly Column<R>[]; menu: readonly MenuItem[] } {
  const t = useT('common')
  const [choice, setChoice] = useState(() =>
    name
      ? readChoice(
          remembered(`columns.${name}`),
          columns.map((c) => c.key),
        )
      : new Map<string, boolean>(),
  )
  if (!name) return { shown: columns, menu: [] }
  const change = (next: ReadonlyMap<string, boolean>) => {
    setChoice(next)
    remember(`columns.${name}`, writeChoice(next))
  }
  const shown = columns.flatMap((c, i): Column<R>[] => {
    const chosen = i === 0 ? undefined : choice.get(c.key)
    if (chosen === undefined) return [c]
    const { from: _, ...always } = c
    return chosen ? [always] : []
  })
  const menu = columns
    .slice(1)
    .filter((c) => c.head !== '')
    .map((c): MenuItem => {
      const usual = !c.from || matchMedia(widths[c.from]).matches
      const on = choice.get(c.key) ?? usual
      return {
        label: c.name ?? c.head,
        checked: on,
        onSelect: () =>
          change(
            on === usual
              ? new Map(choice).set(c.key, !on)
              : new Map([...choice].filter(([key]) => key !== c.key)),
          ),
      }
    })
  return {
    shown,
    menu:
      choice.size === 0
        ? menu
        : [...menu, { kind: 'line' }, { label: t('columnsUsual'), onSelect: () => change(new Map()) }],
  }
}
