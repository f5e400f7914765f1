/** /keys/:hash: one key, what it may do, what it spends, and its last calls. */
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { ApiError, type Reply } from '../../api/client'
import { useRenewed } from '../../api/live'
import { getAccountKey, getUsage, listCalls } from '../../api/operations'
import { approximately, compare, day, decimal, drawnMoney, money, ZERO } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Chart, colorsOf } from '../../ui/chart'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Link, LinkButton, useGo } from '../../ui/link'
import { Page, PageHead, Panel, Strip } from '../../ui/page'
import { Money, When } from '../../ui/values'
import { LatestCalls } from '../calls/latest'
import type { Key } from './key-form'
import { firstModel, KeyTags, Made, Spending, useKeyActions } from './key-parts'

type Report = Reply<'/api/usage'>['data']
const exact = (text: string | number | null) => (text === null ? ZERO : (decimal(text) ?? ZERO))

export default function KeyPage() {
  const t = useT('keys'),
    c = useT('common')
  const go = useGo()
  const { hash = '' } = useParams({ strict: false }) as { hash?: string }
  const q = useQuery(getAccountKey({ path: { hash } }))
  useRenewed(['keys', 'calls'], [getAccountKey], { every: 5_000 })
  const { fresh, show, edit, menu, windows } = useKeyActions({
    removed: () => go('/keys'),
    rotated: (renewed) => go(`/keys/${renewed.hash}`, { replace: true }),
  })
  const model = useQuery({ ...firstModel, enabled: fresh !== null })
  const k = q.data?.data
  const crumbs = [{ label: t('title'), to: '/keys' }]
  const missing = q.error instanceof ApiError && q.error.status === 404
  return (
    <Page>
      {k ? (
        <PageHead
          crumbs={crumbs}
          name={k.name}
          title={
            <span className="flex flex-wrap items-center gap-2">
              <span translate="no">{k.name}</span>
              <KeyTags k={k} />
            </span>
          }
        >
          <Button icon="sliders" onClick={() => edit(k)}>
            {t('edit')}
          </Button>
          {menu(k)}
        </PageHead>
      ) : (
        <PageHead crumbs={crumbs} title={t('one')} />
      )}
      {missing ? (
        <Empty icon="key" title={t('missing')} action={<LinkButton to="/keys">{t('allKeys')}</LinkButton>}>
          {t('missingText')}
        </Empty>
      ) : q.error && !k ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !k ? (
        <SkeletonRows rows={8} />
      ) : (
        <div className="flex flex-col gap-5">
          {fresh && (
            <Made
              key={fresh.secret}
              fresh={fresh}
              model={model.data ?? 'openai/gpt-5'}
              onDone={() => show(null)}
            />
          )}
          <Strip
            items={[
              {
                label: t('text'),
                value: <code className="font-normal">{k.label}</code>,
                ...(k.previous
                  ? { note: t.rich('oldWorks', { time: <When at={k.previous.until} form="full" /> }) }
                  : {}),
              },
              { label: t('spent'), value: <Spending k={k} /> },
              { label: t('spentTotal'), value: <Money value={k.spent_total} headline /> },
              { label: t('used'), value: k.last_used_at ? <When at={k.last_used_at} /> : t('never') },
              {
                label: t('expires'),
                value:
                  k.agent || k.expires_at ? (
                    <When at={k.agent?.ends_at ?? k.expires_at} form="date" />
                  ) : (
                    t('noExpiry')
                  ),
              },
              { label: t('madeAt'), value: <When at={k.created_at} form="date" /> },
            ]}
          />
          <Rules k={k} />
          {!k.management && (
            <>
              <Spent k={k} />
              <Latest k={k} />
            </>
          )}
        </div>
      )}
      {windows}
      <span className="sr-only" aria-live="polite">
        {q.isFetching && !k ? c('loading') : ''}
      </span>
    </Page>
  )
}

/** Where and for what the key works, when that is not everywhere and everything. */
function Rules({ k }: { k: Key }) {
  const t = useT('keys')
  const list = (title: string, all: readonly string[] | null) =>
    all &&
    all.length > 0 && (
      <Panel title={title} className="min-w-0 flex-1 basis-64">
        <ul className="m-0 flex list-none flex-wrap gap-1.5 p-0">
          {all.map((x) => (
            <li key={x}>
              <code className="rounded-tag bg-sunken px-1.5 py-0.5 break-all">{x}</code>
            </li>
          ))}
        </ul>
      </Panel>
    )
  if (!k.allowed_models?.length && !k.allowed_ips?.length) return null
  return (
    <div className="flex flex-wrap gap-5">
      {list(t('models'), k.allowed_models)}
      {list(t('addresses'), k.allowed_ips)}
    </div>
  )
}

function Spent({ k }: { k: Key }) {
  const t = useT('keys')
  const q = useQuery(getUsage({ query: { key: k.hash, group: 'model', bucket: 'day', limit: 5 } }))
  useRenewed(['calls'], [getUsage], { every: 10_000 })
  const u = q.data?.data
  const of = (v: Report['sums'][number]) => exact(v)
  const most = u
    ? u.sums.reduce<number>((best, v, i) => (compare(of(v), of(u.sums[best] ?? null)) > 0 ? i : best), 0)
    : 0
  const colors = colorsOf(u?.series.map((s) => s.key) ?? [])
  const series = (key: string, label: string, color: number, values: Report['sums']) => ({
    key,
    label,
    color,
    values: values.map((v) => approximately(of(v))),
    exact: values,
    texts: values.map((v) => money(v, { exact: true })),
  })
  return (
    <Panel
      title={t('spending')}
      note={t('spendingNote')}
      actions={
        <Link to="/activity" search={{ key: k.hash }} className="text-small">
          {t('toActivity')}
        </Link>
      }
    >
      {q.error && !u ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !u ? (
        <SkeletonRows rows={5} />
      ) : compare(of(u.total), ZERO) === 0 ? (
        <p className="text-ink2">{t('spentNothing')}</p>
      ) : (
        <Chart
          main
          kind="bars"
          hideHead
          title={t('spending')}
          unit={t('spendingNote')}
          unfinished
          height={200}
          summary={t('spendingSummary', {
            day: day(u.t[most]!, { short: true }),
            most: money(u.sums[most] ?? null),
            total: money(u.total, { exact: true }),
          })}
          times={u.t.map((x) => Date.parse(x))}
          format={(n) => drawnMoney(n)}
          bucket="day"
          series={[
            ...u.series.map((s) => series(s.key, s.label ?? s.key, colors.get(s.key) ?? 0, s.values)),
            ...(u.other ? [series('', t('others'), 0, u.other)] : []),
          ]}
        />
      )}
    </Panel>
  )
}

function Latest({ k }: { k: Key }) {
  const t = useT('keys')
  const q = useQuery(listCalls({ query: { key: k.hash, limit: 10 } }))
  useRenewed(['calls'], [listCalls], { every: 5_000 })
  return (
    <Panel
      title={t('latest')}
      actions={
        <Link to="/calls" search={{ key: k.hash }} className="text-small">
          {t('allCalls')}
        </Link>
      }
      flush
    >
      <LatestCalls
        ofKey
        caption={t('latest')}
        rows={q.data?.data}
        error={q.error}
        onRetry={() => void q.refetch()}
      />
    </Panel>
  )
}
