import { useLayoutEffect, useRef } from 'react'
import { useMe } from '../api/query'
import { dateTimeZone } from '../format'
import { useT } from '../i18n'

/** Over each page of a demo with a month that was made up: that it was, and until when. */
export function DemoMark() {
  const t = useT('common')
  const until = useMe()?.features.demo_until
  const box = useRef<HTMLElement>(null)
  const marked = Boolean(until)
  // What fills the window, such as the playground, leaves room for it.
  useLayoutEffect(() => {
    const e = box.current
    if (!e || !marked) return
    const root = document.documentElement.style
    const tell = () => root.setProperty('--mark', `${e.offsetHeight}px`)
    tell()
    const sizes = typeof ResizeObserver === 'undefined' ? null : new ResizeObserver(tell)
    sizes?.observe(e)
    return () => {
      sizes?.disconnect()
      root.removeProperty('--mark')
    }
  }, [marked])
  if (!until) return null
  return (
    <aside
      ref={box}
      aria-labelledby="demo-mark"
      className="border-b border-line bg-sunken px-4 py-1.5 md:px-7"
    >
      <p id="demo-mark" className="text-center text-small text-ink2">
        {t('demoData', { time: dateTimeZone(until) })}
      </p>
    </aside>
  )
}
