/** The windows of /admin/order: the endpoints of one model, and a new name. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { put, remove } from '../../api/client'
import { getOrder, listAliases, listOrders } from '../../api/operations'
import { renew } from '../../api/query'
import { integer } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Skeleton } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Tag } from '../../ui/marks'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'

const number = (text: string | undefined) => (text?.trim() ? Number(text) : 0)

export function OrderOf({ model, may, onClose }: { model: string; may: boolean; onClose: () => void }) {
  const t = useT('adminorder')
  const c = useT('common')
  const q = useQuery(getOrder({ path: { model } }))
  const order = q.data?.data
  const [typed, setTyped] = useState<Record<string, string>>({})
  const at = (what: string, id: string, is: number) => typed[what + id] ?? (is > 0 ? String(is) : '')
  const change = (what: string, id: string) => (e: { target: { value: string } }) =>
    setTyped({ ...typed, [what + id]: e.target.value })
  const after = async (said: 'saved' | 'byPriceDone') => {
    await renew(listOrders, getOrder)
    toast(t(said))
    onClose()
  }
  const endpoints = (order?.endpoints ?? [])
    .map((e) => ({
      id: e.id,
      place: number(at('place', e.id, e.place)),
      weight: number(at('weight', e.id, e.weight)),
    }))
    .filter((e) => e.place !== 0 || e.weight !== 0)
  const save = useAction(async () => {
    await put('/api/admin/orders/{model}', { path: { model }, body: { endpoints } })
    await after('saved')
  })
  const drop = useAction(async () => {
    await remove('/api/admin/orders/{model}', { path: { model } })
    await after('byPriceDone')
  })
  const wrong = (what: string, id: string) =>
    save.at(`endpoints.${endpoints.findIndex((e) => e.id === id)}.${what}`)
  const fields = endpoints.flatMap((_, i) => [`endpoints.${i}.place`, `endpoints.${i}.weight`])
  const error = q.error ?? save.except(...fields) ?? drop.error
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={<span translate="no">{model}</span>}
      description={t('how')}
      footer={
        may && order ? (
          <>
            <Button look="main" type="submit" form="order" busy={save.busy}>
              {t('save')}
            </Button>
            {order.version !== null && (
              <Button busy={drop.busy} onClick={() => drop.run()}>
                {t('byPrice')}
              </Button>
            )}
            <Button onClick={onClose}>{c('cancel')}</Button>
          </>
        ) : (
          <Button onClick={onClose}>{c('close')}</Button>
        )
      }
    >
      <form id="order" onSubmit={save.submit} noValidate className="flex flex-col gap-3">
        {q.isPending && <Skeleton />}
        {order?.endpoints.map((e) => (
          <div key={e.id} className="flex flex-wrap items-end gap-2 border-t border-line pt-3">
            <span className="min-w-0 flex-1 basis-[160px]">
              <code translate="no" className="block break-all">
                {e.id}
              </code>
              <span className="text-small text-ink3">
                {t('perHour', { n: integer(Math.round(e.calls_per_hour)) })} {!e.on && <Tag>{t('off')}</Tag>}
              </span>
            </span>
            <span className="flex gap-2">
              {(['place', 'weight'] as const).map((what) => (
                <Field key={what} label={t(what)} className="w-[88px]" error={wrong(what, e.id)}>
                  <Input
                    value={at(what, e.id, e[what])}
                    onChange={change(what, e.id)}
                    aria-label={t(`${what}Of`, { endpoint: e.id })}
                    inputMode="numeric"
                    autoComplete="off"
                    readOnly={!may}
                  />
                </Field>
              ))}
            </span>
          </div>
        ))}
        {error !== null && <ErrorBox error={error} />}
      </form>
    </Dialog>
  )
}

export function NewName({ onClose }: { onClose: () => void }) {
  const t = useT('adminorder')
  const c = useT('common')
  const [name, setName] = useState('')
  const [model, setModel] = useState('')
  const add = useAction(async () => {
    await put('/api/admin/aliases/{id}', {
      path: { id: name.trim() },
      query: { new: true },
      body: { model: model.trim() },
    })
    await renew(listAliases)
    toast(t('added'))
    onClose()
  })
  const error = add.except('model')
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('add')}
      description={t('addText')}
      footer={
        <>
          <Button
            look="main"
            type="submit"
            form="name"
            busy={add.busy}
            disabled={!name.trim() || !model.trim()}
          >
            {t('add')}
          </Button>
          <Button onClick={onClose}>{c('cancel')}</Button>
        </>
      }
    >
      <form id="name" onSubmit={add.submit} noValidate className="flex flex-col gap-4">
        <Field label={t('name')}>
          <Input
            value={name}
            onChange={(e) => setName(e.target.value)}
            placeholder={t('modelHint')}
            autoComplete="off"
            spellCheck={false}
          />
        </Field>
        <Field label={t('answers')} error={add.at('model')}>
          <Input
            value={model}
            onChange={(e) => setModel(e.target.value)}
            placeholder={t('modelHint')}
            autoComplete="off"
            spellCheck={false}
          />
        </Field>
        {error !== null && <ErrorBox error={error} />}
      </form>
    </Dialog>
  )
}
