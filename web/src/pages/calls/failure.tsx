/** Why a call failed: in words, what to do, and where. Its text was the client's alone and is not kept; the kind of the error is. */
import { useMe } from '../../api/query'
import { useT } from '../../i18n'
import { LinkButton, useIsPage } from '../../ui/link'
import { Notice } from '../../ui/feedback'
import { againOf } from './again'
import type { Call } from './data'

/** Where something can be done about a kind of failure, and under which heading the documentation has it. */
const places: { readonly [type: string]: 'money' | 'keys' | 'models' | 'routing' | 'again' } = {
  payment_required: 'money',
  authentication: 'keys',
  permission_denied: 'keys',
  rate_limit_exceeded: 'keys',
  model_not_found: 'models',
  wrong_endpoint: 'models',
  no_endpoints: 'routing',
  no_provider: 'again',
  provider_unavailable: 'again',
  provider_overloaded: 'again',
  overloaded: 'again',
  timeout: 'again',
  server: 'again',
  draining: 'again',
}

export default function Failure({
  call: c,
  names,
  own,
}: {
  call: Call
  names: (provider: string) => string
  own: boolean
}) {
  const t = useT('failures')
  const k = useT('calls')
  const r = useT('route')
  const me = useMe()
  const isPage = useIsPage()
  const type = c.error ?? 'server'
  const again = againOf(c)
  const place = own ? places[type] : undefined
  const tried = c.attempts.map((a) =>
    [
      names(a.provider),
      a.status > 0 ? String(a.status) : '',
      a.reason ? r.or(`fault_${a.reason}`, a.reason.replace(/_/g, ' ')) : '',
    ]
      .filter(Boolean)
      .join(' '),
  )
  return (
    <div role="region" aria-label={t('title')}>
      <Notice
        tone="bad"
        title={t.or(`why_${type}`, t('why', { type: type.replace(/_/g, ' '), status: String(c.status) }))}
        action={
          <span className="flex flex-wrap items-center gap-2">
            {place === 'money' && (
              <LinkButton small to="/money/top-up" icon="wallet">
                {t('topUp')}
              </LinkButton>
            )}
            {(place === 'money' || place === 'keys') && c.key_hash && isPage(`/keys/${c.key_hash}`) && (
              <LinkButton small to={`/keys/${c.key_hash}`} icon="key">
                {t('toKey')}
              </LinkButton>
            )}
            {place === 'models' && (
              <LinkButton small to="/models" icon="box">
                {t('toModels')}
              </LinkButton>
            )}
            {place === 'routing' && (
              <LinkButton small to="/settings/routing" icon="route">
                {t('toRouting')}
              </LinkButton>
            )}
            {place === 'again' && again && isPage(again.to) && (
              <LinkButton small to={again.to} search={again.search} icon="play">
                {k('runAgain')}
              </LinkButton>
            )}
            {me?.features.docs && (
              <LinkButton small look="quiet" to="/docs/errors" icon="book">
                {t('docs', { type })}
              </LinkButton>
            )}
          </span>
        }
      >
        <p>{t.or(`do_${type}`, t('do'))}</p>
        {tried.length > 0 && (
          <p className="pt-1" translate="no">
            {tried.join(' → ')}
          </p>
        )}
      </Notice>
    </div>
  )
}
