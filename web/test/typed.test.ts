/** What is typed while the search window is still loading. */
import { afterEach, expect, test, vi } from 'vitest'
import { catchTyped, endTyped } from '../src/shell/typed'

const press = (key: string, o: KeyboardEventInit = {}) => {
  const e = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...o })
  document.body.dispatchEvent(e)
  return e
}
const behind = vi.fn()
window.addEventListener('keydown', behind)
afterEach(() => {
  endTyped()
  behind.mockClear()
})

test('keys are kept for the field and reach no shortcut behind', () => {
  catchTyped(() => {})
  for (const key of ['g', 'm', ' ', 'x', 'Shift', 'Backspace', 'ж', '?', 'Enter']) press(key)
  expect(behind).not.toHaveBeenCalled()
  expect(endTyped()).toBe('gm ж?')
  press('l')
  expect(behind).toHaveBeenCalledTimes(1)
  expect(endTyped()).toBe('')
})
test('keys of the browser pass, and Escape gives up', () => {
  const given = vi.fn()
  catchTyped(given)
  expect(press('r', { ctrlKey: true }).defaultPrevented).toBe(false)
  press('a')
  press('Escape')
  expect(given).toHaveBeenCalledTimes(1)
  expect(endTyped()).toBe('')
})
