/** /admin/errors: why calls of everybody failed, one line for each cause. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { getFailure, listFailures } from '../../api/operations'
import { integer } from '../../format'
import { useT } from '../../i18n'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { Link, LinkButton, usePageSearch, type SearchShape } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Sheet } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { When, Zone } from '../../ui/values'
import { CauseOf, type Cause } from './cause'
import { endpointPage } from './provider-data'

const hours = ['1', '24', '168', '744'] as const
type Hours = (typeof hours)[number]
const shape: SearchShape<{ readonly hours: Hours }> = {
  read: (raw) => ({ hours: hours.find((h) => h === raw.hours) ?? '24' }),
  write: (f) => ({ hours: f.hours === '24' ? undefined : f.hours }),
}
const keyOf = (c: Cause) => `${c.code} ${c.provider ?? ''} ${c.words}`

export default function Errors() {
  const t = useT('admincalls')
  const [chosen, choose] = usePageSearch(shape)
  const [open, setOpen] = useState<Cause | null>(null)
  const q = useQuery({ ...listFailures({ query: { hours: chosen.hours } }), refetchInterval: 30_000 })
  const f = q.data?.data
  return (
    <Page>
      <PageHead
        title={t('errorsTitle')}
        note={
          <>
            {t('errorsNote')} <Zone />.
          </>
        }
      >
        <Field label={t('period')} hideLabel>
          <Select
            value={chosen.hours}
            onChange={(e) => choose({ hours: e.target.value as Hours })}
            options={hours.map((h) => ({ value: h, label: t(`h_${h}`) }))}
          />
        </Field>
      </PageHead>
      {f && f.errors > 0 && (
        <p role="status" className="pb-3">
          <strong>{t('sum', { n: f.errors })}</strong>{' '}
          <span className="text-ink2">
            {t('sumReached', { reached: integer(f.reached), caught: integer(f.errors - f.reached) })}
          </span>
        </p>
      )}
      <Panel flush>
        <Table<Cause>
          main
          caption={t('errorsTitle')}
          rows={f?.causes}
          rowKey={keyOf}
          error={q.error}
          onRetry={() => void q.refetch()}
          stale={q.isPlaceholderData}
          onOpen={setOpen}
          selected={(r) => open !== null && keyOf(r) === keyOf(open)}
          empty={
            <Empty icon="check" title={t('errorsEmpty')}>
              {t('errorsEmptyText')}
            </Empty>
          }
          columns={[
            { key: 'cause', head: t('cause'), cell: (r) => <CauseOf r={r} onOpen={() => setOpen(r)} /> },
            { key: 'errors', head: t('errors'), align: 'end', cell: (r) => integer(r.errors) },
            {
              key: 'reached',
              head: t('reached'),
              align: 'end',
              cell: (r) => <span className={r.reached > 0 ? 'text-bad' : ''}>{integer(r.reached)}</span>,
            },
            { key: 'first', head: t('firstAt'), from: 'lg', cell: (r) => <When at={r.first_at} /> },
            { key: 'last', head: t('lastAt'), cell: (r) => <When at={r.last_at} /> },
            {
              key: 'accounts',
              head: t('accounts'),
              align: 'end',
              from: 'lg',
              cell: (r) => integer(r.accounts),
            },
            { key: 'where', head: t('where'), from: 'md', cell: (r) => <Where r={r} /> },
            {
              key: 'act',
              head: '',
              name: t('lastCall'),
              align: 'end',
              cell: (r) => (
                <LinkButton small to={`/admin/calls/${r.call}`}>
                  {t('lastCall')}
                </LinkButton>
              ),
            },
          ]}
          phone={(r) => (
            <div>
              <div className="flex gap-2">
                <span className="min-w-0 flex-1">
                  <CauseOf r={r} onOpen={() => setOpen(r)} />
                </span>
                <span className="font-medium tabular-nums">{integer(r.errors)}</span>
              </div>
              <div className="flex flex-wrap items-center gap-2 pt-1 text-small text-ink3">
                <span className="flex-1">
                  {t('reached')}: {integer(r.reached)} · <When at={r.last_at} />
                </span>
                <LinkButton small to={`/admin/calls/${r.call}`}>
                  {t('lastCall')}
                </LinkButton>
              </div>
            </div>
          )}
        />
        {f?.more && <p className="border-t border-line px-4 py-2 text-small text-ink3">{t('more')}</p>}
      </Panel>
      <Sheet wide open={open !== null} onOpenChange={(o) => !o && setOpen(null)} title={t('detail')}>
        {open && <Affected cause={open} hours={chosen.hours} />}
      </Sheet>
    </Page>
  )
}

function Where({ r }: { r: Cause }) {
  const t = useT('admincalls')
  if (r.provider === null) return <span className="text-ink3">{t('nobody')}</span>
  return (
    <span>
      <Link to={`/admin/providers/${r.provider}`} className="text-ink">
        <span translate="no">{r.provider_name ?? r.provider}</span>
      </Link>
      <span className="block text-label text-ink3">{t('endpointsN', { n: r.endpoints })}</span>
    </span>
  )
}

function Affected({ cause, hours }: { cause: Cause; hours: string }) {
  const t = useT('admincalls')
  const q = useQuery(
    getFailure({
      query: {
        hours,
        code: cause.code,
        words: cause.words,
        ...(cause.provider === null ? {} : { provider: cause.provider }),
      },
    }),
  )
  const d = q.data?.data
  return (
    <div className="grid gap-4">
      <CauseOf r={cause} />
      <p className="flex flex-wrap gap-2">
        <LinkButton small to={`/admin/calls/${cause.call}`}>
          {t('openLast')}
        </LinkButton>
        {cause.reached > 0 && (
          <LinkButton small to="/admin/calls" search={{ result: cause.code, days: '30' }}>
            {t('allOfCode')}
          </LinkButton>
        )}
      </p>
      {q.error ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !d ? (
        <SkeletonRows rows={4} />
      ) : (
        <>
          <Table
            caption={t('accounts')}
            rows={d.accounts}
            rowKey={(r) => r.account.id}
            columns={[
              {
                key: 'account',
                head: t('account'),
                cell: (r) => (
                  <Link to={`/admin/people/${r.account.id}`} className="text-ink">
                    <span translate="no">{r.account.name ?? t('deleted')}</span>
                  </Link>
                ),
              },
              { key: 'errors', head: t('errors'), align: 'end', cell: (r) => integer(r.errors) },
              {
                key: 'reached',
                head: t('reached'),
                align: 'end',
                cell: (r) => (r.reached > 0 ? <Tag tone="bad">{integer(r.reached)}</Tag> : '0'),
              },
              {
                key: 'last',
                head: t('lastCall'),
                cell: (r) => (
                  <Link to={`/admin/calls/${r.call}`} className="text-accent-ink">
                    <When at={r.last_at} />
                  </Link>
                ),
              },
            ]}
          />
          {d.endpoints.length > 0 && (
            <Table
              caption={t('endpoint')}
              rows={d.endpoints}
              rowKey={(r) => r.endpoint}
              columns={[
                {
                  key: 'endpoint',
                  head: t('endpoint'),
                  cell: (r) => (
                    <Link to={endpointPage(r.endpoint)} className="text-ink">
                      <code className="break-all">{r.endpoint}</code>
                    </Link>
                  ),
                },
                { key: 'errors', head: t('errors'), align: 'end', cell: (r) => integer(r.errors) },
                {
                  key: 'last',
                  head: t('lastCall'),
                  cell: (r) => (
                    <Link to={`/admin/calls/${r.call}`} className="text-accent-ink">
                      <When at={r.last_at} />
                    </Link>
                  ),
                },
              ]}
            />
          )}
        </>
      )}
    </div>
  )
}
