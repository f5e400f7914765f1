/** Own keys of providers: what the account has, in which order they are used, and whether they work. */
import { useAction } from '../../api/action'
import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { patch, post, remove, type Reply } from '../../api/client'
import { said } from '../../api/explain'
import { queries } from '../../api/query'
import { listProviderKeys } from '../../api/operations'
import { money } from '../../format'
import { useT } from '../../i18n'
import { Button, IconButton } from '../../ui/button'
import { ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Field, Input, Select } from '../../ui/field'
import { Link } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Menu } from '../../ui/menu'
import { Confirm, Dialog } from '../../ui/overlay'
import { Panel } from '../../ui/page'
import { toast, toastError } from '../../ui/toast'
import { When } from '../../ui/values'
import { Settings } from './parts'

type List = Reply<'/api/provider-keys'>
type Key = List['data'][number]
type Order = Key['order']
const reading = listProviderKeys()
const orders: readonly Order[] = ['before', 'after', 'only']
const renew = () => queries.invalidateQueries({ queryKey: reading.queryKey })

export default function OwnKeysPage() {
  const t = useT('ownkeys')
  const { data, error, refetch } = useQuery(reading)
  const [adding, setAdding] = useState(false)
  const free = data?.providers.filter((p) => !data.data.some((k) => k.provider === p.id)) ?? []
  return (
    <Settings at="provider-keys">
      {error && !data ? (
        <ErrorBox error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Panel>
          <SkeletonRows rows={4} />
        </Panel>
      ) : (
        <Panel
          title={t('title')}
          flush
          actions={
            data.enabled &&
            free.length > 0 &&
            data.data.length < data.most && (
              <Button small icon="plus" onClick={() => setAdding(true)}>
                {t('add')}
              </Button>
            )
          }
        >
          <p className="px-4 pb-3 text-ink2">
            {t('text')}{' '}
            {data.fee.percent !== null
              ? t('feePercent', { percent: data.fee.percent })
              : t('feeCall', { amount: money(data.fee.per_call ?? '0', { exact: true }) })}{' '}
            <Link to="/docs/own-keys">{t('more')}</Link>
          </p>
          {!data.enabled && (
            <div className="px-4 pb-4">
              <Notice tone="warn" title={t('off')} />
            </div>
          )}
          {data.data.length === 0 ? (
            <p className="border-t border-line px-4 py-3 text-ink3">{t('none')}</p>
          ) : (
            <ul className="m-0 list-none border-t border-line p-0">
              {data.data.map((k) => (
                <Row key={k.id} k={k} />
              ))}
            </ul>
          )}
        </Panel>
      )}
      {adding && <Add providers={free} onClose={() => setAdding(false)} />}
    </Settings>
  )
}

function Row({ k }: { k: Key }) {
  const t = useT('ownkeys')
  const [replacing, setReplacing] = useState(false)
  const [removing, setRemoving] = useState(false)
  const name = k.provider_name
  const action = useAction(
    async (what: () => Promise<string>) => {
      const text = await what()
      await renew()
      if (text) toast(text)
    },
    { failed: toastError },
  )
  const test = () =>
    action.run(async () => {
      const { data } = await post('/api/provider-keys/{id}/test', { path: { id: k.id } })
      return t(data.accepted === null ? 'testUnknown' : data.accepted ? 'testGood' : 'testBad', {
        provider: name,
      })
    })
  const change = (body: { order?: Order; enabled?: boolean }) =>
    action.run(async () => {
      await patch('/api/provider-keys/{id}', { path: { id: k.id }, body })
      return ''
    })
  const gone = k.state === 'removed'
  return (
    <li className="border-t border-line px-4 py-3 first:border-t-0" data-key={k.provider}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 basis-48">
          <div className="flex flex-wrap items-center gap-2 font-medium break-words">
            <span translate="no">{name}</span>
            <Tag tone={k.state === 'active' ? (k.last_error ? 'bad' : 'good') : 'warn'}>
              {k.state === 'active' ? t(k.last_error ? 'failing' : 'active') : t(`state_${k.state}`)}
            </Tag>
          </div>
          <div className="text-small text-ink3">
            {k.last4 !== null && <>{t.rich('ends', { last4: <code translate="no">{k.last4}</code> })}, </>}
            {k.used_at ? t.rich('used', { time: <When at={k.used_at} form="full" /> }) : t('unused')}
          </div>
        </div>
        <Select
          className="w-auto max-w-full"
          aria-label={t('orderOf', { provider: name })}
          value={k.order}
          disabled={action.busy}
          onChange={(e) => change({ order: e.target.value as Order })}
          options={orders.map((o) => ({ value: o, label: t(`order_${o}`) }))}
        />
        <Button
          small
          busy={action.busy}
          disabled={gone}
          aria-label={t('testOf', { provider: name })}
          onClick={test}
        >
          {t('test')}
        </Button>
        <Menu
          align="end"
          trigger={<IconButton icon="more" label={t('actions', { provider: name })} />}
          items={[
            { label: t('replace'), icon: 'edit', onSelect: () => setReplacing(true) },
            ...(gone
              ? []
              : [
                  {
                    label: t(k.enabled ? 'switchOff' : 'switchOn'),
                    icon: 'refresh' as const,
                    onSelect: () => change({ enabled: !k.enabled }),
                  },
                ]),
            { label: t('remove'), icon: 'trash', onSelect: () => setRemoving(true) },
          ]}
        />
      </div>
      <p className="pt-1 text-small text-ink3">{t(`help_${k.order}`)}</p>
      {k.order === 'only' && k.state !== 'active' && (
        <div className="pt-2">
          <Notice tone="warn" title={t(gone ? 'removedText' : 'offText')} />
        </div>
      )}
      {k.last_error && (
        <div className="pt-2">
          <Notice tone="bad" title={t.rich('lastError', { time: <When at={k.last_error.at} form="full" /> })}>
            {t(`error_${k.last_error.code}`)}
            {k.last_error.status !== null && <> {t('status', { status: String(k.last_error.status) })}</>}
          </Notice>
        </div>
      )}
      {replacing && (
        <Secret
          title={t('replace')}
          verb={t('replace')}
          onClose={() => setReplacing(false)}
          run={async (key) => {
            await patch('/api/provider-keys/{id}', { path: { id: k.id }, body: { key } })
            await renew()
            toast(t('replaced'))
          }}
        />
      )}
      {removing && (
        <Confirm
          open
          onOpenChange={(o) => {
            if (!o) setRemoving(false)
          }}
          title={t('removeTitle', { provider: name })}
          verb={t('remove')}
          busy={action.busy}
          onConfirm={() =>
            action.run(async () => {
              await remove('/api/provider-keys/{id}', { path: { id: k.id } })
              setRemoving(false)
              return t('removed')
            })
          }
        >
          {t(gone ? 'removeEntryText' : k.order === 'only' ? 'removeOnlyText' : 'removeText')}
        </Confirm>
      )}
    </li>
  )
}

/** A key, asked for in a window, and what `children` ask for beside it. */
function Secret({
  title,
  verb,
  text,
  run,
  onClose,
  children,
}: {
  title: string
  verb: string
  text?: string
  run: (key: string) => Promise<void>
  onClose: () => void
  children?: ReactNode
}) {
  const t = useT('ownkeys'),
    c = useT('common')
  const [key, setKey] = useState('')
  const save = useAction(() => run(key.trim()).then(onClose))
  const error = save.except('key')
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={title}
      description={text ?? t('addText')}
      footer={
        <>
          <Button look="main" type="submit" form="own-key" busy={save.busy}>
            {verb}
          </Button>
          <Button onClick={onClose}>{c('cancel')}</Button>
        </>
      }
    >
      <form id="own-key" onSubmit={save.submit} noValidate className="flex flex-col gap-4">
        {children}
        <Field label={t('key')} help={t('keyHelp')} error={save.at('key')}>
          <Input
            type="password"
            value={key}
            onChange={(e) => setKey(e.target.value)}
            autoComplete="off"
            spellCheck={false}
            maxLength={2048}
            className="font-mono"
          />
        </Field>
        {error !== null && (
          <p role="alert" className="text-small text-bad">
            {said(error)}
          </p>
        )}
      </form>
    </Dialog>
  )
}

function Add({ providers, onClose }: { providers: List['providers']; onClose: () => void }) {
  const t = useT('ownkeys')
  const [provider, setProvider] = useState(providers[0]?.id ?? '')
  const [order, setOrder] = useState<Order>('before')
  const add = async (key: string) => {
    await post('/api/provider-keys', { body: { provider, key, order } })
    await renew()
    toast(t('added'))
  }
  return (
    <Secret title={t('add')} verb={t('save')} run={add} onClose={onClose}>
      <Field label={t('provider')}>
        <Select
          value={provider}
          onChange={(e) => setProvider(e.target.value)}
          options={providers.map((p) => ({ value: p.id, label: p.name }))}
        />
      </Field>
      <Field label={t('order')} help={t(`help_${order}`)}>
        <Select
          value={order}
          onChange={(e) => setOrder(e.target.value as Order)}
          options={orders.map((o) => ({ value: o, label: t(`order_${o}`) }))}
        />
      </Field>
    </Secret>
  )
}
