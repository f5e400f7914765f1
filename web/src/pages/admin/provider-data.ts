/** What the parts of a provider's page share. */
import type { Reply } from '../../api/client'
import {
  getAdminCatalog,
  getAdminProvider,
  listAdminEndpoints,
  listAdminProviderKeys,
  listAdminProviders,
} from '../../api/operations'
import { renew } from '../../api/query'

export type Endpoint = Reply<'/api/admin/endpoints'>['data'][number]
export type Key = Reply<'/api/admin/providers/{id}/keys'>['data'][number]
export type Test = Reply<'/api/admin/providers/{id}/test', 'post'>['data'][number]

/** What a change of a provider makes old. */
export const renewAll = () =>
  renew(listAdminProviders, getAdminProvider, listAdminProviderKeys, listAdminEndpoints, getAdminCatalog)

/** An amount as it was typed, with a point. */
export const amount = (text: string) => text.trim().replace(',', '.')

/** The address of an endpoint's page: the slashes of its id are those of the address. */
export const endpointPage = (id: string) =>
  `/admin/endpoints/${id.split('/').map(encodeURIComponent).join('/')}`

/** The address of a provider's page. */
export const pageOf = (id: string) => `/admin/providers/${encodeURIComponent(id)}`
