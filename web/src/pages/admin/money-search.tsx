/** A search by a whole id or number, which the address keeps. */
import { useEffect, useState } from 'react'
import { Field, Input } from '../../ui/field'

export function Search({
  value,
  onFind,
  label,
  hint,
}: {
  value: string
  onFind: (text: string) => void
  label: string
  hint: string
}) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  return (
    <form
      role="search"
      className="w-72 max-w-full min-w-0"
      onSubmit={(e) => {
        e.preventDefault()
        onFind(text.trim())
      }}
    >
      <Field label={label} hideLabel>
        <Input
          icon="search"
          value={text}
          onChange={(e) => setText(e.target.value)}
          placeholder={hint}
          autoComplete="off"
          spellCheck={false}
          maxLength={200}
        />
      </Field>
    </form>
  )
}
