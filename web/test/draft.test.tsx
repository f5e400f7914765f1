/** Text that was not saved: it outlives a reload, and ends when it is saved or belongs to another state. */
import { act, cleanup, renderHook } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import { forgetDrafts, useDraft } from '../src/ui/draft'

afterEach(() => {
  cleanup()
  sessionStorage.clear()
})
const open = (name: string, start: unknown) =>
  renderHook(({ from }) => useDraft(name, from, { quiet: true }), { initialProps: { from: start } })

test('useDraft: what was written is there again after a reload', () => {
  const first = open('chat 1', '')
  act(() => first.result.current[1]('half a question'))
  first.unmount()
  expect(open('chat 1', '').result.current[0]).toBe('half a question')
  expect(open('chat 2', '').result.current[0]).toBe('')
})
test('useDraft: what was sent or undone is not kept', () => {
  const first = open('chat 1', '')
  act(() => first.result.current[1]('sent'))
  act(() => first.result.current[1](''))
  first.unmount()
  expect(sessionStorage.length).toBe(0)
})
test('useDraft: what was saved is not kept, and a draft of another state is not taken up', () => {
  const first = open('routing', { only: 'a' })
  act(() => first.result.current[1]({ only: 'b' }))
  expect(sessionStorage.length).toBe(1)
  expect(open('routing', { only: 'c' }).result.current[0]).toEqual({ only: 'c' })
  act(() => first.result.current[1]({ only: 'b' }))
  first.rerender({ from: { only: 'b' } })
  expect(sessionStorage.length).toBe(0)
})
test('forgetDrafts: drafts go, other things stay', () => {
  sessionStorage.setItem('other', 'x')
  const first = open('chat 1', '')
  act(() => first.result.current[1]('half'))
  first.unmount()
  forgetDrafts()
  expect(Object.keys(sessionStorage)).toEqual(['other'])
})
test('useDraft: a text longer than a browser should keep is not kept', () => {
  const first = open('chat 1', '')
  act(() => first.result.current[1]('x'.repeat(200_001)))
  expect(sessionStorage.length).toBe(0)
})
