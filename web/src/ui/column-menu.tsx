import { useT } from '../i18n'
import { IconButton } from './button'
import { Menu, type MenuItem } from './menu'

/** The button in the head of a table that chooses its columns; its code is loaded with the first such table. */
export default function ColumnMenu({ items }: { items: readonly MenuItem[] }) {
  const t = useT('common')
  return (
    <Menu items={items} trigger={<IconButton small icon="table" label={t('columns')} className="-my-1" />} />
  )
}
