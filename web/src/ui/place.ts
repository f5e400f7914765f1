/** Where a message may lie: over nothing that is needed while it is there. */
export interface Box {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}
const covered = (a: Box, b: Box) =>
  Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)) *
  Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top))

/** Between a message and the edges of the screen, and between it and what it avoids */
const GAP = 12
const STEP = 8

/**
 * The place for a message in a screen: at the right below, unless something needed is there; then where it covers least of what is needed,
 * then least of the rest, then nearest to the lower edge.
 */
export function place(
  size: { readonly width: number; readonly height: number },
  screen: { readonly width: number; readonly height: number },
  needed: readonly Box[],
  rest: readonly Box[],
): { left: number; top: number } {
  const columns = [screen.width - size.width - GAP, GAP, (screen.width - size.width) / 2]
  let best = { left: columns[0]!, top: screen.height - size.height - GAP, cost: Infinity }
  for (let top = best.top; top >= GAP; top -= STEP)
    for (const left of columns) {
      const box = {
        left: left - GAP / 2,
        top: top - GAP / 2,
        right: left + size.width + GAP / 2,
        bottom: top + size.height + GAP / 2,
      }
      const sum = (all: readonly Box[]) => all.reduce((n, b) => n + covered(box, b), 0)
      const cost = sum(needed) * 1000 + sum(rest)
      if (cost < best.cost) best = { left, top, cost }
    }
  return { left: best.left, top: best.top }
}

const controls = 'a[href], button, input, select, textarea, summary, [role=option], [tabindex="0"]'
const windows = '[role=dialog][data-state=open], [role=alertdialog][data-state=open]'

/** What is on the screen now: the controls of the window on top, or those of bars (data-bar) as needed, and the page's own. */
export function onScreen(): { needed: Box[]; rest: Box[] } {
  const boxes = (list: Iterable<Element>) =>
    [...list].map((e) => e.getBoundingClientRect()).filter((b) => b.width > 0 && b.height > 0)
  const top = [...document.querySelectorAll(windows)].at(-1)
  if (top) return { needed: boxes(top.querySelectorAll(controls)), rest: boxes([top]) }
  const bars = [...document.querySelectorAll('[data-bar]')]
  return {
    needed: boxes(bars),
    rest: boxes(
      [...document.querySelectorAll(`main :is(${controls})`)].filter((e) => !bars.some((b) => b.contains(e))),
    ),
  }
}
