import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { Suspense, lazy, useMemo, useState, type ReactNode } from 'react'
import { ApiError, type Reply } from '../../api/client'
import { useMe } from '../../api/query'
import { getModel, getModelSeries, listProviders, listVideoModels } from '../../api/operations'
import { snippetsFor } from '../../code/models'
import {
  date,
  day,
  decimal,
  integer,
  money,
  NONE,
  number,
  percent,
  perToken,
  plain,
  price,
  seconds,
  times,
  unitName,
  type Decimal,
} from '../../format'
import { useLanguage, useT } from '../../i18n'
import { hasPage } from '../../routes/paths'
import { Chart } from '../../ui/chart'
import { CodeTabs } from '../../ui/code'
import { Checkbox, Field, Input, Select } from '../../ui/field'
import { Segmented } from '../../ui/controls'
import { Empty, ErrorBox, Notice, Skeleton, SkeletonRows } from '../../ui/feedback'
import { Icon } from '../../ui/icons'
import { Link, LinkButton } from '../../ui/link'
import { Button, IconButton } from '../../ui/button'
import { Secret, Slug } from '../../ui/copy'
import { Dot, Level, Tag, Ticks } from '../../ui/marks'
import { Page, Panel, SectionHead, Strip, useTitle } from '../../ui/page'
import type { Column } from '../../ui/columns'
import { Table } from '../../ui/table'
import { VendorMark } from '../../ui/vendor'
import { playgroundOf } from '../../trying'
import { When, Zone } from '../../ui/values'
import { useCatalog } from '../catalog/data'
import type { Model } from '../catalog/filter'
import { Abilities, Policy } from '../catalog/parts'
import { costOf, range, rows as offersOf, similar, type Row } from './offers'

const MakeKey = lazy(() => import('./make-key'))

/** Everything about one model and the line of code to use it. */
export default function ModelPage() {
  const t = useT('model')
  const language = useLanguage()
  const { vendor = '', model: name = '' } = useParams({ strict: false }) as {
    vendor?: string
    model?: string
  }
  const id = `${vendor}/${name}`
  const { prepared } = useCatalog()
  const compact =
    prepared?.models.get(id) ?? [...(prepared?.models.values() ?? [])].find((m) => m.aliases?.includes(id))
  // The list of video models says what its page needs, and their options.
  const detail = useQuery({
    ...getModel({ path: { vendor, model: name } }),
    staleTime: 300_000,
    placeholderData: undefined,
    enabled: compact?.type !== 'video',
  })
  const video = useVideoModel(compact?.id ?? id, compact?.type === 'video')
  const served = useQuery({
    ...listProviders({ path: { vendor, model: name } }),
    staleTime: 60_000,
    placeholderData: undefined,
  })
  const title = detail.data?.name ?? compact?.name ?? id
  useTitle(title)
  const offers = useMemo(() => offersOf(served.data?.providers ?? []), [served.data])
  if (detail.error instanceof ApiError && detail.error.status === 404) {
    return (
      <Page width="text">
        <div className="py-12">
          <h1 tabIndex={-1} className="sr-only">
            {t('notFound')}
          </h1>
          <Empty
            icon="box"
            title={t('notFound')}
            action={
              <LinkButton to="/models" search={{ q: name }} look="main">
                {t('toCatalog')}
              </LinkButton>
            }
          >
            {t('notFoundText')}
          </Empty>
        </div>
      </Page>
    )
  }
  const kind = compact?.type ?? detail.data?.model_type ?? 'chat'
  const place = playgroundOf(kind, [compact?.id ?? id])
  const said = detail.data ?? video
  const about = language === 'ru' ? (said?.description_ru ?? said?.description) : said?.description
  const vendorName = detail.data?.vendor_name ?? prepared?.vendors.get(vendor) ?? vendor
  return (
    <Page>
      <nav aria-label={t('models')} className="pb-2.5 text-small text-ink3">
        <Link to="/models" className="text-ink3 no-underline hover:text-ink hover:underline">
          {t('models')}
        </Link>
        <span aria-hidden> / </span>
        <Link
          to="/models"
          search={{ vendor }}
          className="text-ink3 no-underline hover:text-ink hover:underline"
        >
          {vendorName}
        </Link>
      </nav>
      <header className="flex flex-wrap items-start gap-x-3.5 gap-y-3">
        <VendorMark vendor={vendor} size={44} />
        <div className="min-w-0 flex-1 basis-64">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h1
              tabIndex={-1}
              translate="no"
              className="min-w-0 text-[24px] leading-7 font-semibold tracking-[-0.018em] break-words"
            >
              {title}
            </h1>
            {compact && <Abilities model={compact} all />}
            {compact?.retires && <Tag tone="warn">{t('endsOn', { date: date(compact.retires) })}</Tag>}
          </div>
          <Slug>{compact?.id ?? id}</Slug>
        </div>
        <div className="flex gap-2 max-sm:w-full">
          <LinkButton
            to="/models/compare"
            search={{ m: compact?.id ?? id }}
            icon="plus"
            className="max-sm:flex-1"
          >
            {t('compare')}
          </LinkButton>
          {place && hasPage(place.to) && (
            <LinkButton to={place.to} search={place.search} look="main" icon="play" className="max-sm:flex-1">
              {t('tryIt')}
            </LinkButton>
          )}
        </div>
      </header>
      {about ? (
        <p lang={/[а-яё]/i.test(about) ? 'ru' : 'en'} className="max-w-[80ch] pt-3 text-ink2">
          {about}
        </p>
      ) : detail.isLoading ? (
        <Skeleton className="mt-3 h-5 w-96 max-w-full" />
      ) : null}
      <div className="pt-4 pb-4">
        {compact ? <Facts model={compact} /> : <div className="h-[66px] border-y border-line" />}
      </div>
      {detail.error && !detail.data && (
        <ErrorBox error={detail.error} onRetry={() => void detail.refetch()} />
      )}
      <div className="flex items-start gap-6 max-lg:flex-col max-lg:items-stretch">
        <div className="w-full min-w-0 flex-1 max-lg:contents">
          {served.error && !served.data ? (
            <ErrorBox error={served.error} onRetry={() => void served.refetch()} />
          ) : !served.data ? (
            <div className="pt-16">
              <SkeletonRows rows={compact?.providers.length ?? 4} height={36} />
            </div>
          ) : (
            <Providers
              id={compact?.id ?? id}
              offers={offers}
              model={compact}
              all={[...(prepared?.models.values() ?? [])]}
            />
          )}
          {video && <VideoOptions of={video} />}
          {served.data && offers.length > 0 && kind === 'chat' && (
            <div className="min-w-0 max-lg:order-1">
              <Charts vendor={vendor} name={name} />
            </div>
          )}
        </div>
        <div className="flex w-full flex-none flex-col gap-4 lg:w-[392px]">
          <Code kind={kind} id={compact?.id ?? id} />
          {offers.length > 0 && <Calculator offers={offers} kind={kind} />}
          {detail.data && (served.data ?? served.error) && detail.data.supported_parameters.length > 0 && (
            <p className="px-0.5 text-small text-ink2">
              <strong className="font-medium text-ink">{t('accepts')}</strong>{' '}
              {detail.data.supported_parameters.map((p) => (
                <code key={p} className="mr-2 inline-block text-label!">
                  {p}
                </code>
              ))}
            </p>
          )}
        </div>
      </div>
    </Page>
  )
}

function Facts({ model: m }: { model: Model }) {
  const t = useT('model')
  const own = m.in === null && m.out === null
  const per = {
    second: 'perSecond',
    minute: 'perMinute',
    image: 'perImage',
    megapixel: 'perMegapixel',
    request: 'perRequest',
    characters_1k: 'perCharacters',
  } as const
  return (
    <Strip
      items={[
        ...(own && m.each !== undefined
          ? [
              {
                label: t('priceFrom'),
                value: m.unit ? t(per[m.unit], { price: money(m.each) }) : money(m.each),
              },
            ]
          : []),
        ...(m.in === null ? [] : [{ label: t('inputFrom'), value: price(perToken(m.in)) }]),
        ...(m.out === null ? [] : [{ label: t('outputFrom'), value: price(perToken(m.out)) }]),
        ...(m.cached === null ? [] : [{ label: t('cachedInput'), value: price(perToken(m.cached)) }]),
        ...(!own && m.each !== undefined && m.unit
          ? [{ label: t('priceFrom'), value: t(per[m.unit], { price: money(m.each) }) }]
          : []),
        ...(m.ctx ? [{ label: t('context'), value: integer(m.ctx) }] : []),
        ...(m.max ? [{ label: t('longest'), value: integer(m.max) }] : []),
        ...(m.p50 === null ? [] : [{ label: t('firstToken'), value: seconds(m.p50) }]),
      ]}
    />
  )
}

/** What was measured by hour, all metrics in one answer. */
function useSeries(id: string, range: '24h' | '7d', enabled = true) {
  const [vendor = '', model = ''] = id.split('/')
  return useQuery({
    ...getModelSeries({ path: { vendor, model }, query: { metric: 'all', range }, quiet: true }),
    staleTime: 300_000,
    placeholderData: undefined,
    retry: false,
    enabled,
  })
}

function Providers({
  id,
  offers,
  model,
  all,
}: {
  id: string
  offers: readonly Row[]
  model: Model | undefined
  all: readonly Model[]
}) {
  const t = useT('model')
  const [open, setOpen] = useState<string | null>(null)
  const none = offers.length === 0 || (model !== undefined && !model.live)
  const span = none ? '7d' : '24h'
  const providers = new Set(offers.map((o) => o.provider.provider)).size
  // Of a video model with one provider, the catalog has its hours already.
  const uptime = useSeries(id, span, none || model?.type !== 'video' || providers > 1)
  const hours = new Map<string, readonly (number | null)[]>(
    uptime.data?.series.map((s) => [s.provider, s.uptime ?? []]),
  )
  if (!uptime.data && model?.uptime && providers === 1) hours.set(offers[0]!.provider.provider, model.uptime)
  const tokens = offers.some(
    (o) => (o.offer.pricing.base as Record<string, string>).prompt_per_1k !== undefined,
  )
  if (none) {
    const last = uptime.data?.last_served_at
    const near = model ? similar(model, all, 3) : []
    return (
      <Panel>
        <Notice tone="warn" title={t('nobody')}>
          {last
            ? t.rich('lastServed', { when: <When at={last} form="hour" /> })
            : uptime.data
              ? t('notServedLately')
              : t('nobodyText')}
        </Notice>
        {near.length > 0 && (
          <div className="pt-3">
            <p className="pb-1.5 text-small text-ink3">{t('similar')}</p>
            <ul className="m-0 flex list-none flex-col gap-1 p-0">
              {near.map((m) => (
                <li key={m.id} className="flex items-center gap-2.5">
                  <VendorMark vendor={m.vendor} />
                  <Link to={`/models/${m.id}`} className="font-medium text-accent-ink">
                    {m.name}
                  </Link>
                  <code className="truncate text-ink3">{m.id}</code>
                </li>
              ))}
            </ul>
          </div>
        )}
      </Panel>
    )
  }
  const base = (r: Row, part: string) =>
    price(perToken((r.offer.pricing.base as Record<string, string | undefined>)[part]), '1M', { bare: true })
  const key = (r: Row) => `${r.offer.tag} ${r.offer.service_tier} ${r.offer.variant}`
  const good = (r: Row) =>
    r.offer.samples_last_1d === 0
      ? 'plain'
      : r.offer.uptime_last_1d >= 99.5
        ? 'good'
        : r.offer.uptime_last_1d >= 95
          ? 'warn'
          : 'bad'
  const label = (r: Row) => (
    <span className="flex min-w-0 items-center gap-2">
      <Dot tone={good(r)} />
      <span translate="no" className="truncate font-medium">
        {r.offer.provider_name}
      </span>
      {r.offer.quantization !== 'unknown' && <Tag>{r.offer.quantization}</Tag>}
      {r.offer.service_tier !== 'default' && <Tag>{r.offer.service_tier}</Tag>}
      {r.offer.variant !== 'standard' && <Tag>{r.offer.variant}</Tag>}
      {r.offer.retires && (
        <Tag tone="warn">{t('endsOn', { date: day(r.offer.retires, { short: true }) })}</Tag>
      )}
    </span>
  )
  const gets = (r: Row) =>
    r.share === null ? (
      <span className="text-small text-ink3">{t('onRequest')}</span>
    ) : (
      <span className="flex items-center justify-end gap-2" title={t('getsHelp')}>
        <span className="w-10">
          <Level
            label={percent(r.share, 0)}
            total={100}
            parts={[{ key: 's', value: r.share, className: 'bg-accent' }]}
          />
        </span>
        <span className="w-10 text-right text-small text-ink2">
          {percent(r.share, r.share > 0 && r.share < 1 ? 1 : 0)}
        </span>
      </span>
    )
  const ticks = (r: Row) => {
    const values = hours.get(r.provider.provider)
    return (
      <span className="flex items-center gap-2">
        {values?.some((v) => v !== null) ? (
          <Ticks
            values={values.map((v) => (v === null ? null : v / 100))}
            {...(uptime.data ? { times: uptime.data.t } : {})}
          />
        ) : uptime.isLoading ? (
          <span className="w-[94px]" />
        ) : null}
        <span className="text-small text-ink2 tabular-nums">
          {r.offer.samples_last_1d === 0 ? NONE : percent(r.offer.uptime_last_1d, 2, { bare: true })}
        </span>
      </span>
    )
  }
  const columns: Column<Row>[] = [
    {
      key: 'provider',
      head: t('provider'),
      cell: (r) => (
        <span className="flex items-center gap-1">
          <IconButton
            small
            icon={open === key(r) ? 'down' : 'right'}
            label={t('details', { name: r.offer.provider_name })}
            aria-expanded={open === key(r)}
            onClick={() => setOpen(open === key(r) ? null : key(r))}
            className="-ml-2"
          />
          {label(r)}
        </span>
      ),
    },
    { key: 'policy', head: t('policy'), cell: (r) => <Policy value={r.provider.data_retention_policy} /> },
    ...(tokens
      ? [
          {
            key: 'in',
            head: t('inPer', { unit: unitName('1M') }),
            align: 'end' as const,
            cell: (r: Row) => base(r, 'prompt_per_1k'),
          },
          {
            key: 'out',
            head: t('outPer', { unit: unitName('1M') }),
            align: 'end' as const,
            cell: (r: Row) => base(r, 'completion_per_1k'),
          },
          {
            key: 'cached',
            head: t('cached'),
            align: 'end' as const,
            from: 'xl' as const,
            cell: (r: Row) => <span className="text-ink3">{base(r, 'cache_read_per_1k')}</span>,
          },
        ]
      : [{ key: 'price', head: t('priceFrom'), align: 'end' as const, cell: (r: Row) => ownPrice(r, t) }]),
    ...(offers.some((o) => o.offer.latency_last_30m_ms > 0)
      ? [
          {
            key: 'first',
            head: t('first'),
            align: 'end' as const,
            from: 'xl' as const,
            cell: (r: Row) => seconds(r.offer.latency_last_30m_ms || null),
          },
        ]
      : []),
    ...(offers.some((o) => o.offer.throughput_last_30m_tps > 0)
      ? [
          {
            key: 'speed',
            head: t('speed'),
            align: 'end' as const,
            from: 'xl' as const,
            cell: (r: Row) => number(r.offer.throughput_last_30m_tps || null),
          },
        ]
      : []),
    { key: 'uptime', head: t('uptime'), from: 'md', cell: ticks },
    ...(tokens && offers.length > 1
      ? [{ key: 'gets', head: t('gets'), align: 'end' as const, cell: gets }]
      : []),
  ]
  return (
    <section aria-label={t('whoServes')}>
      <SectionHead title={t('whoServes')} note={t('order', { n: providers })} />
      <div className="overflow-clip rounded-panel border border-line bg-surface">
        <Table
          caption={t('whoServes')}
          rows={offers}
          rowKey={key}
          columns={columns}
          dense
          onOpen={(r) => setOpen(open === key(r) ? null : key(r))}
          expanded={(r) => (open === key(r) ? <Everything row={r} /> : null)}
          phone={(r) => (
            <div>
              <div className="flex items-center gap-2">
                {label(r)}
                <span className="flex-1" />
                {tokens ? (
                  <span className="text-dense whitespace-nowrap tabular-nums">
                    {base(r, 'prompt_per_1k')} <Icon name="arrow" size={12} className="inline text-ink3" />{' '}
                    {base(r, 'completion_per_1k')}
                  </span>
                ) : (
                  <span className="text-dense">{ownPrice(r, t)}</span>
                )}
              </div>
              <div className="flex items-center gap-2 pt-1 text-small text-ink3">
                <Policy value={r.provider.data_retention_policy} />
                <span className="flex-1" />
                {r.offer.latency_last_30m_ms > 0 && <span>{seconds(r.offer.latency_last_30m_ms)}</span>}
                {tokens && offers.length > 1 && gets(r)}
                <IconButton
                  small
                  icon={open === key(r) ? 'up' : 'down'}
                  label={t('details', { name: r.offer.provider_name })}
                  aria-expanded={open === key(r)}
                  onClick={() => setOpen(open === key(r) ? null : key(r))}
                />
              </div>
            </div>
          )}
        />
      </div>
    </section>
  )
}
function ownPrice(r: Row, t: ReturnType<typeof useT<'model'>>): string {
  const b = r.offer.pricing.base as Record<string, string | undefined>
  const least = (all: readonly string[]) => {
    const x = range(all.map((v) => decimal(v)))
    return x ? plain(x.from) : null
  }
  const video = least(r.offer.pricing.video.rules.map((v) => v.price_per_second_rub))
  if (video) return t('perSecond', { price: money(video) })
  const image = r.offer.pricing.image_prices.filter((i) => i.unit !== 'tokens_1k')
  if (image.length)
    return t(image[0]!.unit === 'megapixel' ? 'perMegapixel' : 'perImage', {
      price: money(least(image.map((i) => i.price_rub))),
    })
  if (b.image_output) return t('perImage', { price: money(b.image_output) })
  if (b.audio_per_minute) return t('perMinute', { price: money(b.audio_per_minute) })
  if (b.characters_per_1k) return t('perCharacters', { price: money(b.characters_per_1k) })
  return NONE
}

/** All prices and limits of one offer. */
function Everything({ row: { offer, provider } }: { row: Row }) {
  const t = useT('model')
  const show = (part: string, value: string) =>
    /_per_1k$/.test(part) && part !== 'characters_per_1k'
      ? price(perToken(value))
      : decimal(value)?.digits === 0n
        ? t('freePart')
        : money(value)
  const prices: [string, ReactNode][] = [
    ...Object.entries(offer.pricing.base as Record<string, string>).map(([k, v]): [string, ReactNode] => [
      t.or(`price_${k}`, k),
      show(k, v),
    ]),
    ...offer.pricing.variable_pricings.flatMap((v) =>
      Object.entries(v.pricing as Record<string, string>).map(([k, x]): [string, ReactNode] => [
        `${t.or(`price_${k}`, k)}, ${t('over', { n: v.threshold })}`,
        show(k, x),
      ]),
    ),
    ...(offer.pricing.hours ?? []).flatMap((h) =>
      Object.entries(h.pricing as Record<string, string>).map(([k, x]): [string, ReactNode] => [
        `${t.or(`price_${k}`, k)}, ${t('hours', { from: h.from, to: h.to })} ${h.zone}`,
        show(k, x),
      ]),
    ),
    ...offer.pricing.video.rules.map((v): [string, ReactNode] => [
      `${t('videoSecond')}${v.resolution ? `, ${v.resolution}` : ''}${v.with_audio ? `, ${t('withSound').toLowerCase()}` : ''}`,
      money(v.price_per_second_rub),
    ]),
    ...offer.pricing.image_prices.map((i): [string, ReactNode] => [
      [
        i.unit === 'tokens_1k'
          ? t.or(`price_${i.component}`, i.component)
          : i.unit === 'megapixel'
            ? t('megapixel')
            : t('imagePrice'),
        i.variant,
        i.resolution,
      ]
        .filter(Boolean)
        .join(', '),
      i.unit === 'tokens_1k' ? price(perToken(i.price_rub)) : money(i.price_rub),
    ]),
    ...(offer.pricing.per_request.request_rub
      ? [[t('price_request'), money(offer.pricing.per_request.request_rub)] as [string, ReactNode]]
      : []),
  ]
  const limits: [string, ReactNode][] = [
    ...(offer.context_length ? [[t('context'), integer(offer.context_length)] as [string, ReactNode]] : []),
    ...(offer.max_completion_tokens
      ? [[t('answerAtMost'), integer(offer.max_completion_tokens)] as [string, ReactNode]]
      : []),
    ...(offer.quantization === 'unknown'
      ? []
      : [[t('quantization'), offer.quantization] as [string, ReactNode]]),
    [t('tier'), offer.service_tier],
    ...(offer.supports_implicit_caching ? [[t('cacheBySelf'), t('yes')] as [string, ReactNode]] : []),
    [t('tag'), <code key="tag">{offer.tag}</code>],
  ]
  const facts = (title: string, list: readonly [string, ReactNode][]) => (
    <div className="min-w-0 flex-1 basis-60">
      <p className="pb-1 text-label font-medium text-ink3">{title}</p>
      <dl className="m-0 grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 gap-y-0.5 text-small">
        {list.map(([k, v], i) => [
          <dt key={`${i}k`} className="text-ink2">
            {k}
          </dt>,
          <dd key={`${i}v`} className="m-0 text-right tabular-nums">
            {v}
          </dd>,
        ])}
      </dl>
    </div>
  )
  return (
    <div className="px-5 py-3.5 whitespace-normal max-md:mt-2 max-md:border-t max-md:border-line max-md:px-0">
      <div className="flex flex-wrap gap-x-10 gap-y-3">
        {facts(t('prices'), prices)}
        {facts(t('limits'), limits)}
      </div>
      {provider.supported_parameters.length > 0 && (
        <p className="pt-3 text-small text-ink2">
          <span className="text-label font-medium text-ink3">{t('parameters')}</span>{' '}
          {offer.supported_parameters.map((p) => (
            <code key={p} className="mr-2 inline-block text-label!">
              {p}
            </code>
          ))}
        </p>
      )}
    </div>
  )
}

function Charts({ vendor, name }: { vendor: string; name: string }) {
  const t = useT('model')
  const [span, setSpan] = useState<'24h' | '7d'>('24h')
  return (
    <section className="pt-5" aria-label={t('speedChart')}>
      <div className="flex items-center gap-2 pb-2">
        <span className="text-small text-ink3">
          <Zone />
        </span>
        <span className="flex-1" />
        <Segmented
          small
          label={t('range')}
          value={span}
          onChange={setSpan}
          options={[
            { value: '24h', label: t('range24') },
            { value: '7d', label: t('range7') },
          ]}
        />
      </div>
      <div className="grid gap-4 md:grid-cols-2">
        <OneChart
          vendor={vendor}
          name={name}
          metric="ttft"
          span={span}
          title={t('firstTokenChart')}
          unit={t('firstUnit')}
        />
        <OneChart
          vendor={vendor}
          name={name}
          metric="tps"
          span={span}
          title={t('speedChart')}
          unit={t('speedUnit')}
        />
      </div>
    </section>
  )
}
function OneChart({
  vendor,
  name,
  metric,
  span,
  title,
  unit,
}: {
  vendor: string
  name: string
  metric: 'ttft' | 'tps'
  span: '24h' | '7d'
  title: string
  unit: string
}) {
  const t = useT('model')
  const q = useSeries(`${vendor}/${name}`, span)
  const data = useMemo(() => {
    const known = (q.data?.series ?? [])
      .flatMap((s) => {
        const values = s[metric] ?? []
        return values.some((v) => v !== null) ? [{ ...s, values }] : []
      })
      .slice(0, 6)
    return {
      times: (q.data?.t ?? []).map((x) => Date.parse(x)),
      series: known.map((s) => ({ key: s.provider, label: s.name, values: s.values })),
    }
  }, [q.data, metric])
  const most = Math.max(0, ...data.series.flatMap((s) => s.values.map((v) => v ?? 0)))
  const inMs = metric === 'ttft' && most < 500
  const write = (v: number) =>
    metric === 'ttft'
      ? inMs
        ? number(v, most < 10 ? 1 : 0)
        : number(v / 1000, v < 10_000 ? 2 : 1)
      : number(v)
  const summary = data.series
    .map((s) => {
      const v = s.values.filter((x): x is number => x !== null)
      return t('summary', {
        name: s.label,
        from: write(Math.min(...v)),
        to: write(Math.max(...v)),
        last: write(v.at(-1)!),
      })
    })
    .join('; ')
  return (
    <div className="rounded-panel border border-line bg-surface px-4 pt-3.5 pb-2">
      {q.error && !q.data ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !q.data ? (
        <>
          <p className="text-section">{title}</p>
          <div className="h-[240px]" />
        </>
      ) : data.series.length === 0 ? (
        <>
          <h2 className="text-section">
            {title} <span className="text-small font-normal text-ink3">{unit}</span>
          </h2>
          <div className="grid h-[120px] place-items-center max-md:h-[72px] px-6 text-center text-small text-ink3">
            {t('noSeries')}
          </div>
        </>
      ) : (
        <Chart
          kind="lines"
          title={title}
          unit={inMs ? t('firstUnitMs') : unit}
          summary={summary}
          times={data.times}
          series={data.series}
          format={write}
          form={span === '24h' ? 'minutes' : 'hour'}
          height={190}
          unfinished
        />
      )}
    </div>
  )
}

type VideoModel = Reply<'/v1/videos/models'>['data'][number]
function useVideoModel(id: string, enabled: boolean): VideoModel | undefined {
  return useQuery({
    ...listVideoModels({ quiet: true }),
    staleTime: 300_000,
    enabled,
  }).data?.data.find((x) => x.id === id)
}
function VideoOptions({ of: m }: { of: VideoModel }) {
  const t = useT('model')
  const items: [string, string][] = (
    [
      [t('durations'), m.supported_durations.map((n) => integer(n)).join(', ')],
      [t('resolutions'), m.supported_resolutions.join(', ')],
      [t('ratios'), m.supported_aspect_ratios.join(', ')],
      [t('sizes'), m.supported_sizes.join(', ')],
      [t('frames'), m.supported_frame_images.map((f) => t.or(f, f)).join(', ')],
      [t('sound'), m.generate_audio ? t('yes') : t('no')],
    ] as [string, string][]
  ).filter(([, v]) => v !== '')
  return (
    <Panel title={t('options')} className="mt-4">
      <dl className="m-0 grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
        {items.map(([k, v]) => [
          <dt key={k} className="text-ink2">
            {k}
          </dt>,
          <dd key={`${k}v`} className="m-0">
            {v}
          </dd>,
        ])}
      </dl>
    </Panel>
  )
}

function Code({ kind, id }: { kind: string; id: string }) {
  const t = useT('model')
  const me = useMe()
  const [secret, setSecret] = useState<string | null>(null)
  const [making, setMaking] = useState(false)
  const snippets = useMemo(
    () => snippetsFor(kind, { base: location.origin, model: id, ...(secret ? { key: secret } : {}) }),
    [kind, id, secret],
  )
  return (
    <>
      {secret && (
        <Panel title={t('keyReady')}>
          <Secret value={secret} label={t('keyText')} />
          <p className="flex flex-wrap items-center gap-3 pt-3 text-small text-ink2">
            <span className="min-w-0 flex-1">{t('keyInCode')}</span>
            <Button small onClick={() => setSecret(null)}>
              {t('keyDone')}
            </Button>
          </p>
        </Panel>
      )}
      <CodeTabs
        label={t('code')}
        snippets={snippets}
        foot={
          me?.user && !secret ? (
            <Button small look="quiet" icon="key" className="-my-1 -ml-2" onClick={() => setMaking(true)}>
              {t('makeKey')}
            </Button>
          ) : (
            t('addressFilled')
          )
        }
      />
      {making && (
        <Suspense fallback={null}>
          <MakeKey
            model={id}
            onClose={() => setMaking(false)}
            onMade={(s) => {
              setMaking(false)
              setSecret(s)
            }}
          />
        </Suspense>
      )}
    </>
  )
}
/** What a call costs, at the cheapest and the dearest provider, to the last digit. */
function Calculator({ offers, kind }: { offers: readonly Row[]; kind: string }) {
  const t = useT('model')
  const [n, setN] = useState({ in: '8000', cached: '6000', out: '700', amount: '8' })
  const videoRules = offers.flatMap((o) => o.offer.pricing.video.rules)
  const resolutions = [...new Set(videoRules.map((r) => r.resolution))]
  const [resolution, setResolution] = useState<string | null>(null)
  const [sound, setSound] = useState(true)
  const count = (s: string) => {
    const v = Number(s.replace(/[^\d]/g, ''))
    return Number.isSafeInteger(v) ? Math.min(v, 1_000_000_000) : 0
  }
  const draw = offers.filter((o) => o.share !== null)
  const pool = draw.length ? draw : offers
  const chosen = resolution ?? resolutions[0] ?? ''
  const own = (o: Row): Decimal | null => {
    const b = o.offer.pricing.base as Record<string, string | undefined>
    const video =
      o.offer.pricing.video.rules.find((r) => r.resolution === chosen && r.with_audio === sound) ??
      o.offer.pricing.video.rules.find((r) => r.resolution === chosen) ??
      o.offer.pricing.video.rules[0]
    const one = decimal(
      video?.price_per_second_rub ??
        o.offer.pricing.image_prices.find((i) => i.unit === 'image')?.price_rub ??
        b.image_output ??
        b.audio_per_minute,
    )
    return one && times(one, count(n.amount))
  }
  const priced =
    pool.some((o) => own(o) !== null) &&
    (kind === 'video' || kind === 'image' || kind === 'audio_transcription' || kind === 'transcription')
  const all = range(
    pool.map((o) => (priced ? own(o) : costOf(o.offer, count(n.in), count(n.cached), count(n.out)))),
  )
  if (!all) return null
  const field = (key: 'in' | 'cached' | 'out' | 'amount', label: string) => (
    <Field label={label} className="min-w-0 flex-1">
      <Input
        inputMode="numeric"
        value={n[key] === '' ? '' : integer(count(n[key]))}
        onChange={(e) => setN({ ...n, [key]: e.target.value.replace(/[^\d]/g, '') })}
      />
    </Field>
  )
  const embed = kind === 'embedding' || kind === 'rerank' || kind === 'moderation'
  return (
    <Panel title={t('whatCost')}>
      <div className="flex items-end gap-2">
        {priced ? (
          <>
            {field('amount', kind === 'video' ? t('seconds') : kind === 'image' ? t('images') : t('minutes'))}
            {resolutions.length > 1 && (
              <Field label={t('resolution')}>
                <Select
                  value={chosen}
                  onChange={(e) => setResolution(e.target.value)}
                  options={resolutions.map((r) => ({ value: r, label: r || t('any') }))}
                />
              </Field>
            )}
          </>
        ) : embed ? (
          field('in', t('tokensIn'))
        ) : (
          <>
            {field('in', t('tokensIn'))}
            {field('cached', t('ofThemCached'))}
            {field('out', t('tokensOut'))}
          </>
        )}
      </div>
      {priced && videoRules.some((r) => r.with_audio) && videoRules.some((r) => !r.with_audio) && (
        <Checkbox checked={sound} onChange={setSound} className="mt-2">
          {t('withSound')}
        </Checkbox>
      )}
      <p className="flex flex-wrap items-baseline gap-x-2 pt-3" aria-live="polite">
        <output className="text-title tabular-nums" title={money(plain(all.from), { exact: true })}>
          {money(plain(all.from))}
        </output>
        <span className="text-small text-ink2">
          {priced ? (
            t('total')
          ) : (
            <>
              {t('aCall')} · {t('perThousand', { amount: money(plain(times(all.from, 1000))) })}
            </>
          )}
        </span>
      </p>
      {plain(all.to) !== plain(all.from) && (
        <p className="pt-0.5 text-small text-ink3">{t('upTo', { amount: money(plain(all.to)) })}</p>
      )}
    </Panel>
  )
}
