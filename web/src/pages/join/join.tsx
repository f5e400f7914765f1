/** Where the link of an invitation to an organization leads: it says what it is to, and who is signed in accepts. */
import { useQuery } from '@tanstack/react-query'
import { useRouterState } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useAction } from '../../api/action'
import { ApiError, post, type Reply } from '../../api/client'
import { said } from '../../api/explain'
import { useMe } from '../../api/query'
import { useT } from '../../i18n'
import { Button, buttonClass } from '../../ui/button'
import { ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Link, useGo } from '../../ui/link'
import { Page, PageHead, Panel } from '../../ui/page'
import { When } from '../../ui/values'

type Offer = Reply<'/api/organizations/join/look', 'post'>['data']

/** The text of the link waits here while its reader signs in: in the address it would be sent to the gateway, and written to logs. */
const WAITS = 'weir-join'
function waiting(text?: string | null): string {
  try {
    if (text === null) sessionStorage.removeItem(WAITS)
    else if (text) sessionStorage.setItem(WAITS, text)
    return sessionStorage.getItem(WAITS) ?? ''
  } catch {
    return '' // no storage: the link must be opened again after the sign-in
  }
}

export default function JoinPage() {
  const t = useT('join')
  const go = useGo()
  const hash = useRouterState({ select: (s) => s.location.hash })
  const [token, setToken] = useState(() => hash || waiting())
  useEffect(() => {
    if (!hash) return
    waiting(hash)
    setToken(hash)
    go('/join', { replace: true })
  }, [hash, go])
  const look = useQuery({
    queryKey: ['lookAtOrganizationInvitation', token],
    queryFn: async ({ signal }) =>
      (await post('/api/organizations/join/look', { body: { token }, signal, quiet: true })).data,
    enabled: token !== '',
    staleTime: Infinity,
    placeholderData: undefined,
  })
  const gone = token === '' || (look.error instanceof ApiError && look.error.field === 'token')
  const title = look.data ? t('titleOf', { name: look.data.organization }) : t('title')
  return (
    <Page width="text" className="max-w-[560px]!">
      <PageHead title={title} />
      {gone ? (
        <Notice tone="warn" title={t('gone')} action={<Link to="/">{t('home')}</Link>}>
          {t('goneText')}
        </Notice>
      ) : look.data ? (
        <Decide offer={look.data} token={token} />
      ) : look.error ? (
        <ErrorBox error={look.error} onRetry={() => void look.refetch()} />
      ) : (
        <SkeletonRows rows={4} />
      )}
    </Page>
  )
}

function Decide({ offer, token }: { offer: Offer; token: string }) {
  const t = useT('join')
  const me = useMe()
  const accept = useAction(
    async () => {
      const { data } = await post('/api/organizations/join', { body: { token } })
      waiting(null)
      location.assign(`/models?account=${data.id}`)
    },
    { leaves: true },
  )
  const leave = useAction(
    async () => {
      await post('/api/auth/sign-out', { quiet: true })
      location.assign('/sign-in?to=/join')
    },
    { leaves: true },
  )
  const facts: [string, React.ReactNode][] = [
    [t('organization'), <span translate="no">{offer.organization}</span>],
    [
      t('role'),
      <>
        <span>{t(`role_${offer.role}`)}</span> <span className="text-ink3">{t(`may_${offer.role}`)}</span>
      </>,
    ],
    ...(offer.team
      ? [[t('team'), <span translate="no">{offer.team}</span>] as [string, React.ReactNode]]
      : []),
    [t('by'), <span translate="no">{offer.by}</span>],
    ...(offer.email
      ? [[t('for'), <span translate="no">{offer.email}</span>] as [string, React.ReactNode]]
      : []),
    [t('until'), <When at={offer.expires_at} />],
    ...(me?.user
      ? [[t('you'), <span translate="no">{me.user.email ?? me.user.name}</span>] as [string, React.ReactNode]]
      : []),
  ]
  const error = accept.error
  const already = error instanceof ApiError && error.status === 409
  const other = error instanceof ApiError && error.metadata.code === 'other_address'
  const gone = error instanceof ApiError && error.metadata.code === 'invitation_used'
  const mine = me?.accounts.find((a) => a.kind === 'organization' && a.name === offer.organization)
  return (
    <div className="flex flex-col gap-4">
      <Panel>
        <dl className="m-0 grid grid-cols-[auto_1fr] items-baseline gap-x-6 gap-y-2">
          {facts.map(([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-small text-ink3">{name}</dt>
              <dd className="m-0 min-w-0 break-words">{value}</dd>
            </div>
          ))}
        </dl>
      </Panel>
      <p className="text-ink2">{t('meaning')}</p>
      {already ? (
        <Notice
          tone="good"
          title={t('already')}
          action={mine && <a href={`/models?account=${mine.id}`}>{t('toOrganization')}</a>}
        />
      ) : other ? (
        <Notice
          tone="warn"
          title={said(error)}
          action={
            <Button small busy={leave.busy} onClick={() => leave.run()}>
              {t('otherAccount')}
            </Button>
          }
        />
      ) : gone ? (
        <Notice tone="warn" title={t('gone')}>
          {t('goneText')}
        </Notice>
      ) : (
        error !== null && <ErrorBox error={error} />
      )}
      {leave.error !== null && <ErrorBox error={leave.error} />}
      {me && !me.user && (
        <>
          <div className="flex flex-wrap gap-2">
            <a href="/sign-in?to=/join" className={`${buttonClass('main')} no-underline`}>
              {t('signIn')}
            </a>
            {me.features.sign_up === 'open' && (
              <a href="/sign-up?to=/join" className={`${buttonClass('plain')} no-underline`}>
                {t('signUp')}
              </a>
            )}
          </div>
          <p className="text-small text-ink3">
            {t(me.features.sign_up === 'open' ? 'signUpText' : 'signUpClosed')}
          </p>
        </>
      )}
      {me?.user && !already && !gone && !other && (
        <div>
          <Button look="main" busy={accept.busy} onClick={() => accept.run()}>
            {t('accept')}
          </Button>
        </div>
      )}
    </div>
  )
}
