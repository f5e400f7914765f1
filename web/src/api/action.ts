/**
 * What a press of a button or a sent form does: whether it is under way, and what was refused. State of React alone: with the mutations of
 * the query library the page of the sign-in, which reads nothing, would be an eighth larger.
 */
import { useRef, useState, type FormEvent } from 'react'
import { ApiError } from './client'
import { said } from './explain'

interface Options {
  /** What to do with a failure besides keeping it in `error`. */
  readonly failed?: (error: unknown) => void
  /** After success and failure alike: to close the window that asked. */
  readonly settled?: () => void
  /** A success leaves the page: the button stays busy until the next one is there. */
  readonly leaves?: boolean
}

export interface Action<A extends readonly unknown[]> {
  /** The same again, before the last one has ended, is a second click of one press: it does nothing. */
  readonly run: (...args: A) => void
  /** For a form's onSubmit: one at a time. */
  readonly submit: (e: FormEvent, ...args: A) => void
  readonly busy: boolean
  /** What it is busy with. */
  readonly running: A | null
  /** Null until something fails, and again from the next try on. */
  readonly error: unknown
  readonly clear: () => void
  /** What is wrong with one of these fields, or with a part of it, in the person's language. */
  readonly at: (...fields: string[]) => string | undefined
  /** The failure, unless it is about one of these fields. */
  readonly except: (...fields: string[]) => unknown
}

export function useAction<A extends readonly unknown[] = []>(
  work: (...args: A) => Promise<unknown>,
  { failed, settled, leaves = false }: Options = {},
): Action<A> {
  const [running, setRunning] = useState<A | null>(null)
  const [error, setError] = useState<unknown>(null)
  const busy = running !== null
  // Besides the state, which changes with the next render: two clicks can come before that.
  const under = useRef<A | null>(null)
  const start = async (args: A) => {
    under.current = args
    setRunning(args)
    setError(null)
    let stays = leaves
    try {
      await work(...args)
    } catch (e) {
      stays = false
      setError(e)
      failed?.(e)
    }
    settled?.()
    if (stays) return
    under.current = null
    setRunning(null)
  }
  return {
    run: (...args) => {
      if (!under.current || args.some((a, i) => !Object.is(a, under.current![i]))) void start(args)
    },
    submit: (e, ...args) => {
      e.preventDefault()
      if (!under.current) void start(args)
    },
    busy,
    running,
    error,
    clear: () => setError(null),
    at: (...fields) => (isAbout(error, fields) ? said(error) : undefined),
    except: (...fields) => (isAbout(error, fields) ? null : error),
  }
}

function isAbout(error: unknown, fields: readonly string[]): boolean {
  const field = error instanceof ApiError ? error.field : null
  return (
    field !== null &&
    fields.some((f) => field === f || field.startsWith(`${f}.`) || field.startsWith(`${f}[`))
  )
}
