/** One call: why this provider, where the time went, what it cost. For its page and for the drawer of the list. */
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useMemo, type ReactNode } from 'react'
import { catalogQuery } from '../catalog/data'
import { approximately, decimal, duration, integer, money, plain, times, tokens } from '../../format'
import { loadMessages, useT } from '../../i18n'
import { CostTable } from '../../ui/cost-table'
import { Link, useIsPage } from '../../ui/link'
import { Level, Tag } from '../../ui/marks'
import { Panel } from '../../ui/page'
import { RouteFlow, ms } from '../../ui/route-flow'
import { When } from '../../ui/values'
import { Waterfall, spansOf } from '../../ui/waterfall'
import { isPending, type Call } from './data'

const Failure = lazy(async () => (await Promise.all([import('./failure'), loadMessages(['failures'])]))[0])

/** Status of a call whose answer comes later, such as a video. */
const ACCEPTED = 202

export function CallView({
  call: c,
  drawer,
  own = true,
}: {
  call: Call
  drawer?: boolean
  /** Whether it is a call of the person who looks */
  own?: boolean
}) {
  const t = useT('calls')
  const r = useT('route')
  const isPage = useIsPage()
  const catalog = useQuery({ ...catalogQuery, retry: false })
  const names = useMemo(() => {
    const known = new Map((catalog.data?.facets.providers ?? []).map((p) => [p.id, p.name]))
    if (c.provider && c.provider_name) known.set(c.provider, c.provider_name)
    return (id: string) => known.get(id) ?? id
  }, [catalog.data, c.provider, c.provider_name])
  const answered = c.attempts.some((a) => a.status >= 200 && a.status < 300 && !a.reason)
  const model = c.model ?? c.model_asked
  const spans = useMemo(
    () =>
      spansOf(c.attempts, c.duration_ms, {
        before: t('before'),
        after: t('after'),
        failed: (a) =>
          `${names(a.provider)}: ${a.status > 0 ? `${a.status} ` : ''}${a.reason ? r.or(`fault_${a.reason}`, a.reason.replace(/_/g, ' ')) : ''}`.trim(),
        first: (a) => t('attFirst', { provider: names(a.provider) }),
        answer: (a) =>
          t(c.status === ACCEPTED ? 'attAccepted' : 'attAnswer', { provider: names(a.provider) }),
        ...(c.status === ACCEPTED ? { job: (a) => t('attJob', { provider: names(a.provider) }) } : {}),
      }),
    [c, names, t, r],
  )
  const u = c.usage,
    cached = u.counts.cache_read ?? 0
  const exact = (v: string) => money(v, { exact: true })
  const held = decimal(c.hold.amount),
    cost = decimal(c.cost)
  const p = c.price
  const share = (v: string) => money(plain(times(decimal(v)!, 100)), { exact: true, sign: false }) + '\u202f%'
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      {c.error && !c.canceled && (
        <Suspense fallback={<span data-waits className="h-24" />}>
          <Failure call={c} names={names} own={own} />
        </Suspense>
      )}
      <RouteFlow
        title={answered ? t('why') : t('whyNot')}
        candidates={c.plan.candidates}
        attempts={c.attempts}
        names={names}
        asked={c.model_asked}
        wishes={[t.or(`k_${c.kind}`, c.kind), c.stream ? t('stream') : ''].filter(Boolean).join(', ')}
        {...(answered
          ? {
              answer:
                u.completion_tokens > 0 ? t('answerTokens', { n: u.completion_tokens }) : String(c.status),
              answerNote: c.duration_ms < 1 ? t('inUnder') : t('inTime', { time: duration(c.duration_ms) }),
            }
          : {})}
      />
      <div
        className={`grid grid-cols-[minmax(0,1fr)] gap-4 ${drawer ? '' : 'xl:grid-cols-[minmax(0,1.35fr)_minmax(0,1fr)]'}`}
      >
        <Panel
          title={t('time')}
          actions={<span className="text-small text-ink3 tabular-nums">{ms(r, c.duration_ms)}</span>}
        >
          <Waterfall
            spans={spans}
            total={c.duration_ms}
            label={`${t('time')}: ${duration(c.duration_ms)}`}
            under={t('underMs')}
          />
          <h3 className="mt-4 border-t border-line pt-3 pb-1.5 text-section">{t('facts')}</h3>
          <Facts
            rows={[
              [t('f_key'), c.key_name ?? t('keyNone')],
              [t('f_style'), t.or(`k_${c.kind}`, c.kind)],
              [t('f_stream'), c.stream === undefined ? null : c.stream ? t('yes') : t('no')],
              [t('f_tokens'), `${tokens(u.prompt_tokens)} · ${tokens(u.completion_tokens)}`],
              [t('f_reasoning'), u.reasoning_tokens > 0 ? tokens(u.reasoning_tokens) : null],
              [
                t('f_cache'),
                u.prompt_tokens > 0 && cached > 0 ? t('of', { part: cached, all: u.prompt_tokens }) : null,
              ],
              [
                t('f_finish'),
                c.finish_reason && (
                  <code>
                    {c.finish_reason}
                    {c.native_finish_reason && c.native_finish_reason !== c.finish_reason
                      ? ` (${c.native_finish_reason})`
                      : ''}
                  </code>
                ),
              ],
              [t('f_asked'), c.model_asked !== model ? <code>{c.model_asked}</code> : null],
              [t('f_endpoint'), c.endpoint && <code>{c.endpoint}</code>],
              [t('f_error'), c.error && <span lang="en">{c.error}</span>],
              [t('f_notice'), c.notice && <span lang="en">{c.notice}</span>],
              [
                t('f_parameters'),
                c.parameters && <code className="wrap-anywhere">{JSON.stringify(c.parameters)}</code>,
              ],
              [t('f_client'), c.user_agent && <span translate="no">{c.user_agent}</span>],
              [
                t('f_app'),
                (c.title || c.http_referer) && (
                  <span translate="no">{[c.title, c.http_referer].filter(Boolean).join(', ')}</span>
                ),
              ],
              [t('f_user'), c.client_user && <span translate="no">{c.client_user}</span>],
              [t('f_session'), c.session_id && <code>{c.session_id}</code>],
              [
                t('f_tags'),
                c.tags.length > 0 && (
                  <span className="flex flex-wrap gap-x-3" translate="no">
                    {c.tags.map((tag) => (
                      <Link key={tag} to="/calls" search={{ tag }}>
                        {tag}
                      </Link>
                    ))}
                  </span>
                ),
              ],
              [
                t('f_reported'),
                c.session_report &&
                  t('reported', {
                    client: c.session_report.client ?? '',
                    accepted: c.session_report.tools_accepted,
                    rejected: c.session_report.tools_rejected,
                    edits: c.session_report.edits_accepted,
                    noEdits: c.session_report.edits_rejected,
                    added: c.session_report.lines_added,
                    removed: c.session_report.lines_removed,
                    commits: c.session_report.commits,
                    pulls: c.session_report.pull_requests,
                    user: Math.round(c.session_report.user_ms / 60000),
                    program: Math.round(c.session_report.program_ms / 60000),
                  }),
              ],
              [t('f_request'), <code key="r">{c.request_id}</code>],
              [t('f_catalog'), c.plan.catalog_version && <code>{c.plan.catalog_version}</code>],
            ]}
          />
          <p className="pt-3 text-small text-ink3">{c.stored_text ? t('stored') : t('notStored')}</p>
        </Panel>
        <Panel
          title={t('cost')}
          actions={
            u.parts.length > 0 && (
              <Tag tone={u.source === 'reported' ? 'plain' : 'warn'}>
                {t.or(`source_${u.source}`, u.source)}
              </Tag>
            )
          }
        >
          <CostTable parts={u.parts} cost={c.cost} settled={!isPending(c)} caption={t('cost')} />
          {u.cache && <CacheReceipt cache={u.cache} names={names} />}
          {held && cost && held.digits > 0n && (
            <div className="pt-3">
              <Level
                total={Math.max(approximately(held), approximately(cost))}
                label={t('hold', {
                  held: exact(c.hold.amount),
                  settled: exact(c.cost),
                  released: exact(c.hold.released),
                })}
                parts={[
                  { key: 'cost', value: approximately(cost), className: 'bg-accent' },
                  {
                    key: 'released',
                    value: approximately(decimal(c.hold.released) ?? held),
                    className: 'bg-hold-soft',
                  },
                ]}
              />
              <p className="pt-2 text-small text-ink2 tabular-nums">
                {t('hold', {
                  held: exact(c.hold.amount),
                  settled: exact(c.cost),
                  released: exact(c.hold.released),
                })}
              </p>
            </div>
          )}
          <div className="pt-3">
            <Facts
              rows={[
                [t('basisList'), p.list && <code>{p.list}</code>],
                [t('basisRate'), p.rate && <code>{p.rate}</code>],
                [t('basisDollar'), p.rubles_per_dollar && exact(p.rubles_per_dollar)],
                [t('basisMargin'), p.margin && share(p.margin)],
                [
                  t('countsIn'),
                  c.counts_in.length > 0 && (
                    <ul>
                      {c.counts_in.map((f) => (
                        <li key={f.id}>{t.or(`fund_${f.period}`, f.id, { id: f.id, from: f.from ?? '' })}</li>
                      ))}
                    </ul>
                  ),
                ],
                [
                  t('basisVat'),
                  p.vat &&
                    t(p.vat.mode === 'included' ? 'vat_included' : 'vat_on_top', {
                      percent: money(p.vat.percent, { exact: true, sign: false }),
                      amount: p.vat_amount ? exact(p.vat_amount) : '—',
                    }),
                ],
                [t('basisSource'), p.source && <span lang="en">{p.source}</span>],
                [
                  t('entries'),
                  c.entries.length > 0 && (
                    <span className="tabular-nums">{c.entries.map((e) => `№${integer(e)}`).join(', ')}</span>
                  ),
                ],
                [
                  t('refunds'),
                  c.refunds.length > 0 &&
                    c.refunds.map((x) => (
                      <span key={x.transaction} className="block">
                        {t.rich('refundOf', {
                          amount: exact(x.amount),
                          date: <When at={x.at} form="date" />,
                        })}
                      </span>
                    )),
                ],
              ]}
            />
          </div>
          {c.model && isPage(`/models/${c.model}`) && (
            <p className="pt-3 text-small">
              <Link to={`/models/${c.model}`} className="text-accent-ink">
                {c.model}
              </Link>
            </p>
          )}
        </Panel>
      </div>
    </div>
  )
}

export function Facts({ rows }: { rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="m-0 grid grid-cols-[minmax(0,9.5rem)_minmax(0,1fr)] gap-x-3 gap-y-1 text-small">
      {rows.map(
        ([name, value]) =>
          value !== null &&
          value !== undefined &&
          value !== false &&
          value !== '' && (
            <div key={name} className="contents">
              <dt className="text-ink3">{name}</dt>
              <dd className="m-0 min-w-0 break-words">{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}

/** What the provider's cache of prompts saved, and what was lost of it and why. */
function CacheReceipt({
  cache,
  names,
}: {
  cache: NonNullable<Call['usage']['cache']>
  names: (provider: string) => string
}) {
  const t = useT('calls')
  const lost = cache.lost
  const exact = (v: string) => money(v.replace('-', ''), { exact: true })
  const reason = () => {
    switch (lost?.because) {
      case 'endpoint_changed':
        return t('lost_endpoint', { provider: names(lost.endpoint?.split('/')[0] ?? '') })
      case 'prefix_changed':
        return lost.message ? t('lost_message', { n: integer(lost.message) }) : t('lost_instructions')
      case 'expired':
        return t('lost_expired')
      default:
        return t('lost_not_kept')
    }
  }
  return (
    <section className="mt-3 border-t border-line pt-3 text-dense" aria-label={t('cache')}>
      <h3 className="font-medium">{t('cache')}</h3>
      {(cache.read_tokens > 0 || cache.written_tokens > 0) && (
        <p>
          {t(cache.saved.startsWith('-') ? 'cacheDearer' : 'cacheSaved', {
            amount: exact(cache.saved),
            read: integer(cache.read_tokens),
            written: integer(cache.written_tokens),
          })}
        </p>
      )}
      {lost && (
        <p>
          {t('cacheLost', { tokens: integer(lost.tokens), amount: exact(lost.cost) })} {reason()}
        </p>
      )}
    </section>
  )
}
