/** Which video costs least: where no job says yet what one costs. */
import { useQuery } from '@tanstack/react-query'
import { compare, decimal, money } from '../../format'
import { useT } from '../../i18n'
import { Link } from '../../ui/link'
import { catalogQuery } from '../catalog/data'
import type { Model } from '../catalog/filter'

/** Of the models that take calls now: the one with the lowest price of a second, else of a whole video. Prices of different units are not compared. */
export function cheapestVideo(models: readonly Model[]): Model | null {
  const priced = models.filter((m) => m.live && m.type === 'video' && decimal(m.each ?? null) !== null)
  const seconds = priced.filter((m) => m.unit === 'second')
  const among = seconds.length ? seconds : priced.filter((m) => m.unit === 'request')
  return among.reduce<Model | null>(
    (best, m) => (best === null || compare(decimal(m.each!)!, decimal(best.each!)!) < 0 ? m : best),
    null,
  )
}

export default function Cheapest() {
  const t = useT('jobs')
  const { data } = useQuery({ ...catalogQuery, retry: false })
  const m = data && cheapestVideo(data.models)
  if (!m) return null
  return (
    <>
      {t.rich(m.unit === 'second' ? 'cheapestSecond' : 'cheapest', {
        price: money(m.each!),
        model: (
          <Link key="model" to={`/models/${m.id}`} translate="no" className="text-accent-ink underline">
            {m.name}
          </Link>
        ),
      })}
    </>
  )
}
