import { useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react'
import { explain } from '../api/explain'
import { useT } from '../i18n'
import { IconButton } from './button'

interface Item {
  id: number
  text: string
  action?: { label: string; run: () => void }
  ms: number
}
let items: readonly Item[] = []
let last = 0
const listeners = new Set<() => void>()
const change = (next: readonly Item[]) => {
  items = next
  listeners.forEach((f) => f())
}
const close = (id: number) => change(items.filter((x) => x.id !== id))

/** A short message at the edge. It never carries the only copy of something. `action`: "Undo", for ten seconds. */
export function toast(text: string, action?: { label: string; run: () => void }): void {
  change([
    ...items.slice(-2),
    { id: ++last, text, ms: action ? 10_000 : 5_000, ...(action ? { action } : {}) },
  ])
}

/** What failed, as such a message. */
export const toastError = (error: unknown): void => toast(explain(error))

/** The messages: announced politely, kept while the pointer or the focus is on one, and never over what is needed meanwhile. */
export function Toasts() {
  const all = useSyncExternalStore(
    (f) => {
      listeners.add(f)
      return () => listeners.delete(f)
    },
    () => items,
  )
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const e = box.current
    if (!e || all.length === 0) return
    let gone = false
    const put = async () => {
      const { onScreen, place } = await import('./place')
      if (gone) return
      const { needed, rest } = onScreen()
      const at = place(
        { width: e.offsetWidth, height: e.offsetHeight },
        { width: document.documentElement.clientWidth, height: window.visualViewport?.height ?? innerHeight },
        needed,
        rest,
      )
      Object.assign(e.style, { left: `${at.left}px`, top: `${at.top}px`, right: 'auto', bottom: 'auto' })
    }
    const look = () => void put()
    look()
    // Windows are put into the body when they open.
    const seen = new MutationObserver(look)
    seen.observe(document.body, { childList: true })
    addEventListener('resize', look)
    return () => {
      gone = true
      seen.disconnect()
      removeEventListener('resize', look)
    }
  }, [all])
  return (
    <div
      ref={box}
      role="status"
      aria-live="polite"
      data-toasts
      className="pointer-events-none fixed right-3 bottom-3 z-50 flex w-[380px] max-w-[calc(100vw-24px)] flex-col gap-2 max-md:bottom-20"
    >
      {all.map((i) => (
        <Toast key={i.id} item={i} />
      ))}
    </div>
  )
}
function Toast({ item }: { item: Item }) {
  const t = useT('common')
  const [held, setHeld] = useState(false)
  useEffect(() => {
    if (held) return
    const timer = setTimeout(() => close(item.id), item.ms)
    return () => clearTimeout(timer)
  }, [held, item])
  return (
    <div
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
      className="pointer-events-auto flex animate-appear items-center gap-3 rounded-float border border-line bg-surface py-2 pr-2 pl-4 shadow-float"
    >
      <span className="min-w-0 flex-1">{item.text}</span>
      {item.action && (
        <button
          type="button"
          onClick={() => {
            item.action!.run()
            close(item.id)
          }}
          className="rounded-control px-2 py-1 font-medium text-accent-ink hover:bg-sunken"
        >
          {item.action.label}
        </button>
      )}
      <IconButton icon="x" label={t('close')} small onClick={() => close(item.id)} />
    </div>
  )
}
