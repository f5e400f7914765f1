/** A histogram of the API as a chart draws it. */
import type { Reply } from '../../api/client'

export type Distribution = Reply<'/api/admin/endpoints/{id}/activity'>['data']['first_token_ms']
type Bin = Distribution['bins'][number]

/** How much wider a bin is than the one before. */
const WIDER = 2 ** (1 / 3)

/** The bins with an empty one on both sides, so that a single one has a shape, too. */
export function padded(bins: readonly Bin[]): Bin[] {
  const first = bins[0]
  const last = bins[bins.length - 1]
  if (!first || !last) return []
  return [
    ...(first.from > 0 ? [{ from: first.from / WIDER, to: first.from, calls: 0 }] : []),
    ...bins,
    ...(last.to === null ? [] : [{ from: last.to, to: last.to * WIDER, calls: 0 }]),
  ]
}

/** What stands at a place of the axis: the upper end of its bin, nothing between two of them. */
export function placeOf(bins: readonly Bin[], format: (v: number) => string): (ms: number) => string {
  return (ms) => {
    const bin = bins[ms / 1000]
    return bin === undefined ? '' : bin.to === null ? `> ${format(bin.from)}` : `≤ ${format(bin.to)}`
  }
}
