import { Toast as RadixToast } from 'radix-ui'
import { useSyncExternalStore } from 'react'
import { useT } from '../i18n'
import { IconButton } from './button'

interface Item { id: number; text: string; action?: { label: string; run: () => void }; ms: number }
let items: readonly Item[] = []
let last = 0
const listeners = new Set<() => void>()
const change = (next: readonly Item[]) => { items = next; listeners.forEach((f) => f()) }

/** A short message at the edge. It never carries the only copy of something. `action`: "Undo", for ten seconds. */
export function toast(text: string, action?: { label: string; run: () => void }): void {
  change([...items.slice(-2), { id: ++last, text, ms: action ? 10_000 : 5_000, ...(action ? { action } : {}) }])
}

export function Toasts() {
  const all = useSyncExternalStore((f) => { listeners.add(f); return () => listeners.delete(f) }, () => items)
  const t = useT('common')
  return (
    <RadixToast.Provider swipeDirection="down">
      {all.map((i) => (
        <RadixToast.Root key={i.id} duration={i.ms} onOpenChange={(open) => { if (!open) change(items.filter((x) => x.id !== i.id)) }}
          className="flex animate-appear items-center gap-3 rounded-float border border-line bg-surface py-2 pr-2 pl-4 shadow-float">
          <RadixToast.Description className="min-w-0 flex-1">{i.text}</RadixToast.Description>
          {i.action && <RadixToast.Action altText={i.action.label} onClick={i.action.run} className="rounded-control px-2 py-1 font-medium text-accent-ink hover:bg-sunken">{i.action.label}</RadixToast.Action>}
          <RadixToast.Close asChild><IconButton icon="x" label={t('close')} small /></RadixToast.Close>
        </RadixToast.Root>
      ))}
      <RadixToast.Viewport className="fixed right-4 bottom-4 z-50 flex w-[380px] max-w-[calc(100vw-32px)] list-none flex-col gap-2 max-md:bottom-20" />
    </RadixToast.Provider>
  )
}
