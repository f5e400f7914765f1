import { DropdownMenu } from 'radix-ui'
import type { ReactNode } from 'react'
import { floating } from './floating'
import { Icon, type IconName } from './icons'
import { Link } from './link'

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
