/** How a model is chosen, everywhere: a button with the present choice, and the catalog behind it, which is loaded when it is needed. */
import { lazy, Suspense, useEffect, useId, useRef, useState, type ReactNode } from 'react'
import { loadMessages, useT } from '../../i18n'
import { useField } from '../../ui/field'
import { Icon } from '../../ui/icons'
import type { Choice } from './parts'

const load = async () => {
  const [m] = await Promise.all([import('./picker'), loadMessages(['picker', 'catalog'])])
  return m
}
const Picker = lazy(load)
/** Ahead, so that the list is there when the button is pressed; what fails here is tried again then. */
const prepare = () => void load().catch(() => undefined)

/** `shown`: the present choice in words, as the page knows it. `label`: its name, where no field gives one. `quiet`: a button that adds one, and has no choice of its own. */
export function ModelPicker({
  shown,
  label,
  className = '',
  quiet,
  disabled,
  ...choice
}: Choice & {
  shown: ReactNode
  label?: string
  className?: string
  quiet?: boolean
  disabled?: boolean
}) {
  const [open, setOpen] = useState(false)
  const field = useField({})
  const t = useT('common')
  const panel = useId()
  const button = useRef<HTMLButtonElement>(null)
  const was = useRef(false)
  useEffect(() => {
    if (was.current && !open) button.current?.focus()
    was.current = open
  }, [open])
  return (
    <>
      <button
        type="button"
        {...field}
        ref={button}
        role={quiet ? undefined : 'combobox'}
        aria-haspopup="dialog"
        aria-expanded={open}
        aria-controls={open ? panel : undefined}
        aria-label={label}
        disabled={disabled}
        translate="no"
        onPointerEnter={prepare}
        onFocus={prepare}
        onClick={() => setOpen(true)}
        className={
          `inline-flex max-w-full items-center gap-1.5 rounded-control text-left font-medium disabled:opacity-60 ` +
          `${quiet ? 'h-[26px] px-2 text-small text-ink2 hover:bg-sunken hover:text-ink max-md:h-11' : 'h-8 border border-line bg-surface pr-2.5 pl-2.5 hover:bg-sunken max-md:h-11 max-md:text-[16px]'} ${className}`
        }
      >
        {quiet && <Icon name="plus" size={14} />}
        <span className="min-w-0 flex-1 truncate">{shown}</span>
        {!quiet && <Icon name="down" size={14} className="text-ink3" />}
      </button>
      {open && (
        <Suspense fallback={null}>
          <Picker
            {...choice}
            id={panel}
            anchor={button}
            label={label ?? t('chooseModel')}
            onClose={() => setOpen(false)}
          />
        </Suspense>
      )}
    </>
  )
}
