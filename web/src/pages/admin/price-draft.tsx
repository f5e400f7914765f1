/** The draft over the table: what it changes, what that would have done to the last seven days, and its two ways out. */
import { useState, type ReactNode } from 'react'
import { useAction } from '../../api/action'
import { remove } from '../../api/client'
import { approximately, compare, day, decimal, divide, money, percent, subtract, ZERO } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Notice } from '../../ui/feedback'
import { Confirm } from '../../ui/overlay'
import { Panel } from '../../ui/page'
import { toast, toastError } from '../../ui/toast'
import { Money, When } from '../../ui/values'
import { renewPrices, sum, whoOf, type Draft } from './price-data'
import { Publish } from './price-publish'

export function DraftBar({ draft, may }: { draft: Draft; may: boolean }) {
  const t = useT('adminprices')
  const [asking, setAsking] = useState(false)
  const [publishing, setPublishing] = useState(false)
  const discard = useAction(
    async () => {
      await remove('/api/admin/prices/draft', { query: { version: draft.version } })
      await renewPrices()
      toast(t('discarded'))
    },
    { failed: toastError, settled: () => setAsking(false) },
  )
  const leave = useAction(
    async () => {
      await remove('/api/admin/prices/import', { query: { version: draft.version } })
      await renewPrices()
    },
    { failed: toastError },
  )
  return (
    <Panel
      title={t('draft')}
      note={
        <>
          <span translate="no" title={draft.actor}>
            {whoOf(draft)}
          </span>{' '}
          · <When at={draft.at} />
        </>
      }
      actions={
        may && (
          <>
            <Button onClick={() => setAsking(true)}>{t('discard')}</Button>
            <Button look="main" onClick={() => setPublishing(true)}>
              {t('publish')}
            </Button>
          </>
        )
      }
    >
      <div className="flex flex-col gap-3">
        <p>
          {t('changes', { n: draft.endpoints })} {t('rises', { n: draft.count, rise: draft.rise })}
        </p>
        {draft.list && (
          <div className="flex flex-wrap items-center gap-2">
            <p>{t('withList', { day: day(draft.list.as_of) })}</p>
            {may && (
              <Button small busy={leave.busy} onClick={() => leave.run()}>
                {t('leaveList')}
              </Button>
            )}
          </div>
        )}
        <Effect draft={draft} />
        {draft.questions.length > 0 && (
          <Notice tone="warn" title={t('doubtful', { n: draft.questions.length })} />
        )}
      </div>
      <Confirm
        open={asking}
        onOpenChange={setAsking}
        title={t('discardTitle')}
        verb={t('discard')}
        busy={discard.busy}
        onConfirm={() => discard.run()}
      >
        {t('discardText', { n: draft.endpoints })}
      </Confirm>
      {publishing && <Publish draft={draft} onClose={() => setPublishing(false)} />}
    </Panel>
  )
}

function Effect({ draft }: { draft: Draft }) {
  const t = useT('adminprices')
  const e = draft.effect
  return (
    <div>
      <p className="text-small text-ink3">{t('lastWeek')}</p>
      <dl className="flex flex-wrap gap-x-8 gap-y-2 pt-1">
        <Figure name={t('effectSales')} before={e.revenue} after={sum(e.revenue, e.changes)} />
        <Figure name={t('effectVat')} before={e.vat} after={e.vat_draft} />
        <Figure name={t('effectCost')} before={e.cost} after={e.cost_draft} />
        <Figure name={t('effectMargin')} before={e.margin} after={e.margin_draft} />
      </dl>
      {compare(decimal(e.cost_unknown)!, ZERO) > 0 && (
        <p className="pt-1 text-small text-ink3">{t('costUnknown', { sales: money(e.cost_unknown) })}</p>
      )}
      {e.unknown.length > 0 && (
        <p className="pt-1 text-small text-ink3">{t('effectUnknown', { n: e.unknown.length })}</p>
      )}
    </div>
  )
}

interface FigureProps {
  readonly name: ReactNode
  readonly before: string
  readonly after: string
}

function Figure({ name, before, after }: FigureProps) {
  const old = decimal(before)!
  const part = compare(old, ZERO) > 0 ? divide(subtract(decimal(after)!, old), old, 6) : null
  return (
    <div>
      <dt className="text-small text-ink2">{name}</dt>
      <dd>
        <Money value={before} className="text-ink3" /> → <Money value={after} className="font-medium" />
        {part && (
          <span className="text-ink2">
            {' '}
            ({part.digits > 0n && '+'}
            {percent(approximately(part) * 100)})
          </span>
        )}
      </dd>
    </div>
  )
}
