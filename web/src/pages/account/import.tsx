/** Keys and presets from the files of another gateway: shown first, then made. */
import { useAction } from '../../api/action'
import { useRef, useState } from 'react'
import { ApiError, post, type Reply } from '../../api/client'
import { explain, said } from '../../api/explain'
import { renew } from '../../api/query'
import { listAccountKeys, listPresets } from '../../api/operations'
import { date, dateTimeZone, money } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Copy } from '../../ui/copy'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { Tag } from '../../ui/marks'
import { Dialog } from '../../ui/overlay'

type Done = Reply<'/api/import', 'post'>['data']
type Key = Done['keys'][number]
type Preset = Done['presets'][number]
type Source = Done['source']
const most = 1 << 20

export default function Import({ onClose }: { onClose: () => void }) {
  const t = useT('import'),
    c = useT('common')
  const picker = useRef<HTMLInputElement>(null)
  const [source, setSource] = useState<Source>('openrouter')
  const [files, setFiles] = useState<readonly { name: string; text: string }[]>([])
  const [plan, setPlan] = useState<Done | null>(null)
  const [large, setLarge] = useState(false)
  const fresh = () => {
    setPlan(null)
    run.clear()
  }
  const take = async (list: readonly File[]) => {
    fresh()
    const tooLarge = list.reduce((n, f) => n + f.size, 0) > most
    setLarge(tooLarge)
    setFiles(
      tooLarge ? [] : await Promise.all(list.map(async (f) => ({ name: f.name, text: await f.text() }))),
    )
  }
  const run = useAction(async (dry_run: boolean) => {
    const { data } = await post('/api/import', { body: { source, files: [...files], dry_run } })
    setPlan(data)
    if (!dry_run) void renew(listAccountKeys, listPresets)
  })
  const { error } = run
  const count = (list: readonly { outcome: string }[]) => list.filter((i) => i.outcome === 'new').length
  const keys = plan ? count(plan.keys) : 0,
    presets = plan ? count(plan.presets) : 0
  const made = plan !== null && !plan.dry_run
  const secrets = plan?.keys.filter((k) => k.key) ?? []
  return (
    <Dialog
      wide
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('title')}
      description={t('text')}
      footer={
        made ? (
          <Button look="main" onClick={onClose}>
            {c('close')}
          </Button>
        ) : plan && keys + presets > 0 ? (
          <>
            <Button onClick={fresh}>{c('cancel')}</Button>
            <Button look="main" busy={run.busy} onClick={() => run.run(false)}>
              {t('make')}
            </Button>
          </>
        ) : (
          <Button look="main" busy={run.busy} disabled={files.length === 0} onClick={() => run.run(true)}>
            {t('look')}
          </Button>
        )
      }
    >
      <div className="flex flex-col gap-4">
        {!made && (
          <div className="flex flex-wrap items-end gap-3">
            <Field label={t('source')}>
              <Select
                value={source}
                onChange={(e) => {
                  setSource(e.target.value as Source)
                  fresh()
                }}
                options={[
                  { value: 'openrouter', label: 'OpenRouter' },
                  { value: 'litellm', label: 'LiteLLM' },
                  { value: 'new-api', label: 'new-api' },
                  { value: 'one-api', label: 'One API' },
                ]}
              />
            </Field>
            <input
              ref={picker}
              type="file"
              multiple
              hidden
              data-import
              accept=".json,.yaml,.yml,application/json"
              onChange={(e) => {
                void take([...(e.target.files ?? [])])
                e.target.value = ''
              }}
            />
            <Button icon="plus" onClick={() => picker.current?.click()}>
              {t('choose')}
            </Button>
            <span className="pb-1.5 text-ink2" role="status">
              {files.length > 0 && t('chosen', { n: files.length })}
            </span>
            <a
              className="w-full text-small underline"
              href={`/docs/migrate/${source}`}
              target="_blank"
              rel="noreferrer"
            >
              {t('how')}
            </a>
          </div>
        )}
        {large && <Notice tone="bad" title={t('tooLarge')} />}
        {error !== null &&
          (error instanceof ApiError && error.status === 400 && !error.field ? (
            <Notice tone="bad" title={t('unreadable')}>
              <span lang="en" translate="no" className="break-words">
                {error.message}
              </span>
            </Notice>
          ) : (
            <ErrorBox error={error} title={said(error) || explain(error)} />
          ))}
        {plan && (
          <>
            {made ? (
              <div role="status">
                <Notice
                  tone="good"
                  title={t('done')}
                  action={
                    secrets.length > 0 ? (
                      <Copy text={secrets.map((k) => `${k.name}\t${k.key!}`).join('\n')} what={t('copyAll')}>
                        {t('copyAll')}
                      </Copy>
                    ) : undefined
                  }
                >
                  {secrets.length > 0 && t('doneText')}
                </Notice>
              </div>
            ) : (
              <Notice
                title={
                  keys + presets > 0
                    ? [
                        keys > 0 && t('makeKeys', { n: keys }),
                        presets > 0 && t('makePresets', { n: presets }),
                      ]
                        .filter(Boolean)
                        .join(', ')
                    : t('nothing')
                }
              >
                {plan.rate.from
                  ? t('rateSince', { rate: plan.rate.rubles_per_dollar, date: date(plan.rate.from) })
                  : t('rate', { rate: plan.rate.rubles_per_dollar })}
              </Notice>
            )}
            <Items title={t('keys')} items={plan.keys} facts={(k) => <KeyFacts k={k} />} />
            <Items title={t('presets')} items={plan.presets} facts={(p) => <PresetFacts p={p} />} />
            <Lost plan={plan} />
          </>
        )}
      </div>
    </Dialog>
  )
}

function Items<I extends Key | Preset>({
  title,
  items,
  facts,
}: {
  title: string
  items: readonly I[]
  facts: (i: I) => React.ReactNode
}) {
  const t = useT('import')
  if (items.length === 0) return null
  return (
    <section aria-label={title}>
      <h3 className="pb-1 font-medium">{title}</h3>
      <ul className="m-0 list-none border-t border-line p-0">
        {items.map((i, n) => (
          <li key={n} className="border-b border-line py-2">
            <span className="flex flex-wrap items-center gap-2">
              <span translate="no" className="font-medium break-all">
                {i.name || '–'}
              </span>
              <Tag tone={i.outcome === 'refused' ? 'warn' : i.outcome === 'exists' ? 'plain' : 'good'}>
                {t(`outcome_${i.outcome}`)}
              </Tag>
            </span>
            {i.reason ? (
              <span className="block text-small text-ink2">
                {t(`reason_${i.reason}`)}{' '}
                {i.sentence && (
                  <span lang="en" translate="no" className="break-words">
                    {i.sentence}
                  </span>
                )}
              </span>
            ) : (
              <span className="block text-small break-words text-ink2">{facts(i)}</span>
            )}
            {i.models_not_here.length > 0 && (
              <span className="block text-small break-all text-ink3">
                {t.rich('notHere', { models: <span translate="no">{i.models_not_here.join(', ')}</span> })}
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function KeyFacts({ k }: { k: Key }) {
  const t = useT('import')
  const limit =
    k.limit === null
      ? t('noLimit')
      : t(k.limit_reset ? `limit_${k.limit_reset}` : 'limit', { amount: money(k.limit, { exact: true }) })
  return (
    <>
      {[limit, k.expires_at && t('expires', { date: dateTimeZone(k.expires_at) }), k.disabled && t('off')]
        .filter(Boolean)
        .join(' · ')}
      {k.allowed_models && (
        <>
          {' '}
          ·{' '}
          {t.rich('onlyModels', {
            models: (
              <span translate="no" className="break-all">
                {k.allowed_models.join(', ')}
              </span>
            ),
          })}
        </>
      )}
      {k.key && (
        <span className="flex items-center gap-1 pt-1">
          <code translate="no" className="min-w-0 break-all text-ink">
            {k.key}
          </code>
          <Copy text={k.key} what={k.name} />
        </span>
      )}
    </>
  )
}

function PresetFacts({ p }: { p: Preset }) {
  const parts = [p.model, ...(p.models ?? [])].filter(Boolean).join(' → ')
  const more = Object.entries({ ...p.parameters, ...(p.provider ? { provider: p.provider } : {}) })
    .map(([k, v]) => `${k}: ${typeof v === 'string' ? v : JSON.stringify(v)}`)
    .join(', ')
  return (
    <span translate="no" dir="auto" className="break-words">
      {[parts, more, p.system_prompt && `“${p.system_prompt.slice(0, 200)}”`].filter(Boolean).join(' · ')}
    </span>
  )
}

function Lost({ plan }: { plan: Done }) {
  const t = useT('import')
  if (plan.lost.length === 0) return null
  return (
    <details>
      <summary className="cursor-pointer font-medium">
        {t('lost')} ({plan.lost.length})
      </summary>
      <table className="mt-2 w-full text-small">
        <thead>
          <tr className="text-left text-ink3">
            <th scope="col" className="py-1 pr-3 font-normal">
              {t('lostField')}
            </th>
            <th scope="col" className="font-normal">
              {t('lostWhy')}
            </th>
          </tr>
        </thead>
        <tbody>
          {plan.lost.map((l) => (
            <tr key={l.field} className="border-t border-line">
              <td className="py-1 pr-3">
                <code translate="no" className="break-all">
                  {l.field}
                </code>
              </td>
              <td className="text-ink2">{t(`why_${l.why}`)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}
