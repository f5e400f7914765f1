/** Several models, as a list from which each can be taken off. */
import { useField } from '../../ui/field'
import { Chip } from '../../ui/chip'
import { ModelPicker } from './choose'
import type { Choice } from './parts'

/** `add`: the words on the button. */
export function ModelList({
  value,
  onChange,
  add,
  limit = 100,
  ordered,
  fits,
  ...choice
}: Pick<Choice, 'fits' | 'free'> & {
  value: readonly string[]
  onChange: (ids: readonly string[]) => void
  add: string
  limit?: number
  ordered?: boolean
}) {
  const field = useField({})
  const List = ordered ? 'ol' : 'ul'
  return (
    <>
      {value.length > 0 && (
        <List className="flex flex-wrap gap-1.5 pb-2" translate="no">
          {value.map((id) => (
            <li key={id} className="max-w-full min-w-0">
              <Chip name={id} onRemove={() => onChange(value.filter((x) => x !== id))}>
                <span className="min-w-0 truncate">{id}</span>
              </Chip>
            </li>
          ))}
        </List>
      )}
      {value.length < limit && (
        <ModelPicker
          {...choice}
          {...(field.id ? {} : { label: add })}
          value=""
          shown={add}
          fits={(m) => !value.includes(m.id) && (fits?.(m) ?? true)}
          onChange={(id) => onChange([...value.filter((x) => x !== id), id])}
        />
      )}
    </>
  )
}
