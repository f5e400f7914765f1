/** How much is unread of what Weir has noticed, and the newest of it on a press. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useRenewed } from '../api/live'
import { listNotices } from '../api/operations'
import { integer } from '../format'
import { useT } from '../i18n'
import { MarkAll, newest, NoticeList } from '../pages/notices/list'
import { Icon } from '../ui/icons'
import { Link } from '../ui/link'
import { Popover } from '../ui/popover'

export function Bell() {
  const t = useT('notices')
  const { data } = useQuery(newest)
  useRenewed(['notices'], [listNotices], { every: 1_000 })
  const [open, setOpen] = useState(false)
  const close = () => setOpen(false)
  const n = data?.unread ?? 0
  return (
    <Popover
      open={open}
      onOpenChange={setOpen}
      align="end"
      label={t('title')}
      trigger={
        <button
          type="button"
          aria-label={n > 0 ? t('bell', { n }) : t('title')}
          className="relative grid size-8 place-items-center rounded-control text-ink2 hover:bg-sunken max-md:size-11"
        >
          <Icon name="bell" />
          {n > 0 && (
            <span
              aria-hidden
              className="absolute top-0 right-0 min-w-4 rounded-full bg-accent px-1 text-center text-[10px] leading-4 font-semibold text-on-accent max-md:top-1.5 max-md:right-1"
            >
              {n > 99 ? '99+' : integer(n)}
            </span>
          )}
        </button>
      }
    >
      <div className="-m-3 w-[380px] max-w-[calc(100vw-18px)]">
        <div className="flex items-center gap-3 border-b border-line px-3 py-2">
          <span className="flex-1 font-semibold">{t('title')}</span>
          <MarkAll inbox={data} />
        </div>
        <div className="max-h-[min(60dvh,480px)] overflow-y-auto" tabIndex={-1}>
          {data && data.data.length > 0 ? (
            <NoticeList rows={data.data} short onGo={close} />
          ) : (
            <p className="px-3 py-6 text-center text-ink2">{t('none')}</p>
          )}
        </div>
        <div className="border-t border-line px-3 py-2">
          <Link to="/notices" onClick={close}>
            {t('all')}
          </Link>
        </div>
      </div>
    </Popover>
  )
}
