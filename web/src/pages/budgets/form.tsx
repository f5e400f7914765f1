/** A budget as a form: made with its scope and period, and changed with what that does said before. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { account, patch, post, type Body, type Reply } from '../../api/client'
import {
  getOrganization,
  getSpendable,
  listAccountKeys,
  listBudgets,
  listOrganizationMembers,
} from '../../api/operations'
import { renew } from '../../api/query'
import { compare, decimal, money, plain, subtract, ZERO } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Segmented } from '../../ui/controls'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Checkbox, Field, Input, Select, Textarea } from '../../ui/field'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'
import { ModelList } from '../catalog/choose-list'
import { lineOf, useTitles } from './titles'
import { alarmsOf, amountOf, linesOf, sum, type Budget } from './data'

type Of = Budget['scope']['kind'] | 'each'
type Spendable = Reply<'/api/spendable'>['data']
const periods = ['day', 'week', 'month', 'total'] as const
const known = ['scope', 'period', 'amount', 'alarms', 'name', 'rules']

export default function BudgetForm({
  list,
  change,
  bound,
  onClose,
}: {
  list: Reply<'/api/budgets'>
  change?: Budget
  /** What binds a call of the chosen budget: what is above the one that is changed. */
  bound?: Spendable | null
  onClose: () => void
}) {
  const t = useT('budgets'),
    c = useT('common')
  const titles = useTitles()
  const [of, setOf] = useState<Of>(
    list.data.some((b) => b.scope.kind === 'organization') ? 'tag' : 'organization',
  )
  const [id, setId] = useState('')
  const [period, setPeriod] = useState<(typeof periods)[number]>('month')
  const [amount, setAmount] = useState(change?.amount ?? '')
  const [hard, setHard] = useState(change?.hard ?? true)
  const [alarms, setAlarms] = useState(change?.alarms.join(', ') ?? '80, 100')
  const [name, setName] = useState(change?.name ?? '')
  const [models, setModels] = useState(change?.rules.models.join('\n') ?? '')
  const [providers, setProviders] = useState(change?.rules.providers.join('\n') ?? '')
  const [deny, setDeny] = useState(change?.rules.data_collection === 'deny')
  const [zdr, setZdr] = useState(change?.rules.zdr ?? false)
  const [tried, setTried] = useState(false)
  const rubles = amountOf(amount)
  const per = alarmsOf(alarms)
  const needsId = !change && of !== 'organization' && of !== 'each'
  const save = useAction(async () => {
    const form = {
      name: name.trim(),
      amount: plain(rubles!),
      hard,
      alarms: per!,
      rules: {
        models: linesOf(models),
        providers: linesOf(providers),
        data_collection: deny ? ('deny' as const) : ('allow' as const),
        zdr,
      },
    }
    if (change) await patch('/api/budgets/{id}', { path: { id: change.id }, body: form })
    else
      await post('/api/budgets', {
        body: {
          ...form,
          period,
          scope: { kind: of === 'each' ? 'session' : of, ...(needsId ? { id: id.trim() } : {}) },
        } as Body<'/api/budgets', 'post'>,
      })
    await renew(listBudgets, getSpendable)
    toast(c('saved'))
    onClose()
  })
  const failed = save.except(...known)
  const kinds: readonly Of[] =
    account === null
      ? ['organization', 'key', 'tag', 'session', 'each']
      : ['organization', 'team', 'member', 'key', 'tag', 'session', 'each']
  return (
    <Dialog
      open
      wide
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={change ? t('changeTitle', { name: titles(lineOf(change)) }) : t('newTitle')}
      description={change ? undefined : t('fresh')}
      footer={
        <>
          <Button onClick={onClose}>{c('cancel')}</Button>
          <Button look="main" type="submit" form="budget" busy={save.busy}>
            {t(change ? 'save' : 'makeDo')}
          </Button>
        </>
      }
    >
      <form
        id="budget"
        noValidate
        className="flex flex-col gap-4 pt-2"
        onSubmit={(e) => {
          e.preventDefault()
          setTried(true)
          if (!save.busy && rubles && per && !(needsId && id.trim() === '')) save.run()
        }}
      >
        {!change && (
          <div className="grid gap-4 sm:grid-cols-2">
            <Field label={t('scope')} error={save.at('scope.kind')}>
              <Select
                value={of}
                onChange={(e) => {
                  setOf(e.target.value as Of)
                  setId('')
                }}
                options={kinds.map((v) => ({ value: v, label: t(`scope_${v}`) }))}
              />
            </Field>
            {needsId && (
              <ScopeId
                of={of}
                id={id}
                onId={setId}
                error={save.at('scope.id') ?? (tried && id.trim() === '' ? t('choose') : undefined)}
              />
            )}
          </div>
        )}
        <div className="grid gap-4 sm:grid-cols-2">
          <Field
            label={t('amount')}
            error={save.at('amount') ?? (tried && !rubles ? t('amountWrong') : undefined)}
          >
            <Input
              value={amount}
              unit="₽"
              inputMode="decimal"
              autoComplete="off"
              onChange={(e) => setAmount(e.target.value)}
            />
          </Field>
          {!change && (
            <Field label={t('period')} error={save.at('period')}>
              <Select
                value={period}
                onChange={(e) => setPeriod(e.target.value as typeof period)}
                options={periods.map((v) => ({ value: v, label: t(`per_${v}`) }))}
              />
            </Field>
          )}
        </div>
        {change && rubles && <Does b={change} to={plain(rubles)} bound={bound ?? null} />}
        <div>
          <p className="pb-1.5 text-small font-medium text-ink2">{t('hardness')}</p>
          <Segmented
            label={t('hardness')}
            value={hard ? 'hard' : 'soft'}
            onChange={(v) => setHard(v === 'hard')}
            options={(['hard', 'soft'] as const).map((v) => ({ value: v, label: t(v) }))}
          />
          <p className="pt-1.5 text-small text-ink3">{t(hard ? 'hardHelp' : 'softHelp')}</p>
        </div>
        <div className="grid gap-4 sm:grid-cols-2">
          <Field
            label={t('alarms')}
            help={t('alarmsHelp')}
            error={save.at('alarms') ?? (per ? undefined : t('alarmsWrong'))}
          >
            <Input value={alarms} unit="%" autoComplete="off" onChange={(e) => setAlarms(e.target.value)} />
          </Field>
          <Field label={t('name')} optional help={t('nameHelp')} error={save.at('name')}>
            <Input value={name} maxLength={60} autoComplete="off" onChange={(e) => setName(e.target.value)} />
          </Field>
        </div>
        <details
          className="group"
          open={Boolean(change && (models || providers || deny || zdr)) || undefined}
        >
          <summary className="min-h-7 cursor-pointer text-small font-medium text-ink2 hover:text-ink max-md:min-h-11">
            {t('rules')}
          </summary>
          <div className="grid gap-4 pt-2 sm:grid-cols-2">
            <Field label={t('models')} help={t('modelsHelp')} error={save.at('rules.models')}>
              <ModelList
                free
                value={linesOf(models)}
                add={t('addModel')}
                onChange={(all) => setModels(all.join('\n'))}
              />
            </Field>
            <Field label={t('providers')} help={t('providersHelp')} error={save.at('rules.providers')}>
              <Textarea value={providers} spellCheck={false} onChange={(e) => setProviders(e.target.value)} />
            </Field>
          </div>
          <div className="flex flex-col gap-1 pt-3">
            <Checkbox checked={deny} onChange={setDeny}>
              {t('deny')}
            </Checkbox>
            <Checkbox checked={zdr} onChange={setZdr}>
              {t('zdr')}
            </Checkbox>
            <p className="text-small text-ink3">{t('rulesHelp')}</p>
          </div>
        </details>
        {failed !== null && <ErrorBox error={failed} />}
      </form>
    </Dialog>
  )
}

/** What another amount does, in numbers. */
function Does({ b, to, bound }: { b: Budget; to: string; bound: Spendable | null }) {
  const t = useT('budgets')
  const now = decimal(b.amount)!,
    then = decimal(to)!,
    used = sum(b.spent, b.held),
    way = compare(then, now)
  if (way === 0 || b.spent === null) return null
  if (way > 0) {
    const above = bound?.data.some((r) => r.budget === b.id)
      ? bound.data.find((r) => r.budget !== b.id)
      : undefined
    const more = money(plain(subtract(then, now)))
    return (
      <Notice
        title={above ? t('doesRaise', { more, room: money(above.left) }) : t('doesRaiseFree', { more })}
      />
    )
  }
  if (compare(then, used) >= 0)
    return (
      <Notice
        title={t('doesLower', {
          left: money(plain(subtract(then, used))),
          held: money(b.held ?? plain(ZERO)),
        })}
      />
    )
  return (
    <Notice
      tone="warn"
      title={b.hard ? t('doesBelow', { held: money(b.held ?? plain(ZERO)) }) : t('doesBelowSoft')}
    />
  )
}

/** Whose budget it is: chosen among those who are there, or written. */
function ScopeId({
  of,
  id,
  onId,
  error,
}: {
  of: Of
  id: string
  onId: (id: string) => void
  error: string | undefined
}) {
  const t = useT('budgets')
  const path = { id: account ?? '' }
  const within = account !== null
  const org = useQuery({
    ...getOrganization({ path }),
    enabled: within && (of === 'team' || of === 'member'),
  })
  const members = useQuery({ ...listOrganizationMembers({ path }), enabled: within && of === 'member' })
  const keys = useQuery({ ...listAccountKeys(), enabled: of === 'key' })
  if (of === 'tag' || of === 'session')
    return (
      <Field label={t(of)} {...(of === 'tag' ? { help: t('tagHelp') } : {})} error={error}>
        <Input
          value={id}
          maxLength={256}
          spellCheck={false}
          autoComplete="off"
          onChange={(e) => onId(e.target.value)}
        />
      </Field>
    )
  const options =
    of === 'team'
      ? (org.data?.data.teams ?? []).map((x) => ({ value: x.id, label: x.name }))
      : of === 'key'
        ? (keys.data?.data ?? [])
            .filter((k) => !k.management)
            .map((k) => ({ value: k.hash, label: `${k.name} ${k.label}` }))
        : [
            ...(members.data?.data ?? []).map((m) => ({ value: m.id, label: m.name })),
            ...(org.data?.data.services ?? []).map((s) => ({
              value: s.id,
              label: t('service', { name: s.name }),
            })),
          ]
  const word = of as 'team' | 'member' | 'key'
  return (
    <Field label={t(word)} error={error}>
      <Select
        value={id}
        onChange={(e) => onId(e.target.value)}
        options={[{ value: '', label: options.length === 0 ? t('none') : t('choose') }, ...options]}
      />
    </Field>
  )
}
