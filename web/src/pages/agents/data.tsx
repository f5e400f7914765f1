/** What the list of trees and the page of one share. */
import type { Reply } from '../../api/client'
import { add, approximately, decimal, divide, money, plain, ZERO } from '../../format'
import { useT } from '../../i18n'
import { Level, Tag, type Tone } from '../../ui/marks'

export type Agent = Reply<'/api/agents'>['data'][number]

const tones: Record<string, Tone> = { running: 'accent', out_of_money: 'bad' }
export function StateTag({ a }: { a: Agent }) {
  const t = useT('agents')
  return <Tag tone={tones[a.state] ?? 'plain'}>{t.or(a.state)}</Tag>
}
export const over = (a: Agent): boolean => a.state === 'ended' || a.state === 'stopped'
/** What an agent has spent with all below it. */
export const spentOf = (a: Agent): string =>
  plain(add(decimal(a.own) ?? ZERO, decimal(a.by_children) ?? ZERO))

export function Used({ a }: { a: Agent }) {
  const t = useT('agents')
  const amount = decimal(a.amount)
  const part = (v: string) => {
    const d = decimal(v)
    const share = d && amount && amount.digits !== 0n ? divide(d, amount) : null
    return share ? Math.min(1000, approximately(share) * 1000) : 0
  }
  const spent = spentOf(a)
  return (
    <Level
      total={1000}
      label={t('used', { spent: money(spent), held: money(a.held), amount: money(a.amount) })}
      parts={[
        {
          key: 'spent',
          value: part(spent),
          className: a.state === 'out_of_money' ? 'bg-bad' : 'bg-accent',
        },
        { key: 'held', value: part(a.held), className: 'bg-hold' },
      ]}
    />
  )
}
/** How deep each agent of a tree is, by id; an agent comes after the one that made it. */
export function depths(all: readonly Agent[]): ReadonlyMap<string, number> {
  const deep = new Map<string, number>()
  for (const a of all) deep.set(a.id, (deep.get(a.parent) ?? -1) + 1)
  return deep
}
/** The agents that come from one, itself included. */
export function within(all: readonly Agent[], top: Agent): Agent[] {
  const ids = new Set([top.id])
  return all.filter((a) => {
    if (ids.has(a.parent)) ids.add(a.id)
    return ids.has(a.id)
  })
}
