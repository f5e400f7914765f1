/**
 * What is typed between the press that opens a window and the moment its field is there, while its code is still loading. No shortcut of the
 * page behind gets these keys.
 */
let typed = ''
let stop: (() => void) | null = null

/** Takes every key from the page from now on. Escape gives up. */
export function catchTyped(onGiveUp: () => void): void {
  endTyped()
  const f = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return
    e.stopImmediatePropagation()
    if (e.key === 'Escape') {
      endTyped()
      onGiveUp()
    } else if (e.key === 'Backspace') typed = [...typed].slice(0, -1).join('')
    else if ([...e.key].length === 1) typed += e.key
    else return
    e.preventDefault()
  }
  window.addEventListener('keydown', f, true)
  stop = () => window.removeEventListener('keydown', f, true)
}

/** What was typed until now; from here on keys go where the focus is. */
export function endTyped(): string {
  stop?.()
  stop = null
  const text = typed
  typed = ''
  return text
}
