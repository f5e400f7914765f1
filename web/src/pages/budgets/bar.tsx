/** How much of a budget is used: as a bar, and in words. */
import { money } from '../../format'
import { useT } from '../../i18n'
import { Level } from '../../ui/marks'
import { parts, type Budget } from './data'

export function Bar({ b }: { b: Budget }) {
  const t = useT('budgets')
  const p = parts(b)
  return (
    <Level
      total={1000}
      label={t('used', { spent: money(b.spent), held: money(b.held), amount: money(b.amount) })}
      parts={[
        {
          key: 'spent',
          value: p.spent,
          className: p.spent + p.held >= 900 ? 'bg-warn' : 'bg-accent',
        },
        { key: 'held', value: p.held, className: 'bg-hold' },
      ]}
    />
  )
}

/** The budgets of one team or member, where lines are about something else. */
export function Bars({ all, kind, id }: { all: readonly Budget[]; kind: 'team' | 'member'; id: string }) {
  const t = useT('budgets')
  return all
    .filter((b) => b.scope.kind === kind && b.scope.id === id)
    .map((b) => (
      <span key={b.id} className="block min-w-0 pt-1 text-small text-ink3">
        <Bar b={b} />
        {t('spentOf', { spent: money(b.spent), amount: money(b.amount), period: t(`per_${b.period}`) })}
      </span>
    ))
}
