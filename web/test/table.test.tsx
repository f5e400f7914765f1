import { cleanup, fireEvent, render, screen, within } from '@testing-library/react'
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { loadMessages } from '../src/i18n'
import { readChoice, writeChoice } from '../src/ui/columns'
import { csvOf } from '../src/ui/csv'
import { Table, type TableProps } from '../src/ui/table'

beforeAll(() => Promise.all([loadMessages(['common'], 'en'), import('../src/ui/column-menu')]))
beforeEach(() => localStorage.clear())
afterEach(cleanup)
interface Row {
  readonly id: string
  readonly cost: string
}
const rows = (n: number): Row[] => Array.from({ length: n }, (_, i) => ({ id: `r${i}`, cost: String(i) }))
const columns: TableProps<Row>['columns'] = [
  { key: 'id', head: 'Name', cell: (r) => r.id },
  { key: 'cost', head: 'Cost', align: 'end', cell: (r) => r.cost },
  { key: 'more', head: '', name: 'Actions', cell: () => 'more' },
]
const show = (p: Partial<TableProps<Row>> & { rows: readonly Row[] }) =>
  render(<Table<Row> caption="Things" rowKey={(r) => r.id} columns={columns} {...p} />)
const count = () => document.querySelectorAll('tbody [data-row]').length

test('a long table shows two hundred rows, and two hundred more each time they are asked for', {
  timeout: 60_000,
}, () => {
  show({ rows: rows(450), columns: columns.slice(0, 1) })
  expect(count()).toBe(200)
  fireEvent.click(screen.getByText('Show more'))
  expect(count()).toBe(400)
  fireEvent.click(screen.getByText('Show more'))
  expect(count()).toBe(450)
  expect(screen.queryByText('Show more')).toBeNull()
})
test('as many rows as are shown at once have no such button', () => {
  show({ rows: rows(200) })
  expect(count()).toBe(200)
  expect(screen.queryByText('Show more')).toBeNull()
})

test('rows have keys: j and k move, Enter opens, o opens in full, x selects, Esc closes and then leaves', () => {
  Element.prototype.scrollIntoView = vi.fn()
  Object.defineProperty(HTMLElement.prototype, 'offsetParent', {
    configurable: true,
    get: () => document.body,
  })
  const onOpen = vi.fn(),
    onFull = vi.fn(),
    onSelect = vi.fn()
  const p = { rows: rows(3), onOpen, onFull, onSelect, main: true }
  const { rerender } = show(p)
  const at = () => (document.activeElement as HTMLElement).dataset.key
  const press = (key: string) => fireEvent.keyDown(document.activeElement ?? document.body, { key })
  press('j')
  expect(at()).toBe('r0')
  press('j')
  press('j')
  press('j')
  expect(at()).toBe('r2')
  press('k')
  expect(at()).toBe('r1')
  press('Enter')
  press('o')
  press('x')
  for (const f of [onOpen, onFull, onSelect]) expect(f.mock.calls).toEqual([[p.rows[1]]])
  rerender(
    <Table<Row>
      caption="Things"
      rowKey={(r) => r.id}
      columns={columns}
      {...p}
      expanded={(r) => (r.id === 'r1' ? 'inside' : null)}
    />,
  )
  press('Escape')
  expect(onOpen).toHaveBeenCalledTimes(2)
  expect(at()).toBe('r1')
  rerender(<Table<Row> caption="Things" rowKey={(r) => r.id} columns={columns} {...p} />)
  press('Escape')
  expect(at()).toBeUndefined()
  delete (HTMLElement.prototype as { offsetParent?: unknown }).offsetParent
})

test('columns are chosen and remembered; the first one and those without a head stay', async () => {
  const heads = () =>
    within(screen.getByRole('table'))
      .getAllByRole('columnheader')
      .map((h) => h.textContent)
  const { unmount } = show({
    rows: rows(1),
    name: 'things',
    foot: (all) => (
      <tr>
        {all.map((c) => (
          <td key={c.key}>sum</td>
        ))}
      </tr>
    ),
  })
  expect(heads()).toEqual(['Name', 'Cost', 'Actions'])
  fireEvent.keyDown(await screen.findByRole('button', { name: 'Columns' }), { key: 'Enter' })
  const items = await screen.findAllByRole('menuitemcheckbox')
  expect(items.map((i) => i.textContent)).toEqual(['Cost'])
  fireEvent.click(items[0]!)
  expect(heads()).toEqual(['Name', 'Actions'])
  expect(document.querySelectorAll('tfoot td')).toHaveLength(2)
  unmount()
  show({ rows: rows(1), name: 'things' })
  expect(heads()).toEqual(['Name', 'Actions'])
})
test.each([
  [
    '+a,-b',
    ['a', 'b'],
    [
      ['a', true],
      ['b', false],
    ],
  ],
  ['-gone,+b,a,,+', ['a', 'b'], [['b', true]]],
  [null, ['a'], []],
] as const)('the choice %j of %j', (text, keys, want) => {
  const choice = readChoice(text, keys)
  expect([...choice]).toEqual(want)
  expect([...readChoice(writeChoice(choice), keys)]).toEqual(want)
})

test('the file of a chart has all digits, gaps and no formulas', () => {
  const file = csvOf({
    times: [Date.UTC(2026, 10, 24), Date.UTC(2026, 10, 25)],
    series: [
      { key: 'a', label: '=a,"b"', values: [0.87, null], exact: ['0.869349160', null] },
      { key: 'b', label: 'b', values: [0, 12] },
      { key: 'c', label: '-c', values: [null, null], exact: ['-1.5', '+1'] },
    ],
  })
  expect(file).toBe(
    `time_utc,"'=a,""b""",b,'-c\r\n2026-11-24T00:00:00.000Z,0.869349160,0,-1.5\r\n2026-11-25T00:00:00.000Z,,12,'+1\r\n`,
  )
})
