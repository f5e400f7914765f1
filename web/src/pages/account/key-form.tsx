/** What a key may do, as a form: the same fields when it is made and when it is changed. */
import { useAction } from '../../api/action'
import { useState, type ReactNode, type Ref } from 'react'
import { type Reply } from '../../api/client'
import { explain } from '../../api/explain'
import { dayText, decimal, endOfDay, plain, zoneName } from '../../format'
import { useT } from '../../i18n'
import { ErrorBox } from '../../ui/feedback'
import { Field, Input, Select, Textarea } from '../../ui/field'
import { Icon } from '../../ui/icons'
import { ModelList } from '../catalog/choose-list'

type Period = 'daily' | 'weekly' | 'monthly'
const periods = ['never', 'daily', 'weekly', 'monthly'] as const
/** In days; a key that is made works so long. */
const spans = ['7', '30', '90', '365'] as const
const DAY = 86_400_000
const fields = ['name', 'limit', 'limit_reset', 'expires_at', 'allowed_models', 'allowed_ips', 'schema']

export type Key = Reply<'/api/keys'>['data'][number]
export interface Draft {
  readonly name: string
  /** As it was typed, with a comma or a dot */
  readonly limit: string
  readonly reset: Period | 'never'
  /** never, a number of days, or day: until the end of the day below */
  readonly expires: string
  readonly day: string
  readonly models: string
  readonly addresses: string
  readonly schema: Key['schema']
}
export const emptyDraft: Draft = {
  name: '',
  limit: '',
  reset: 'monthly',
  expires: 'never',
  day: '',
  models: '',
  addresses: '',
  schema: 'lenient',
}
export function draftOf(k: Key): Draft {
  const day = dayText(k.expires_at)
  return {
    name: k.name,
    limit: k.limit ?? '',
    reset: k.limit_reset ?? 'never',
    expires: day ? 'day' : 'never',
    day,
    models: (k.allowed_models ?? []).join('\n'),
    addresses: (k.allowed_ips ?? []).join('\n'),
    schema: k.schema,
  }
}

const amount = (limit: string) =>
  limit.trim() === '' ? null : decimal(limit.replace(/[\s\u202f\u00a0₽]/g, '').replace(',', '.'))
const lines = (text: string) => {
  const all = text
    .split(/[\n,]/)
    .map((x) => x.trim())
    .filter(Boolean)
  return all.length > 0 ? all : null
}
/** The last day, or nothing when it does not end. */
const lastDay = (d: Draft, now: number) =>
  d.expires === 'never' ? '' : d.expires === 'day' ? d.day : dayText(now + Number(d.expires) * DAY)

/** What is wrong with the fields, by their name; empty when the key can be made. `before`: what the key has now. */
export function wrongIn(
  d: Draft,
  before: Draft,
  now = Date.now(),
): { readonly limit?: 'limitWrong'; readonly day?: 'expiryPast' | 'expiryNone' } {
  const limit = amount(d.limit)
  return {
    ...(d.limit.trim() !== '' && (!limit || limit.digits <= 0n) ? { limit: 'limitWrong' as const } : {}),
    ...(d.expires !== 'day'
      ? {}
      : d.day === ''
        ? { day: 'expiryNone' as const }
        : d.day !== before.day && d.day < dayText(now)
          ? { day: 'expiryPast' as const }
          : {}),
  }
}
/** The fields as the API takes them. An end that was not touched is left out: it may be in the middle of its day. */
export function bodyOf(d: Draft, before: Draft, now = Date.now()) {
  const limit = amount(d.limit),
    day = lastDay(d, now)
  return {
    name: d.name.trim(),
    limit: limit ? plain(limit) : null,
    limit_reset: limit && d.reset !== 'never' ? d.reset : null,
    ...(day === lastDay(before, now) ? {} : { expires_at: day === '' ? null : endOfDay(day) }),
    allowed_models: lines(d.models),
    allowed_ips: lines(d.addresses),
    schema: d.schema,
  }
}

/** The state of such a form. `save` says whether the fields could be sent. */
export function useKeyForm(before: Draft, send: (body: ReturnType<typeof bodyOf>) => Promise<void>) {
  const [draft, setDraft] = useState(before)
  const [tried, setTried] = useState(false)
  const set = (change: Partial<Draft>) => setDraft((d) => ({ ...d, ...change }))
  const wrong = wrongIn(draft, before)
  const action = useAction(async () => {
    await send(bodyOf(draft, before))
    setTried(false)
  })
  const save = () => {
    setTried(true)
    if (!action.busy && !wrong.limit && !wrong.day && draft.name.trim() !== '') action.run()
  }
  return {
    draft,
    set,
    save,
    action,
    reset: () => {
      setDraft(before)
      setTried(false)
      action.clear()
    },
    wrong,
    tried,
  }
}
export type KeyForm = ReturnType<typeof useKeyForm>

/** `row`: the first fields side by side, as when a key is made; otherwise one under the other. */
export function KeyFields({
  form,
  row,
  nameRef,
}: {
  form: KeyForm
  row?: boolean
  nameRef?: Ref<HTMLInputElement>
}) {
  const t = useT('keys')
  const { draft: d, set, wrong, action, tried } = form
  const { at } = action
  const error = action.except(...fields)
  const own = d.expires === 'day'
  return (
    <>
      <div
        className={
          row ? 'grid gap-x-3 gap-y-4 md:grid-cols-[minmax(220px,1fr)_auto_auto_auto]' : 'flex flex-col gap-4'
        }
      >
        <Field
          label={t('name')}
          error={at('name') ?? (tried && d.name.trim() === '' ? t('nameNone') : undefined)}
        >
          <Input
            ref={nameRef}
            value={d.name}
            maxLength={256}
            required
            placeholder={row ? t('newHint') : undefined}
            onChange={(e) => set({ name: e.target.value })}
            autoComplete="off"
          />
        </Field>
        <Field
          label={t('limit')}
          {...(row ? {} : { help: t('limitHelp') })}
          error={wrong.limit ? t(wrong.limit) : at('limit', 'limit_reset')}
        >
          <Input
            value={d.limit}
            unit="₽"
            inputMode="decimal"
            placeholder={row ? t('limitNone') : undefined}
            onChange={(e) => set({ limit: e.target.value })}
            autoComplete="off"
            className={row ? 'md:w-36' : ''}
          />
        </Field>
        <Field label={t('reset')}>
          <Select
            value={d.reset}
            disabled={d.limit.trim() === ''}
            onChange={(e) => set({ reset: e.target.value as Draft['reset'] })}
            options={periods.map((v) => ({ value: v, label: t(`reset_${v}`) }))}
          />
        </Field>
        <div className="flex flex-wrap gap-3">
          <Field label={t('expires')}>
            <Select
              value={d.expires}
              onChange={(e) => set({ expires: e.target.value })}
              options={[
                { value: 'never', label: t('noExpiry') },
                ...spans.map((v) => ({ value: v, label: t('expiryIn', { n: Number(v) }) })),
                { value: 'day', label: t('expiryDay') },
              ]}
            />
          </Field>
          {own && (
            <Field
              label={t('expiry')}
              help={t('expiryHelp', { zone: zoneName() })}
              error={wrong.day && (tried || wrong.day === 'expiryPast') ? t(wrong.day) : at('expires_at')}
            >
              <Input type="date" value={d.day} onChange={(e) => set({ day: e.target.value })} />
            </Field>
          )}
        </div>
      </div>
      <div className={row ? 'grid gap-x-5 gap-y-2 md:grid-cols-3' : 'flex flex-col gap-3'}>
        <Fold title={t('models')} open={d.models !== '' || at('allowed_models') !== undefined}>
          <Field hideLabel label={t('models')} help={t('modelsHelp')} error={at('allowed_models')}>
            <ModelList
              free
              value={lines(d.models) ?? []}
              add={t('addModel')}
              onChange={(all) => set({ models: all.join('\n') })}
            />
          </Field>
        </Fold>
        <Fold title={t('addresses')} open={d.addresses !== '' || at('allowed_ips') !== undefined}>
          <Field hideLabel label={t('addresses')} help={t('addressesHelp')} error={at('allowed_ips')}>
            <Textarea
              value={d.addresses}
              spellCheck={false}
              onChange={(e) => set({ addresses: e.target.value })}
            />
          </Field>
        </Fold>
        <Fold title={t('schema')} open={d.schema !== 'lenient' || at('schema') !== undefined}>
          <Field hideLabel label={t('schema')} help={t('schemaHelp')} error={at('schema')}>
            <Select
              value={d.schema}
              onChange={(e) => set({ schema: e.target.value as Draft['schema'] })}
              options={(['lenient', 'strict'] as const).map((v) => ({ value: v, label: t(`schema_${v}`) }))}
            />
          </Field>
        </Fold>
      </div>
      {error !== null && <ErrorBox error={error} title={explain(error)} />}
    </>
  )
}

/** Fields that few need: folded, and open as soon as there is something in them. */
function Fold({ title, open, children }: { title: string; open: boolean; children: ReactNode }) {
  const [shown, setShown] = useState(open)
  return (
    <details open={shown || open} onToggle={(e) => setShown(e.currentTarget.open)} className="group min-w-0">
      <summary className="inline-flex min-h-7 cursor-pointer list-none items-center gap-1 text-small font-medium text-ink2 hover:text-ink max-md:min-h-11">
        <Icon name="right" size={14} className="text-ink3 group-open:rotate-90" />
        {title}
      </summary>
      <div className="pt-1.5 pb-2">{children}</div>
    </details>
  )
}
