/** What the list of payments and the page of one share. */
import { useAction } from '../../api/action'
import { post, type Reply } from '../../api/client'
import { getAnyPayment, listAllPayments } from '../../api/operations'
import { renew } from '../../api/query'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Link } from '../../ui/link'
import { State, Tag } from '../../ui/marks'
import { toast } from '../../ui/toast'

export type Row = Reply<'/api/admin/payments'>['data'][number]
export type Detail = Reply<'/api/admin/payments/{id}'>['data']

const tones = { pending: 'hold', succeeded: 'good', canceled: 'plain' } as const

export const refreshPayments = () => renew(getAnyPayment, listAllPayments)

export function How({ p }: { p: Row }) {
  const t = useT('adminmoney')
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <State tone={tones[p.state]}>{t(`state_${p.state}`)}</State>
      {p.hangs !== null && <Tag tone="bad">{t(`hangs_${p.hangs}`)}</Tag>}
    </span>
  )
}

/** What hangs, and the way out. */
export function Remedy({ p }: { p: Detail }) {
  const t = useT('adminmoney')
  if (p.hangs === null) return null
  return (
    <Notice
      tone="bad"
      title={t(`hangs_${p.hangs}`)}
      action={p.may_check && <Ask id={p.id} provider={p.provider} />}
    >
      {t(`remedy_${p.hangs}`, { provider: p.provider })}
      {p.problem !== null && (
        <span translate="no" className="block pt-1">
          “{p.problem}”
        </span>
      )}
    </Notice>
  )
}

/** Asks the provider now. */
export function Ask({ id, provider }: { id: string; provider: string }) {
  const t = useT('adminmoney')
  const ask = useAction(async () => {
    const { data } = await post('/api/admin/payments/{id}/check', { path: { id } })
    await refreshPayments()
    toast(t('asked', { provider, state: t(`state_${data.state}`) }))
  })
  return (
    <span className="inline-flex flex-col items-start gap-2">
      <Button small busy={ask.busy} onClick={() => ask.run()}>
        {t('ask', { provider })}
      </Button>
      {ask.error !== null && <ErrorBox error={ask.error} />}
    </span>
  )
}

export function Who({ r }: { r: { user: string; user_name: string | null } }) {
  return (
    <Link to={`/admin/people/${r.user}`} translate="no" className="wrap-anywhere">
      {r.user_name ?? r.user}
    </Link>
  )
}
