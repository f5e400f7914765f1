import { act, cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import { useAction, type Action } from '../src/api/action'
import { ApiError } from '../src/api/client'

afterEach(cleanup)
type Options = Parameters<typeof useAction>[1]
/** A form with the action, and what is to be answered to the tries of it, one after the other. */
function form(options?: Options) {
  const tries: { resolve: () => void; reject: (e: unknown) => void }[] = []
  const work = vi.fn((_: string) => new Promise<void>((resolve, reject) => tries.push({ resolve, reject })))
  let now!: Action<[string]>
  function Form() {
    now = useAction(work, options)
    return (
      <form aria-label="f" onSubmit={(e) => now.submit(e, 'a')}>
        <button aria-busy={now.busy} />
      </form>
    )
  }
  render(<Form />)
  return { work, tries, now: () => now, submit: () => fireEvent.submit(screen.getByRole('form')) }
}
const wrong = (field: string) =>
  new ApiError('invalid_request', 'Wrong.', 400, null, field, null, {}, `Wrong ${field}`)

test('a form is sent once at a time', async () => {
  const f = form()
  f.submit()
  f.submit()
  expect(f.work).toHaveBeenCalledTimes(1)
  expect(f.now().running).toEqual(['a'])
  await act(async () => f.tries[0]!.resolve())
  expect(f.now().busy).toBe(false)
  f.submit()
  expect(f.work).toHaveBeenCalledTimes(2)
})

test('a refusal is said at its field until the next try', async () => {
  const f = form()
  f.submit()
  await act(async () => f.tries[0]!.reject(wrong('limit.most')))
  expect(f.now().busy).toBe(false)
  expect(f.now().at('name')).toBeUndefined()
  expect(f.now().at('name', 'limit')).toBe('Wrong limit.most')
  expect(f.now().except('limit')).toBeNull()
  expect(f.now().except('name')).toBe(f.now().error)
  f.submit()
  expect(f.now().error).toBeNull()
})

test('a field whose name begins like another is another', async () => {
  const f = form()
  f.submit()
  await act(async () => f.tries[0]!.reject(wrong('limit_reset')))
  expect(f.now().at('limit')).toBeUndefined()
})

test('what follows is called after a failure and after a success', async () => {
  const failed = vi.fn()
  const settled = vi.fn()
  const f = form({ failed, settled })
  f.submit()
  await act(async () => f.tries[0]!.reject('no'))
  expect(failed).toHaveBeenCalledWith('no')
  expect(settled).toHaveBeenCalledTimes(1)
  f.submit()
  await act(async () => f.tries[1]!.resolve())
  expect(failed).toHaveBeenCalledTimes(1)
  expect(settled).toHaveBeenCalledTimes(2)
})

test('an action that leaves the page stays busy when it went well, and can be tried again when not', async () => {
  const f = form({ leaves: true })
  f.submit()
  await act(async () => f.tries[0]!.reject('no'))
  expect(f.now().busy).toBe(false)
  f.submit()
  await act(async () => f.tries[1]!.resolve())
  expect(f.now().busy).toBe(true)
})

test('two clicks before the next render act once, and another act is another', async () => {
  const f = form()
  await act(async () => {
    const { run } = f.now()
    run('a')
    run('a')
    run('b')
  })
  expect(f.work.mock.calls).toEqual([['a'], ['b']])
  await act(async () => f.tries.forEach((t) => t.resolve()))
  await act(async () => f.now().run('a'))
  expect(f.work).toHaveBeenCalledTimes(3)
})
