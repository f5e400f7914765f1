import { forwardRef, type ButtonHTMLAttributes } from 'react'
import { Icon, type IconName } from './icons'

export type Look = 'main' | 'plain' | 'quiet' | 'bad'
const looks: Record<Look, string> = {
  main: 'bg-accent border-accent text-on-accent hover:bg-accent-ink hover:border-accent-ink',
  plain: 'bg-surface border-line text-ink hover:bg-sunken',
  quiet: 'bg-transparent border-transparent text-ink2 hover:bg-sunken hover:text-ink',
  bad: 'bg-surface border-line text-bad hover:bg-bad-soft',
}
/** The classes of a button, for elements that are none. */
export function buttonClass(look: Look = 'plain', small = false, wide = false): string {
  const size = small ? 'h-[26px] px-2 text-small' : 'h-8 px-3 text-body max-md:h-11 max-md:px-4'
  return `inline-flex items-center justify-center gap-1.5 border font-medium whitespace-nowrap rounded-control
    transition-colors duration-100 select-none disabled:opacity-50 disabled:cursor-default aria-disabled:opacity-50
    ${size} ${wide ? 'w-full' : ''} ${looks[look]}`
}

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look
  small?: boolean
  wide?: boolean
  icon?: IconName
  /** Work is under way: the button keeps its width and takes no second press. */
  busy?: boolean
}
export const Button = forwardRef<HTMLButtonElement, ButtonProps>(function Button(
  { look = 'plain', small, wide, icon, busy, children, className = '', onClick, ...rest },
  ref,
) {
  return (
    <button
      ref={ref}
      type="button"
      className={`${buttonClass(look, small, wide)} ${className}`}
      aria-busy={busy || undefined}
      {...rest}
      onClick={busy ? (e) => e.preventDefault() : onClick}
      aria-disabled={busy || rest['aria-disabled']}
    >
      {icon && <Icon name={icon} size={small ? 14 : 16} />}
      {children}
    </button>
  )
})

/** A button with only a picture; `label` is its name, and its tooltip. */
export const IconButton = forwardRef<
  HTMLButtonElement,
  Omit<ButtonProps, 'icon' | 'children'> & { icon: IconName; label: string }
>(function IconButton({ icon, label, small, look = 'quiet', className = '', busy, ...rest }, ref) {
  return (
    <button
      ref={ref}
      type="button"
      aria-label={label}
      title={label}
      aria-busy={busy || undefined}
      className={
        `inline-grid place-items-center rounded-control border transition-colors duration-100 ` +
        `disabled:opacity-50 ${small ? 'size-6' : 'size-8 max-md:size-11'} ${looks[look]} ` +
        `${className}`
      }
      {...rest}
    >
      <Icon name={icon} size={small ? 14 : 16} />
    </button>
  )
})
