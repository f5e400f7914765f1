/** What the report is about: a chip for each filter, and the way to one more. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { getUsage } from '../../api/operations'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox } from '../../ui/feedback'
import { Field, Select } from '../../ui/field'
import { Chip } from '../../ui/chip'
import { Popover } from '../../ui/popover'
import { NOTHING } from '../calls/filter'
import {
  askedForValues,
  beyond,
  filters,
  groups,
  narrowed,
  only,
  ROWS,
  tagOf,
  type Filter,
  type View,
} from './view'
import { useGroupWord } from './words'

export function Narrow({
  view,
  tags,
  onChange,
}: {
  view: View
  /** Names of the tags in the period */
  tags: readonly string[]
  onChange: (v: View) => void
}) {
  return (
    <div className="flex flex-wrap items-center gap-2 pb-3">
      {filters
        .filter((f) => view.only[f] !== '')
        .map((f) => (
          <On
            key={f}
            filter={f}
            view={view}
            onRemove={() => onChange({ ...view, only: { ...view.only, [f]: '' } })}
          />
        ))}
      <Add view={view} tags={tags} onChange={onChange} />
    </div>
  )
}

/** A filter that is on. What has an id is written by its name, where the report knows one. */
function On({ filter: f, view, onRemove }: { filter: Filter; view: View; onRemove: () => void }) {
  const t = useT('activity')
  const word = useGroupWord()
  const value = view.only[f]
  const byId = ['key', 'member', 'team'].includes(f) && value !== NOTHING
  const q = useQuery({
    ...getUsage({ query: { ...askedForValues(view, f), [f]: value, metric: 'calls', limit: 1 } }),
    enabled: byId,
  })
  const label = q.data?.data.series[0]?.label ?? value.slice(0, 12)
  const name = t('only', { what: t(`one_${f}`), value: byId ? label : word(f, value, null) })
  return (
    <Chip name={name} onRemove={onRemove}>
      <span translate="no" className="max-w-[260px] truncate">
        {name}
      </span>
    </Chip>
  )
}

/** One more filter: by what, and which of the values that calls of the period have. */
function Add({ view, tags, onChange }: { view: View; tags: readonly string[]; onChange: (v: View) => void }) {
  const t = useT('activity')
  const word = useGroupWord()
  const [open, setOpen] = useState(false)
  const [by, setBy] = useState('')
  const q = useQuery({
    ...getUsage({ query: { ...askedForValues(view, by), metric: 'calls', limit: ROWS } }),
    enabled: open && by !== '',
  })
  const values = by === '' ? undefined : q.data?.data.series.filter((s) => !beyond(s.key))
  const close = (o: boolean) => {
    setOpen(o)
    setBy('')
  }
  return (
    <Popover
      open={open}
      onOpenChange={close}
      label={t('addFilter')}
      trigger={
        <Button small look="quiet" icon="plus">
          {t('addFilter')}
        </Button>
      }
    >
      <div className="flex w-64 flex-col gap-3">
        <Field label={t('filterBy')}>
          <Select
            value={by}
            onChange={(e) => setBy(e.target.value)}
            options={[
              { value: '', label: t('filterChoose') },
              ...groups.map((g) => ({ value: g as string, label: t(`by_${g}`) })),
              ...tags.map((name) => ({ value: `tag:${name}`, label: t('by_tag', { name }) })),
            ]}
          />
        </Field>
        {q.error && by !== '' && !values && <ErrorBox error={q.error} onRetry={() => void q.refetch()} />}
        {values?.length === 0 && (
          <p role="status" className="text-small text-ink3">
            {t('filterNone')}
          </p>
        )}
        {values && values.length > 0 && (
          <Field label={tagOf(by) ?? t(`one_${by as (typeof groups)[number]}`)}>
            <Select
              value=""
              onChange={(e) => {
                const chosen = values[Number(e.target.value)]
                if (!chosen) return
                onChange(narrowed(view, only(by, chosen.key)))
                close(false)
              }}
              options={[
                { value: '', label: t('filterChoose') },
                ...values.map((s, i) => ({ value: String(i), label: word(by, s.key, s.label) })),
              ]}
            />
          </Field>
        )}
      </div>
    </Popover>
  )
}
