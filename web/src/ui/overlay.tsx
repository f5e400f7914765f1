/** What lies over the page. Focus goes in, stays in, and returns on close. */
import { AlertDialog as RadixAlert, Dialog as RadixDialog } from 'radix-ui'
import { useState, useSyncExternalStore, type ReactNode } from 'react'
import { useT } from '../i18n'
import { Button, IconButton } from './button'
import { Field, Input } from './field'

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

const widths = { no: 'w-[480px]', yes: 'w-[720px]', screen: 'w-[1120px]' }
/**
 * A window over the page. `wide`: 720 px instead of 480, or nearly the screen. `onClosed` says where the focus goes, and prevents that it goes
 * back to where it was.
 */
export function Dialog({
  open,
  onOpenChange,
  title,
  description,
  children,
  footer,
  trigger,
  wide,
  onClosed,
}: {
  open?: boolean
  onOpenChange?: (open: boolean) => void
  title: ReactNode
  description?: ReactNode
  children?: ReactNode
  footer?: ReactNode
  trigger?: ReactNode
  wide?: boolean | 'screen'
  onClosed?: (e: Event) => void
}) {
  const t = useT('common')
  return (
    <RadixDialog.Root {...(open === undefined ? {} : { open })} {...(onOpenChange ? { onOpenChange } : {})}>
      {trigger && <RadixDialog.Trigger asChild>{trigger}</RadixDialog.Trigger>}
      <RadixDialog.Portal>
        <RadixDialog.Overlay className={veil} />
        <RadixDialog.Content
          onInteractOutside={keepForToasts}
          {...(onClosed ? { onCloseAutoFocus: onClosed } : {})}
          {...(description ? {} : { 'aria-describedby': undefined })}
          className={
            `fixed top-1/2 left-1/2 z-40 flex max-h-[calc(100dvh-32px)] -translate-x-1/2 ` +
            `-translate-y-1/2 animate-appear flex-col rounded-float border border-line bg-surface ` +
            `shadow-float focus:outline-none ${widths[wide === 'screen' ? wide : wide ? 'yes' : 'no']} ` +
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
