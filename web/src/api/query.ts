/** How long what was read stays fresh, and when a failed reading is tried again. */
import { QueryClient, keepPreviousData, notifyManager, queryOptions, useQuery } from '@tanstack/react-query'
import { decimal, plain, subtract } from '../format'
import { ApiError, send, type Reply } from './client'
import { getCredits, getMe } from './operations'

// The library's own choice is a timer: a switch whose state is in the cache jumped back for a moment when it was pressed.
notifyManager.setScheduler(queueMicrotask)

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      gcTime: 10 * 60_000,
      placeholderData: keepPreviousData,
      retry: (failures, e) => failures < 1 && e instanceof ApiError && (e.status === 0 || e.status >= 500),
      retryDelay: 500,
    },
    mutations: { retry: false },
  },
})

/** Reads again what these operations have read, with all values. */
export const renew = (...read: { readonly operation: string }[]): Promise<unknown> =>
  Promise.all(read.map((q) => queries.invalidateQueries({ queryKey: [q.operation] })))

export type Me = Reply<'/api/me'>
/** Who is signed in, and what this installation offers. */
export const meQuery = queryOptions({ ...getMe({ quiet: true }), staleTime: 60_000 })
/** The person; undefined until it is known. */
export function useMe(): Me | undefined {
  return useQuery(meQuery).data
}

/** What the wallet has left for calls, in the digits that the gateway wrote: they are read from the text, not from a float. */
export const availableQuery = queryOptions({
  queryKey: getCredits.key('available'),
  queryFn: async ({ signal }) => {
    const text = await (await send('get', '/api/v1/credits', { signal, quiet: true })).text()
    const figure = (name: string) => decimal(new RegExp(`"${name}":\\s*(-?[0-9.eE+-]+)`).exec(text)?.[1])
    const balance = figure('balance')
    const reserved = figure('reserved')
    return balance && plain(reserved ? subtract(balance, reserved) : balance)
  },
  refetchInterval: 60_000,
})
