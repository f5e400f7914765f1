import type { Reply } from '../../api/client'
import { renew } from '../../api/query'
import { getUser, listUsers } from '../../api/operations'

export type Person = Reply<'/api/admin/users/{id}'>['data']
export type UserKey = Person['keys'][number]
export type Found = Reply<'/api/admin/users/find', 'post'>['data']['key']

/** The key that was looked for last: what is known of it is not in the address. */
let found: Found | null = null
export const remember = (k: Found): void => {
  found = k
}
export const remembered = (id: string | undefined): Found | null => (found?.id === id ? found : null)

/** Reads again what a change of a person shows in. */
export const refresh = () => renew(getUser, listUsers)
