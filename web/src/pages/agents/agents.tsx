/** /agents: the trees of keys that keys have made, and what each has spent. */
import { useQuery } from '@tanstack/react-query'
import { ApiError } from '../../api/client'
import { useRenewed } from '../../api/live'
import { listAgents } from '../../api/operations'
import { useT } from '../../i18n'
import { Code } from '../../ui/code'
import { Empty, Notice } from '../../ui/feedback'
import { Link, useGo } from '../../ui/link'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { Money, When } from '../../ui/values'
import { spentOf, StateTag, Used, type Agent } from './data'

const snippet = () => `curl ${location.origin}/v1/keys/child \\
  -H "Authorization: Bearer $WEIR_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "planner", "amount": "5", "depth": 1}'`

export default function AgentsPage() {
  const t = useT('agents')
  const go = useGo()
  const { data, error, refetch } = useQuery(listAgents())
  useRenewed(['keys', 'calls'], [listAgents], { every: 5_000 })
  const named = (a: Agent) => (
    <span className="flex min-w-0 flex-wrap items-center gap-2">
      <Link to={`/agents/${a.hash}`} className="font-medium break-all text-ink no-underline hover:underline">
        <span translate="no">{a.name}</span>
      </Link>
      <StateTag a={a} />
    </span>
  )
  if (error instanceof ApiError && error.status === 403 && !data)
    return (
      <Page width="text">
        <PageHead title={t('title')} />
        <Notice title={t('refused')}>{t('refusedText')}</Notice>
      </Page>
    )
  return (
    <Page>
      <PageHead title={t('title')} note={t('note')} />
      {data?.data.length === 0 ? (
        <Panel>
          <Empty icon="tree" title={t('empty')}>
            {t('emptyText')}
          </Empty>
          <Code code={snippet()} language="shell" label="curl" />
        </Panel>
      ) : (
        <Panel
          flush
          {...(data
            ? {
                note:
                  data.data.length < data.most
                    ? t('rows', { n: data.data.length })
                    : t('most', { n: data.most }),
              }
            : {})}
        >
          <Table<Agent>
            main
            caption={t('title')}
            rows={data?.data}
            rowKey={(a) => a.id}
            error={error}
            onRetry={() => void refetch()}
            onOpen={(a) => go(`/agents/${a.hash}`)}
            columns={[
              { key: 'agent', head: t('agent'), cell: named },
              {
                key: 'used',
                head: '',
                name: t('spent'),
                width: '120px',
                from: 'lg',
                cell: (a) => <Used a={a} />,
              },
              { key: 'amount', head: t('amount'), align: 'end', cell: (a) => <Money value={a.amount} /> },
              { key: 'spent', head: t('spent'), align: 'end', cell: (a) => <Money value={spentOf(a)} /> },
              {
                key: 'held',
                head: t('held'),
                align: 'end',
                from: 'lg',
                cell: (a) => <Money value={a.held} className="text-hold" />,
              },
              { key: 'left', head: t('left'), align: 'end', cell: (a) => <Money value={a.left} /> },
              {
                key: 'deadline',
                head: t('deadline'),
                from: 'lg',
                cell: (a) =>
                  a.deadline ? (
                    <When at={a.deadline} form="full" />
                  ) : (
                    <span className="text-ink3">{t('none')}</span>
                  ),
              },
              { key: 'made', head: t('made'), cell: (a) => <When at={a.created_at} /> },
            ]}
            phone={(a) => (
              <div className="flex flex-col gap-1.5">
                {named(a)}
                <Used a={a} />
                <span className="flex flex-wrap gap-x-3 text-small text-ink2">
                  <span>
                    {t('spent')} <Money value={spentOf(a)} />
                  </span>
                  <span>
                    {t('left')} <Money value={a.left} />
                  </span>
                </span>
              </div>
            )}
          />
        </Panel>
      )}
    </Page>
  )
}
