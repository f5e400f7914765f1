import {
  createContext,
  forwardRef,
  useContext,
  useId,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react'
import { useT } from '../i18n'
import { Icon, type IconName } from './icons'

interface FieldContext {
  id: string
  describedBy: string | undefined
  invalid: boolean
}
const Context = createContext<FieldContext | null>(null)
/** What a control inside of a field takes from it: its id, and what describes it. */
export const useField = (props: { id?: string | undefined }) => {
  const f = useContext(Context)
  return {
    id: props.id ?? f?.id,
    'aria-describedby': f?.describedBy,
    'aria-invalid': f?.invalid || undefined,
  }
}

/** A control with its label, help, error and, for texts with a limit, what is left. The control inside takes its id by itself. */
export function Field({
  label,
  help,
  error,
  count,
  optional,
  children,
  className = '',
  hideLabel,
}: {
  label: ReactNode
  help?: ReactNode
  error?: ReactNode
  count?: { now: number; max: number }
  optional?: boolean
  children: ReactNode
  className?: string
  hideLabel?: boolean
}) {
  const id = useId()
  const t = useT('common')
  const over = count && count.now > count.max
  const near = count && count.now > count.max * 0.8
  const described =
    [help && `${id}-help`, error && `${id}-error`, near && `${id}-count`].filter(Boolean).join(' ') ||
    undefined
  return (
    <Context.Provider value={{ id, describedBy: described, invalid: Boolean(error) || Boolean(over) }}>
      <div className={className}>
        <div className={`flex items-baseline gap-2 pb-1.5 ${hideLabel ? 'sr-only' : ''}`}>
          <label htmlFor={id} className="text-small font-medium text-ink2">
            {label}
          </label>
          {optional && <span className="text-label text-ink3">{t('optional')}</span>}
        </div>
        {children}
        {help && (
          <p id={`${id}-help`} className="pt-1.5 text-small text-ink3">
            {help}
          </p>
        )}
        {error && (
          <p id={`${id}-error`} className="flex gap-1.5 pt-1.5 text-small text-bad">
            <Icon name="warning" size={14} className="mt-0.5" />
            {error}
          </p>
        )}
        {near && (
          <p id={`${id}-count`} className={`pt-1.5 text-small ${over ? 'text-bad' : 'text-ink3'}`}>
            {over
              ? t('tooLong', { n: count.now - count.max })
              : t('charactersLeft', { n: count.max - count.now })}
          </p>
        )}
      </div>
    </Context.Provider>
  )
}

const box =
  'w-full rounded-control border border-line2 bg-surface px-2.5 text-ink aria-invalid:border-bad disabled:opacity-60 max-md:text-[16px]'

export const Input = forwardRef<
  HTMLInputElement,
  InputHTMLAttributes<HTMLInputElement> & { icon?: IconName; unit?: string }
>(function Input({ icon, unit, className = '', ...rest }, ref) {
  const field = useField(rest)
  const input = (
    <input
      ref={ref}
      {...field}
      {...rest}
      className={`${box} h-8 max-md:h-11 ${icon ? 'pl-8' : ''} ${unit ? 'pr-12' : ''} ${className}`}
    />
  )
  if (!icon && !unit) return input
  return (
    <span className="relative block">
      {icon && (
        <Icon
          name={icon}
          className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-ink3"
        />
      )}
      {input}
      {unit && (
        <span className="pointer-events-none absolute top-1/2 right-2.5 -translate-y-1/2 text-small text-ink3">
          {unit}
        </span>
      )}
    </span>
  )
})
export const Textarea = forwardRef<HTMLTextAreaElement, TextareaHTMLAttributes<HTMLTextAreaElement>>(
  function Textarea({ className = '', ...rest }, ref) {
    return (
      <textarea ref={ref} {...useField(rest)} {...rest} className={`${box} min-h-16 py-1.5 ${className}`} />
    )
  },
)
/** The browser's own list: it works on every phone and needs no styles from script. */
export const Select = forwardRef<
  HTMLSelectElement,
  SelectHTMLAttributes<HTMLSelectElement> & { options: readonly { value: string; label: string }[] }
>(function Select({ options, className = '', ...rest }, ref) {
  return (
    <span className="relative inline-block max-w-full">
      <select
        ref={ref}
        {...useField(rest)}
        {...rest}
        className={
          `h-8 max-md:h-11 max-w-full appearance-none truncate rounded-control border border-line ` +
          `bg-surface pr-8 pl-2.5 font-medium hover:bg-sunken max-md:text-[16px] ${className}`
        }
      >
        {options.map((o) => (
          <option key={o.value} value={o.value}>
            {o.label}
          </option>
        ))}
      </select>
      <Icon
        name="down"
        size={14}
        className="pointer-events-none absolute top-1/2 right-2.5 -translate-y-1/2 text-ink3"
      />
    </span>
  )
})

export function Checkbox({
  checked,
  onChange,
  children,
  count,
  disabled,
  label,
  className = '',
}: {
  checked: boolean
  onChange: (on: boolean) => void
  children?: ReactNode
  count?: string | undefined
  disabled?: boolean
  label?: string
  className?: string
}) {
  return (
    <label
      className={
        `group flex min-h-[26px] cursor-pointer items-center gap-2 text-small max-md:min-h-11 ` +
        `${checked ? 'text-ink' : 'text-ink2'} ${disabled ? 'opacity-50' : ''} ${className}`
      }
    >
      <span className="relative grid size-[15px] flex-none place-items-center">
        <input
          type="checkbox"
          checked={checked}
          disabled={disabled}
          aria-label={label}
          onChange={(e) => onChange(e.target.checked)}
          className="peer absolute -inset-1 m-0 cursor-pointer opacity-0"
        />
        <span
          className={
            'grid size-[15px] place-items-center rounded-[3px] border border-line2 bg-surface ' +
            'text-on-accent peer-checked:border-accent peer-checked:bg-accent ' +
            'peer-focus-visible:outline-2 peer-focus-visible:outline-offset-2 ' +
            'peer-focus-visible:outline-accent'
          }
        >
          {checked && <Icon name="check" size={13} />}
        </span>
      </span>
      {children !== undefined && <span className="min-w-0 flex-1">{children}</span>}
      {count !== undefined && <span className="text-ink3 tabular-nums">{count}</span>}
    </label>
  )
}
