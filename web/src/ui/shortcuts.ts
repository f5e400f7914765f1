/** Single keys that do something. Off while typing, in windows over the page, and when the person switched them off. */
import { useEffect, useRef } from 'react'
import { remember, remembered } from '../settings'

export function shortcutsOn(): boolean {
  return remembered('shortcuts') !== 'off'
}
export function setShortcuts(on: boolean): void {
  remember('shortcuts', on ? null : 'off')
}

export function shortcutsAllowed(e: KeyboardEvent): boolean {
  if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || !shortcutsOn()) return false
  const at = e.target as HTMLElement | null
  if (at?.closest('input:not([type=checkbox]):not([type=radio]),textarea,select,[contenteditable]'))
    return false
  return !document.querySelector('[role=dialog],[role=alertdialog],[role=menu]')
}

/** Keys of a page: { t: topUp, e: exportIt }. */
export function useShortcuts(keys: { readonly [key: string]: () => void }): void {
  const latest = useRef(keys)
  useEffect(() => {
    latest.current = keys
  })
  useEffect(() => {
    const f = (e: KeyboardEvent) => {
      const run = latest.current[e.key]
      if (!run || !shortcutsAllowed(e)) return
      e.preventDefault()
      run()
    }
    window.addEventListener('keydown', f)
    return () => window.removeEventListener('keydown', f)
  }, [])
}
