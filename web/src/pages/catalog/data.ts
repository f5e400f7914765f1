/** The compact catalog, for every page that shows models. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { get } from '../../api/client'
import { getCatalog, listHiddenModels } from '../../api/operations'
import { remember, remembered } from '../../settings'
import { prepare, type Catalog, type Entry, type Model } from './filter'

/** When the gateway does not answer, the last catalog of this browser is shown, with its time. */
async function read(signal: AbortSignal): Promise<Catalog & { kept?: string }> {
  try {
    const fresh = await get('/api/catalog', { signal, quiet: true })
    const kept = new Date().toISOString()
    requestAnimationFrame(() => setTimeout(() => remember('catalog', JSON.stringify({ kept, ...fresh })))) // what was read is shown first
    return fresh
  } catch (e) {
    const text = signal.aborted ? null : remembered('catalog')
    if (!text) throw e
    return JSON.parse(text) as Catalog & { kept?: string }
  }
}
export const catalogQuery = queryOptions({
  queryKey: getCatalog.key(),
  queryFn: ({ signal }) => read(signal),
  staleTime: 300_000,
})

/** The models that the calls of whoever is signed in would be refused. */
export function useHidden(on: boolean): ReadonlySet<string> {
  const { data } = useQuery({
    ...listHiddenModels({ quiet: true }),
    enabled: on,
    staleTime: 60_000,
    retry: false,
  })
  return useMemo(() => new Set(on ? data?.hidden : []), [on, data])
}

export interface Prepared {
  readonly entries: readonly Entry[]
  readonly models: ReadonlyMap<string, Model>
  readonly vendors: ReadonlyMap<string, string>
  readonly providers: ReadonlyMap<string, string>
}
export function useCatalog() {
  const query = useQuery(catalogQuery)
  const prepared = useMemo((): Prepared | null => {
    if (!query.data) return null
    const vendors = new Map(query.data.facets.vendors.map((v) => [v.id, v.name]))
    return {
      entries: prepare(query.data.models, vendors),
      models: new Map(query.data.models.map((m) => [m.id, m])),
      vendors,
      providers: new Map(query.data.facets.providers.map((p) => [p.id, p.name])),
    }
  }, [query.data])
  return { ...query, prepared }
}
