/** The drawing itself, over uPlot; a chunk of its own. */
import uPlot from 'uplot'
import { ofCalendar, timeOf, type ChartProps } from './chart-props'

export interface Drawn {
  point(i: number): void
  resize(): void
  destroy(): void
}

/** A colour of the theme as the browser computes it, because a canvas knows no variables. */
function reader(e: HTMLElement): (name: string) => string {
  const probe = document.createElement('span')
  e.append(probe)
  return (name) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
}

export function draw(
  e: HTMLElement,
  p: ChartProps & {
    palette: readonly number[]
    height: number /** Without an axis of values */
    plain: boolean
    onCursor: (i: number | null) => void
  },
): Drawn {
  e.replaceChildren()
  const color = reader(e)
  const bars = p.kind === 'bars'
  const colors = p.palette.map((c) => color(c === 0 ? 'sx' : `s${c}`))
  const x = p.times.map((ms) => ms / 1000)
  const n = x.length
  // Stacked from below: the first series stands on the axis, and is drawn last, over the sums.
  const stacks: (number | null)[][] = []
  if (bars) {
    const sums = new Array<number>(n).fill(0)
    for (const s of p.series) stacks.push(s.values.map((v, i) => (sums[i]! += v ?? 0)))
  }
  const order = bars ? p.series.map((_, i) => i).reverse() : p.series.map((_, i) => i)
  const data = [x, ...order.map((i) => (bars ? stacks[i]! : [...p.series[i]!.values]))] as uPlot.AlignedData
  const line = color('line'),
    ink = color('ink3'),
    surface = color('surface')
  const parts = (c: string) => (c.match(/[\d.]+/g) ?? []).map(Number)
  // Mixed with what is behind it and not transparent: under a part of a stack are the sums of others.
  const faint = (c: string) => {
    const over = parts(surface)
    return `rgb(${parts(c)
      .slice(0, 3)
      .map((v, i) => Math.round(v * 0.45 + (over[i] ?? v) * 0.55))
      .join(', ')})`
  }
  const path = bars
    ? uPlot.paths.bars!({
        size: [0.78, 34],
        gap: 1,
        radius: 0.06,
        ...(p.unfinished
          ? {
              disp: {
                fill: {
                  unit: 3 as const,
                  values: ((_u: uPlot, si: number) =>
                    x.map((_, i) =>
                      i === n - 1 ? faint(colors[order[si - 1]!]!) : colors[order[si - 1]!]!,
                    )) as unknown as uPlot.Series.BarsPathBuilderFacet['values'],
                },
              },
            }
          : {}),
      })
    : uPlot.paths.linear!()
  const font = '500 11px Inter, system-ui, sans-serif'
  const gap = bars && n > 1 ? (x[n - 1]! - x[0]!) / (n - 1) : 0
  let shownY: string[] = []
  const whole = p.series.every((s) => s.values.every((v) => v === null || Number.isInteger(v)))
  // A value between gaps has no line; it gets a point.
  const alone = (v: readonly (number | null)[]) => (): number[] =>
    v.flatMap((y, k) => (y !== null && (v[k - 1] ?? null) === null && (v[k + 1] ?? null) === null ? [k] : []))
  const u = new uPlot(
    {
      width: Math.max(120, e.clientWidth),
      height: p.height,
      padding: [8, 4, 0, p.plain ? 18 : 0],
      legend: { show: false },
      cursor: {
        points: bars ? { show: false } : { size: 7, fill: surface },
        drag: { x: Boolean(p.onZoom), y: false, setScale: false },
        y: false,
      },
      scales: {
        x: {
          time: p.head === undefined,
          range: (_u, min, max) =>
            n === 0 ? [0, 1] : bars ? [min - gap * 0.6, max + gap * 0.6] : [min, max],
        },
        y: { range: (_u, _min, max) => [0, !max || max <= 0 ? 1 : max * 1.06] },
      },
      // What the axis names are hours of the person's clock, or the midnights that stand for days.
      tzDate: (ts) => {
        const at = new Date(ts * 1000)
        return p.head === undefined && !ofCalendar(p) ? at : uPlot.tzDate(at, 'Etc/UTC')
      },
      axes: [
        {
          stroke: ink,
          font,
          grid: { show: false },
          ticks: p.head === undefined ? { show: false } : { stroke: line, width: 1, size: 4 },
          gap: p.head === undefined ? 6 : 3,
          size: 26,
          space: 72,
          // Each bin has a number.
          ...(p.head === undefined ? {} : { incrs: [1, 2, 5, 10, 20, 50] }),
          // Between the bars of two days there is no day to name.
          ...(gap >= 86_400 ? { incrs: [1, 2, 3, 5, 7, 10, 15, 30, 90, 180].map((k) => k * gap) } : {}),
          values: (_u, splits) => splits.map((s) => timeOf(p, s * 1000)),
        },
        {
          show: !p.plain,
          stroke: ink,
          font,
          grid: { stroke: line, width: 1 },
          ticks: { show: false },
          // Without its head a chart says the unit along the axis.
          ...(p.hideHead && p.unit ? { label: p.unit, labelFont: font, labelSize: 16, labelGap: 2 } : {}),
          gap: 6,
          space: 40,
          // What is counted has no halves.
          ...(whole
            ? { incrs: Array.from({ length: 45 }, (_, i) => [1, 2, 5][i % 3]! * 10 ** Math.floor(i / 3)) }
            : {}),
          values: (_u, splits) => (shownY = splits.map((v) => (v === 0 ? '0' : p.format(v)))),
          size: () => 14 + Math.max(16, ...shownY.map((s) => s.length * 6.6)),
        },
      ],
      series: [
        {},
        ...order.map(
          (i): uPlot.Series =>
            bars
              ? { fill: colors[i]!, stroke: surface, width: 0, paths: path, points: { show: false } }
              : {
                  stroke: colors[i]!,
                  width: 1.5,
                  paths: path,
                  spanGaps: false,
                  points: {
                    show: true,
                    size: 5,
                    fill: colors[i]!,
                    stroke: colors[i]!,
                    filter: alone(p.series[i]!.values),
                  },
                },
        ),
      ],
      hooks: {
        setCursor: [
          (self) =>
            p.onCursor(
              self.cursor.left !== undefined && self.cursor.left >= 0 ? (self.cursor.idx ?? null) : null,
            ),
        ],
        setSelect: [
          (self) => {
            if (!p.onZoom || self.select.width < 4) return
            p.onZoom(
              self.posToVal(self.select.left, 'x') * 1000,
              self.posToVal(self.select.left + self.select.width, 'x') * 1000,
            )
            self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
          },
        ],
      },
    },
    data,
    e,
  )
  return {
    point: (i) => {
      if (x[i] !== undefined) u.setCursor({ left: u.valToPos(x[i], 'x'), top: 10 }, false)
    },
    resize: () => {
      if (e.clientWidth > 0 && e.clientWidth !== u.width)
        u.setSize({ width: e.clientWidth, height: p.height })
    },
    destroy: () => {
      u.destroy()
      e.replaceChildren()
    },
  }
}
