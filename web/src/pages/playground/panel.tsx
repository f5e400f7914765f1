/** The settings of a chat. Only what is set is sent. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { availableQuery } from '../../api/query'
import { ZERO, add, decimal, headline, plain } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Checkbox, Field, Input, Select, Textarea } from '../../ui/field'
import { Icon } from '../../ui/icons'
import { Money } from '../../ui/values'
import { ModelList } from '../catalog/choose-list'
import type { Model } from '../catalog/filter'
import { hasPage } from '../../routes/paths'
import { Link } from '../../ui/link'
import type { Chat } from './stream'
import { keeps } from './history'
import { sampleSchema, sampleTools, withSample } from './samples'
import { efforts, readSchema, readTools, type Settings } from './stream'
import type { T } from './turn'

function Section({
  title,
  note,
  open,
  children,
}: {
  title: string
  note?: string | undefined
  open: boolean
  children: React.ReactNode
}) {
  const [shown, setShown] = useState(open)
  return (
    <details
      open={shown}
      onToggle={(e) => setShown(e.currentTarget.open)}
      className="group border-t border-line pt-3"
    >
      <summary className="flex min-h-6 items-center gap-2 text-section">
        <span className="flex-1">{title}</span>
        {note && <span className="text-small font-normal text-ink3">{note}</span>}
        <Icon name={shown ? 'up' : 'down'} size={14} className="text-ink3" />
      </summary>
      <div className="flex flex-col gap-3 pt-3">{children}</div>
    </details>
  )
}
export function Sum({ title, costs, note }: { title: string; costs: readonly string[]; note?: string }) {
  const t = useT('playground')
  const { data: available } = useQuery(availableQuery)
  const empty =
    available !== undefined &&
    available !== null &&
    (available.startsWith('-') || decimal(available)?.digits === 0n)
  return (
    <div className="border-b border-line pb-4">
      <p className="flex items-baseline justify-between gap-2">
        <span className="text-section">{title}</span>
        <Money
          value={plain(costs.flatMap((x) => decimal(x) ?? []).reduce(add, ZERO))}
          headline
          className="text-section"
        />
      </p>
      <p className="pt-0.5 text-small text-ink3">
        {note ?? t('callsN', { n: costs.length })}
        {available ? ` · ${t('available', { amount: headline(available) })}` : ''}
      </p>
      {empty && <p className="pt-1 text-small text-warn">{t('noMoney')}</p>}
    </div>
  )
}

/** Whether a setting is of use: some column takes it, or it is set already. */
export const takes = (columns: readonly Model[], lacks: NonNullable<Model['lacks']>[number], set: boolean) =>
  set || columns.length === 0 || columns.some((m) => !m.lacks?.includes(lacks))

export function Panel({
  t,
  chat,
  models,
  columns,
  bad,
  kept,
  onChange,
  onCode,
  onExplain,
  onPreset,
  onShare,
  onNew,
  onHistory,
}: {
  t: T
  chat: Chat
  models: readonly Model[] /** Of the columns */
  columns: readonly Model[]
  bad: readonly (keyof Settings)[]
  kept: boolean | undefined
  onChange: (s: Partial<Settings>) => void
  onCode: () => void
  onExplain: () => void
  onPreset: () => void
  onShare: () => void
  onNew: () => void
  onHistory: () => void
}) {
  const s = chat.settings
  const { tools, error: toolError } = readTools(s.tools)
  const schemaError = s.format === 'schema' ? readSchema(s.schema).error : null
  const routed = s.sort !== '' || s.noTraining || s.zeroRetention || s.oneProvider || s.fallbacks.length > 0
  return (
    <div className="flex flex-col gap-4">
      <Sum title={t('thisChat')} costs={Object.values(chat.spent)} />
      <div className="flex flex-wrap gap-2">
        <Button small icon="plus" onClick={onNew}>
          {t('newChat')}
        </Button>
        <Button small icon="clock" onClick={onHistory}>
          {t('history')}
        </Button>
      </div>
      <Field label={t('instructions')} help={t('instructionsHelp')}>
        <Textarea
          rows={3}
          value={s.system}
          dir="auto"
          onChange={(e) => onChange({ system: e.target.value })}
        />
      </Field>
      {takes(columns, 'temperature', s.temperature !== '') && (
        <Field label={t('temperature')} error={bad.includes('temperature') && t('badTemperature')}>
          <Input
            inputMode="decimal"
            placeholder={t('byDefault')}
            value={s.temperature}
            onChange={(e) => onChange({ temperature: e.target.value })}
          />
        </Field>
      )}
      {takes(columns, 'top_p', s.topP !== '') && (
        <Field label={t('topP')} error={bad.includes('topP') && t('badTopP')}>
          <Input
            inputMode="decimal"
            placeholder={t('byDefault')}
            value={s.topP}
            onChange={(e) => onChange({ topP: e.target.value })}
          />
        </Field>
      )}
      {takes(columns, 'max_tokens', s.longest !== '') && (
        <Field label={t('longest')} error={bad.includes('longest') && t('badLongest')}>
          <Input
            inputMode="numeric"
            unit={t('tokens')}
            placeholder={t('byDefault')}
            value={s.longest}
            onChange={(e) => onChange({ longest: e.target.value })}
          />
        </Field>
      )}
      {(s.effort !== '' || columns.length === 0 || columns.some((m) => m.caps.includes('reasoning'))) && (
        <Field label={t('effort')} help={t('effortHelp')}>
          <Select
            value={s.effort}
            onChange={(e) => onChange({ effort: e.target.value })}
            options={[
              { value: '', label: t('effort_default') },
              ...efforts.map((v) => ({ value: v, label: t(`effort_${v}`) })),
            ]}
          />
        </Field>
      )}

      {(s.tools !== '' || columns.length === 0 || columns.some((m) => m.caps.includes('tools'))) && (
        <Section
          title={t('tools')}
          note={tools.length ? t('toolsN', { n: tools.length }) : undefined}
          open={s.tools !== ''}
        >
          <Field
            label={t('toolsJson')}
            help={t('toolsHelp')}
            error={toolError && t.or(`bad_${toolError}`, toolError)}
          >
            <Textarea
              rows={6}
              spellCheck={false}
              className="font-mono"
              value={s.tools}
              onChange={(e) => onChange({ tools: e.target.value })}
            />
          </Field>
          <div className="flex flex-wrap gap-1.5" translate="no">
            {Object.keys(sampleTools)
              .filter((n) => !tools.some((x) => x.function.name === n))
              .map((n) => (
                <Button key={n} small icon="plus" onClick={() => onChange({ tools: withSample(s.tools, n) })}>
                  {n}
                </Button>
              ))}
          </div>
        </Section>
      )}
      {takes(columns, 'response_format', s.format !== '') && (
        <Section
          title={t('format')}
          note={s.format ? t(`format_${s.format}`) : undefined}
          open={s.format !== ''}
        >
          <Field label={t('format')} hideLabel>
            <Select
              value={s.format}
              onChange={(e) =>
                onChange({
                  format: e.target.value as Settings['format'],
                  ...(e.target.value === 'schema' && !s.schema.trim() ? { schema: sampleSchema } : {}),
                })
              }
              options={[
                { value: '', label: t('format_text') },
                { value: 'json', label: t('format_json') },
                { value: 'schema', label: t('format_schema') },
              ]}
            />
          </Field>
          {s.format === 'schema' && (
            <Field label={t('schema')} error={schemaError && t.or(`bad_${schemaError}`, schemaError)}>
              <Textarea
                rows={8}
                spellCheck={false}
                className="font-mono"
                value={s.schema}
                onChange={(e) => onChange({ schema: e.target.value })}
              />
            </Field>
          )}
        </Section>
      )}
      <Section title={t('routing')} note={routed ? t('isSet') : undefined} open={routed}>
        <Field label={t('sort')}>
          <Select
            value={s.sort}
            onChange={(e) => onChange({ sort: e.target.value as Settings['sort'] })}
            options={(['', 'price', 'latency', 'throughput'] as const).map((v) => ({
              value: v,
              label: t(v ? `sort_${v}` : 'sort_none'),
            }))}
          />
        </Field>
        <div>
          <Checkbox checked={s.noTraining} onChange={(noTraining) => onChange({ noTraining })}>
            {t('noTraining')}
          </Checkbox>
          <Checkbox checked={s.zeroRetention} onChange={(zeroRetention) => onChange({ zeroRetention })}>
            {t('zeroRetention')}
          </Checkbox>
          <Checkbox checked={s.oneProvider} onChange={(oneProvider) => onChange({ oneProvider })}>
            {t('oneProvider')}
          </Checkbox>
        </div>
        <div>
          <p className="pb-1.5 text-small font-medium text-ink2">{t('fallbacks')}</p>
          <ModelList
            ordered
            limit={8}
            value={s.fallbacks}
            add={t('addFallback')}
            fits={(m) => models.includes(m)}
            onChange={(fallbacks) => onChange({ fallbacks })}
          />
          <p className="pt-1.5 text-small text-ink3">{t('fallbacksHelp')}</p>
        </div>
        <div>
          <Button small icon="route" onClick={onExplain}>
            {t('explain')}
          </Button>
        </div>
      </Section>
      <p className="text-small text-ink3">{t('onlySet')}</p>
      <div className="flex flex-wrap gap-2 border-t border-line pt-4">
        <Button small icon="json" onClick={onCode}>
          {t('showCode')}
        </Button>
        <Button small icon="sliders" onClick={onPreset}>
          {t('savePreset')}
        </Button>
        <Button small icon="link" onClick={onShare}>
          {t('share')}
        </Button>
      </div>
      <p className="text-small text-ink3">
        {kept === false ? t('notKept') : keeps() ? t('keptThere') : t('kept')}{' '}
        {hasPage('/settings/data') && (
          <Link to="/settings/data" className="text-accent-ink underline">
            {t('keptChange')}
          </Link>
        )}
      </p>
    </div>
  )
}
