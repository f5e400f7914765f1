/** The list of models, over a catalog as the gateway answers it. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import { getCatalog } from '../src/api/operations'
import type { Model } from '../src/pages/catalog/filter'
import { Models } from '../src/pages/catalog/picker'
import type { Choice } from '../src/pages/catalog/parts'

afterEach(cleanup)
const model = (id: string, more: Partial<Model> = {}): Model => ({
  id,
  name: id.split('/')[1]!,
  vendor: id.split('/')[0]!,
  type: 'chat',
  in: '0.1',
  out: '0.2',
  cached: null,
  ctx: 8000,
  caps: [],
  ins: ['text'],
  outs: ['text'],
  policy: 'unknown',
  providers: ['p'],
  live: true,
  p50: null,
  tps: null,
  uptime: null,
  rank: null,
  created: null,
  ...more,
})
const models = [
  model('acme/big', { in: '0.9', ctx: 200_000, caps: ['tools'] }),
  model('acme/small', { in: '0.01' }),
  model('other/tool', { caps: ['tools'] }),
  ...Array.from({ length: 62 }, (_, i) => model(`many/m${i}`)),
]
function show(choice: Partial<Choice> = {}) {
  const client = new QueryClient()
  client.setQueryData(getCatalog.key(), {
    version: '1',
    models,
    facets: { vendors: [{ id: 'acme', name: 'Acme' }], providers: [] },
    spoken: {},
  })
  const onChange = vi.fn()
  render(
    <QueryClientProvider client={client}>
      <Models value="" onChange={onChange} {...choice} />
    </QueryClientProvider>,
  )
  const input = document.querySelector('input')! // by its role all rows would be looked at
  return {
    onChange,
    input,
    type: (text: string) => act(() => fireEvent.input(input, { target: { value: text } })),
    key: (key: string) => act(() => fireEvent.keyDown(input, { key })),
  }
}
const ids = () => [...document.querySelectorAll<HTMLElement>('[role=option]')].map((o) => o.dataset.value)
const active = () => document.querySelector<HTMLElement>('[aria-selected=true]')?.dataset.value

test('not all rows are made at once: they come as one goes on', async () => {
  const p = show()
  expect(ids().length).toBe(60)
  await p.key('ArrowUp') // from the first one to the last
  expect([ids().length, active()]).toEqual([65, 'many/m61'])
})
test('the field says which row the keyboard is on', async () => {
  const p = show({ value: 'acme/small', fits: (m) => m.vendor !== 'many' })
  expect(active()).toBe('acme/small')
  await p.key('ArrowUp')
  await p.key('ArrowUp') // from the first one to the last
  expect(active()).toBe('other/tool')
  expect(p.input.getAttribute('aria-activedescendant')).toBe(
    document.querySelector('[aria-selected=true]')!.id,
  )
  await p.key('Enter')
  expect(p.onChange).toHaveBeenCalledWith('other/tool')
})
test('models that do not fit are not there, and those with a reason against them say it', () => {
  show({ fits: (m) => m.vendor === 'acme', mark: (m) => (m.id === 'acme/small' ? 'no images' : null) })
  expect(ids()).toEqual(['acme/big', 'acme/small'])
  expect(screen.getByText('no images')).toBeTruthy()
})
test('price, context, abilities and vendor order and narrow the list', async () => {
  show({ fits: (m) => m.vendor !== 'many' })
  const set = (name: string, value: string) =>
    act(() => fireEvent.change(screen.getByRole('combobox', { name }), { target: { value } }))
  await set('Sort by', 'cheap')
  expect(ids()).toEqual(['acme/small', 'other/tool', 'acme/big'])
  await act(() => fireEvent.click(screen.getByRole('button', { name: 'Tools' })))
  expect(ids()).toEqual(['other/tool', 'acme/big'])
  await set('Vendor', 'acme')
  expect(ids()).toEqual(['acme/big'])
  await set('Context at least', '1000000')
  expect(ids()).toEqual([])
})
test.each([
  ['acme/*', true, ['acme/*', 'acme/big', 'acme/small'], 'acme/*'],
  ['gone/model', true, ['gone/model'], 'gone/model'],
  ['gone/model', false, [], undefined],
  ['acme/big', true, ['acme/big'], 'acme/big'],
])('typed %s, taken as it is: %s', async (text, free, rows, chosen) => {
  const p = show({ free, fits: (m) => m.vendor === 'acme' })
  await p.type(text)
  expect(ids()).toEqual(rows)
  await p.key('Enter')
  expect(p.onChange.mock.calls[0]?.[0]).toBe(chosen)
})
test('none can be chosen where the page has words for it', async () => {
  const p = show({ none: 'All models', value: 'acme/big' })
  expect(ids()[0]).toBe('')
  await act(() => fireEvent.click(screen.getByText('All models')))
  expect(p.onChange).toHaveBeenCalledWith('')
})
