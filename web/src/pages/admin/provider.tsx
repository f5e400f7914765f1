/** One provider: its key, whether it works, and what it sells. */
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useAction } from '../../api/action'
import { patch, post, remove, type Reply } from '../../api/client'

import {
  getAdminCatalog,
  getAdminProvider,
  listAdminEndpoints,
  listAdminProviders,
} from '../../api/operations'
import { availableQuery, queries, renew, useMe } from '../../api/query'
import {
  add,
  compare,
  decimal,
  duration,
  multiply,
  perToken,
  percent,
  plain,
  round,
  ZERO,
} from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox, Notice, Skeleton, SkeletonRows } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { LinkButton } from '../../ui/link'
import { State } from '../../ui/marks'
import { Confirm, Dialog } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { Table } from '../../ui/table'
import { toast, toastError } from '../../ui/toast'
import { Price } from '../../ui/values'
import { keyOf, stateOf, type Provider } from './providers'

type Endpoint = Reply<'/api/admin/endpoints'>['data'][number]
type Test = Reply<'/api/admin/providers/{id}/test', 'post'>['data'][number]

/** What a change of a provider makes old. */
const renewAll = () => renew(listAdminProviders, getAdminProvider, listAdminEndpoints, getAdminCatalog)

export default function ProviderPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const t = useT('providers')
  const { data, error, refetch } = useQuery(getAdminProvider({ path: { id } }))
  const crumbs = [{ label: t('title'), to: '/admin/providers' }]
  if (!data)
    return (
      <Page>
        <PageHead title={id} crumbs={crumbs} />
        {error ? (
          <ErrorBox error={error} onRetry={() => void refetch()} />
        ) : (
          <Skeleton className="h-56 w-full" />
        )}
      </Page>
    )
  return <Shown key={id} p={data.data} crumbs={crumbs} />
}

function Shown({ p, crumbs }: { p: Provider; crumbs: readonly { label: string; to?: string }[] }) {
  const t = useT('providers')
  const me = useMe()
  const may = me?.user?.role === 'administrator'
  const [asking, setAsking] = useState<'off' | 'remove' | null>(null)
  const [tests, setTests] = useState<readonly Test[] | null>(null)
  const test = useAction(
    async () => {
      setTests(null)
      setTests((await post('/api/admin/providers/{id}/test', { path: { id: p.id } })).data)
    },
    { failed: toastError },
  )
  const change = useAction(
    async (disabled: boolean) => {
      await patch('/api/admin/providers/{id}', { path: { id: p.id }, body: { disabled } })
      await renewAll()
      toast(t(disabled ? 'switchedOff' : 'switchedOn', { provider: p.name }))
    },
    { failed: toastError, settled: () => setAsking(null) },
  )
  const gone = useAction(
    async () => {
      await remove('/api/admin/providers/{id}', { path: { id: p.id } })
      await renewAll()
    },
    { failed: toastError, settled: () => setAsking(null) },
  )
  const [tone, words] = stateOf(p, t)
  const locked = p.origin === 'file'
  const off = p.version !== null && !p.on && Boolean((p.set as { disabled?: boolean } | null)?.disabled)
  return (
    <Page>
      <PageHead title={p.name} crumbs={crumbs} note={<State tone={tone}>{words}</State>}>
        {p.models > 0 && (
          <Button busy={test.busy} onClick={() => test.run()}>
            {t('test')}
          </Button>
        )}
        {may &&
          !locked &&
          (off ? (
            <Button busy={change.busy} onClick={() => change.run(false)}>
              {t('switchOn')}
            </Button>
          ) : (
            p.on && <Button onClick={() => setAsking('off')}>{t('switchOff')}</Button>
          ))}
        {may && p.version !== null && (
          <Button look="quiet" icon="trash" onClick={() => setAsking('remove')}>
            {t(p.origin === 'database' ? 'remove' : 'forget')}
          </Button>
        )}
      </PageHead>
      <div className="flex flex-col gap-6">
        {p.reason && (
          <Notice tone="bad" title={t('leftOut')}>
            {p.reason}
          </Notice>
        )}
        <Panel title={t('key')} note={<span translate="no">{keyOf(p, t)}</span>}>
          {locked ? (
            <p className="text-ink2">{t('inFile', { where: p.where ?? '' })}</p>
          ) : may ? (
            <Paste p={p} onSaved={() => test.run()} testing={test.busy} />
          ) : (
            <p className="text-ink2">{t('onlyAdministrators')}</p>
          )}
          {p.key_missing && p.key_variables.length > 0 && (
            <p className="pt-2 text-small text-ink3">
              {t('variable', { names: p.key_variables.join(', ') })}
            </p>
          )}
          {p.base_url && (
            <p className="pt-3 text-small text-ink3" translate="no">
              {p.base_url}
            </p>
          )}
        </Panel>
        {(test.busy || tests) && <Tests p={p} tests={tests} />}
        <Rate may={may} />
        <Models
          p={p}
          may={may && !locked}
          tried={tests?.some((x) => x.wrong === null && x.skipped === null) ?? false}
        />
      </div>
      <Confirm
        open={asking === 'off'}
        onOpenChange={() => setAsking(null)}
        title={t('switchOffTitle', { provider: p.name })}
        verb={t('switchOff')}
        busy={change.busy}
        onConfirm={() => change.run(true)}
      >
        {t('switchOffText', { n: p.models })}
      </Confirm>
      <Confirm
        open={asking === 'remove'}
        onOpenChange={() => setAsking(null)}
        title={p.origin === 'database' ? t('removeTitle', { provider: p.name }) : t('forgetTitle')}
        verb={t(p.origin === 'database' ? 'remove' : 'forget')}
        busy={gone.busy}
        onConfirm={() => gone.run()}
        {...(p.origin === 'database' ? { typed: p.id } : {})}
      >
        {t(p.origin === 'database' ? 'removeText' : 'forgetText')}
      </Confirm>
    </Page>
  )
}

function Paste({ p, onSaved, testing }: { p: Provider; onSaved: () => void; testing: boolean }) {
  const t = useT('providers')
  const [key, setKey] = useState('')
  const save = useAction(async () => {
    await patch('/api/admin/providers/{id}', { path: { id: p.id }, body: { api_key: key.trim() } })
    setKey('')
    await renewAll()
    onSaved()
  })
  const error = save.except('api_key')
  return (
    <form onSubmit={save.submit} noValidate className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-3">
        <Field
          className="min-w-0 flex-1 basis-80"
          label={t(p.api_key ? 'pasteNew' : 'pasteKey')}
          error={save.at('api_key')}
          help={
            <>
              {t('keyHelp')} {p.api_key && t('keyReplaces')}
            </>
          }
        >
          <Input
            type="password"
            className="font-mono"
            value={key}
            onChange={(e) => setKey(e.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
        </Field>
        <Button
          look="main"
          type="submit"
          className="self-start md:mt-[26px]"
          disabled={key.trim() === ''}
          busy={save.busy || testing}
        >
          {t('saveAndTest')}
        </Button>
      </div>
      {error !== null && <ErrorBox error={error} />}
    </form>
  )
}

function Tests({ p, tests }: { p: Provider; tests: readonly Test[] | null }) {
  const t = useT('providers')
  return (
    <Panel title={t('tests', { provider: p.name })}>
      <div role="status" className="flex flex-col gap-2">
        {!tests && <p className="text-ink2">{t('testing', { provider: p.name })}</p>}
        {tests?.map((x, i) => (
          <One key={i} x={x} />
        ))}
      </div>
    </Panel>
  )
}

function One({ x }: { x: Test }) {
  const t = useT('providers')
  const which: ReactNode = (
    <>
      <span translate="no">{x.model}</span>
      {x.credential > 0 && <>, {t('whichKey', { n: x.credential })}</>}
    </>
  )
  if (x.skipped !== null)
    return (
      <p className="text-ink3">
        {which}: {t('skipped')}
      </p>
    )
  const advice = x.advice.map((a) => (
    <span key={a} className="block">
      {a}
    </span>
  ))
  if (x.wrong === null)
    return (
      <Notice tone="good" title={t('works', { model: x.model ?? '', time: duration(x.took_ms) })}>
        {x.tokens !== null && t('worksTokens', { n: x.tokens })}
        {advice}
      </Notice>
    )
  return (
    <Notice tone="bad" title={t(`wrong_${x.wrong}`)}>
      <span className="block">{which}</span>
      <code className="block py-1 break-words whitespace-pre-wrap">{x.detail}</code>
      <span className="block font-medium text-ink">{advice}</span>
    </Notice>
  )
}

/** What a dollar of a provider costs the customers, and where that is changed. */
function Rate({ may }: { may: boolean }) {
  const t = useT('providers')
  const { data } = useQuery(getAdminCatalog())
  const [setting, setSetting] = useState(false)
  if (!data) return null
  const standard = data.rate.source === 'static' && data.rate.rate === '100'
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <p className="text-ink2">
          <Effect rate={data.rate.rate} margin={data.rate.margin} />
        </p>
        {may && (
          <Button small icon="edit" onClick={() => setSetting(true)}>
            {t('setRate')}
          </Button>
        )}
      </div>
      {standard && <Notice tone="warn" title={t('rateDefault')} />}
      {setting && (
        <SetRate rate={data.rate.rate} margin={data.rate.margin} onClose={() => setSetting(false)} />
      )}
    </div>
  )
}

/** A rate and a margin as what they do. */
function Effect({ rate, margin }: { rate: string; margin: string }) {
  const t = useT('providers')
  const r = decimal(rate),
    m = decimal(margin)
  if (!r || !m) return null
  const sold = plain(round(multiply(r, add(decimal('1')!, m)), 4))
  return (
    <>
      {t('rate', { rate: plain(round(r, 4)) })}{' '}
      {compare(m, ZERO) !== 0 && t('rateMargin', { margin: percent(Number(margin) * 100), sold })}
    </>
  )
}

/** Above this margin a person is asked whether it is meant: 15 is more often 15 % than 1500 %. */
const doubtful = decimal('0.5')!

function SetRate({ rate, margin, onClose }: { rate: string; margin: string; onClose: () => void }) {
  const t = useT('providers')
  const c = useT('common')
  const [r, setR] = useState(rate)
  const [percents, setPercents] = useState(plain(multiply(decimal(margin)!, decimal('100')!)))
  const [asked, setAsked] = useState(false)
  const fraction = decimal(amount(percents))
  const part = fraction && plain(multiply(fraction, decimal('0.01')!))
  const high = fraction !== null && compare(multiply(fraction, decimal('0.01')!), doubtful) > 0
  const save = useAction(async () => {
    if (high && !asked) {
      setAsked(true)
      return
    }
    await post('/api/admin/rates', { body: { rate: amount(r), margin: part ?? amount(percents) } })
    await renewAll()
    toast(t('rateSet'))
    onClose()
  })
  const error = save.except('rate', 'margin')
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('setRate')}
      description={t('setRateText')}
      footer={
        <>
          <Button look="main" type="submit" form="rate" busy={save.busy}>
            {asked && high ? t('rateMeant') : t('setRate')}
          </Button>
          <Button onClick={onClose}>{c('cancel')}</Button>
        </>
      }
    >
      <form id="rate" onSubmit={save.submit} noValidate className="flex flex-col gap-4">
        <Field label={t('rateField')} error={save.at('rate')}>
          <Input value={r} onChange={(e) => setR(e.target.value)} inputMode="decimal" autoComplete="off" />
        </Field>
        <Field label={t('marginField')} error={save.at('margin')}>
          <Input
            value={percents}
            onChange={(e) => {
              setPercents(e.target.value)
              setAsked(false)
            }}
            inputMode="decimal"
            autoComplete="off"
          />
        </Field>
        {part && decimal(amount(r)) && (
          <p role="status" className="text-ink2">
            <Effect rate={amount(r)} margin={part} />
          </p>
        )}
        {asked && high && <Notice tone="warn" title={t('rateHigh', { margin: percents })} />}
        {error !== null && <ErrorBox error={error} />}
      </form>
    </Dialog>
  )
}

function Models({ p, may, tried }: { p: Provider; may: boolean; tried: boolean }) {
  const t = useT('providers')
  const { data, error, refetch } = useQuery(listAdminEndpoints({ query: { provider: p.id, limit: 200 } }))
  const [adding, setAdding] = useState(false)
  const price = (e: Endpoint, name: string) => perToken(e.pricing.base[name])
  return (
    <>
      <Panel
        title={t('models')}
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
                  <span translate="no" className="break-all">
                    {e.model}
                  </span>
                ),
              },
              {
                key: 'source',
                head: t('youPay'),
                from: 'lg',
                cell: (e) => (
                  <span translate="no" className="text-small text-ink3">
                    {e.pricing.source}
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
            ]}
          />
        )}
      </Panel>
      {p.models > 0 && <FirstCall tried={tried} />}
      {adding && <NewModel p={p} onClose={() => setAdding(false)} />}
    </>
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
const amount = (text: string) => text.trim().replace(',', '.')
