/** What the queries of operations.ts are made with. */
import { queryOptions } from '@tanstack/react-query'
import { get, type Options, type PathOf } from './client'
import { queries } from './query'

/** A reading of the API: options for useQuery, whose key begins with the operation's name. */
export function query<P extends PathOf<'get'>>(name: string, path: P) {
  const options = (o: Pick<Options, 'path' | 'query'> = {}) =>
    queryOptions({
      queryKey: [name, { ...o.path, ...o.query }],
      queryFn: ({ signal }) => get(path, { ...o, signal }),
    })
  return Object.assign(options, { operation: name })
}

/** Reads again what these operations have read, with all values. */
export const renew = (...read: { readonly operation: string }[]): Promise<unknown> =>
  Promise.all(read.map((q) => queries.invalidateQueries({ queryKey: [q.operation] })))
