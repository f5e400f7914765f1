/** The saved views of a page: its filters under names. A view is the query of an address; opening one is following a link to this page. */
import { lazy, Suspense, useState } from 'react'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { SkeletonRows } from '../../ui/feedback'
import type { Search } from '../../ui/link'
import { Popover } from '../../ui/popover'
import type { Page } from './list'

const List = lazy(() => import('./list'))
const queryOf = (search: Search) =>
  new URLSearchParams(Object.entries(search).filter((e): e is [string, string] => Boolean(e[1]))).toString()

/** The button with the list. `search` is what is in the address now, without what belongs to no view. */
export function Views({ page, search }: { page: Page; search: Search }) {
  const t = useT('views')
  const [open, setOpen] = useState(false)
  return (
    <Popover
      open={open}
      onOpenChange={setOpen}
      align="end"
      label={t('title')}
      trigger={<Button icon="bookmark">{t('button')}</Button>}
    >
      <Suspense
        fallback={
          <div className="w-80 max-w-full">
            <SkeletonRows rows={3} height={36} />
          </div>
        }
      >
        <List page={page} now={queryOf(search)} onOpened={() => setOpen(false)} />
      </Suspense>
    </Popover>
  )
}
