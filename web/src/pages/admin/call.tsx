/** /admin/calls/$id: one call of anybody, with what the provider asked for and said. */
import type { ReactNode } from 'react'
import { useQuery } from '@tanstack/react-query'
import { useParams, useRouterState } from '@tanstack/react-router'
import { ApiError, type Reply } from '../../api/client'
import { getAdminCall } from '../../api/operations'
import { useMe } from '../../api/query'
import { useT } from '../../i18n'
import { Copy } from '../../ui/copy'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Link, LinkButton } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Page, PageHead, Panel } from '../../ui/page'
import { Money, When } from '../../ui/values'
import { isRecording, resultOf } from '../calls/data'
import { CallView, Facts } from '../calls/view'

type Call = Reply<'/api/admin/calls/{id}'>['data']

export default function AdminCall() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const t = useT('admincalls')
  const c = useT('calls')
  const administrator = useMe()?.user?.role === 'administrator'
  const reference = useRouterState({
    select: (s) => (s.location.search as { reference?: string }).reference,
  })
  const q = useQuery({
    ...getAdminCall({ path: { id } }),
    retry: (n, e) => isRecording(e) && n < 20,
    retryDelay: 700,
    staleTime: Infinity,
  })
  const call = q.isPlaceholderData ? undefined : q.data?.data
  const crumbs = (label: ReactNode) => [{ label: t('title'), to: '/admin/calls' }, { label }]
  if (!call) {
    const missing = q.error instanceof ApiError && q.error.status === 404
    return (
      <Page>
        <PageHead title={missing ? t('missing') : c('one')} crumbs={crumbs(id)} />
        {missing ? (
          <Empty icon="search" title={id} action={<LinkButton to="/admin/calls">{t('toCalls')}</LinkButton>}>
            {t('missingText')}
          </Empty>
        ) : q.error ? (
          <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
        ) : (
          <SkeletonRows rows={8} />
        )}
      </Page>
    )
  }
  const result = resultOf(c, { status: call.status, result: call.result, attempts: call.attempts.length })
  const model = call.model ?? call.model_asked
  return (
    <Page>
      <PageHead
        title={<span translate="no">{model}</span>}
        name={model}
        crumbs={crumbs(<When at={call.created_at} form="full" />)}
        note={
          <span className="flex flex-wrap items-center gap-2">
            <Tag tone={result.tone}>{call.canceled ? t('stopped') : result.text}</Tag>
            <Link to={`/admin/people/${call.account.id}`} className="text-accent-ink">
              <span translate="no">{call.account.name ?? t('deleted')}</span>
            </Link>
          </span>
        }
      >
        <code className="text-small break-all text-ink3">{call.id}</code>
        <Copy text={call.id}>{c('copyId')}</Copy>
        {administrator && call.settled && call.cost !== '0' && call.account.name !== null && (
          <LinkButton
            small
            to={`/admin/people/${call.account.id}`}
            search={{ refund: call.id, ...(reference ? { reference } : {}) }}
          >
            {t('giveBack')}
          </LinkButton>
        )}
      </PageHead>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4 pb-4 lg:grid-cols-[minmax(0,1.35fr)_minmax(0,1fr)]">
        <Words call={call} />
        <Earned call={call} />
      </div>
      <CallView call={call} own={false} />
    </Page>
  )
}

function Words({ call }: { call: Call }) {
  const t = useT('admincalls')
  const r = useT('route')
  const failed = call.attempts
    .map((a, i) => ({ a, said: call.words[i] ?? null, key: call.attempt_keys[i] ?? null }))
    .filter((x) => x.a.reason)
  return (
    <Panel title={t('words')}>
      {failed.length === 0 ? (
        <p className="text-ink2">{t(call.attempts.length > 0 ? 'wordsNone' : 'wordsNobody')}</p>
      ) : (
        <ol className="m-0 grid list-none gap-3 p-0">
          {failed.map(({ a, said, key }) => (
            <li key={`${a.started_ms} ${a.endpoint}`}>
              <p className="flex flex-wrap items-center gap-2">
                <code className="text-small break-all">{a.endpoint}</code>
                <Tag tone="bad">
                  {`${a.status > 0 ? `${a.status} ` : ''}${r.or(`fault_${a.reason}`, (a.reason ?? '').replace(/_/g, ' '))}`}
                </Tag>
              </p>
              <Key k={key} />
              {said ? (
                <blockquote lang="en" className="m-0 mt-1 border-l-2 border-line pl-3 break-words">
                  {said}
                </blockquote>
              ) : (
                <p className="mt-1 text-small text-ink3">{t('saidNothing')}</p>
              )}
            </li>
          ))}
        </ol>
      )}
      <p className="pt-3 text-small text-ink3">{t('privacy')}</p>
    </Panel>
  )
}

/** Which of the provider's keys was used. */
function Key({ k }: { k: Call['provider_key'] }) {
  const t = useT('admincalls')
  if (k === null || k.tag === '') return null
  return (
    <span className="text-small text-ink2">
      {k.last4 === null ? t('keyGone', { tag: k.tag }) : t('keyUsed', { last4: k.last4, tag: k.tag })}
      {k.note !== null && (
        <>
          {' '}
          <span translate="no">{k.note}</span>
        </>
      )}
    </span>
  )
}

function Earned({ call }: { call: Call }) {
  const t = useT('admincalls')
  if (call.margin === null)
    return (
      <Panel title={t('earned')}>
        <p className="text-ink2">{t('unknown')}</p>
      </Panel>
    )
  return (
    <Panel title={t('earned')}>
      <Facts
        rows={[
          [t('e_price'), <Money key="p" value={call.cost} exact />],
          [t('e_vat'), <Money key="v" value={call.vat ?? '0'} exact />],
          [t('e_upstream'), <Money key="u" value={call.upstream_cost ?? '0'} exact />],
          [t('e_margin'), <Money key="m" value={call.margin} exact className="font-medium" />],
        ]}
      />
      {call.provider_key !== null && (
        <p className="pt-3">
          <Key k={call.provider_key} />
        </p>
      )}
      {call.upstream_cost !== '0' && (
        <p className="pt-3 text-small text-ink3">
          {t(call.upstream_cost_reported ? 'reported' : 'byPrices')}
        </p>
      )}
    </Panel>
  )
}
