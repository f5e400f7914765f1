/** Text that was written and not sent yet: it outlives a reload and a step to another page of this tab, and ends with the tab. */
import { useEffect, useState } from 'react'
import { account } from '../api/client'
import { meQuery, queries } from '../api/query'
import { translator } from '../i18n'
import { toast } from './toast'

const BEGINS = 'weir.draft '
/** Of one draft, in characters; a longer one is not kept. */
const MOST = 200_000
const keyOf = (name: string) =>
  `${BEGINS}${queries.getQueryData(meQuery.queryKey)?.user?.id ?? ''} ${account ?? ''} ${name}`

/** The draft that was begun from `start`. One that was begun from another state, such as an older version, is not taken up. */
function kept<T>(name: string, start: string): T | undefined {
  try {
    const found = JSON.parse(sessionStorage.getItem(keyOf(name)) ?? 'null') as { from: string; now: T } | null
    return found?.from === start ? found.now : undefined
  } catch {
    return undefined
  }
}
function keep(name: string, start: string, now: string): void {
  const text = `{"from":${JSON.stringify(start)},"now":${now}}`
  try {
    if (now === start || text.length > MOST) sessionStorage.removeItem(keyOf(name))
    else sessionStorage.setItem(keyOf(name), text)
  } catch {
    // a browser that keeps nothing
  }
}

/** Leaves a text for a page that takes up the draft of this name, in place of what was begun there. */
export const leaveDraft = (name: string, text: string): void => keep(name, '""', JSON.stringify(text))

/** Forgets every draft, as signing out does. */
export function forgetDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(BEGINS)) sessionStorage.removeItem(key)
}

/**
 * State that is JSON and is kept as a draft while it differs from `start`. `quiet`: nothing is said when a draft is taken up, because it is in
 * plain sight.
 */
export function useDraft<T>(
  name: string,
  start: T,
  o: { quiet?: boolean } = {},
): [T, (next: T | ((now: T) => T)) => void] {
  const from = JSON.stringify(start)
  const [found] = useState(() => kept<T>(name, from))
  const [value, setValue] = useState<T>(found ?? start)
  const quiet = o.quiet ?? false
  useEffect(() => {
    if (found !== undefined && !quiet) toast(translator('common')('draftKept'))
  }, [found, quiet])
  const now = JSON.stringify(value)
  useEffect(() => keep(name, from, now), [name, from, now])
  return [value, setValue]
}
