/** One preset: what it says, its versions with their differences, and how to call it. */
import { useAction } from '../../api/action'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useId, useMemo, useState, type ReactNode } from 'react'
import { ApiError, get, post, put } from '../../api/client'
import { explain } from '../../api/explain'
import { renew } from '../../api/query'
import { getPreset, getPresetVersion, listPresets, listPresetVersions } from '../../api/operations'
import { chatSnippets } from '../../code/snippets'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { CodeTabs } from '../../ui/code'
import { Slug } from '../../ui/copy'
import { Empty, ErrorBox, Notice, Skeleton } from '../../ui/feedback'
import { Checkbox, Field, Input, Select, Textarea } from '../../ui/field'
import { useDraft } from '../../ui/draft'
import { Icon } from '../../ui/icons'
import { LinkButton } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Dialog, usePhone } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { toast, toastError } from '../../ui/toast'
import { When } from '../../ui/values'
import { ModelPicker } from '../catalog/choose'
import { ModelList } from '../catalog/choose-list'
import { useCatalog } from '../catalog/data'
import { linkTo } from '../playground/share'
import { efforts, readSchema, readTools, wrong, type Settings } from '../playground/stream'
import {
  difference,
  formOf,
  linesOf,
  readList,
  readObject,
  saidBy,
  type Form,
  type Preset,
  type Said,
} from './data'
import { Used } from './presets'

const forget = () => renew(listPresets, getPreset, listPresetVersions)

export default function PresetPage() {
  const t = useT('presets')
  const { name } = useParams({ strict: false }) as { name: string }
  const { data, error, refetch } = useQuery(getPreset({ path: { name } }))
  const crumbs = [{ label: t('title'), to: '/presets' }]
  if (error && !data)
    return (
      <Page>
        <PageHead title={name} crumbs={crumbs} />
        {error instanceof ApiError && error.status === 404 ? (
          <Empty
            icon="sliders"
            title={t('missing')}
            action={<LinkButton to="/presets">{t('back')}</LinkButton>}
          />
        ) : (
          <ErrorBox
            error={error}
            onRetry={() => {
              void refetch()
            }}
          />
        )}
      </Page>
    )
  if (!data)
    return (
      <Page>
        <PageHead title={name} crumbs={crumbs} />
        <Skeleton className="h-64 w-full" />
      </Page>
    )
  const p = data.data
  const form = formOf(p)
  return (
    <Page>
      <PageHead
        title={<span translate="no">{p.name}</span>}
        name={p.name}
        crumbs={crumbs}
        note={
          <>
            <Used uses={p.uses} /> · {t('versionN', { n: p.version })}
          </>
        }
      >
        <LinkButton
          to="/playground"
          icon="play"
          search={linkTo(p.model ? [p.model] : [], form.settings, true)}
        >
          {t('play')}
        </LinkButton>
      </PageHead>
      <div className="grid gap-5 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <Editor key={p.version} p={p} start={form} />
        <div className="flex min-w-0 flex-col gap-5">
          <Panel title={t('code')}>
            <p className="pb-3">
              <Slug>{p.slug}</Slug>
            </p>
            <CodeTabs label={t('code')} snippets={chatSnippets({ base: location.origin, model: p.slug })} />
          </Panel>
          <Versions p={p} />
        </div>
      </div>
    </Page>
  )
}

/** A part of the editor. On a phone each is a step that opens; one with something wrong in it is open. */
function Group({
  title,
  note,
  wrong,
  children,
}: {
  title: string
  note?: string
  wrong: boolean
  children: ReactNode
}) {
  const phone = usePhone()
  const [open, setOpen] = useState(false)
  const id = useId()
  if (phone) {
    const shown = open || wrong
    return (
      <section className="border-t border-line">
        <button
          type="button"
          aria-expanded={shown}
          aria-controls={id}
          onClick={() => setOpen(!shown)}
          className="flex min-h-11 w-full items-center gap-2 pt-2 text-left"
        >
          <span className="min-w-0 flex-1 text-section">{title}</span>
          <Icon name={shown ? 'up' : 'down'} size={14} className="text-ink3" />
        </button>
        <div id={id} hidden={!shown} className="pt-1">
          <fieldset className="flex min-w-0 flex-col gap-4">
            <legend className="sr-only">{title}</legend>
            {note && <p className="text-small text-ink3">{note}</p>}
            {children}
          </fieldset>
        </div>
      </section>
    )
  }
  return (
    <fieldset className="flex min-w-0 flex-col gap-4 border-t border-line pt-4">
      <legend className="float-left pb-1 text-section">
        {title}
        {note && <span className="block text-small font-normal text-ink3">{note}</span>}
      </legend>
      {children}
    </fieldset>
  )
}

function Editor({ p, start }: { p: Preset; start: Form }) {
  const t = useT('presets'),
    c = useT('common')
  const { prepared } = useCatalog()
  const [form, setForm] = useDraft(`preset ${p.name} ${p.version}`, start)
  const s = form.settings
  const change = (x: Partial<Form>) => {
    setForm((f) => ({ ...f, ...x }))
    save.clear()
  }
  const set = (x: Partial<Settings>) => change({ settings: { ...s, ...x } })
  const bad = wrong(s)
  const said = useMemo(() => JSON.stringify([form.description, saidBy(form)]), [form])
  const before = useMemo(() => JSON.stringify([start.description, saidBy(start)]), [start])
  const changed = said !== before
  const tools = readTools(s.tools),
    wrongPlugins = readList(form.plugins) === null
  const wrongMore = readObject(form.parameters) === null,
    wrongRouting = readObject(form.provider) === null
  const save = useAction(async () => {
    if (bad.length > 0 || wrongMore || wrongRouting || wrongPlugins || tools.error !== null) return
    const { data } = await put('/api/presets/{name}', {
      path: { name: p.name },
      body: { ...saidBy(form), description: form.description.trim() || null, from_version: p.version },
    })
    await forget()
    toast(data.version === p.version ? c('saved') : t('saved', { n: data.version }))
  })
  const { error, at } = save
  const field = error instanceof ApiError ? error.field : null
  const shown =
    at('description', 'model', 'models', 'system_prompt', 'parameters', 'provider', 'tools', 'plugins') !==
    undefined
  const old = error instanceof ApiError && error.status === 409
  const known = (name: string) => at(`parameters.${name}`)
  const other = ['temperature', 'top_p', 'max_tokens', 'response_format'].some((n) => known(n))
    ? undefined
    : at('parameters')
  return (
    <Panel className="min-w-0">
      <form aria-label={p.name} onSubmit={save.submit} className="flex flex-col gap-4">
        <Field label={t('description')} error={at('description')}>
          <Input
            value={form.description}
            maxLength={200}
            dir="auto"
            onChange={(e) => change({ description: e.target.value })}
          />
        </Field>
        <Field label={t('model')} error={at('model')}>
          <ModelPicker
            value={form.model}
            shown={prepared?.models.get(form.model)?.name ?? (form.model || t('anyModel'))}
            none={t('anyModel')}
            onChange={(model) =>
              change({ model, settings: { ...s, fallbacks: s.fallbacks.filter((f) => f !== model) } })
            }
          />
        </Field>
        <div>
          <p className="pb-1.5 text-small font-medium text-ink2">{t('fallbacks')}</p>
          <ModelList
            ordered
            limit={9}
            value={s.fallbacks}
            add={t('addFallback')}
            fits={(m) => m.id !== form.model}
            onChange={(fallbacks) => set({ fallbacks })}
          />
          <p className={`pt-1.5 text-small ${at('models') ? 'text-bad' : 'text-ink3'}`}>
            {at('models') ?? t('fallbacksHelp')}
          </p>
        </div>
        <Field label={t('instructions')} help={t('instructionsHelp')} error={at('system_prompt')}>
          <Textarea
            rows={6}
            maxLength={32768}
            value={s.system}
            dir="auto"
            onChange={(e) => set({ system: e.target.value })}
          />
        </Field>
        <Group
          title={t('parameters')}
          note={t('parametersNote')}
          wrong={bad.some((f) => f !== 'tools') || wrongMore || field?.startsWith('parameters') === true}
        >
          <div className="grid gap-4 sm:grid-cols-2">
            <Field
              label={t('temperature')}
              error={bad.includes('temperature') ? t('wrongFigure') : known('temperature')}
            >
              <Input
                inputMode="decimal"
                placeholder={t('byDefault')}
                value={s.temperature}
                onChange={(e) => set({ temperature: e.target.value })}
              />
            </Field>
            <Field label={t('topP')} error={bad.includes('topP') ? t('wrongFigure') : known('top_p')}>
              <Input
                inputMode="decimal"
                placeholder={t('byDefault')}
                value={s.topP}
                onChange={(e) => set({ topP: e.target.value })}
              />
            </Field>
            <Field
              label={t('longest')}
              error={bad.includes('longest') ? t('wrongFigure') : known('max_tokens')}
            >
              <Input
                inputMode="numeric"
                unit={t('tokens')}
                placeholder={t('byDefault')}
                value={s.longest}
                onChange={(e) => set({ longest: e.target.value })}
              />
            </Field>
            <Field label={t('effort')}>
              <Select
                value={s.effort}
                onChange={(e) => set({ effort: e.target.value })}
                options={(['', ...efforts] as const).map((v) => ({ value: v, label: t(`effort_${v}`) }))}
              />
            </Field>
            <Field label={t('format')}>
              <Select
                value={s.format}
                onChange={(e) => set({ format: e.target.value as Settings['format'] })}
                options={(['', 'json', 'schema'] as const).map((v) => ({
                  value: v,
                  label: t(`format_${v}`),
                }))}
              />
            </Field>
          </div>
          {s.format === 'schema' && (
            <Field
              label={t('schema')}
              error={readSchema(s.schema).error !== null ? t('notObject') : known('response_format')}
            >
              <Textarea
                rows={8}
                spellCheck={false}
                className="font-mono"
                value={s.schema}
                onChange={(e) => set({ schema: e.target.value })}
              />
            </Field>
          )}
          <Field label={t('more')} help={t('moreHelp')} error={wrongMore ? t('notObject') : other}>
            <Textarea
              rows={2}
              spellCheck={false}
              className="font-mono"
              value={form.parameters}
              onChange={(e) => change({ parameters: e.target.value })}
            />
          </Field>
        </Group>
        <Group
          title={t('tools')}
          note={t('toolsNote')}
          wrong={tools.error !== null || wrongPlugins || at('tools', 'plugins') !== undefined}
        >
          <Field
            label={t('functions')}
            help={t('functionsHelp')}
            error={tools.error !== null ? t('notTools') : at('tools')}
          >
            <Textarea
              rows={4}
              spellCheck={false}
              className="font-mono"
              value={s.tools}
              onChange={(e) => set({ tools: e.target.value })}
            />
          </Field>
          <Field
            label={t('plugins')}
            help={t('pluginsHelp')}
            error={wrongPlugins ? t('notList') : at('plugins')}
          >
            <Textarea
              rows={2}
              spellCheck={false}
              className="font-mono"
              value={form.plugins}
              onChange={(e) => change({ plugins: e.target.value })}
            />
          </Field>
        </Group>
        <Group title={t('routing')} wrong={wrongRouting || at('provider') !== undefined}>
          <Field label={t('sort')}>
            <Select
              value={s.sort}
              onChange={(e) => set({ sort: e.target.value as Settings['sort'] })}
              options={(['', 'price', 'latency', 'throughput'] as const).map((v) => ({
                value: v,
                label: t(`sort_${v}`),
              }))}
            />
          </Field>
          <div>
            <Checkbox checked={s.noTraining} onChange={(noTraining) => set({ noTraining })}>
              {t('noTraining')}
            </Checkbox>
            <Checkbox checked={s.zeroRetention} onChange={(zeroRetention) => set({ zeroRetention })}>
              {t('zeroRetention')}
            </Checkbox>
            <Checkbox checked={s.oneProvider} onChange={(oneProvider) => set({ oneProvider })}>
              {t('oneProvider')}
            </Checkbox>
          </div>
          <Field
            label={t('moreRouting')}
            help={t('moreRoutingHelp')}
            error={wrongRouting ? t('notObject') : at('provider')}
          >
            <Textarea
              rows={2}
              spellCheck={false}
              className="font-mono"
              value={form.provider}
              onChange={(e) => change({ provider: e.target.value })}
            />
          </Field>
        </Group>
        {old && (
          <Notice
            tone="warn"
            title={t('newer')}
            action={
              <Button
                small
                onClick={() => {
                  void forget()
                }}
              >
                {t('readAgain')}
              </Button>
            }
          />
        )}
        {error !== null && !old && !shown && <ErrorBox error={error} title={explain(error)} />}
        <div
          className={
            'flex flex-wrap items-center gap-2 border-t border-line pt-4 max-md:sticky ' +
            'max-md:bottom-16 max-md:z-10 max-md:-mx-4 max-md:bg-surface max-md:px-4 max-md:pb-3'
          }
        >
          <Button look="main" type="submit" busy={save.busy} disabled={!changed}>
            {t('save', { n: p.version + 1 })}
          </Button>
          {changed ? (
            <Button
              look="quiet"
              onClick={() => {
                setForm(start)
                save.clear()
              }}
            >
              {t('leave')}
            </Button>
          ) : (
            <span className="text-small text-ink3">{t('noChange')}</span>
          )}
        </div>
      </form>
    </Panel>
  )
}

function Versions({ p }: { p: Preset }) {
  const t = useT('presets')
  const [showing, setShowing] = useState<number | null>(null)
  const { data, error, refetch } = useQuery(listPresetVersions({ path: { name: p.name } }))
  const restore = useAction(
    async (n: number) => {
      const { data } = await post('/api/presets/{name}/restore', {
        path: { name: p.name },
        body: { version: n },
      })
      await forget()
      toast(t('restored', { n, m: data.version }))
    },
    { failed: toastError },
  )
  const all = data?.data ?? []
  const at = all.findIndex((v) => v.version === showing) // a version that somebody saves meanwhile moves the others
  return (
    <Panel title={t('versions')}>
      {error && !data ? (
        <ErrorBox
          error={error}
          onRetry={() => {
            void refetch()
          }}
        />
      ) : !data ? (
        <Skeleton className="h-24 w-full" />
      ) : (
        <ol aria-label={t('versions')} className="flex flex-col">
          {all.map((v, i) => (
            <li key={v.version} className="flex flex-col gap-1 py-2 not-last:border-b not-last:border-line">
              <span className="flex flex-wrap items-center gap-2">
                <span className="font-medium">{t('versionN', { n: v.version })}</span>
                {v.version === p.version && <Tag tone="good">{t('current')}</Tag>}
              </span>
              <span className="text-small text-ink3">
                <When at={v.saved_at} form="full" /> ·{' '}
                {t(v.saved_by.startsWith('user:') ? 'by_user' : 'by_key')}
              </span>
              <span className="flex flex-wrap gap-2 pt-1">
                {i + 1 < all.length && (
                  <Button small look="quiet" onClick={() => setShowing(v.version)}>
                    {t('show')}
                  </Button>
                )}
                {v.version !== p.version && (
                  <Button
                    small
                    look="quiet"
                    icon="refresh"
                    busy={restore.busy}
                    onClick={() => restore.run(v.version)}
                  >
                    {t('restore')}
                  </Button>
                )}
              </span>
            </li>
          ))}
        </ol>
      )}
      {all[at] && all[at + 1] && (
        <Changes
          name={p.name}
          versions={all.map((v) => v.version)}
          a={all[at + 1]!.version}
          b={all[at]!.version}
          onClose={() => setShowing(null)}
        />
      )}
    </Panel>
  )
}

/** The difference of two versions, which the person chooses. */
function Changes({
  name,
  versions,
  a: first,
  b: second,
  onClose,
}: {
  name: string
  versions: readonly number[]
  a: number
  b: number
  onClose: () => void
}) {
  const t = useT('presets')
  const [a, setA] = useState(first)
  const [b, setB] = useState(second)
  const { data, error, refetch } = useQuery({
    queryKey: getPresetVersion.key('difference', name, a, b),
    staleTime: Infinity,
    queryFn: async ({ signal }) =>
      Promise.all(
        [a, b].map(
          async (n): Promise<Said> =>
            (
              await get('/api/presets/{name}/versions/{version}', {
                path: { name, version: String(n) },
                signal,
              })
            ).data,
        ),
      ),
  })
  const lines = useMemo(() => (data ? difference(linesOf(data[0]!), linesOf(data[1]!)) : []), [data])
  const options = versions.map((n) => ({ value: String(n), label: t('versionN', { n }) }))
  const marks = {
    same: [' ', ''],
    gone: ['−', 'bg-bad-soft text-bad'],
    new: ['+', 'bg-good-soft text-good'],
  } as const
  const words = { same: t('same'), gone: t('gone'), new: t('added') }
  return (
    <Dialog
      open
      wide
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('changes', { a, b })}
    >
      <div className="flex flex-wrap gap-2 pb-3">
        <Select
          aria-label={t('gone')}
          value={String(a)}
          options={options}
          onChange={(e) => setA(Number(e.target.value))}
        />
        <Select
          aria-label={t('added')}
          value={String(b)}
          options={options}
          onChange={(e) => setB(Number(e.target.value))}
        />
      </div>
      {error && !data ? (
        <ErrorBox
          error={error}
          onRetry={() => {
            void refetch()
          }}
        />
      ) : !data ? (
        <Skeleton className="h-40 w-full" />
      ) : (
        <pre
          role="region"
          aria-label={t('changes', { a, b })}
          tabIndex={0}
          translate="no"
          className="max-h-96 overflow-auto rounded-control border border-line bg-sunken py-2 font-mono text-small whitespace-pre-wrap"
        >
          {lines.map((l, i) => (
            <span key={i} className={`block px-3 break-words ${marks[l.kind][1]}`}>
              <span aria-hidden className="inline-block w-4 select-none">
                {marks[l.kind][0]}
              </span>
              {l.kind !== 'same' && <span className="sr-only">{words[l.kind]}: </span>}
              {l.text || ' '}
            </span>
          ))}
        </pre>
      )}
    </Dialog>
  )
}
