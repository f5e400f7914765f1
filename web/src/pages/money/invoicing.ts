/** What the pages of money ask of invoices and acts. */
import { useQuery } from '@tanstack/react-query'
import { get } from '../../api/client'
import { queries } from '../../api/query'

export const useInvoices = () =>
  useQuery({
    queryKey: ['invoices'],
    queryFn: ({ signal }) => get('/api/invoices', { query: { limit: 100 }, signal }),
  })
export const useActs = () =>
  useQuery({
    queryKey: ['acts'],
    queryFn: ({ signal }) => get('/api/acts', { query: { limit: 100 }, signal }),
  })
export const renewInvoices = () => {
  for (const key of ['invoices', 'acts']) void queries.invalidateQueries({ queryKey: [key] })
}
