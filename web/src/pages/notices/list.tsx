/** Notices as a list: of the bell, and of the page. */
import type { Reply } from '../../api/client'
import { post } from '../../api/client'
import { useAction } from '../../api/action'
import { listNotices } from '../../api/operations'
import { renew, useMe } from '../../api/query'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { useFact } from '../../ui/fact'
import { Icon } from '../../ui/icons'
import { Link } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { toastError } from '../../ui/toast'
import { When } from '../../ui/values'

type Inbox = Reply<'/api/notices'>
export type Notice = Inbox['data'][number]

/** The newest, as the bell shows them; the page knows by them what is the newest of all. */
export const newest = listNotices({ query: { limit: 8 } })

/** Each notice with what can be done; `short` without its text. `onGo` when a link was followed. */
export function NoticeList({
  rows,
  short = false,
  onGo,
}: {
  rows: readonly Notice[]
  short?: boolean
  onGo?: () => void
}) {
  return (
    <ul className="m-0 list-none divide-y divide-line p-0">
      {rows.map((n) => (
        <Row key={n.id} n={n} short={short} onGo={onGo} />
      ))}
    </ul>
  )
}

function Row({ n, short, onGo }: { n: Notice; short: boolean; onGo: (() => void) | undefined }) {
  const t = useT('notices')
  const said = useFact(n)
  const over = n.over_at !== null
  const happened = n.cause === 'payment' && !said.bad
  const tone = over || happened ? 'text-ink3' : said.bad ? 'text-bad' : 'text-warn'
  return (
    <li className={`flex gap-2.5 ${short ? 'px-3 py-2.5' : 'px-5 py-3'}`} data-kind={n.kind}>
      <Icon name={happened ? 'wallet' : over ? 'check' : 'warning'} className={`mt-0.5 flex-none ${tone}`} />
      <div className="min-w-0 flex-1">
        <p className={`break-words ${n.unread ? 'font-medium' : ''} ${over ? 'text-ink2' : 'text-ink'}`}>
          {said.title}
        </p>
        {!short && <p className="max-w-2xl pt-0.5 text-small break-words text-ink2">{said.text}</p>}
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 pt-1 text-small text-ink3">
          <When at={n.found_at} />
          {over && <span>{t.rich('over', { at: <When at={n.over_at} form="row" /> })}</span>}
          {n.tag && (
            <span translate="no">
              <Tag>{n.tag}</Tag>
            </span>
          )}
          {said.to && !over && (
            <Link to={said.to} {...(onGo ? { onClick: onGo } : {})}>
              {said.toName}
            </Link>
          )}
        </p>
      </div>
      {n.unread && (
        <span className="mt-[7px] size-2 flex-none rounded-full bg-accent">
          <span className="sr-only">{t('unread')}</span>
        </span>
      )}
    </li>
  )
}

/** Marks what is known to be there as read, and not what comes meanwhile. */
export function MarkAll({ inbox }: { inbox: Inbox | undefined }) {
  const t = useT('notices')
  const me = useMe()
  const mark = useAction(
    async (until: string) => {
      await post('/api/notices/read', { body: { until } })
      await renew(listNotices)
    },
    { failed: toastError },
  )
  const until = inbox?.data[0]?.found_at
  if (!inbox || inbox.unread === 0 || !until || me?.seeing) return null // an operator who sees an account as its owner does must not mark what the owner has not read
  return (
    <Button small icon="check" busy={mark.busy} onClick={() => mark.run(until)}>
      {t('markAll')}
    </Button>
  )
}
