/** What lies over the page. Focus goes in, stays in, and returns on close. */
import {
  AlertDialog as RadixAlert,
  Dialog as RadixDialog,
  DropdownMenu,
  Popover as RadixPopover,
  Tooltip as RadixTooltip,
} from 'radix-ui'
import { useState, useSyncExternalStore, type ReactNode, type RefObject } from 'react'
import { useT } from '../i18n'
import { Button, IconButton } from './button'
import { Field, Input } from './field'
import { Icon, type IconName } from './icons'
import { Link } from './link'

/** Whether the screen is a phone's, where the width of styles says md otherwise. */
export function usePhone(): boolean {
  return useSyncExternalStore(
    (f) => {
      narrow.addEventListener('change', f)
      return () => narrow.removeEventListener('change', f)
    },
    () => narrow.matches,
  )
}
const narrow = matchMedia('(width < 48rem)')

/** A press on a message does not close the window under it. */
const keepForToasts = (e: Event) => {
  const at = e.target as Element | null
  if (at && (!at.isConnected || at.closest('[data-toasts]'))) e.preventDefault() // it may be gone by its own press
}

const veil = 'fixed inset-0 z-40 animate-appear bg-veil'

/** A window over the page. `wide`: 720 px instead of 480. Full screen on the phone where `full`. */
export function Dialog({
  open,
  onOpenChange,
  title,
  description,
  children,
  footer,
  trigger,
  wide,
}: {
  open?: boolean
  onOpenChange?: (open: boolean) => void
  title: ReactNode
  description?: ReactNode
  children?: ReactNode
  footer?: ReactNode
  trigger?: ReactNode
  wide?: boolean
}) {
  const t = useT('common')
  return (
    <RadixDialog.Root {...(open === undefined ? {} : { open })} {...(onOpenChange ? { onOpenChange } : {})}>
      {trigger && <RadixDialog.Trigger asChild>{trigger}</RadixDialog.Trigger>}
      <RadixDialog.Portal>
        <RadixDialog.Overlay className={veil} />
        <RadixDialog.Content
          onInteractOutside={keepForToasts}
          {...(description ? {} : { 'aria-describedby': undefined })}
          className={
            `fixed top-1/2 left-1/2 z-40 flex max-h-[calc(100dvh-32px)] -translate-x-1/2 ` +
            `-translate-y-1/2 animate-appear flex-col rounded-float border border-line bg-surface ` +
            `shadow-float focus:outline-none ${wide ? 'w-[720px]' : 'w-[480px]'} ` +
            `max-w-[calc(100vw-24px)]`
          }
        >
          <div className="flex items-start gap-4 px-5 pt-4 pb-2">
            <div className="min-w-0 flex-1">
              <RadixDialog.Title className="text-title">{title}</RadixDialog.Title>
              {description && (
                <RadixDialog.Description className="pt-1 text-ink2">{description}</RadixDialog.Description>
              )}
            </div>
            <RadixDialog.Close asChild>
              <IconButton icon="x" label={t('close')} className="-mr-2" />
            </RadixDialog.Close>
          </div>
          <div className="min-h-0 flex-1 overflow-y-auto px-5 pb-5 [--stick:0px]">{children}</div>
          {footer && (
            <div className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3">{footer}</div>
          )}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  )
}

/** A panel from the side; on the phone from below, nearly full. For filters and details. */
export function Sheet({
  open,
  onOpenChange,
  title,
  children,
  footer,
  wide,
}: {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: ReactNode
  children: ReactNode
  footer?: ReactNode
  wide?: boolean
}) {
  const t = useT('common')
  return (
    <RadixDialog.Root open={open} onOpenChange={onOpenChange}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className={veil} />
        <RadixDialog.Content
          onInteractOutside={keepForToasts}
          aria-describedby={undefined}
          className={
            `fixed right-0 z-40 flex animate-appear flex-col border-line bg-surface shadow-float ` +
            `focus:outline-none max-md:inset-x-0 max-md:bottom-0 max-md:h-[92dvh] ` +
            `max-md:rounded-t-float max-md:border-t md:inset-y-0 md:border-l ` +
            `${wide ? 'md:w-[760px]' : 'md:w-[420px]'} md:max-w-[92vw]`
          }
        >
          <div className="flex items-center gap-4 border-b border-line px-5 py-3">
            <RadixDialog.Title className="min-w-0 flex-1 truncate text-section">{title}</RadixDialog.Title>
            <RadixDialog.Close asChild>
              <IconButton icon="x" label={t('close')} className="-mr-2" />
            </RadixDialog.Close>
          </div>
          <div className="min-h-0 flex-1 overflow-y-auto px-5 py-4 [--stick:0px]">{children}</div>
          {footer && <div className="flex gap-2 border-t border-line px-5 py-3">{footer}</div>}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  )
}

/** Asks before something that cannot be undone. `typed`: the word that must be typed first; `fields`: what is chosen with it. */
export function Confirm({
  open,
  onOpenChange,
  title,
  children,
  verb,
  onConfirm,
  typed,
  busy,
  fields,
}: {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: ReactNode
  children: ReactNode
  verb: string
  onConfirm: () => void
  typed?: string
  busy?: boolean
  fields?: ReactNode
}) {
  const t = useT('common')
  const [text, setText] = useState('')
  return (
    <RadixAlert.Root
      open={open}
      onOpenChange={(o) => {
        setText('')
        onOpenChange(o)
      }}
    >
      <RadixAlert.Portal>
        <RadixAlert.Overlay className={veil} />
        <RadixAlert.Content
          className={
            'fixed top-1/2 left-1/2 z-40 w-[440px] max-w-[calc(100vw-24px)] -translate-x-1/2 ' +
            '-translate-y-1/2 animate-appear rounded-float border border-line bg-surface p-5 ' +
            'shadow-float focus:outline-none'
          }
        >
          <RadixAlert.Title className="text-title">{title}</RadixAlert.Title>
          <RadixAlert.Description asChild>
            <div className="pt-2 text-ink2">{children}</div>
          </RadixAlert.Description>
          {fields && <div className="pt-4">{fields}</div>}
          {typed !== undefined && (
            <Field className="pt-4" label={t('typeToConfirm', { what: typed })}>
              <Input
                value={text}
                onChange={(e) => setText(e.target.value)}
                autoComplete="off"
                spellCheck={false}
              />
            </Field>
          )}
          <div className="flex justify-end gap-2 pt-5">
            <RadixAlert.Cancel asChild>
              <Button>{t('cancel')}</Button>
            </RadixAlert.Cancel>
            <Button
              look="bad"
              disabled={typed !== undefined && text !== typed}
              busy={busy ?? false}
              onClick={onConfirm}
            >
              {verb}
            </Button>
          </div>
        </RadixAlert.Content>
      </RadixAlert.Portal>
    </RadixAlert.Root>
  )
}

const floating =
  'z-50 min-w-44 animate-appear rounded-float border border-line bg-surface p-1 shadow-float focus:outline-none'
export type MenuItem =
  | {
      kind?: 'item'
      label: ReactNode
      icon?: IconName
      onSelect?: () => void
      to?: string
      tone?: 'bad'
      disabled?: boolean
      checked?: boolean
    }
  | { kind: 'line' }
  | { kind: 'title'; label: ReactNode }
/** A menu under a button. */
export function Menu({
  trigger,
  items,
  align = 'end',
}: {
  trigger: ReactNode
  items: readonly MenuItem[]
  align?: 'start' | 'end'
}) {
  const row =
    'flex min-h-8 cursor-pointer items-center gap-2 rounded-control px-2.5 text-body ' +
    'no-underline outline-none data-[highlighted]:bg-sunken data-[disabled]:opacity-50 ' +
    'max-md:min-h-11'
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={6}
          collisionPadding={8}
          className={`${floating} max-h-[var(--radix-dropdown-menu-content-available-height)] overflow-y-auto`}
        >
          {items.map((item, i) => {
            if (item.kind === 'line') return <DropdownMenu.Separator key={i} className="my-1 h-px bg-line" />
            if (item.kind === 'title')
              return (
                <DropdownMenu.Label key={i} className="px-2.5 pt-2 pb-1 text-label font-medium text-ink3">
                  {item.label}
                </DropdownMenu.Label>
              )
            const inside = (
              <>
                {item.icon && <Icon name={item.icon} className="text-ink3" />}
                <span className="min-w-0 flex-1">{item.label}</span>
                {item.checked && <Icon name="check" className="text-accent-ink" />}
              </>
            )
            const className = `${row} ${item.tone === 'bad' ? 'text-bad' : 'text-ink'}`
            if (item.checked !== undefined)
              return (
                <DropdownMenu.CheckboxItem
                  key={i}
                  checked={item.checked}
                  className={className}
                  {...(item.onSelect ? { onSelect: item.onSelect } : {})}
                >
                  {inside}
                </DropdownMenu.CheckboxItem>
              )
            return (
              <DropdownMenu.Item
                key={i}
                asChild={item.to !== undefined}
                disabled={item.disabled ?? false}
                className={className}
                {...(item.onSelect ? { onSelect: item.onSelect } : {})}
              >
                {item.to !== undefined ? <Link to={item.to}>{inside}</Link> : inside}
              </DropdownMenu.Item>
            )
          })}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

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

/** More words about a control, on hover and focus. Never the only place of something. */
export function Tooltip({ text, children }: { text: ReactNode; children: ReactNode }) {
  return (
    <RadixTooltip.Provider delayDuration={300}>
      <RadixTooltip.Root>
        <RadixTooltip.Trigger asChild>{children}</RadixTooltip.Trigger>
        <RadixTooltip.Portal>
          <RadixTooltip.Content
            sideOffset={6}
            collisionPadding={8}
            className="z-50 max-w-72 animate-appear rounded-control bg-ink px-2.5 py-1.5 text-small text-surface shadow-float"
          >
            {text}
          </RadixTooltip.Content>
        </RadixTooltip.Portal>
      </RadixTooltip.Root>
    </RadixTooltip.Provider>
  )
}
