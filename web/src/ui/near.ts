import { useEffect, useRef, useState, type RefObject } from 'react'

/** Whether an element has come near the screen once the page around it has its height: what it shows is asked for then. */
export function useNear<E extends HTMLElement>(settled: boolean): [RefObject<E | null>, boolean] {
  const place = useRef<E>(null)
  const [near, setNear] = useState(false)
  useEffect(() => {
    const e = place.current
    if (!e || near || !settled) return
    if (typeof IntersectionObserver === 'undefined') {
      setNear(true)
      return
    }
    const o = new IntersectionObserver(
      (all) => {
        if (all.some((x) => x.isIntersecting)) setNear(true)
      },
      { rootMargin: '200px' },
    )
    o.observe(e)
    return () => o.disconnect()
  }, [near, settled])
  return [place, near]
}
