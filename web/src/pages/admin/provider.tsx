/** One provider: its key, whether it works, and what it sells. */
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { patch, post, remove, type Reply } from '../../api/client'
import { getAdminProvider } from '../../api/operations'
import { useMe } from '../../api/query'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Notice, Skeleton } from '../../ui/feedback'
import { State } from '../../ui/marks'
import { Confirm } from '../../ui/overlay'
import { Page, PageHead } from '../../ui/page'
import { toast, toastError } from '../../ui/toast'
import { renewAll, type Test } from './provider-data'
import { Keys } from './provider-keys'
import { Models } from './provider-models'
import { Tests } from './provider-tests'
import { stateOf, type Provider } from './providers'
import { Rate } from './rate'
import { TakeOut, useReturn } from './take-out'

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
  return <Shown key={id} p={data.data} rate={data.rate} crumbs={crumbs} />
}

function Shown({
  p,
  rate,
  crumbs,
}: {
  p: Provider
  rate: Reply<'/api/admin/providers/{id}'>['rate']
  crumbs: readonly { label: string; to?: string }[]
}) {
  const t = useT('providers')
  const me = useMe()
  const may = me?.user?.role === 'administrator'
  const [asking, setAsking] = useState<'out' | 'off' | 'remove' | null>(null)
  const back = useReturn(p.name)
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
        {p.absence ? (
          <Button busy={back.busy} onClick={() => back.run(p.absence!.target)}>
            {t('returnIt')}
          </Button>
        ) : (
          p.on && <Button onClick={() => setAsking('out')}>{t('takeOut')}</Button>
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
        <Keys p={p} may={may} locked={locked} onTested={setTests} />
        {p.key_missing && p.key_variables.length > 0 && (
          <p className="text-small text-ink3">{t('variable', { names: p.key_variables.join(', ') })}</p>
        )}
        {p.base_url && (
          <p className="text-small text-ink3" translate="no">
            {p.base_url}
          </p>
        )}
        {(test.busy || tests) && (
          <Tests p={p} tests={tests} may={may && !locked} onTrusted={() => test.run()} />
        )}
        <Rate rate={rate} may={may} />
        <Models
          p={p}
          may={may && !locked}
          tried={tests?.some((x) => x.wrong === null && x.skipped === null) ?? false}
        />
      </div>
      {asking === 'out' && (
        <TakeOut target={`provider:${p.id}`} name={p.name} seconds="3600" onClose={() => setAsking(null)} />
      )}
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
