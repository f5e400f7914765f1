/** What a provider sells, a new model of it, and the first call. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { post } from '../../api/client'
import { listAdminEndpoints } from '../../api/operations'
import { availableQuery, queries, useMe } from '../../api/query'
import { compare, decimal, perToken, ZERO } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Link, LinkButton } from '../../ui/link'
import { Dialog } from '../../ui/overlay'
import { Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast, toastError } from '../../ui/toast'
import { Price, When } from '../../ui/values'
import { amount, endpointPage, renewAll, type Endpoint } from './provider-data'
import type { Provider } from './providers'
import { TakeOut, useReturn } from './take-out'

export function Models({ p, may, tried }: { p: Provider; may: boolean; tried: boolean }) {
  const t = useT('providers')
  const { data, error, refetch } = useQuery(listAdminEndpoints({ query: { provider: p.id, limit: 200 } }))
  const at = useT('endpoints')
  const [adding, setAdding] = useState(false)
  const [taking, setTaking] = useState<string | null>(null)
  const price = (e: Endpoint, name: string) => perToken(e.pricing.base[name])
  return (
    <>
      <Panel
        title={t('models')}
        note={p.asked && <Asked asked={p.asked} />}
        flush
        actions={
          <>
            {may && p.origin === 'database' && (
              <Button small icon="plus" onClick={() => setAdding(true)}>
                {t('addModel')}
              </Button>
            )}
          </>
        }
      >
        {p.asked && (p.asked.problem !== null || p.asked.notes.length > 0) && (
          <div className="px-4 pb-3">
            <Notice tone="warn">
              {p.asked.problem !== null && (
                <>
                  {p.asked.answered_at === null ? t('askedSilent') : t('askedFails', { n: p.asked.named })}{' '}
                  <span translate="no">{p.asked.problem}</span>
                </>
              )}
              {p.asked.notes.map((note) => (
                <span key={note} className="block" translate="no">
                  {note}
                </span>
              ))}
            </Notice>
          </div>
        )}
        {!data && !error ? (
          <SkeletonRows rows={4} />
        ) : (
          <Table<Endpoint>
            main
            caption={t('models')}
            rows={data?.data}
            rowKey={(e) => e.id}
            error={error}
            onRetry={() => void refetch()}
            empty={<Empty title={t('noModels')}>{t('noModelsText')}</Empty>}
            columns={[
              {
                key: 'model',
                head: t('model'),
                cell: (e) => (
                  <Link to={endpointPage(e.id)} className="text-ink no-underline hover:underline">
                    <span translate="no" className="wrap-anywhere">
                      {e.model}
                    </span>
                  </Link>
                ),
              },
              {
                key: 'source',
                head: t('youPay'),
                from: 'lg',
                cell: (e) => (
                  <span className="text-small text-ink3">
                    {/^[\w.]+=/.test(e.pricing.source ?? '') ? (
                      t('setHere')
                    ) : (
                      <span translate="no">{e.pricing.source}</span>
                    )}
                  </span>
                ),
              },
              {
                key: 'in',
                head: t('inPrice'),
                align: 'end',
                cell: (e) => <Price bare value={price(e, 'prompt')} />,
              },
              {
                key: 'out',
                head: t('outPrice'),
                align: 'end',
                cell: (e) => <Price bare value={price(e, 'completion')} />,
              },
              {
                key: 'act',
                head: '',
                name: at('act'),
                align: 'end',
                cell: (e) => <Service e={e} onTake={setTaking} />,
              },
            ]}
          />
        )}
      </Panel>
      {p.models > 0 && <FirstCall tried={tried} />}
      {taking !== null && (
        <TakeOut
          target={`model:${p.id}/${taking}`}
          name={at('modelAt', { model: taking, provider: p.name })}
          onClose={() => setTaking(null)}
        />
      )}
      {adding && <NewModel p={p} onClose={() => setAdding(false)} />}
    </>
  )
}

/** When its server was asked which models it has, and what it is. */
function Asked({ asked }: { asked: NonNullable<Provider['asked']> }) {
  const t = useT('providers')
  if (asked.answered_at === null) return t('askedNever')
  return (
    <>
      {asked.server !== null && asked.server !== 'other' ? (
        <span translate="no">{asked.server}</span>
      ) : (
        t('askedServer')
      )}{' '}
      {t('askedNamed', { n: asked.named })} <When at={asked.answered_at} />
    </>
  )
}

/** Takes one model out of service at this provider, with all endpoints that it has here, or returns it. */
function Service({ e, onTake }: { e: Endpoint; onTake: (model: string) => void }) {
  const t = useT('endpoints')
  const target = `model:${e.provider}/${e.model}`
  const back = useReturn(e.model)
  if (e.absence?.target === target)
    return (
      <Button
        small
        busy={back.busy}
        aria-label={t('returnOf', { id: e.model })}
        onClick={() => back.run(target)}
      >
        {t('return')}
      </Button>
    )
  if (!e.on || e.absence) return null
  return (
    <Button small look="quiet" aria-label={t('takeOutOf', { id: e.model })} onClick={() => onTake(e.model)}>
      {t('takeOut')}
    </Button>
  )
}

/** The playground, and something to pay with. */
function FirstCall({ tried }: { tried: boolean }) {
  const t = useT('providers')
  const me = useMe()
  const { data: available } = useQuery(availableQuery)
  const empty = available !== undefined && available !== null && compare(decimal(available)!, ZERO) <= 0
  const fill = useAction(
    async () => {
      await post('/api/admin/adjustments', {
        body: {
          user: me!.user!.id,
          amount: '100',
          reason: t('fillReason'),
          reference: `first-call-${me!.user!.id}`,
        },
      })
      await queries.invalidateQueries({ queryKey: availableQuery.queryKey })
      toast(t('filled'))
    },
    { failed: toastError },
  )
  return (
    <div className="flex flex-wrap gap-2">
      <LinkButton to="/playground" look={tried ? 'main' : 'plain'} icon="play">
        {t('firstCall')}
      </LinkButton>
      {empty && me?.user?.role === 'administrator' && (
        <Button busy={fill.busy} onClick={() => fill.run()}>
          {t('fill')}
        </Button>
      )}
    </div>
  )
}

function NewModel({ p, onClose }: { p: Provider; onClose: () => void }) {
  const t = useT('providers')
  const c = useT('common')
  const [v, set] = useState({ model: '', upstream_id: '', prompt: '', completion: '', context: '' })
  const save = useAction(async () => {
    await post('/api/admin/endpoints', {
      body: {
        provider: p.id,
        model: v.model.trim(),
        ...(v.upstream_id.trim() ? { upstream_id: v.upstream_id.trim() } : {}),
        context_length: Number(v.context),
        prices: { prompt: amount(v.prompt), completion: amount(v.completion) },
      },
    })
    await renewAll()
    toast(t('added', { what: v.model.trim() }))
    onClose()
  })
  const input = (name: keyof typeof v, mode?: 'decimal' | 'numeric') => (
    <Input
      value={v[name]}
      onChange={(e) => set({ ...v, [name]: e.target.value })}
      inputMode={mode}
      autoComplete="off"
      spellCheck={false}
    />
  )
  const error = save.except('model', 'upstream_id', 'context_length', 'prices.prompt', 'prices.completion')
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('addModel')}
      footer={
        <>
          <Button look="main" type="submit" form="new-model" busy={save.busy}>
            {t('add')}
          </Button>
          <Button onClick={onClose}>{c('cancel')}</Button>
        </>
      }
    >
      <form id="new-model" onSubmit={save.submit} noValidate className="flex flex-col gap-4">
        <Field label={t('modelId')} help={t('modelIdHelp')} error={save.at('model')}>
          {input('model')}
        </Field>
        <Field label={t('upstreamId')} error={save.at('upstream_id')} optional>
          {input('upstream_id')}
        </Field>
        <Field label={t('contextLength')} error={save.at('context_length')}>
          {input('context', 'numeric')}
        </Field>
        <Field label={t('promptPrice')} error={save.at('prices.prompt')}>
          {input('prompt', 'decimal')}
        </Field>
        <Field label={t('completionPrice')} error={save.at('prices.completion')}>
          {input('completion', 'decimal')}
        </Field>
        {error !== null && <ErrorBox error={error} />}
      </form>
    </Dialog>
  )
}
