/** An operator looks at the interface as another person sees it: the gateway refuses every change, and each page says whose it is. */
import { useEffect } from 'react'
import { useAction } from '../api/action'
import { remove } from '../api/client'
import { meQuery, queries, type Me } from '../api/query'
import { useT } from '../i18n'
import { Button } from '../ui/button'
import { Icon } from '../ui/icons'
import { toastError } from '../ui/toast'
import { When } from '../ui/values'

export default function Seeing({ me }: { me: Me & { user: object; seeing: object } }) {
  const t = useT('common')
  const { until } = me.seeing
  useEffect(() => {
    const over = setTimeout(
      () => void queries.invalidateQueries({ queryKey: meQuery.queryKey }),
      Math.max(0, Date.parse(until) - Date.now()) + 1000,
    )
    return () => clearTimeout(over)
  }, [until])
  const end = useAction(
    async () => {
      await remove('/api/auth/seeing')
      location.assign(`/admin/people/${me.user.id}`)
    },
    { failed: toastError },
  )
  return (
    <section
      aria-label={t('seeing')}
      className="sticky top-0 z-40 flex min-h-[52px] flex-wrap items-center gap-x-3 gap-y-1 border-b border-warn bg-warn-soft px-5 py-2 max-md:px-4"
    >
      <Icon name="eye" className="text-warn" />
      <p className="min-w-0 flex-1 basis-52 text-small text-ink">
        <strong translate="no" className="font-medium break-words">
          {t('seeingWho', { name: me.user.name })}
        </strong>{' '}
        {t.rich('seeingText', { time: <When at={until} form="minutes" /> })}
      </p>
      <Button small busy={end.busy} onClick={() => end.run()}>
        {t('seeingEnd')}
      </Button>
    </section>
  )
}
