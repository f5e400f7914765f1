import type { ReactNode } from 'react'
import { useT } from '../i18n'
import { Icon } from './icons'

/** A filter that is on, with the way to take it off. */
export function Chip({
  children,
  onRemove,
  name,
}: {
  children: ReactNode
  onRemove: () => void
  name: string
}) {
  const t = useT('common')
  return (
    <button
      type="button"
      onClick={onRemove}
      aria-label={t('removeFilter', { what: name })}
      className={
        'inline-flex h-[26px] items-center gap-1.5 rounded-control bg-accent-soft px-2 ' +
        'text-small font-medium whitespace-nowrap text-accent-ink hover:bg-line max-md:h-9'
      }
    >
      {children}
      <Icon name="x" size={12} />
    </button>
  )
}
