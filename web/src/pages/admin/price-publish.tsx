/** The window that puts the draft into effect: the difference, when, and what is asked about first. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { post } from '../../api/client'
import { percent } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Segmented } from '../../ui/controls'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Checkbox, Field, Input } from '../../ui/field'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'
import { Money } from '../../ui/values'
import { Per } from './price-row'
import { percents, renewPrices, type Draft } from './price-data'
import { PriceName } from './price-row'

export function Publish({ draft, onClose }: { draft: Draft; onClose: () => void }) {
  const t = useT('adminprices')
  const c = useT('common')
  const [when, setWhen] = useState<'now' | 'later'>('now')
  const [at, setAt] = useState('')
  const [sure, setSure] = useState(false)
  const publish = useAction(async () => {
    await post('/api/admin/prices/publish', {
      body: {
        version: draft.version,
        ...(when === 'later' ? { at: new Date(at).toISOString() } : {}),
        ...(sure ? { sure } : {}),
      },
    })
    await renewPrices()
    toast(t(when === 'now' ? 'published' : 'scheduled'))
    onClose()
  })
  const error = publish.except('at')
  return (
    <Dialog
      open
      wide
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('publishTitle', { n: draft.endpoints })}
      description={t('publishText')}
      footer={
        <>
          <Button
            look="main"
            type="submit"
            form="publish"
            busy={publish.busy}
            disabled={(when === 'later' && at === '') || (draft.questions.length > 0 && !sure)}
          >
            {t('publish')}
          </Button>
          <Button onClick={onClose}>{c('cancel')}</Button>
        </>
      }
    >
      <form id="publish" onSubmit={publish.submit} noValidate className="flex flex-col gap-4">
        <Segmented
          label={t('when')}
          value={when}
          onChange={setWhen}
          options={[
            { value: 'now', label: t('now') },
            { value: 'later', label: t('later') },
          ]}
        />
        {when === 'later' && (
          <Field label={t('at')} help={t('atHelp')} error={publish.at('at')}>
            <Input type="datetime-local" value={at} onChange={(e) => setAt(e.target.value)} />
          </Field>
        )}
        <Difference draft={draft} />
        {draft.questions.length > 0 && (
          <Notice tone="warn" title={t('doubtful', { n: draft.questions.length })}>
            <Questions draft={draft} />
            <div className="pt-2">
              <Checkbox checked={sure} onChange={setSure}>
                {t('meant')}
              </Checkbox>
            </div>
          </Notice>
        )}
        {error !== null && <ErrorBox error={error} />}
      </form>
    </Dialog>
  )
}

/** How many changes a window shows; the table has them all. */
const most = 12

function Difference({ draft }: { draft: Draft }) {
  const t = useT('adminprices')
  const list = draft.changes.slice(0, most)
  return (
    <div>
      <h3 className="pb-1 text-small text-ink2">{t('difference')}</h3>
      <ul className="flex flex-col gap-1 text-small">
        {list.map((x) => (
          <li key={`${x.endpoint} ${x.name}`} className="flex flex-wrap gap-x-2">
            <span translate="no" className="min-w-0 flex-1 basis-52 break-all">
              {x.endpoint}{' '}
              <span className="text-ink3" translate="yes">
                <PriceName name={x.name} />
              </span>
            </span>
            <span className="tabular-nums">
              <Money value={x.old} exact className="text-ink3" /> → <Money value={x.new} exact />{' '}
              <span className="text-ink3">
                / <Per per={x.per} />
              </span>
            </span>
          </li>
        ))}
      </ul>
      {draft.count > list.length && (
        <p className="pt-1 text-small text-ink3">{t('rest', { n: draft.count - list.length })}</p>
      )}
    </div>
  )
}

function Questions({ draft }: { draft: Draft }) {
  const t = useT('adminprices')
  const margins = new Map<string, string[]>()
  for (const q of draft.questions)
    if (q.kind === 'margin') margins.set(q.margin ?? '', [...(margins.get(q.margin ?? '') ?? []), q.endpoint])
  return (
    <ul className="flex flex-col gap-1">
      {[...margins].map(([margin, endpoints]) => (
        <li key={margin}>
          {endpoints.length > 1 ? (
            t('endpointsOf', { n: endpoints.length })
          ) : (
            <span translate="no" className="break-all">
              {endpoints[0]}
            </span>
          )}
          : {t('highMargin', { margin: percent(Number(percents(margin || '0'))) })}
        </li>
      ))}
      {draft.questions
        .filter((q) => q.kind === 'below_cost')
        .slice(0, most)
        .map((q) => (
          <li key={`${q.endpoint} ${q.name}`}>
            <span translate="no" className="break-all">
              {q.endpoint} <span translate="yes">{q.name && <PriceName name={q.name} />}</span>
            </span>
            : {t('belowCost')} <Money value={q.price} exact /> &lt; <Money value={q.cost} exact />
          </li>
        ))}
      {draft.questions
        .filter((q) => q.kind === 'leap')
        .slice(0, most)
        .map((q) => (
          <li key={`${q.endpoint} ${q.name}`}>
            <span translate="no" className="break-all">
              {q.endpoint} <span translate="yes">{q.name && <PriceName name={q.name} />}</span>
            </span>
            : {Number(q.price) === 0 ? t('free') : t(Number(q.price) > Number(q.old) ? 'tenfold' : 'tenth')}{' '}
            <Money value={q.old} exact /> → <Money value={q.price} exact />
          </li>
        ))}
    </ul>
  )
}
