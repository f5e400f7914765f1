/** /admin/order: who serves a model first for everybody, and which other names models answer to. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { remove, type Reply } from '../../api/client'
import { listAliases, listOrders } from '../../api/operations'
import { renew, useMe } from '../../api/query'
import { integer } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Tag } from '../../ui/marks'
import { Confirm } from '../../ui/overlay'
import { Page, PageHead, Panel, SectionHead } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast } from '../../ui/toast'
import { NewName, OrderOf } from './order-edit'

type Order = Reply<'/api/admin/orders'>['data'][number]
type Alias = Reply<'/api/admin/aliases'>['data'][number]

export default function OrderAndNames() {
  const t = useT('adminorder')
  const may = useMe()?.user?.role === 'administrator'
  return (
    <Page>
      <PageHead title={t('title')} note={t('note')} />
      <section className="pb-6">
        <Orders may={may} />
      </section>
      <Names may={may} />
    </Page>
  )
}

function Orders({ may }: { may: boolean }) {
  const t = useT('adminorder')
  const q = useQuery(listOrders())
  const [model, setModel] = useState('')
  const [shown, setShown] = useState<string | null>(null)
  const change = (o: Order) => (
    <Button small onClick={() => setShown(o.model)} aria-label={t('changeOf', { model: o.model })}>
      {may ? t('change') : t('show')}
    </Button>
  )
  return (
    <>
      <SectionHead title={t('orders')} />
      <form
        className="flex flex-wrap items-end gap-2 pb-3"
        onSubmit={(e) => {
          e.preventDefault()
          if (model.trim()) setShown(model.trim())
        }}
      >
        <Field label={t('model')} className="min-w-0 flex-1 sm:max-w-[320px]">
          <Input
            value={model}
            onChange={(e) => setModel(e.target.value)}
            placeholder={t('modelHint')}
            autoComplete="off"
            spellCheck={false}
          />
        </Field>
        <Button type="submit">{t('show')}</Button>
      </form>
      <Panel flush>
        <Table<Order>
          main
          caption={t('orders')}
          rows={q.data?.data}
          rowKey={(o) => o.model}
          error={q.error}
          onRetry={() => void q.refetch()}
          empty={
            <Empty icon="sliders" title={t('none')}>
              {t('noneText')}
            </Empty>
          }
          columns={[
            { key: 'model', head: t('model'), cell: (o) => <Code text={o.model} /> },
            { key: 'endpoints', head: t('endpoints'), cell: (o) => <Listed o={o} /> },
            { key: 'act', head: '', name: t('change'), align: 'end', cell: change },
          ]}
          phone={(o) => (
            <div className="flex items-start gap-2">
              <span className="min-w-0 flex-1">
                <Code text={o.model} />
                <Listed o={o} />
              </span>
              {change(o)}
            </div>
          )}
        />
      </Panel>
      {shown !== null && <OrderOf model={shown} may={may} onClose={() => setShown(null)} />}
    </>
  )
}

function Code({ text }: { text: string }) {
  return (
    <code translate="no" className="break-all">
      {text}
    </code>
  )
}

/** The endpoints that have a place or a weight, in their order. */
function Listed({ o }: { o: Order }) {
  const t = useT('adminorder')
  return (
    <ol className="text-small text-ink2">
      {o.endpoints
        .filter((e) => e.place > 0 || e.weight > 0)
        .map((e) => (
          <li key={e.id} className="break-all">
            <span translate="no">{e.id}</span>
            {e.place > 0 && ` · ${t('place')} ${integer(e.place)}`}
            {e.weight > 0 && ` · ${t('weight')} ${integer(e.weight)}`}
          </li>
        ))}
    </ol>
  )
}

function Names({ may }: { may: boolean }) {
  const t = useT('adminorder')
  const q = useQuery(listAliases())
  const [adding, setAdding] = useState(false)
  const [going, setGoing] = useState<Alias | null>(null)
  const drop = useAction(async (a: Alias) => {
    await remove('/api/admin/aliases/{id}', { path: { id: a.id } })
    await renew(listAliases)
    setGoing(null)
    toast(t('removed'))
  })
  const act = (a: Alias) =>
    may && (
      <Button small onClick={() => setGoing(a)}>
        {t('remove')}
      </Button>
    )
  const unused = (a: Alias) =>
    !a.on && (
      <span title={t('unusedWhy')}>
        <Tag tone="warn">{t('unused')}</Tag>
      </span>
    )
  return (
    <>
      <SectionHead title={t('names')}>
        {may && (
          <Button small icon="plus" onClick={() => setAdding(true)}>
            {t('add')}
          </Button>
        )}
      </SectionHead>
      <Panel flush>
        <Table<Alias>
          caption={t('names')}
          rows={q.data?.data}
          rowKey={(a) => a.id}
          error={q.error}
          onRetry={() => void q.refetch()}
          empty={
            <Empty icon="link" title={t('noNames')}>
              {t('noNamesText')}
            </Empty>
          }
          columns={[
            { key: 'name', head: t('name'), cell: (a) => <Code text={a.id} /> },
            {
              key: 'model',
              head: t('answers'),
              cell: (a) => (
                <>
                  <Code text={a.model} /> {unused(a)}
                </>
              ),
            },
            { key: 'act', head: '', name: t('remove'), align: 'end', cell: act },
          ]}
          phone={(a) => (
            <div className="flex items-start gap-2">
              <span className="min-w-0 flex-1">
                <Code text={a.id} />
                <span className="block text-small text-ink3">
                  <Code text={a.model} /> {unused(a)}
                </span>
              </span>
              {act(a)}
            </div>
          )}
        />
      </Panel>
      {adding && <NewName onClose={() => setAdding(false)} />}
      <Confirm
        open={going !== null}
        onOpenChange={(o) => {
          if (o) return
          drop.clear()
          setGoing(null)
        }}
        title={going && t('removeTitle', { name: going.id })}
        verb={t('remove')}
        busy={drop.busy}
        onConfirm={() => going && drop.run(going)}
        fields={drop.error !== null && <ErrorBox error={drop.error} />}
      >
        {going && t('removeText', { name: going.id })}
      </Confirm>
    </>
  )
}
