/** Margin and prices of one endpoint, into the draft. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { patch, remove } from '../../api/client'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'
import {
  doubtful,
  fraction,
  limitOf,
  percents,
  pricesBody,
  renewPrices,
  type ImageLine,
  type Line,
  type Row,
  type VideoLine,
} from './price-data'
import { amount } from './provider-data'
import { Per, PriceName } from './price-row'

type Given = { readonly [name: string]: string | undefined }
interface Limited {
  readonly above?: number
  readonly from?: string
  readonly prices?: Given
  readonly price_usd?: Given
}
const listed = (list: string, price: string, at: number) => [
  `${list}.${at}.${price}`,
  `${list}.${at}.${price}_usd`,
]
/** The draft's own fields of the row. */
const set = (row: Row) =>
  (row.drafted?.set ?? {}) as {
    margin?: string
    prices?: Given
    price_usd?: Given
    thresholds?: readonly Limited[]
    hours?: readonly Limited[]
    images?: readonly ImageLine[]
    video?: readonly VideoLine[]
  }

/** Whether a line of the draft is for the same as that of a price. */
const alike = (a: object, b: object) =>
  (Object.keys(b) as (keyof typeof b)[]).every((k) => (a[k] ?? null) === (b[k] ?? null))

const text = (price: string | number | null | undefined) => (price == null ? undefined : String(price))

/** The draft's own price of a line; undefined where it has none. */
function drafted(row: Row, l: Line) {
  if (l.image) {
    const image = l.image
    const found = set(row).images?.find((x) => alike(x, image))
    return text(l.usd === null ? found?.price : found?.price_usd)
  }
  if (l.video) {
    const video = l.video
    const found = set(row).video?.find((x) => alike(x, video))
    return text(l.usd === null ? found?.per_second : found?.per_second_usd)
  }
  const limit = limitOf(l.name)
  const of =
    limit?.above != null
      ? set(row).thresholds?.find((x) => String(x.above) === limit.above)
      : limit?.hours
        ? set(row).hours?.find((x) => x.from === limit.hours?.from)
        : set(row)
  return (l.usd === null ? of?.prices : of?.price_usd)?.[limit?.name ?? l.name]
}
const start = (row: Row, l: Line) => drafted(row, l) ?? l.usd ?? l.draft ?? l.price

export function EditPrices({ row, version, onClose }: { row: Row; version: number; onClose: () => void }) {
  const t = useT('adminprices')
  const c = useT('common')
  const own = set(row).margin ?? (row.own_margin ? row.margin : undefined)
  const first = own === undefined ? '' : percents(own)
  const [margin, setMargin] = useState(first)
  const [typed, setTyped] = useState<Given>({})
  const path = { id: row.id }
  const lines = row.prices // all of them: the database's prices take the place of the whole list
  const value = (l: Line) => typed[l.name] ?? start(row, l)
  const changed = lines.some((l) => value(l) !== start(row, l))
  const save = useAction(async () => {
    await patch('/api/admin/prices/draft/{id}', {
      path,
      query: version > 0 ? { version } : {}, // the API takes 0 for a wrong number
      body: {
        ...(margin === first ? {} : { margin: margin.trim() === '' ? null : fraction(amount(margin)) }),
        ...(changed ? pricesBody(lines.map((line) => ({ line, value: amount(value(line)) }))) : {}),
      },
    })
    await renewPrices()
    toast(t('drafted'))
    onClose()
  })
  const leave = useAction(async () => {
    await remove('/api/admin/prices/draft/{id}', { path, query: { version } })
    await renewPrices()
    onClose()
  })
  const fields = (l: Line) => {
    if (l.image) return listed('images', 'price', lines.filter((x) => x.image).indexOf(l))
    if (l.video) return listed('video', 'per_second', lines.filter((x) => x.video).indexOf(l))
    return [`prices.${l.name}`, `price_usd.${l.name}`]
  }
  const error = save.except('margin', ...lines.flatMap(fields)) ?? leave.error
  const inDollars = row.prices.some((l) => l.usd !== null)
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={<span translate="no">{row.model}</span>}
      description={t('editText', { provider: row.provider })}
      footer={
        <>
          {row.drafted && (
            <Button look="quiet" busy={leave.busy} onClick={() => leave.run()}>
              {t('leaveOut')}
            </Button>
          )}
          <Button
            look="main"
            type="submit"
            form="edit-prices"
            busy={save.busy}
            disabled={margin === first && !changed}
          >
            {t('intoDraft')}
          </Button>
          <Button onClick={onClose}>{c('cancel')}</Button>
        </>
      }
    >
      <form id="edit-prices" onSubmit={save.submit} noValidate className="flex flex-col gap-4">
        {inDollars && (
          <Field label={t('marginField')} help={t('marginHelp')} error={save.at('margin')}>
            <Input
              value={margin}
              onChange={(e) => setMargin(e.target.value)}
              inputMode="decimal"
              autoComplete="off"
            />
          </Field>
        )}
        {inDollars && doubtful(amount(margin)) && <Notice tone="warn" title={t('marginHigh')} />}
        {lines.map((l) => (
          <Field
            key={l.name}
            label={
              <>
                <PriceName name={l.name} />, {l.usd === null ? '₽' : '$'} /{' '}
                {l.per !== '1000 tokens' ? <Per per={l.per} /> : t(l.usd === null ? 'thousand' : 'million')}
              </>
            }
            error={save.at(...fields(l))}
          >
            <Input
              value={value(l)}
              onChange={(e) => setTyped({ ...typed, [l.name]: e.target.value })}
              inputMode="decimal"
              autoComplete="off"
            />
          </Field>
        ))}
        {error !== null && <ErrorBox error={error} />}
      </form>
    </Dialog>
  )
}
