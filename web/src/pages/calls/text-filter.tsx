import { useEffect, useState } from 'react'
import { Field, Input } from '../../ui/field'

/** A text that filters once it is finished: Enter, or leaving it. */
export function TextFilter({
  label,
  value,
  onChange,
  narrow,
  search,
  decimal,
}: {
  label: string
  value: string
  onChange: (v: string) => void
  narrow?: boolean
  search?: boolean
  decimal?: boolean
}) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const done = () => {
    if (text.trim() !== value) onChange(text.trim())
  }
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault()
        done()
      }}
      className={narrow ? 'md:w-40' : 'md:w-36'}
    >
      <Field label={label} className="md:[&>div]:sr-only">
        <Input
          value={text}
          placeholder={label}
          maxLength={256}
          autoComplete="off"
          spellCheck={false}
          onBlur={done}
          {...(decimal ? { inputMode: 'decimal' as const } : {})}
          {...(search ? { icon: 'search' as const, 'data-page-search': true } : {})}
          onChange={(e) => setText(e.target.value)}
        />
      </Field>
    </form>
  )
}
