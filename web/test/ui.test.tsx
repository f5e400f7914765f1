/** The parts of which pages are made, as somebody at the keyboard or with a screen reader meets them. */
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react'
import { useState } from 'react'
import { afterEach, expect, test, vi } from 'vitest'
import { ApiError } from '../src/api/client'
import { Button, IconButton } from '../src/ui/button'
import { Segmented, Switch } from '../src/ui/controls'
import { Empty, ErrorBox, SkeletonRows } from '../src/ui/feedback'
import { Checkbox, Field, Input, Select } from '../src/ui/field'
import { Mark } from '../src/ui/marks'
import { Confirm, Dialog } from '../src/ui/overlay'
import { place } from '../src/ui/place'
import { hueOf, lettersOf, VendorMark } from '../src/ui/vendor'
import { toast, Toasts } from '../src/ui/toast'

afterEach(() => {
  cleanup()
  vi.useRealTimers()
})
const said = (ids: string | null) =>
  (ids ?? '').split(' ').map((id) => document.getElementById(id)?.textContent)

test('a field takes text again when it no longer has a longest length', () => {
  const { rerender } = render(<Input aria-label="Field" maxLength={2} minLength={1} />)
  rerender(<Input aria-label="Field" />)
  const field = screen.getByLabelText<HTMLInputElement>('Field')
  expect([field.getAttribute('maxlength'), field.getAttribute('minlength')]).toEqual([null, null])
  rerender(<Input aria-label="Field" maxLength={3} />)
  expect(screen.getByLabelText<HTMLInputElement>('Field').maxLength).toBe(3)
})

test('an image without an address does not ask for the page', () => {
  const { container, rerender } = render(<img alt="" src="/a.png" />)
  rerender(<img alt="" />)
  expect(container.querySelector('img')!.hasAttribute('src')).toBe(false)
})

test('a busy button keeps the focus and takes no press', () => {
  const press = vi.fn()
  const { rerender } = render(<Button onClick={press}>Save</Button>)
  fireEvent.click(screen.getByRole('button'))
  rerender(
    <Button busy onClick={press}>
      Save
    </Button>,
  )
  const b = screen.getByRole<HTMLButtonElement>('button')
  fireEvent.click(b)
  expect(press).toHaveBeenCalledTimes(1)
  expect([b.getAttribute('aria-busy'), b.getAttribute('aria-disabled'), b.disabled]).toEqual([
    'true',
    'true',
    false,
  ])
})
test('a busy button sends no form', () => {
  const send = vi.fn((e: React.FormEvent) => e.preventDefault())
  render(
    <form onSubmit={send}>
      <Button type="submit" busy>
        Save
      </Button>
    </form>,
  )
  fireEvent.click(screen.getByRole('button'))
  expect(send).not.toHaveBeenCalled()
})
test('a button with only a picture has a name', () => {
  render(<IconButton icon="trash" label="Remove" />)
  expect(screen.getByRole('button', { name: 'Remove' }).title).toBe('Remove')
})

test('a field names its control, which says help and error', () => {
  const { rerender } = render(
    <Field label="Name" help="As on the door">
      <Input />
    </Field>,
  )
  const input = screen.getByLabelText('Name')
  expect(input.getAttribute('aria-invalid')).toBeNull()
  rerender(
    <Field label="Name" help="As on the door" error="Too short">
      <Input />
    </Field>,
  )
  expect(input.getAttribute('aria-invalid')).toBe('true')
  expect(said(input.getAttribute('aria-describedby'))).toEqual(['As on the door', 'Too short'])
})
test.each([
  [80, null, null],
  [81, '19 characters left', null],
  [101, '1 character too long', 'true'],
])('with %i of 100 characters a field says what is left', (now, text, invalid) => {
  render(
    <Field label="Text" count={{ now, max: 100 }}>
      <Input />
    </Field>,
  )
  const input = screen.getByLabelText('Text')
  const ids = input.getAttribute('aria-describedby')
  expect(ids === null ? null : said(ids)[0]).toBe(text)
  expect(input.getAttribute('aria-invalid')).toBe(invalid)
})
test('a list and a box for a tick take what is chosen', () => {
  const chosen = vi.fn()
  const options = ['a', 'b'].map((value) => ({ value, label: value.toUpperCase() }))
  render(
    <>
      <Field label="Letter">
        <Select options={options} defaultValue="a" onChange={(e) => chosen(e.target.value)} />
      </Field>
      <Checkbox checked={false} onChange={chosen}>
        Sure
      </Checkbox>
    </>,
  )
  fireEvent.change(screen.getByLabelText('Letter'), { target: { value: 'b' } })
  fireEvent.click(screen.getByLabelText('Sure'))
  expect(chosen.mock.calls).toEqual([['b'], [true]])
})

test('a switch has a name and says what it means', () => {
  const turn = vi.fn()
  render(
    <Switch checked={false} onChange={turn} help="At once">
      Send mails
    </Switch>,
  )
  const s = screen.getByRole('switch', { name: 'Send mails' })
  expect(said(s.getAttribute('aria-describedby'))).toEqual(['At once'])
  fireEvent.click(s)
  expect(turn).toHaveBeenCalledWith(true)
})
test('one of a few cannot become none', () => {
  const choose = vi.fn()
  const options = [
    { value: 'day', label: 'Day' },
    { value: 'week', label: 'Week' },
  ] as const
  render(<Segmented label="Period" value="day" onChange={choose} options={options} />)
  fireEvent.click(screen.getByRole('radio', { name: 'Day' }))
  expect(choose).not.toHaveBeenCalled()
  fireEvent.click(screen.getByRole('radio', { name: 'Week' }))
  expect(choose).toHaveBeenCalledWith('week')
})

test('a failed block says what failed, shows the words of the API on demand and is tried again', () => {
  const again = vi.fn()
  render(<ErrorBox error={new ApiError('server', 'The disk is full.', 500, 'req_7')} onRetry={again} />)
  expect(screen.getByRole('alert').textContent).toContain('req_7')
  expect(screen.queryByText('The disk is full.')).toBeNull()
  const details = screen.getByRole('button', { name: 'Details' })
  fireEvent.click(details)
  expect(details.getAttribute('aria-expanded')).toBe('true')
  expect(screen.getByText('The disk is full.').lang).toBe('en')
  fireEvent.click(screen.getByRole('button', { name: 'Try again' }))
  expect(again).toHaveBeenCalledTimes(1)
})
test('an empty list says why and what to do', () => {
  render(
    <Empty title="No keys yet" action={<Button>Make one</Button>}>
      Programs need one.
    </Empty>,
  )
  expect(screen.getByText('Programs need one.')).toBeTruthy()
  expect(screen.getByRole('button', { name: 'Make one' })).toBeTruthy()
})
test('a list on its way has as many rows as it is told', () => {
  render(<SkeletonRows rows={3} />)
  expect(screen.getByRole('status', { name: 'Loading' }).children.length).toBe(3)
})

function Asking({ typed, sure }: { typed?: string; sure: () => void }) {
  const [open, setOpen] = useState(true)
  return (
    <Confirm
      open={open}
      onOpenChange={setOpen}
      title="Remove it?"
      verb="Remove"
      onConfirm={sure}
      {...(typed ? { typed } : {})}
    >
      It is gone then.
    </Confirm>
  )
}
test('what cannot be undone is asked for first, and cancelled without a trace', () => {
  const sure = vi.fn()
  render(<Asking sure={sure} />)
  expect(screen.getByRole('alertdialog', { name: 'Remove it?' })).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: 'Cancel' }))
  expect(screen.queryByRole('alertdialog')).toBeNull()
  expect(sure).not.toHaveBeenCalled()
})
test('a word that must be typed first is typed as it is', () => {
  const sure = vi.fn()
  render(<Asking typed="prod" sure={sure} />)
  const remove = screen.getByRole<HTMLButtonElement>('button', { name: 'Remove' })
  expect(remove.disabled).toBe(true)
  fireEvent.input(screen.getByRole('textbox'), { target: { value: 'Prod' } })
  expect(remove.disabled).toBe(true)
  fireEvent.input(screen.getByRole('textbox'), { target: { value: 'prod' } })
  fireEvent.click(remove)
  expect(sure).toHaveBeenCalledTimes(1)
})
test('a window is closed by Escape and by its cross', () => {
  const change = vi.fn()
  render(
    <Dialog open onOpenChange={change} title="Name it">
      <Input aria-label="Name" />
    </Dialog>,
  )
  fireEvent.keyDown(screen.getByRole('dialog', { name: 'Name it' }), { key: 'Escape' })
  fireEvent.click(screen.getByRole('button', { name: 'Close' }))
  expect(change.mock.calls).toEqual([[false], [false]])
})

test('a message goes by itself, but not while somebody is at it', () => {
  vi.useFakeTimers()
  render(<Toasts />)
  act(() => toast('Saved'))
  fireEvent.focus(screen.getByRole('button', { name: 'Close' }))
  act(() => void vi.advanceTimersByTime(20_000))
  expect(screen.getByText('Saved')).toBeTruthy()
  fireEvent.blur(screen.getByRole('button', { name: 'Close' }))
  act(() => void vi.advanceTimersByTime(5_000))
  expect(screen.queryByText('Saved')).toBeNull()
})
test('a message takes back what it reports, and three are shown at most', () => {
  const undo = vi.fn()
  render(<Toasts />)
  act(() => ['one', 'two', 'three', 'four'].forEach((text) => toast(text, { label: 'Undo', run: undo })))
  expect(screen.queryByText('one')).toBeNull()
  fireEvent.click(screen.getAllByRole('button', { name: 'Undo' })[0]!)
  expect(undo).toHaveBeenCalledTimes(1)
  expect(screen.queryByText('two')).toBeNull()
})

test.each([
  ['openai', 'Op'],
  ['x-ai', 'Xa'],
  ['black-forest-labs', 'Bf'],
  ['ООО «Ромашка»', 'ОР'],
  ['', '?'],
])('the mark of %s is %s', (vendor, letters) => expect(lettersOf(vendor)).toBe(letters))
test('a vendor keeps its colour, and a person has a letter and none', () => {
  expect([hueOf('yandex'), hueOf('x-ai'), hueOf('no one'), hueOf('no one')]).toEqual([
    28,
    null,
    hueOf('no one'),
    hueOf('no one'),
  ])
  const { container } = render(
    <>
      <VendorMark vendor="openai" />
      <Mark name="anna" />
    </>,
  )
  expect([...container.children].map((e) => [e.textContent, e.classList.contains('vendor')])).toEqual([
    ['Op', true],
    ['A', false],
  ])
})

const screenOf = { width: 1000, height: 800 },
  size = { width: 380, height: 50 }
const bar = { left: 0, top: 700, right: 1000, bottom: 800 }
test.each([
  ['nothing is there: at the right below', [], [], { left: 608, top: 738 }],
  ['a bar below: right above it', [bar], [], { left: 608, top: 642 }],
  [
    'a panel at the right: beside it',
    [{ left: 580, top: 0, right: 1000, bottom: 800 }],
    [],
    { left: 12, top: 738 },
  ],
  [
    'a button of the page: not over it',
    [],
    [{ left: 700, top: 730, right: 800, bottom: 780 }],
    { left: 12, top: 738 },
  ],
  [
    'everything is needed but the top: there',
    [{ left: 0, top: 90, right: 1000, bottom: 800 }],
    [],
    { left: 608, top: 34 },
  ],
])('a message where %s', (_, needed, rest, at) => expect(place(size, screenOf, needed, rest)).toEqual(at))
test('a message covers what is not needed rather than what is', () => {
  const at = place(size, screenOf, [bar], [{ left: 0, top: 0, right: 1000, bottom: 700 }])
  expect(at.top + size.height).toBeLessThanOrEqual(bar.top)
})
