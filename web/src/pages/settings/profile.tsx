/** The person's own page: name, address, language, theme. */
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState, type FormEvent } from 'react'
import { ApiError, get, patch, remove, type Body } from '../../api/client'
import { explain, said } from '../../api/explain'
import { meQuery, queries, useMe } from '../../api/query'
import { useT } from '../../i18n'
import { chooseLanguage, forgetLanguage, setTheme, type Theme } from '../../settings'
import { Button } from '../../ui/button'
import { Segmented } from '../../ui/controls'
import { ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Confirm } from '../../ui/overlay'
import { Panel } from '../../ui/page'
import { toast } from '../../ui/toast'
import { When } from '../../ui/values'
import { Settings } from './parts'
import { Timezone } from './timezone'

const queryKey = ['profile']
const Email = lazy(() => import('./email'))

export default function Profile() {
  const t = useT('settings'),
    c = useT('common')
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => get('/api/account/profile', { signal }),
  })
  const p = data?.data
  const me = useMe()
  const [moving, setMoving] = useState(false)
  const [name, setName] = useState('')
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState<unknown>(null)
  useEffect(() => {
    if (p) setName(p.name)
  }, [p?.name])
  const change = async (body: Body<'/api/account/profile', 'patch'>) => {
    queries.setQueryData(queryKey, await patch('/api/account/profile', { body }))
    await queries.invalidateQueries({ queryKey: meQuery.queryKey })
  }
  const save = async (e: FormEvent) => {
    e.preventDefault()
    if (busy || !p || name.trim() === '' || name.trim() === p.name) return
    setBusy(true)
    setFailed(null)
    try {
      await change({ name: name.trim() })
      toast(c('saved'))
    } catch (e) {
      setFailed(e)
    } finally {
      setBusy(false)
    }
  }
  const language = async (v: 'auto' | 'en' | 'ru') => {
    try {
      await change({ language: v === 'auto' ? null : v })
      if (v !== 'auto') await chooseLanguage(v)
      else {
        forgetLanguage()
        location.reload()
      }
    } catch (e) {
      toast(explain(e))
    }
  }
  const theme = async (v: Theme) => {
    try {
      await change({ theme: v })
      setTheme(v)
    } catch (e) {
      toast(explain(e))
    }
  }
  const field = failed instanceof ApiError && failed.field === 'name' ? said(failed) : undefined
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
            <form
              onSubmit={(e) => {
                void save(e)
              }}
              className="flex flex-col gap-4"
            >
              <Field label={t('name')} help={t('nameHelp')} error={field}>
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
                  <When at={p.created_at} full />
                </dd>
              </dl>
              {failed !== null && !field && <ErrorBox error={failed} title={explain(failed)} />}
              <div>
                <Button
                  type="submit"
                  look="main"
                  busy={busy}
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
                  onChange={(v) => void language(v)}
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
                  onChange={(v) => void theme(v)}
                  options={(['system', 'light', 'dark'] as const).map((v) => ({
                    value: v,
                    label: t(`theme_${v}`),
                  }))}
                />
              </div>
              <p className="text-small text-ink3">{t('times')}</p>
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
  const [busy, setBusy] = useState(false)
  const end = async () => {
    setBusy(true)
    try {
      await remove('/api/account')
      location.assign('/')
    } catch (e) {
      toast(explain(e))
      setBusy(false)
      setAsking(false)
    }
  }
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
          busy={busy}
          onConfirm={() => void end()}
        >
          {t('accountDeleteText')}
        </Confirm>
      )}
    </Panel>
  )
}
