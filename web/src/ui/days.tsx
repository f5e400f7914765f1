import { integer } from '../format'
import { useT } from '../i18n'

/** Buttons for the last so many days, for a group that has a frame and a name. */
export function Days({
  days,
  value,
  onChange,
}: {
  days: readonly number[]
  value: number | null
  onChange: (days: number) => void
}) {
  const t = useT('common')
  return days.map((d) => (
    <button
      key={d}
      type="button"
      aria-pressed={value === d}
      aria-label={`${t('daysShort', { n: integer(d) })}: ${t('lastDays', { n: d })}`}
      onClick={() => onChange(d)}
      className={
        'h-[30px] px-2.5 text-small font-medium whitespace-nowrap text-ink2 ' +
        'first:rounded-l-[5px] last:rounded-r-[5px] hover:text-ink aria-pressed:bg-sunken ' +
        'aria-pressed:text-ink max-md:h-[42px]'
      }
    >
      {t('daysShort', { n: integer(d) })}
    </button>
  ))
}
