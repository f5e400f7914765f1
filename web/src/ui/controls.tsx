import { Switch as RadixSwitch, ToggleGroup } from 'radix-ui'
import { useId, type ReactNode } from 'react'

/** On or off, at once. */
export function Switch({
  checked,
  onChange,
  children,
  help,
  disabled,
}: {
  checked: boolean
  onChange: (on: boolean) => void
  children: ReactNode
  help?: ReactNode
  disabled?: boolean
}) {
  const id = useId()
  return (
    <div className={`flex gap-2.5 ${help ? 'items-start' : 'items-center'}`}>
      <RadixSwitch.Root
        id={id}
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled ?? false}
        aria-describedby={help ? `${id}-help` : undefined}
        className={
          'relative h-5 w-9 flex-none rounded-full border border-line2 bg-surface ' +
          'transition-colors data-[state=checked]:border-accent data-[state=checked]:bg-accent'
        }
      >
        <RadixSwitch.Thumb
          className={
            'block size-3.5 translate-x-0.5 rounded-full bg-line2 transition-transform ' +
            'data-[state=checked]:translate-x-[18px] data-[state=checked]:bg-on-accent'
          }
        />
      </RadixSwitch.Root>
      <div>
        <label htmlFor={id} className="cursor-pointer">
          {children}
        </label>
        {help && (
          <p id={`${id}-help`} className="text-small text-ink3">
            {help}
          </p>
        )}
      </div>
    </div>
  )
}

/** One of a few, side by side. */
export function Segmented<V extends string>({
  value,
  onChange,
  options,
  label,
  small,
  wide,
}: {
  value: V
  onChange: (v: V) => void
  options: readonly { value: V; label: ReactNode; name?: string }[]
  label: string
  small?: boolean
  wide?: boolean
}) {
  return (
    <ToggleGroup.Root
      type="single"
      value={value}
      onValueChange={(v) => {
        if (v) onChange(v as V)
      }}
      aria-label={label}
      className={`flex-wrap rounded-control border border-line bg-surface ${wide ? 'flex' : 'inline-flex'}`}
    >
      {options.map((o) => (
        <ToggleGroup.Item
          key={o.value}
          value={o.value}
          aria-label={o.name}
          className={
            `font-medium whitespace-nowrap text-ink2 first:rounded-l-[5px] last:rounded-r-[5px] ` +
            `hover:text-ink data-[state=on]:bg-sunken data-[state=on]:text-ink ` +
            `${wide ? 'flex-1' : ''} ` +
            `${small ? 'h-6 px-2 text-label' : 'h-[30px] px-2.5 text-small max-md:h-[42px] max-md:px-3.5'}`
          }
        >
          {o.label}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  )
}

/** A slider; `text` says the value in words. */
export function Slider({
  value,
  onChange,
  min,
  max,
  step = 1,
  label,
  text,
}: {
  value: number
  onChange: (v: number) => void
  min: number
  max: number
  step?: number
  label: string
  text: string
}) {
  return (
    <input
      type="range"
      value={value}
      onChange={(e) => onChange(Number(e.target.value))}
      min={min}
      max={max}
      step={step}
      aria-label={label}
      aria-valuetext={text}
      className="block h-6 w-full cursor-pointer accent-accent max-md:h-11"
    />
  )
}
