/** What happens in the account, as it happens: one stream, which closes in a hidden tab and comes back. Pages poll besides, so none depends on it. */
import { useEffect, useRef } from 'react'

export type Topic = 'setup' | 'calls' | 'money' | 'jobs'
export interface AccountEvent { readonly topic: Topic; readonly data: { readonly [name: string]: unknown } }

export function useEvents(topics: readonly Topic[], onEvent: (e: AccountEvent) => void, on = true): void {
  const latest = useRef(onEvent)
  useEffect(() => { latest.current = onEvent })
  const names = topics.join()
  useEffect(() => {
    if (!on || typeof EventSource === 'undefined') return
    let source: EventSource | null = null
    const open = () => {
      if (source || document.visibilityState === 'hidden') return
      source = new EventSource(`/api/events?topics=${names}`)
      for (const topic of names.split(',') as Topic[]) {
        source.addEventListener(topic, (e) => {
          try { latest.current({ topic, data: JSON.parse((e as MessageEvent<string>).data) as AccountEvent['data'] }) } catch { /* not for us */ }
        })
      }
      source.onerror = () => { if (source?.readyState === EventSource.CLOSED) source = null } // refused: the pages' own polling goes on
    }
    const visible = () => { if (document.visibilityState === 'hidden') { source?.close(); source = null } else open() }
    open()
    document.addEventListener('visibilitychange', visible)
    return () => { document.removeEventListener('visibilitychange', visible); source?.close() }
  }, [names, on])
}
