import { useQuery } from '@tanstack/react-query'
import { get } from '../../api/client'
import { context } from '../../format'
import { useT } from '../../i18n'
import { Page, PageHead } from '../../ui/page'
import { Table } from '../../ui/table'
import { Price } from '../../ui/values'

export default function Catalog() {
  const t = useT('catalog')
  const { data, error, refetch } = useQuery({ queryKey: ['models'], queryFn: ({ signal }) => get('/v1/models', { signal }) })
  return (
    <Page>
      <PageHead title={t('title')} />
      <Table caption={t('title')} rows={data?.data} rowKey={(m) => m.id} error={error} onRetry={() => void refetch()} main
        columns={[
          { key: 'name', head: t('title'), cell: (m) => <span className="block py-1"><span className="block font-medium">{m.name}</span><code className="text-ink3">{m.id}</code></span> },
          { key: 'context', head: t('context'), align: 'end', cell: (m) => context(m.context_length) },
          { key: 'in', head: t('input'), align: 'end', cell: (m) => <Price value={m.pricing.prompt} bare /> },
          { key: 'out', head: t('output'), align: 'end', cell: (m) => <Price value={m.pricing.completion} bare /> },
        ]} />
    </Page>
  )
}
