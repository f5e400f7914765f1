/** What the pages of money ask of invoices and acts. */
import { useQuery } from '@tanstack/react-query'
import { listActs, listInvoices } from '../../api/operations'
import { renew } from '../../api/query'

export const useInvoices = () => useQuery(listInvoices({ query: { limit: 100 } }))
export const useActs = () => useQuery(listActs({ query: { limit: 100 } }))
export const renewInvoices = () => void renew(listInvoices, listActs)
