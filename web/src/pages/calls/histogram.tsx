/** How many calls there were over time, and how many failed: a chart, and on a phone a line that opens. */
import { useMemo, useState } from 'react'
import { integer } from '../../format'
import { useT } from '../../i18n'
import { Chart } from '../../ui/chart'
import { Icon } from '../../ui/icons'
import { usePhone } from '../../ui/overlay'
import { Panel } from '../../ui/page'
import type { Period } from '../../ui/filters'
import { zoomed } from '../activity/zoom'

export function Histogram({
  h,
  open: lasts,
  summary,
  onZoom,
}: {
  h: {
    readonly to: string
    readonly bucket: string
    readonly t: readonly string[]
    readonly calls: readonly number[]
    readonly failed: readonly number[]
    /** Without it, what clients stopped is among what was answered */
    readonly canceled?: readonly number[]
  }
  /** The period ends now */
  open: boolean
  summary: string
  /** What was chosen: whole hours or days */
  onZoom: (p: Period) => void
}) {
  const t = useT('calls')
  const phone = usePhone()
  const [open, setOpen] = useState(false)
  const drawn = useMemo(
    () => ({
      times: h.t.map((x) => Date.parse(x)),
      series: [
        {
          key: 'good',
          label: t(h.canceled ? 'h_good' : 'h_notFailed'),
          color: 1,
          values: h.calls.map((n, i) => n - (h.failed[i] ?? 0) - (h.canceled?.[i] ?? 0)),
        },
        { key: 'failed', label: t('h_failed'), color: 5, values: h.failed },
        ...(h.canceled ? [{ key: 'canceled', label: t('h_canceled'), color: 0, values: h.canceled }] : []),
      ],
    }),
    [h, t],
  )
  return (
    <>
      {phone && (
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="mb-3 flex min-h-11 w-full items-center gap-2 rounded-panel border border-line bg-surface px-3.5 py-2 text-left text-small text-ink2"
        >
          <Icon name={open ? 'down' : 'right'} size={14} className="text-ink3" />
          <span className="min-w-0 flex-1">{summary}</span>
        </button>
      )}
      {(!phone || open) && (
        <Panel className="mb-4">
          <Chart
            kind="bars"
            title={t('histogram')}
            height={110}
            times={drawn.times}
            series={drawn.series}
            unfinished={Date.parse(h.to) > Date.now() - 1000 || lasts}
            format={(n) => integer(n)}
            bucket={h.bucket}
            onZoom={(from, to) => onZoom(zoomed(from, to, h.bucket))}
            summary={summary}
          />
        </Panel>
      )}
    </>
  )
}
