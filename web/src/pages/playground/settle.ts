/** What was charged for a call that told nothing of it: its record has it a moment later. */
import { ApiError, get } from '../../api/client'
import { availableQuery, queries } from '../../api/query'

/** Rubles as the gateway wrote them; null when the record did not come. */
export async function settled(id: string): Promise<string | null> {
  let cost: string | null = null
  for (let i = 0; i < 8 && cost === null; i++) {
    await new Promise((r) => setTimeout(r, 250 * 2 ** Math.min(i, 3)))
    try {
      const { data } = await get('/api/calls/{id}', { path: { id }, quiet: true })
      // A call that failed has its record, and no charge.
      if (data.settled || data.status >= 400) cost = data.cost
    } catch (e) {
      if (e instanceof ApiError && e.status !== 404 && e.status !== 429) return null
    }
  }
  spent()
  return cost
}
/** What is available has changed. */
export function spent(): void {
  void queries.invalidateQueries({ queryKey: availableQuery.queryKey })
}
