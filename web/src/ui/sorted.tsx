/** A table whose rows are all here: a press on a head sorts them, and the address says by what. */
import { useRouter, useRouterState } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useLanguage } from '../i18n'
import { after, sorted, type Order } from './order'
import { Table, type TableProps } from './table'

/** By what the rows of the page's table are sorted, as the address has it: `order=name`, `order=-cost`. */
export function useOrder(): [Order | null, (order: Order | null) => void] {
  const text = useRouterState({ select: (s) => (s.location.search as { order?: string }).order })
  const router = useRouter()
  const order = typeof text === 'string' && text !== '' ? read(text) : null
  return [
    order,
    (next) => {
      const { order: _, ...others } = router.state.location.search as { order?: string }
      void router.navigate({
        to: router.state.location.pathname,
        search: { ...others, ...(next ? { order: (next.down ? '-' : '') + next.by } : {}) } as never,
        replace: true,
        resetScroll: false,
      })
    },
  ]
}
const read = (text: string): Order => ({ by: text.replace(/^-/, ''), down: text.startsWith('-') })

/**
 * `whole`: all rows are here. A part of a longer list is not sorted, and its heads are plain: the rest would be missing from the order.
 * `last`: rows that stay below, such as the sum of others.
 */
export function Sorted<R>({
  whole = true,
  last,
  ...props
}: TableProps<R> & { whole?: boolean; last?: (row: R) => boolean }) {
  const language = useLanguage()
  const [chosen, choose] = useOrder()
  const column = whole ? props.columns.find((c) => c.sort && c.key === chosen?.by) : undefined
  const order = column ? chosen : null
  const { rows } = props
  const shown = useMemo(
    () =>
      rows && column?.sort && order ? sorted(rows, column.sort.value, order.down, language, last) : rows,
    // Columns are made anew by each render; the same rows in the same order are not sorted again.
    [rows, order?.by, order?.down, language], // eslint-disable-line react-hooks/exhaustive-deps
  )
  return (
    <Table<R>
      {...props}
      rows={shown}
      order={order}
      {...(whole ? { onOrder: (c) => choose(after(order, c)) } : {})}
    />
  )
}
