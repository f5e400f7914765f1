/** What the queries of operations.ts are made with. */
import { queryOptions } from '@tanstack/react-query'
import { get, type Options, type PathOf } from './client'

/**
 * A reading of the API: options for useQuery, whose key begins with the operation's name. `at` is where a browser reads it, when that is not its
 * path. `key` is for what is read in another way or put together from it.
 */
export function query<P extends PathOf<'get'>>(name: string, path: P, at: string = path) {
  const key = (...of: readonly unknown[]): readonly unknown[] => [name, ...of]
  const options = ({ quiet, ...o }: Pick<Options, 'path' | 'query' | 'quiet'> = {}) =>
    queryOptions({
      queryKey: key({ ...o.path, ...o.query }),
      queryFn: ({ signal }) => get(at as P, { ...o, ...(quiet ? { quiet } : {}), signal }),
    })
  return Object.assign(options, { operation: name, key })
}
