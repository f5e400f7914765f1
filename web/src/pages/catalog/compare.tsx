import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import type { Reply } from '../../api/client'
import { useMe } from '../../api/query'
import { getUsage } from '../../api/operations'
import {
  compare as order,
  context,
  date,
  decimal,
  integer,
  money,
  number,
  percent,
  perToken,
  price,
  seconds,
  tokens,
  unitName,
  NONE,
} from '../../format'
import { useT } from '../../i18n'
import { hasPage } from '../../routes/paths'
import { Copy } from '../../ui/copy'
import { Switch } from '../../ui/controls'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { IconButton } from '../../ui/button'
import { Icon } from '../../ui/icons'
import { Link, LinkButton, usePageSearch, type SearchShape } from '../../ui/link'
import { Page, PageHead } from '../../ui/page'
import { VendorMark } from '../../ui/vendor'
import { together } from '../../trying'
import { ModelPicker } from './choose'
import { useCatalog } from './data'
import { cans, monthAt, type Model } from './filter'
import { Policy } from './parts'

interface State {
  m: readonly string[]
  different: boolean
}
const shape: SearchShape<State> = {
  read: (raw) => ({
    m: [...new Set((raw.m ?? '').split(',').filter(Boolean))].slice(0, 4),
    different: raw.diff === '1',
  }),
  write: (s) => ({ m: s.m.join(), diff: s.different ? '1' : undefined }),
}
interface Row {
  readonly key: string
  readonly label: string
  readonly cells: readonly { text: string; show?: ReactNode; best?: boolean }[]
}

/** Decide between up to four. */
export default function Compare() {
  const t = useT('catalog')
  const [state, change] = usePageSearch(shape)
  const { prepared, error, refetch } = useCatalog()
  const [, again] = useState(0)
  const chosen = prepared ? state.m.flatMap((id) => prepared.models.get(id) ?? []) : []
  const place = together(chosen)
  const me = useMe()
  const month = useQuery({
    ...getUsage({ query: { group: 'model', bucket: 'day', limit: 1, figures: true }, quiet: true }),
    enabled: Boolean(me?.user),
    staleTime: 300_000,
    retry: false,
  }).data?.data.figures
  const groups = prepared
    ? rowsOf(chosen, t, prepared.providers, month && month.tokens_in + month.tokens_out > 0 ? month : null)
    : []
  const differs = (r: Row) => new Set(r.cells.map((c) => c.text)).size > 1
  const shown = groups
    .map((g) => ({ ...g, rows: g.rows.filter((r) => !state.different || differs(r)) }))
    .filter((g) => g.rows.length > 0)
  const markdown = () =>
    [
      `| | ${chosen.map((m) => `${m.name} \`${m.id}\``).join(' | ')} |`,
      `|---|${chosen.map(() => '---|').join('')}`,
      ...shown.flatMap((g) =>
        g.rows.map(
          (r) => `| ${r.label} | ${r.cells.map((c) => c.text.replaceAll('|', '\\|')).join(' | ')} |`,
        ),
      ),
    ].join('\n')
  return (
    <Page>
      <PageHead
        title={t('compareTitle')}
        crumbs={[{ label: t('title'), to: '/models' }, { label: t('compareTitle') }]}
      >
        {chosen.length > 1 && (
          <Switch checked={state.different} onChange={(different) => change({ different })}>
            {t('differences')}
          </Switch>
        )}
        {chosen.length > 0 && (
          <Copy text={markdown()} small={false}>
            {t('copyMarkdown')}
          </Copy>
        )}
        {place && hasPage(place.to) && (
          <LinkButton to={place.to} search={place.search} look="main" icon="play">
            {t('tryThem')}
          </LinkButton>
        )}
      </PageHead>
      {error && !prepared ? (
        <ErrorBox
          error={error}
          onRetry={() => {
            again((n) => n + 1)
            void refetch()
          }}
        />
      ) : !prepared ? (
        <SkeletonRows rows={12} />
      ) : chosen.length === 0 ? (
        <Empty
          icon="box"
          title={t('compareEmpty')}
          action={
            <LinkButton to="/models" look="main">
              {t('toCatalog')}
            </LinkButton>
          }
        />
      ) : (
        <div
          className="overflow-x-auto rounded-panel border border-line bg-surface"
          tabIndex={0}
          role="region"
          aria-label={t('compareTitle')}
        >
          <table className="w-full table-fixed" style={{ minWidth: `${108 + chosen.length * 128}px` }}>
            <caption className="sr-only">{t('compareTitle')}</caption>
            <colgroup>
              <col className="w-[108px] md:w-[200px]" />
              {chosen.map((m) => (
                <col key={m.id} />
              ))}
            </colgroup>
            <thead>
              <tr>
                <td className="sticky left-0 z-10 border-b border-line bg-surface px-4 align-bottom">
                  {chosen.length < 4 && (
                    <div className="-mx-2 pb-3">
                      <ModelPicker
                        quiet
                        value=""
                        label={t('addModel')}
                        shown={t('addModel')}
                        fits={(m) => !state.m.includes(m.id)}
                        onChange={(id) => change({ m: [...state.m, id] })}
                      />
                    </div>
                  )}
                </td>
                {chosen.map((m) => (
                  <th
                    key={m.id}
                    scope="col"
                    className="border-b border-line px-4 py-3.5 text-left align-top max-md:px-2.5 font-normal"
                  >
                    <span className="flex items-start gap-2.5">
                      <span className="max-md:hidden">
                        <VendorMark vendor={m.vendor} size={32} />
                      </span>
                      <span className="min-w-0 flex-1">
                        <Link
                          to={`/models/${m.id}`}
                          translate="no"
                          className="block font-semibold text-ink no-underline hover:underline"
                        >
                          {m.name}
                        </Link>
                        <code className="block text-label! break-words text-ink3">{m.id}</code>
                      </span>
                      <IconButton
                        icon="x"
                        small
                        label={t('takeAway', { name: m.name })}
                        onClick={() => change({ m: state.m.filter((id) => id !== m.id) })}
                      />
                    </span>
                  </th>
                ))}
              </tr>
            </thead>
            {shown.map((g) => (
              <tbody key={g.title}>
                <tr>
                  <th
                    colSpan={chosen.length + 1}
                    scope="colgroup"
                    className="border-b border-line bg-canvas px-4 pt-4 pb-1.5 text-left text-label font-medium text-ink3"
                  >
                    {g.title}
                  </th>
                </tr>
                {g.rows.map((r) => (
                  <tr key={r.key} className="border-b border-line last:border-b-0">
                    <th
                      scope="row"
                      className="sticky left-0 z-10 bg-surface px-4 py-2.5 text-left align-top max-md:px-2.5 font-normal text-ink2"
                    >
                      <span className="flex items-center gap-1.5">
                        {r.label}
                        {chosen.length > 1 && differs(r) && (
                          <span
                            className="size-1.5 flex-none rounded-full bg-accent"
                            role="img"
                            aria-label={t('unlike')}
                            title={t('unlike')}
                          />
                        )}
                      </span>
                    </th>
                    {r.cells.map((c, i) => (
                      <td
                        key={i}
                        className={`px-4 py-2.5 align-top tabular-nums max-md:px-2.5 ${c.best ? 'font-semibold' : ''}`}
                      >
                        {c.show ?? c.text}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            ))}
          </table>
        </div>
      )}
    </Page>
  )
}

type Month = NonNullable<Reply<'/api/usage'>['data']['figures']>

function rowsOf(
  models: readonly Model[],
  t: ReturnType<typeof useT<'catalog'>>,
  providers: ReadonlyMap<string, string>,
  month: Month | null,
): { title: string; rows: Row[] }[] {
  const best = (values: readonly (number | null)[], want: 'least' | 'most') => {
    const known = values.filter((v): v is number => v !== null)
    if (known.length < 2 || new Set(known).size < 2) return values.map(() => false)
    const top = want === 'least' ? Math.min(...known) : Math.max(...known)
    return values.map((v) => v === top)
  }
  const money1 = (key: string, label: string, of: (m: Model) => string | null): Row => {
    const values = models.map(of)
    const known = values.flatMap((v) => decimal(v) ?? [])
    const least = known.length > 1 ? known.reduce((a, b) => (order(b, a) < 0 ? b : a)) : null
    return {
      key,
      label,
      cells: values.map((v) => ({
        text: v === null ? NONE : price(perToken(v), '1M', { bare: true }),
        best:
          least !== null &&
          known.some((k) => order(k, least) !== 0) &&
          v !== null &&
          order(decimal(v)!, least) === 0,
      })),
    }
  }
  const mine = (u: Month): Row => {
    const costs = models.map((m) => monthAt(m, u))
    const known = costs.flatMap((v) => decimal(v) ?? [])
    const least = known.length > 1 ? known.reduce((a, b) => (order(b, a) < 0 ? b : a)) : null
    return {
      key: 'mine',
      label: t('mine'),
      cells: costs.map((v) => ({
        text: v === null ? NONE : money(v, { about: true }),
        best:
          least !== null &&
          known.some((k) => order(k, least) !== 0) &&
          v !== null &&
          order(decimal(v)!, least) === 0,
      })),
    }
  }
  const measured = (
    key: string,
    label: string,
    of: (m: Model) => number | null,
    write: (n: number) => string,
    want: 'least' | 'most',
  ): Row => {
    const values = models.map(of)
    const tops = best(values, want)
    return {
      key,
      label,
      cells: values.map((v, i) => ({ text: v === null ? NONE : write(v), best: tops[i]! })),
    }
  }
  const mean = (m: Model) => {
    const k = m.uptime?.filter((v): v is number => v !== null) ?? []
    return k.length ? k.reduce((a, b) => a + b, 0) / k.length : null
  }
  const words = (key: string, label: string, of: (m: Model) => string): Row => ({
    key,
    label,
    cells: models.map((m) => ({ text: of(m) || NONE })),
  })
  const tick = (on: boolean) => ({
    text: on ? t('yes') : NONE,
    show: on ? (
      <Icon name="check" label={t('yes')} className="text-good" />
    ) : (
      <span className="text-ink3">{NONE}</span>
    ),
  })
  return [
    {
      title: t('groupPrice', { unit: unitName('1M') }),
      rows: [
        ...(month ? [mine(month)] : []),
        money1('in', t('input'), (m) => m.in),
        money1('out', t('output'), (m) => m.out),
        money1('cached', t('cached'), (m) => m.cached),
        ...(models.some((m) => m.each !== undefined)
          ? [
              words('each', t('own'), (m) =>
                m.each === undefined ? '' : `${money(m.each)} ${t.or(`per_${m.unit ?? ''}`, m.unit ?? '')}`,
              ),
            ]
          : []),
      ],
    },
    {
      title: t('groupLimits'),
      rows: [
        measured('ctx', t('context'), (m) => m.ctx, context, 'most'),
        measured('max', t('longest'), (m) => m.max ?? null, tokens, 'most'),
      ],
    },
    {
      title: t('groupCan'),
      rows: [
        ...cans
          .filter((c) => models.some((m) => able(m, c)))
          .map((c): Row => ({ key: c, label: t(`can_${c}`), cells: models.map((m) => tick(able(m, c))) })),
        words('outs', t('gives'), (m) => m.outs.map((o) => t.or(`makes_${o}`, o)).join(', ')),
      ],
    },
    {
      title: t('groupData'),
      rows: [
        {
          key: 'policy',
          label: t('dataPolicy'),
          cells: models.map((m) => ({
            text: t.or(`tag_${m.policy}`, m.policy),
            show: <Policy value={m.policy} />,
          })),
        },
      ],
    },
    {
      title: t('groupSpeed'),
      rows: [
        measured('p50', t('firstToken'), (m) => m.p50, seconds, 'least'),
        measured(
          'tps',
          t('speed'),
          (m) => m.tps,
          (n) => number(n),
          'most',
        ),
        measured('uptime', t('uptimePct'), mean, (n) => percent(n), 'most'),
      ],
    },
    {
      title: t('groupProviders'),
      rows: [
        measured('n', t('providers'), (m) => m.providers.length, integer, 'most'),
        words('names', t('provider'), (m) => m.providers.map((p) => providers.get(p) ?? p).join(', ')),
        words('created', t('released'), (m) => (m.created ? date(m.created) : '')),
      ],
    },
  ]
}
function able(m: Model, c: string): boolean {
  return c.endsWith('-in') ? m.ins.includes(c.slice(0, -3)) : m.caps.includes(c)
}
