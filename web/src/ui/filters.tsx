import { useState, type ReactNode } from 'react'
import { period as writePeriod } from '../format'
import { useT } from '../i18n'
import { Button } from './button'
import { Days } from './days'
import { Field, Input } from './field'
import { Icon } from './icons'
import { Sheet } from './overlay'
import { Popover } from './popover'

/** Filters above a list: in a row where there is room, in a sheet on the phone. */
export function FilterBar({
  children,
  active,
  onClear,
  end,
}: {
  children: ReactNode
  active: number
  onClear: () => void
  end?: ReactNode
}) {
  const t = useT('common')
  const [open, setOpen] = useState(false)
  return (
    <div className="flex flex-wrap items-center gap-2 pb-3">
      <div className="hidden flex-wrap items-center gap-2 md:flex">
        {children}
        {active > 0 && (
          <Button look="quiet" small onClick={onClear}>
            {t('clearFilters')}
          </Button>
        )}
      </div>
      <div className="md:hidden">
        <Button icon="sliders" onClick={() => setOpen(true)}>
          {active > 0 ? t('filtersN', { n: active }) : t('filters')}
        </Button>
      </div>
      <Sheet
        open={open}
        onOpenChange={setOpen}
        title={t('filters')}
        footer={
          <>
            <Button wide onClick={onClear}>
              {t('clearFilters')}
            </Button>
            <Button wide look="main" onClick={() => setOpen(false)}>
              {t('apply')}
            </Button>
          </>
        }
      >
        <div className="flex flex-col gap-4">{children}</div>
      </Sheet>
      {end && (
        <>
          <span className="flex-1" />
          {end}
        </>
      )}
    </div>
  )
}

/** A period: the last so many days, or from and to (both included): days of the account's time zone, or of UTC in what operators see of all accounts. */
export type Period = { readonly days: number } | { readonly from: string; readonly to: string }
export function PeriodPicker({
  value,
  onChange,
  days = [7, 30, 90],
  utc,
}: {
  value: Period
  onChange: (p: Period) => void
  days?: readonly number[]
  /** Days are those of UTC */
  utc?: boolean
}) {
  const t = useT('common')
  const [open, setOpen] = useState(false)
  const [from, setFrom] = useState('from' in value ? value.from : '')
  const [to, setTo] = useState('to' in value ? value.to : '')
  const wrong = from !== '' && to !== '' && from > to
  return (
    <div
      className="inline-flex rounded-control border border-line bg-surface"
      role="group"
      aria-label={t('period')}
    >
      <Days days={days} value={'days' in value ? value.days : null} onChange={(d) => onChange({ days: d })} />
      <Popover
        open={open}
        onOpenChange={setOpen}
        align="end"
        label={t('period')}
        trigger={
          <button
            type="button"
            aria-pressed={'from' in value}
            className={
              'inline-flex h-[30px] items-center gap-1.5 rounded-r-[5px] px-2.5 text-small ' +
              'font-medium whitespace-nowrap text-ink2 hover:text-ink aria-pressed:bg-sunken ' +
              'aria-pressed:text-ink max-md:h-[42px]'
            }
          >
            {'from' in value ? writePeriod(value.from, value.to) : t('period')}
            <Icon name="down" size={14} />
          </button>
        }
      >
        <form
          className="flex w-64 flex-col gap-3"
          onSubmit={(e) => {
            e.preventDefault()
            if (from && to && !wrong) {
              onChange({ from, to })
              setOpen(false)
            }
          }}
        >
          <Field label={t('from')}>
            <Input type="date" value={from} onChange={(e) => setFrom(e.target.value)} required />
          </Field>
          <Field label={t('to')} help={t(utc ? 'utcDays' : 'accountDays')}>
            <Input type="date" value={to} min={from} onChange={(e) => setTo(e.target.value)} required />
          </Field>
          <Button type="submit" look="main" disabled={!from || !to || wrong}>
            {t('apply')}
          </Button>
        </form>
      </Popover>
    </div>
  )
}
