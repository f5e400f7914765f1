/** What the account prefers of providers, with what that does to a model beside the form while it is edited. */
import { useAction } from '../../api/action'
import { useQuery, keepPreviousData } from '@tanstack/react-query'
import { useEffect, useId, useMemo, useRef, useState, type FormEvent, type ReactNode } from 'react'
import { ApiError, post, put } from '../../api/client'
import { explain, said } from '../../api/explain'
import { queries } from '../../api/query'
import { getPreferences } from '../../api/operations'
import { RUBLE, integer, perToken, price, priceUnit } from '../../format'
import { useT } from '../../i18n'
import { remember, remembered } from '../../settings'
import { Button, IconButton } from '../../ui/button'
import { Switch } from '../../ui/controls'
import { ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Checkbox, Field, Input, Select } from '../../ui/field'
import { useDraft } from '../../ui/draft'
import { Icon } from '../../ui/icons'
import { Tag } from '../../ui/marks'
import { Panel } from '../../ui/page'
import { toast } from '../../ui/toast'
import { ModelPicker } from '../catalog/choose'
import { useCatalog } from '../catalog/data'
import { Settings } from './parts'
import {
  ceilings,
  empty,
  fieldOf,
  formOf,
  levels,
  percentiles,
  preferencesOf,
  problems,
  sorts,
  type Cutoffs,
  type FieldName,
  type Form,
  type Preferences,
  type Problem,
} from './preferences'

const reading = getPreferences()
const limit = 50

export default function Routing() {
  const t = useT('preferences')
  const { data, error, refetch } = useQuery(reading)
  return (
    <Settings at="routing">
      {error && !data ? (
        <ErrorBox error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Panel>
          <SkeletonRows rows={10} />
        </Panel>
      ) : (
        <>
          <p className="max-w-[720px] text-ink2">{t('intro')}</p>
          <Editor saved={data.data} />
        </>
      )}
    </Settings>
  )
}

type Saved = { readonly provider: Preferences | null; readonly plugins?: unknown }

function Editor({ saved }: { saved: Saved }) {
  const t = useT('preferences'),
    c = useT('common')
  const { prepared } = useCatalog()
  const [form, setForm] = useDraft('routing', formOf(saved.provider))
  const known = useMemo(
    () => (prepared ? new Set([...prepared.providers].flat().map((s) => s.toLowerCase())) : null),
    [prepared],
  )
  const found = problems(form, known)
  const wished = JSON.stringify(preferencesOf(form))
  const same = wished === JSON.stringify(preferencesOf(formOf(saved.provider)))
  const bad = found.some((p) => p.bad)
  const change = (f: Partial<Form>) => {
    setForm({ ...form, ...f })
    saving.clear()
  }
  const saving = useAction(async () => {
    const now = await put('/api/account/preferences', {
      body: {
        provider: preferencesOf(form) as never,
        ...(saved.plugins ? { plugins: saved.plugins as never } : {}),
      },
    })
    queries.setQueryData(reading.queryKey, now)
    setForm(formOf(now.data.provider)) // as it is saved, and no draft any more
    toast(t('saved'))
  })
  const failed = saving.error
  const plan = usePlan(bad ? null : wished)
  const refused = [failed, plan.error].flatMap((e) => {
    const field = e instanceof ApiError ? fieldOf(e.field) : null
    return field ? [{ field, text: said(e) }] : []
  })[0]
  const form_ = useRef<HTMLFormElement>(null)

  const save = (e: FormEvent) => {
    e.preventDefault()
    if (saving.busy || same) return
    if (bad) form_.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
    else saving.run()
  }
  const dropped = (filter: string) => plan.data?.candidates.filter((x) => x.dropped_by === filter).length ?? 0
  /** What is to be said below a field: what keeps it from being saved, or what else is worth knowing of it. */
  const error = (field: FieldName): ReactNode =>
    refused?.field === field ? (
      <span lang="en" translate="no">
        {refused.text}
      </span>
    ) : (
      say(found.find((p) => p.field === field && p.bad))
    )
  const say = (p: Problem | undefined): ReactNode =>
    p && t.rich(`at_${p.kind}`, { names: <span translate="no">{p.names.join(', ')}</span> })
  const notes = (field: FieldName, filter?: string): ReactNode => {
    const all = found.filter((p) => p.field === field && !p.bad)
    const n = filter ? dropped(filter) : 0
    if (all.length === 0 && n === 0) return null
    return (
      <div className="flex flex-col gap-1 pt-1.5" data-notes={field}>
        {all.map((p) => (
          <p key={p.kind} className="flex gap-1.5 text-small text-warn">
            <Icon name="warning" size={14} className="mt-0.5" />
            <span>{say(p)}</span>
          </p>
        ))}
        {n > 0 && <p className="text-small text-ink3">{t('drops', { n })}</p>}
      </div>
    )
  }
  const unit = (x: (typeof ceilings)[number]) => (x === 'request' || x === 'image' ? RUBLE : priceUnit())
  const cutoffs = (field: 'speed' | 'first', label: string, help: string, unit: string) => (
    <fieldset className="m-0 min-w-0 border-0 p-0">
      <legend className="pb-1.5 text-small font-medium text-ink2">{label}</legend>
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-4">
        {percentiles.map((k) => (
          <Field key={k} label={t(k)} error={error(`${field}.${k}`)}>
            <Input
              inputMode="decimal"
              unit={unit}
              value={form[field][k]}
              placeholder="—"
              onChange={(e) => change({ [field]: { ...form[field], [k]: e.target.value } as Cutoffs })}
            />
          </Field>
        ))}
      </div>
      <p className="pt-1.5 text-small text-ink3">{help}</p>
    </fieldset>
  )
  return (
    <div className="grid grid-cols-1 items-start gap-5 lg:grid-cols-[minmax(0,1fr)_minmax(340px,420px)]">
      <form ref={form_} noValidate onSubmit={save} className="flex min-w-0 flex-col gap-5">
        <Panel title={t('choice')}>
          <div className="flex flex-col gap-5">
            <div>
              <Field label={t('sort')} help={t(`sortHelp_${form.sort || 'none'}`)}>
                <Select
                  value={form.sort}
                  onChange={(e) => change({ sort: e.target.value as Form['sort'] })}
                  options={[...sorts, ...(form.sort === 'exacto' ? ['exacto' as const] : [])].map((v) => ({
                    value: v,
                    label: t(`sort_${v || 'none'}`),
                  }))}
                />
              </Field>
              {form.sort !== '' && (
                <Checkbox
                  className="mt-2"
                  checked={form.together}
                  onChange={(together) => change({ together })}
                >
                  {t('together')}
                </Checkbox>
              )}
              {notes('sort')}
            </div>
            <Names
              label={t('order')}
              help={t('orderHelp')}
              value={form.order}
              onChange={(order) => change({ order })}
              ordered
              error={error('order')}
            >
              {notes('order')}
            </Names>
            <div>
              <Switch
                checked={form.fallbacks}
                onChange={(fallbacks) => change({ fallbacks })}
                help={t('fallbacksHelp')}
              >
                {t('fallbacks')}
              </Switch>
              {notes('fallbacks', 'allow_fallbacks')}
            </div>
          </div>
        </Panel>
        <Panel title={t('who')}>
          <div className="flex flex-col gap-5">
            <Names
              label={t('only')}
              help={t('onlyHelp')}
              value={form.only}
              onChange={(only) => change({ only })}
              error={error('only')}
            >
              {notes('only', 'only')}
            </Names>
            <Names
              label={t('ignore')}
              help={t('ignoreHelp')}
              value={form.ignore}
              onChange={(ignore) => change({ ignore })}
              error={error('ignore')}
            >
              {notes('ignore', 'ignore')}
            </Names>
          </div>
        </Panel>
        <Panel title={t('data')}>
          <div className="flex flex-col gap-4">
            <div>
              <Switch checked={form.deny} onChange={(deny) => change({ deny })} help={t('denyHelp')}>
                {t('deny')}
              </Switch>
              {dropped('data_collection') > 0 && (
                <p className="pt-1.5 text-small text-ink3">{t('drops', { n: dropped('data_collection') })}</p>
              )}
            </div>
            <div>
              <Switch checked={form.zero} onChange={(zero) => change({ zero })} help={t('zeroHelp')}>
                {t('zero')}
              </Switch>
              {error('zero') && <p className="pt-1.5 text-small text-bad">{error('zero')}</p>}
              {notes('zero', 'zdr')}
            </div>
          </div>
        </Panel>
        <Panel title={t('price')}>
          <div className="grid grid-cols-2 gap-3 sm:grid-cols-3">
            {ceilings.map((x) => (
              <div key={x}>
                <Field label={t(`price_${x}`)} error={error(`price.${x}`)}>
                  <Input
                    inputMode="decimal"
                    unit={unit(x)}
                    className={unit(x).length > 1 ? 'pr-16' : ''}
                    value={form.price[x]}
                    placeholder={t('any')}
                    onChange={(e) => change({ price: { ...form.price, [x]: e.target.value } })}
                  />
                </Field>
                {notes(`price.${x}`)}
              </div>
            ))}
          </div>
          <p className="pt-2 text-small text-ink3">
            {dropped('max_price') > 0 ? t('drops', { n: dropped('max_price') }) : t('priceHelp')}
          </p>
        </Panel>
        <Panel title={t('quality')}>
          <div className="flex flex-col gap-5">
            <fieldset className="m-0 min-w-0 border-0 p-0">
              <legend className="pb-1 text-small font-medium text-ink2">{t('quantizations')}</legend>
              <div className="grid grid-cols-3 gap-x-4 sm:grid-cols-4">
                {levels.map((l) => (
                  <Checkbox
                    key={l}
                    checked={form.quantizations.includes(l)}
                    onChange={(on) =>
                      change({
                        quantizations: on
                          ? [...form.quantizations, l]
                          : form.quantizations.filter((x) => x !== l),
                      })
                    }
                  >
                    {l === 'unknown' ? t('unknown') : <span translate="no">{l}</span>}
                  </Checkbox>
                ))}
              </div>
              <p className="pt-1 text-small text-ink3">{t('quantizationsHelp')}</p>
              {error('quantizations')}
              {notes('quantizations', 'quantizations')}
            </fieldset>
            {cutoffs('speed', t('speed'), t('speedHelp'), t('perSecond'))}
            {cutoffs('first', t('first'), t('firstHelp'), t('second'))}
            <div>
              <Switch
                checked={form.parameters}
                onChange={(parameters) => change({ parameters })}
                help={t('parametersHelp')}
              >
                {t('parameters')}
              </Switch>
              {dropped('require_parameters') > 0 && (
                <p className="pt-1.5 text-small text-ink3">
                  {t('drops', { n: dropped('require_parameters') })}
                </p>
              )}
            </div>
          </div>
        </Panel>
        {failed !== null && refused === undefined && <ErrorBox error={failed} title={explain(failed)} />}
        <div
          data-bar
          className="sticky bottom-0 z-10 -mx-1 flex flex-wrap items-center gap-2 border-t border-line bg-canvas px-1 py-3 max-md:bottom-14"
        >
          <Button type="submit" look="main" busy={saving.busy} disabled={same}>
            {c('save')}
          </Button>
          <Button
            disabled={same}
            onClick={() => {
              setForm(formOf(saved.provider))
              saving.clear()
            }}
          >
            {t('undo')}
          </Button>
          <Button
            look="quiet"
            disabled={wished === 'null' && !bad}
            onClick={() => {
              setForm(empty)
              saving.clear()
            }}
          >
            {t('clear')}
          </Button>
          {plan.data && (
            <a href="#effect" className="flex min-h-6 items-center text-small text-ink2 lg:hidden">
              {t('remain', {
                all: integer(plan.data.candidates.length),
                n: plan.data.candidates.filter((x) => !x.dropped_by).length,
              })}
            </a>
          )}
          <span className="text-small text-ink3 max-md:hidden" aria-live="polite">
            {bad ? t('notReadable') : same ? t('nothingChanged') : t('changed')}
          </span>
        </div>
      </form>
      <Explanation plan={plan} bad={bad} error={refused ? null : plan.error} />
    </div>
  )
}

/** Providers by name: chosen from the catalog or typed. With `ordered` their places matter and can be changed. */
function Names({
  label,
  help,
  value,
  onChange,
  ordered,
  error,
  children,
}: {
  label: string
  help: string
  value: readonly string[]
  onChange: (v: readonly string[]) => void
  ordered?: boolean
  error: ReactNode
  children: ReactNode
}) {
  const t = useT('preferences')
  const { prepared } = useCatalog()
  const [text, setText] = useState('')
  const id = useId()
  const has = (s: string) => value.some((v) => v.toLowerCase() === s.toLowerCase())
  const add = () => {
    const names = text
      .split(',')
      .map((s) => s.trim())
      .filter((s) => s !== '' && !has(s))
      .map(
        (s) =>
          [...(prepared?.providers ?? [])].find(([, name]) => name.toLowerCase() === s.toLowerCase())?.[0] ??
          s,
      )
    if (names.length > 0) onChange([...new Set([...value, ...names])].slice(0, limit))
    setText('')
  }
  const move = (from: number, to: number) => {
    const next = [...value]
    next.splice(to, 0, next.splice(from, 1)[0]!)
    onChange(next)
  }
  const nameOf = (s: string) => prepared?.providers.get(s) ?? s
  const List = ordered ? 'ol' : 'ul'
  return (
    <div>
      <Field label={label} help={help} error={error}>
        <div className="flex gap-2">
          <Input
            list={`${id}-list`}
            value={text}
            maxLength={200}
            autoComplete="off"
            spellCheck={false}
            disabled={value.length >= limit}
            placeholder={t('addName')}
            onChange={(e) => setText(e.target.value)}
            onKeyDown={(e) => {
              if (e.key === 'Enter') {
                e.preventDefault()
                add()
              }
            }}
          />
          <Button disabled={text.trim() === ''} onClick={add}>
            {t('add')}
          </Button>
        </div>
      </Field>
      <datalist id={`${id}-list`}>
        {[...(prepared?.providers ?? [])]
          .filter(([p]) => !has(p))
          .map(([p, name]) => (
            <option key={p} value={p} label={name === p ? undefined : name} />
          ))}
      </datalist>
      {value.length > 0 && (
        <List aria-label={label} className="m-0 mt-2 flex list-none flex-wrap gap-1.5 p-0">
          {value.map((v, i) => (
            <li
              key={v}
              className="flex min-h-7 items-center gap-1 rounded-control border border-line bg-sunken pl-2 text-small"
            >
              {ordered && <span className="text-ink3 tabular-nums">{integer(i + 1)}</span>}
              <span translate="no" title={v} className="max-w-60 truncate font-medium">
                {nameOf(v)}
              </span>
              {ordered && i > 0 && (
                <IconButton
                  icon="up"
                  label={t('earlier', { name: nameOf(v) })}
                  onClick={() => move(i, i - 1)}
                />
              )}
              <IconButton
                icon="x"
                label={t('take', { name: nameOf(v) })}
                onClick={() => onChange(value.filter((x) => x !== v))}
              />
            </li>
          ))}
        </List>
      )}
      {children}
    </div>
  )
}

const MODEL = 'routing-model'
const short = (id: string) => ({ model: id, messages: [{ role: 'user', content: 'Hello' }] })
/** The route of a chosen model under preferences that are not saved, asked when the typing rests. */
function usePlan(wished: string | null) {
  const { prepared } = useCatalog()
  const [asked, setAsked] = useState(wished)
  useEffect(() => {
    if (wished === null) return
    const timer = setTimeout(() => setAsked(wished), 200)
    return () => clearTimeout(timer)
  }, [wished])
  const models = useMemo(
    () =>
      (prepared?.entries ?? [])
        .map((e) => e.model)
        .filter((m) => m.type === 'chat')
        .sort((a, b) => b.providers.length - a.providers.length || a.name.localeCompare(b.name)),
    [prepared],
  )
  const [chosen, setChosen] = useState(() => remembered(MODEL))
  const model = models.find((m) => m.id === chosen) ?? models[0]
  const query = useQuery({
    queryKey: getPreferences.key('explain', model?.id, asked),
    enabled: model !== undefined && asked !== null,
    placeholderData: keepPreviousData,
    staleTime: 10_000,
    gcTime: 60_000,
    retry: false,
    queryFn: async ({ signal }) =>
      (
        await post('/api/account/preferences/explain', {
          body: { provider: JSON.parse(asked!) as never, request: short(model!.id) as never },
          signal,
        })
      ).data,
  })
  return {
    ...query,
    models,
    model,
    choose: (id: string) => {
      setChosen(id)
      remember(MODEL, id)
    },
    stale: query.isPlaceholderData || asked !== wished,
  }
}

function Explanation({
  plan,
  bad,
  error,
}: {
  plan: ReturnType<typeof usePlan>
  bad: boolean
  error: unknown
}) {
  const t = useT('preferences'),
    r = useT('route')
  const { prepared } = useCatalog()
  const all = plan.data?.candidates ?? []
  const kept = all.filter((x) => !x.dropped_by).sort((a, b) => (a.order || 99) - (b.order || 99))
  const out = all.filter((x) => x.dropped_by)
  return (
    <div id="effect" className="scroll-mt-16 lg:sticky lg:top-16">
      <Panel title={t('effect')}>
        <Field label={t('model')}>
          <ModelPicker
            value={plan.model?.id ?? ''}
            shown={
              plan.model ? `${plan.model.name} · ${t('providersN', { n: plan.model.providers.length })}` : '—'
            }
            fits={(m) => m.type === 'chat'}
            onChange={plan.choose}
          />
        </Field>
        <div
          className={`pt-4 ${plan.stale || bad ? 'opacity-60' : ''}`}
          data-plan={plan.stale ? 'old' : 'now'}
        >
          {error ? (
            <ErrorBox error={error} title={explain(error)} />
          ) : !plan.data ? (
            <SkeletonRows rows={5} />
          ) : (
            <>
              <p className="text-section" aria-live="polite" data-remain>
                {t('remain', { all: integer(all.length), n: kept.length })}
              </p>
              {kept.length === 0 && (
                <div className="pt-3">
                  <Notice tone="bad" title={t('nobody')}>
                    {t('nobodyText')}
                  </Notice>
                </div>
              )}
              <ul className="m-0 list-none p-0 pt-2" aria-label={t('effect')}>
                {[...kept, ...out].map((x) => (
                  <li
                    key={x.endpoint}
                    className="flex gap-3 border-b border-line py-2 last:border-b-0"
                    data-endpoint={x.endpoint}
                  >
                    <span
                      className={
                        `grid size-6 flex-none place-items-center rounded-full text-label font-semibold ` +
                        `${x.dropped_by ? 'bg-sunken text-ink3' : x.order === 1 ? 'bg-accent text-on-accent' : 'bg-accent-soft text-accent-ink'}`
                      }
                    >
                      {x.dropped_by ? '×' : x.order > 0 ? integer(x.order) : '·'}
                    </span>
                    <div className="min-w-0 flex-1">
                      <p className="flex flex-wrap items-baseline gap-x-2">
                        <span
                          translate="no"
                          className={`font-medium break-words ${x.dropped_by ? 'text-ink2' : ''}`}
                        >
                          {prepared?.providers.get(x.provider) ?? x.provider_name}
                        </span>
                        {x.tag !== x.provider && (
                          <span translate="no" className="text-small text-ink3">
                            {x.tag}
                          </span>
                        )}
                      </p>
                      <p className="text-small text-ink2">
                        {x.dropped_by
                          ? r.or(`why_${x.dropped_by}`, x.dropped_by)
                          : x.score
                            ? r.or(`by_${x.score.by}`, x.score.by)
                            : ''}
                      </p>
                      <p className="text-small text-ink3 tabular-nums">
                        {t('prices', {
                          in: price(perToken(x.price.prompt_per_1k)),
                          out: price(perToken(x.price.completion_per_1k)),
                        })}
                      </p>
                    </div>
                    {x.dropped_by && (
                      <span>
                        <Tag tone="bad">{r.or(`gate_${x.dropped_by}`, x.dropped_by)}</Tag>
                      </span>
                    )}
                  </li>
                ))}
              </ul>
            </>
          )}
        </div>
        <p className="pt-3 text-small text-ink3">{t('effectHelp')}</p>
      </Panel>
    </div>
  )
}
