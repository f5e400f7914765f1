import { Popover as RadixPopover } from 'radix-ui'
import type { ReactNode, RefObject } from 'react'
import { floating } from './floating'

/** `modal`: the focus stays in, and its list scrolls over a window, too. `anchor`: where it lies, when it has no trigger. */
export function Popover({
  trigger,
  anchor,
  children,
  align = 'start',
  open,
  onOpenChange,
  label,
  modal,
}: {
  trigger?: ReactNode
  anchor?: RefObject<HTMLElement | null>
  children: ReactNode
  align?: 'start' | 'end'
  open?: boolean
  onOpenChange?: (o: boolean) => void
  label?: string
  modal?: boolean
}) {
  return (
    <RadixPopover.Root
      modal={modal ?? false}
      {...(open === undefined ? {} : { open })}
      {...(onOpenChange ? { onOpenChange } : {})}
    >
      {trigger && <RadixPopover.Trigger asChild>{trigger}</RadixPopover.Trigger>}
      {anchor && <RadixPopover.Anchor virtualRef={anchor as RefObject<HTMLElement>} />}
      <RadixPopover.Portal>
        <RadixPopover.Content
          align={align}
          sideOffset={6}
          collisionPadding={8}
          aria-label={label}
          className={`${floating} max-w-[calc(100vw-16px)] p-3`}
        >
          {children}
        </RadixPopover.Content>
      </RadixPopover.Portal>
    </RadixPopover.Root>
  )
}
