/** Money into the wallet: the amount, the provider's page, and the wait for what it confirms. */
import { useAction } from '../../api/action'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ApiError, post, put, remove, type Reply } from '../../api/client'
import { explain } from '../../api/explain'
import { renew, useMe } from '../../api/query'
import { getCredits, getLedger, getPayment, listPayments } from '../../api/operations'
import { money } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Checkbox, Field, Input } from '../../ui/field'
import { LinkButton, usePageSearch, type SearchShape } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Confirm } from '../../ui/overlay'
import { Page, PageHead, Panel, SectionHead } from '../../ui/page'
import { toast, toastError } from '../../ui/toast'
import { Payments, usePayments } from './payments'

type Answer = Reply<'/api/payments'>
type Settings = NonNullable<Answer['settings']>
type Rule = NonNullable<Answer['auto']>

const shape: SearchShape<{ payment: string }> = {
  read: (raw) => ({ payment: raw.payment ?? '' }),
  write: ({ payment }): { [name: string]: string } => (payment ? { payment } : {}),
}
const again = () => renew(listPayments, getLedger, getCredits)

export default function TopUpPage() {
  const t = useT('pay')
  const [{ payment }, change] = usePageSearch(shape)
  const q = usePayments()
  const s = q.data
  return (
    <Page width="text">
      <PageHead title={t('title')} crumbs={[{ label: t('statement'), to: '/money' }]} />
      {q.error && !s ? (
        <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
      ) : !s ? (
        <SkeletonRows rows={6} />
      ) : !s.settings ? (
        <Empty icon="wallet" title={t('none')}>
          {t('noneText')}
        </Empty>
      ) : (
        <div className="flex flex-col gap-5">
          {s.settings.test && (
            <Notice tone="warn" title={t('play')}>
              {t('playText')}
            </Notice>
          )}
          {payment ? (
            <Waiting id={payment} onAgain={() => change({ payment: '' }, { push: true })} />
          ) : (
            <Form settings={s.settings} hasRule={s.auto !== null && s.auto.state === 'active'} />
          )}
          {s.auto && <RulePanel rule={s.auto} />}
          <section>
            <SectionHead title={t('payments')} />
            <Payments rows={s.data} />
          </section>
        </div>
      )}
    </Page>
  )
}

function Form({ settings, hasRule }: { settings: Settings; hasRule: boolean }) {
  const t = useT('pay')
  const me = useMe()
  const [amount, setAmount] = useState<string>(settings.amounts[0] ?? settings.min)
  const [email, setEmail] = useState<string | null>(null)
  const [auto, setAuto] = useState(false)
  const [terms, setTerms] = useState({
    threshold: settings.min,
    amount: settings.amounts[0] ?? settings.min,
    monthly_cap: settings.amounts.at(-1) ?? settings.max_monthly_cap ?? '',
  })
  const shown = email ?? me?.user?.email ?? ''
  const clean = (text: string) => text.trim().replace(/\s/g, '').replace(',', '.')
  const pay = useAction(
    async () => {
      const consent = auto
        ? {
            threshold: clean(terms.threshold),
            amount: clean(terms.amount),
            monthly_cap: clean(terms.monthly_cap),
            consent: true as const,
          }
        : undefined
      const { data } = await post('/api/payments', {
        body: {
          amount: clean(amount),
          ...(settings.email_required ? { email: shown } : {}),
          ...(consent ? { auto: consent } : {}),
        },
      })
      if (data.url) location.assign(data.url)
      else void again()
    },
    { failed: () => void again(), leaves: true },
  )
  const error = pay.except('amount', 'email', 'auto.threshold', 'auto.amount', 'auto.monthly_cap')
  return (
    <Panel>
      <form onSubmit={pay.submit} className="flex flex-col gap-4" noValidate>
        <div role="group" aria-label={t('amount')} className="flex flex-wrap gap-2">
          {settings.amounts.map((a) => (
            <Button
              key={a}
              type="button"
              aria-pressed={a === amount}
              onClick={() => setAmount(a)}
              className={a === amount ? 'border-accent bg-sunken' : ''}
            >
              {money(a, { exact: true })}
            </Button>
          ))}
        </div>
        <Field
          label={t('other')}
          help={
            pay.at('amount')
              ? undefined
              : t('range', {
                  least: money(settings.min, { exact: true }),
                  most: money(settings.max, { exact: true }),
                })
          }
          error={
            pay.at('amount') &&
            t('range', {
              least: money(settings.min, { exact: true }),
              most: money(settings.max, { exact: true }),
            })
          }
        >
          <Input
            inputMode="decimal"
            autoComplete="off"
            value={amount}
            onChange={(e) => setAmount(e.target.value)}
            unit="₽"
          />
        </Field>
        {settings.email_required && (
          <Field label={t('email')} help={t('emailHelp')} error={pay.at('email')}>
            <Input
              type="email"
              autoComplete="email"
              value={shown}
              onChange={(e) => setEmail(e.target.value)}
            />
          </Field>
        )}
        {settings.max_monthly_cap !== null && !hasRule && (
          <div>
            <Checkbox checked={auto} onChange={setAuto}>
              {t('auto')}
            </Checkbox>
            {auto && (
              <div className="flex flex-col gap-3 pt-3 pl-6">
                <p className="text-small text-ink2">{t('autoText')}</p>
                {(
                  [
                    ['threshold', 'threshold'],
                    ['amount', 'by'],
                    ['monthly_cap', 'cap'],
                  ] as const
                ).map(([name, label]) => (
                  <Field
                    key={name}
                    label={t(label)}
                    error={pay.at(`auto.${name}`)}
                    help={
                      name === 'monthly_cap'
                        ? t('capHelp', { most: money(settings.max_monthly_cap, { exact: true }) })
                        : undefined
                    }
                  >
                    <Input
                      inputMode="decimal"
                      autoComplete="off"
                      value={terms[name]}
                      onChange={(e) => setTerms({ ...terms, [name]: e.target.value })}
                      unit="₽"
                    />
                  </Field>
                ))}
              </div>
            )}
          </div>
        )}
        {error !== null && (
          <Notice tone="bad" title={explain(error)}>
            {error instanceof ApiError ? (error.said ?? <span lang="en">{error.message}</span>) : undefined}
          </Notice>
        )}
        <div className="flex flex-wrap items-center gap-3">
          <Button type="submit" look="main" busy={pay.busy}>
            {t('pay')}
          </Button>
          <span className="text-small text-ink3">{t('payText')}</span>
        </div>
      </form>
    </Panel>
  )
}

/** Asks until the provider has decided. */
function Waiting({ id, onAgain }: { id: string; onAgain: () => void }) {
  const t = useT('pay')
  const q = useQuery({
    ...getPayment({ path: { id } }),
    retry: (n, e) => n < 3 && e instanceof ApiError && (e.status === 0 || e.status >= 500),
    refetchInterval: (query) =>
      query.state.data && query.state.data.data.state !== 'pending'
        ? false
        : query.state.error
          ? 10_000
          : 2_000,
  })
  const p = q.data?.data
  const ended = p !== undefined && p.state !== 'pending'
  useEffect(() => {
    if (ended) void again()
  }, [ended])
  if (q.error && !p)
    return q.error instanceof ApiError && q.error.status === 404 ? (
      <Notice
        tone="bad"
        title={t('unknown')}
        action={
          <Button small onClick={onAgain}>
            {t('again')}
          </Button>
        }
      />
    ) : (
      <ErrorBox error={q.error} onRetry={() => void q.refetch()} />
    )
  if (!p) return <SkeletonRows rows={2} />
  return (
    <div role="status">
      {p.state === 'succeeded' ? (
        <Notice
          tone="good"
          title={t('arrived')}
          action={
            <LinkButton to="/money" small>
              {t('statement')}
            </LinkButton>
          }
        >
          {t('arrivedText', { amount: money(p.paid, { exact: true }) })}
        </Notice>
      ) : p.state === 'canceled' ? (
        <Notice
          tone="bad"
          title={t('canceled')}
          action={
            <Button small onClick={onAgain}>
              {t('again')}
            </Button>
          }
        >
          {t('canceledText', { reason: t.or(`reason_${p.reason ?? ''}`, p.reason ?? '') })}
        </Notice>
      ) : (
        <Notice
          title={t('waiting')}
          action={
            p.url ? (
              <a href={p.url} className="text-small">
                {t('continue')}
              </a>
            ) : undefined
          }
        >
          {t('waitingText')}
        </Notice>
      )}
    </div>
  )
}

function RulePanel({ rule }: { rule: Rule }) {
  const t = useT('pay')
  const [asking, setAsking] = useState(false)
  const act = useAction(
    async (done: string, work: () => Promise<unknown>) => {
      await work()
      toast(done)
      void again()
    },
    { failed: toastError, settled: () => setAsking(false) },
  )
  const resume = () =>
    act.run(t('resumed'), () =>
      put('/api/payments/auto', {
        body: {
          threshold: rule.threshold,
          amount: rule.amount,
          monthly_cap: rule.monthly_cap,
          consent: true,
        },
      }),
    )
  return (
    <Panel
      title={t('rule')}
      note={<Tag tone={rule.state === 'active' ? 'good' : 'warn'}>{t(`rule_${rule.state}`)}</Tag>}
      actions={
        <>
          {rule.state === 'paused' && rule.method && (
            <Button small busy={act.busy} onClick={resume}>
              {t('resume')}
            </Button>
          )}
          <Button small onClick={() => setAsking(true)}>
            {t('end')}
          </Button>
        </>
      }
    >
      <p>
        {t('ruleText', {
          amount: money(rule.amount, { exact: true }),
          threshold: money(rule.threshold, { exact: true }),
          cap: money(rule.monthly_cap, { exact: true }),
          spent: money(rule.this_month, { exact: true }),
        })}
      </p>
      {rule.method && (
        <p className="pt-1 text-small text-ink3" translate="no">
          {t('ruleMethod', { method: rule.method })}
        </p>
      )}
      {rule.reason && (
        <p className="pt-1 text-small text-warn">
          {t('ruleReason', { reason: t.or(`reason_${rule.reason}`, rule.reason) })}
        </p>
      )}
      <Confirm
        open={asking}
        onOpenChange={setAsking}
        title={t('endTitle')}
        verb={t('end')}
        busy={act.busy}
        onConfirm={() => act.run(t('ended'), () => remove('/api/payments/auto'))}
      >
        {t('endText')}
      </Confirm>
    </Panel>
  )
}
