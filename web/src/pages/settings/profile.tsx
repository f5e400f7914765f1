/** The person's own page: name, address, language, theme. */
import { useAction } from '../../api/action'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import { patch, remove, type Body } from '../../api/client'
import { explain } from '../../api/explain'
import { meQuery, queries, useMe } from '../../api/query'
import { getProfile } from '../../api/operations'
import { zoneName } from '../../format'
import { useT } from '../../i18n'
import { chooseLanguage, forgetLanguage, setTheme, type Theme } from '../../settings'
import { Button } from '../../ui/button'
import { Segmented } from '../../ui/controls'
import { ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Confirm } from '../../ui/overlay'
import { Panel } from '../../ui/page'
import { toast, toastError } from '../../ui/toast'
import { When } from '../../ui/values'
import { Settings } from './parts'
import { Timezone } from './timezone'

const reading = getProfile()
const Email = lazy(() => import('./email'))

export default function Profile() {
  const t = useT('settings'),
    c = useT('common')
  const { data, error, refetch } = useQuery(reading)
  const p = data?.data
  const me = useMe()
  const [moving, setMoving] = useState(false)
  const [name, setName] = useState('')
  useEffect(() => {
    if (p) setName(p.name)
  }, [p?.name])
  const change = async (body: Body<'/api/account/profile', 'patch'>) => {
    queries.setQueryData(reading.queryKey, await patch('/api/account/profile', { body }))
    await queries.invalidateQueries({ queryKey: meQuery.queryKey })
  }
  const save = useAction(async () => {
    if (!p || name.trim() === '' || name.trim() === p.name) return
    await change({ name: name.trim() })
    toast(c('saved'))
  })
  const failed = save.except('name')
  const language = useAction(
    async (v: 'auto' | 'en' | 'ru') => {
      await change({ language: v === 'auto' ? null : v })
      if (v !== 'auto') await chooseLanguage(v)
      else {
        forgetLanguage()
        location.reload()
      }
    },
    { failed: toastError },
  )
  const theme = useAction((v: Theme) => change({ theme: v }).then(() => setTheme(v)), { failed: toastError })
  return (
    <Settings at="profile">
      {error && !p ? (
        <ErrorBox error={error} onRetry={() => void refetch()} />
      ) : !p ? (
        <Panel>
          <SkeletonRows rows={6} />
        </Panel>
      ) : (
        <>
          <Panel title={t('you')}>
            <form onSubmit={save.submit} className="flex flex-col gap-4">
              <Field label={t('name')} help={t('nameHelp')} error={save.at('name')}>
                <Input
                  value={name}
                  maxLength={100}
                  required
                  autoComplete="name"
                  onChange={(e) => setName(e.target.value)}
                />
              </Field>
              <dl className="m-0 grid grid-cols-[auto_1fr] gap-x-6 gap-y-2">
                <dt className="text-ink3">{t('email')}</dt>
                <dd className="m-0 min-w-0 break-words" translate="no">
                  {p.email ?? (
                    <span className="text-ink3" translate="yes">
                      {t('emailNone')}
                    </span>
                  )}
                  {p.email && (
                    <span className="block text-small text-ink3" translate="yes">
                      {me?.features.mail ? t('emailHelp') : t('emailOperator')}
                    </span>
                  )}
                  {me?.features.mail && !moving && (
                    <Button small className="mt-2" onClick={() => setMoving(true)}>
                      {p.email ? t('changeEmail') : t('addEmail')}
                    </Button>
                  )}
                </dd>
                <dt className="text-ink3">{t('role')}</dt>
                <dd className="m-0">{t(`role_${p.role}`)}</dd>
                <dt className="text-ink3">{t('since')}</dt>
                <dd className="m-0">
                  <When at={p.created_at} form="full" />
                </dd>
              </dl>
              {failed !== null && <ErrorBox error={failed} title={explain(failed)} />}
              <div>
                <Button
                  type="submit"
                  look="main"
                  busy={save.busy}
                  disabled={name.trim() === '' || name.trim() === p.name}
                >
                  {c('save')}
                </Button>
              </div>
            </form>
          </Panel>
          {moving && (
            <Suspense
              fallback={
                <Panel title={t('newEmail')}>
                  <SkeletonRows rows={2} />
                </Panel>
              }
            >
              <Email onClose={() => setMoving(false)} />
            </Suspense>
          )}
          <Panel title={t('appearance')}>
            <div className="flex flex-col gap-5">
              <div>
                <p className="pb-1.5 font-medium">{t('language')}</p>
                <Segmented
                  label={t('language')}
                  value={p.language ?? 'auto'}
                  onChange={(v) => language.run(v)}
                  options={[
                    { value: 'auto', label: t('language_auto') },
                    { value: 'en', label: 'English' },
                    { value: 'ru', label: 'Русский' },
                  ]}
                />
                <p className="pt-1.5 text-small text-ink3">{t('languageHelp')}</p>
              </div>
              <div>
                <p className="pb-1.5 font-medium">{t('theme')}</p>
                <Segmented
                  label={t('theme')}
                  value={p.theme}
                  onChange={(v) => theme.run(v)}
                  options={(['system', 'light', 'dark'] as const).map((v) => ({
                    value: v,
                    label: t(`theme_${v}`),
                  }))}
                />
              </div>
              <p className="text-small text-ink3">{t('times', { zone: zoneName() })}</p>
            </div>
          </Panel>
          <Timezone />
          <Delete />
        </>
      )}
    </Settings>
  )
}

/** Ends the account for good. The request asks for a proof of who is there where the sign-in is not recent. */
function Delete() {
  const t = useT('settings')
  const [asking, setAsking] = useState(false)
  const end = useAction(() => remove('/api/account').then(() => location.assign('/')), {
    failed: (e) => {
      toastError(e)
      setAsking(false)
    },
    leaves: true,
  })
  return (
    <Panel title={t('accountDelete')}>
      <p className="pb-3 text-ink2">{t('accountDeleteText')}</p>
      <Button look="bad" small icon="trash" onClick={() => setAsking(true)}>
        {t('accountDelete')}
      </Button>
      {asking && (
        <Confirm
          open
          onOpenChange={(o) => {
            if (!o) setAsking(false)
          }}
          title={t('accountDeleteTitle')}
          verb={t('accountDelete')}
          busy={end.busy}
          onConfirm={() => end.run()}
        >
          {t('accountDeleteText')}
        </Confirm>
      )}
    </Panel>
  )
}
