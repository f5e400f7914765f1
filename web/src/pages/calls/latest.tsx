/** The last calls, of an account or of one of its keys. */
import { seconds, tokens } from '../../format'
import { useT } from '../../i18n'
import { Empty } from '../../ui/feedback'
import { Link, useGo } from '../../ui/link'
import { Tag } from '../../ui/marks'
import type { Column } from '../../ui/columns'
import { Table } from '../../ui/table'
import { Money, Tokens, When } from '../../ui/values'
import { resultOf, type CallRow } from './data'

/** `ofKey`: calls of one key, which is not named again. */
export function LatestCalls({
  caption,
  rows,
  ofKey,
  error,
  onRetry,
}: {
  caption: string
  rows: readonly CallRow[] | undefined
  ofKey?: boolean
  error?: unknown
  onRetry?: () => void
}) {
  const t = useT('calls')
  const go = useGo()
  const result = (r: CallRow) => {
    const x = resultOf(t, r)
    return <Tag tone={x.tone}>{x.text}</Tag>
  }
  const columns: Column<CallRow>[] = [
    {
      key: 'at',
      head: t('at'),
      cell: (r) => (
        <Link to={`/calls/${r.id}`} className="text-ink tabular-nums no-underline hover:underline">
          <When at={r.created_at} />
        </Link>
      ),
    },
    {
      key: 'model',
      head: t('model'),
      cell: (r) => (
        <span translate="no" className="break-words">
          {r.model ?? r.model_asked}
        </span>
      ),
    },
    ...(ofKey
      ? []
      : [
          {
            key: 'key',
            head: t('key'),
            from: 'lg',
            cell: (r: CallRow) => (
              <span translate="no" className="block max-w-[180px] truncate text-ink2">
                {r.key?.name ?? '—'}
              </span>
            ),
          } as const,
        ]),
    {
      key: 'tokens',
      head: t('tokens'),
      align: 'end',
      cell: (r) => (
        <>
          <Tokens value={r.prompt_tokens} /> · <Tokens value={r.completion_tokens} />
        </>
      ),
    },
    {
      key: 'first',
      head: t('first'),
      align: 'end',
      from: 'lg',
      cell: (r) => `${seconds(r.first_token_ms)} · ${seconds(r.duration_ms)}`,
    },
    { key: 'cost', head: t('costHead'), align: 'end', cell: (r) => <Money value={r.cost} sign={false} /> },
    { key: 'result', head: t('result'), align: 'end', cell: result },
  ]
  return (
    <Table
      caption={caption}
      rows={rows}
      rowKey={(r) => r.id}
      main
      onOpen={(r) => go(`/calls/${r.id}`)}
      error={error}
      {...(onRetry ? { onRetry } : {})}
      empty={<Empty title={t('empty')}>{t('emptyText')}</Empty>}
      columns={columns}
      phone={(r) => <PhoneCall r={r} />}
    />
  )
}

/** A call on the phone: model and cost, then the rest. */
export function PhoneCall({ r }: { r: CallRow }) {
  const t = useT('calls')
  const x = resultOf(t, r)
  return (
    <Link to={`/calls/${r.id}`} className="block text-ink no-underline">
      <span className="flex gap-2">
        <span translate="no" className="min-w-0 flex-1 truncate font-medium">
          {r.model ?? r.model_asked}
        </span>
        <Money value={r.cost} />
      </span>
      <span className="flex items-center gap-2 pt-0.5 text-small text-ink3">
        <span className="min-w-0 flex-1">
          <When at={r.created_at} form="row" />
          {` · ${tokens(r.prompt_tokens)} → ${tokens(r.completion_tokens)}`}
        </span>
        <Tag tone={x.tone}>{x.text}</Tag>
      </span>
    </Link>
  )
}
