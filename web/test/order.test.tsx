import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { decimal } from '../src/format'
import { loadMessages } from '../src/i18n'
import { after, moment, sorted, type Order, type Sortable } from '../src/ui/order'
import { Table } from '../src/ui/table'

beforeAll(() => loadMessages(['common'], 'en'))
afterEach(cleanup)

interface Row {
  readonly id: string
  readonly v: Sortable
  readonly last?: boolean
}
const ids = (rows: readonly Row[], down: boolean, language = 'en') =>
  sorted(
    rows,
    (r) => r.v,
    down,
    language,
    (r) => r.last === true,
  )
    .map((r) => r.id)
    .join('')
const of = (...values: readonly Sortable[]): Row[] =>
  values.map((v, i) => ({ id: String.fromCharCode(97 + i), v }))

test.each([
  ['numbers', of(10, 9, 100), 'bac', 'cab'],
  ['amounts, to the last digit', of(decimal('0.2'), decimal('0.19999999999'), decimal('-3')), 'cba', 'abc'],
  ['names with numbers', of('key 10', 'Key 9', 'key 1'), 'cba', 'abc'],
  ['what is unknown is last in both directions', of(null, 2, undefined, 1), 'dbac', 'bdac'],
  ['equals stay in their order', of(1, 1, 0, 1), 'cabd', 'abdc'],
  [
    'moments',
    of(moment('2026-11-20T10:00:00Z'), moment(null), moment('2026-11-20T09:59:59.9Z')),
    'cab',
    'acb',
  ],
])('%s', (_name, rows, up, down) => {
  const given = rows.map((r) => r.id).join('')
  expect(ids(rows, false)).toBe(up)
  expect(ids(rows, true)).toBe(down)
  expect(rows.map((r) => r.id).join('')).toBe(given)
})
test('rows that are last stay last', () => {
  const rows = [{ id: 'o', v: 50, last: true }, ...of(1, 99)]
  expect(ids(rows, false)).toBe('abo')
  expect(ids(rows, true)).toBe('bao')
})
test('a press leads to the first direction, to the other one and to the order of the list', () => {
  const cost = { key: 'cost', sort: { value: () => 0, down: true } },
    name = { key: 'name', sort: { value: () => '' } }
  const first = after(null, cost)
  expect(first).toEqual({ by: 'cost', down: true })
  expect(after(first, cost)).toEqual({ by: 'cost', down: false })
  expect(after({ by: 'cost', down: false }, cost)).toBeNull()
  expect(after(first, name)).toEqual({ by: 'name', down: false })
})
test('the head of a column is a button that says the direction; others are plain', () => {
  const pressed: string[] = []
  const show = (order: Order | null, can = true) =>
    render(
      <Table<Row>
        caption="Things"
        rowKey={(r) => r.id}
        rows={of(1, 2)}
        columns={[
          { key: 'id', head: 'Name', sort: { value: (r) => r.id }, cell: (r) => r.id },
          { key: 'v', head: 'Cost', cell: (r) => String(r.v) },
        ]}
        order={order}
        {...(can ? { onOrder: (c) => pressed.push(c.key) } : {})}
      />,
    )
  show({ by: 'id', down: true })
  const head = (name: string) => screen.getByRole('columnheader', { name })
  expect(head('Name').getAttribute('aria-sort')).toBe('descending')
  expect(head('Cost').getAttribute('aria-sort')).toBeNull()
  expect(screen.getAllByRole('button').map((e) => e.textContent)).toEqual(['Name'])
  fireEvent.click(screen.getByRole('button', { name: 'Name' }))
  expect(pressed).toEqual(['id'])
  cleanup()
  show(null)
  expect(head('Name').getAttribute('aria-sort')).toBeNull()
  cleanup()
  show(null, false)
  expect(screen.queryByRole('button')).toBeNull()
})
