import { useMe } from '../api/query'
import { dateTimeZone } from '../format'
import { useT } from '../i18n'

/** Over each page of a demo with a month that was made up: that it was, and until when. */
export function DemoMark() {
  const t = useT('common')
  const until = useMe()?.features.demo_until
  if (!until) return null
  return (
    <aside aria-labelledby="demo-mark" className="border-b border-line bg-sunken px-4 py-1.5 md:px-7">
      <p id="demo-mark" className="text-center text-small text-ink2">
        {t('demoData', { time: dateTimeZone(until) })}
      </p>
    </aside>
  )
}
