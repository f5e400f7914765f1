/** Budgets as a picture has them: each under what it lies in. */
import type { Reply } from '../../api/client'
import { add, approximately, compare, decimal, divide, ZERO, type Decimal } from '../../format'

export type Budget = Reply<'/api/budgets'>['data'][number]
export type Kind = Budget['scope']['kind']

/** A line of the picture: a budget, or what others lie in and has none of its own. */
export interface Line {
  readonly key: string
  readonly depth: number
  readonly kind: Kind
  readonly id: string | null
  readonly name: string | null
  readonly budget: Budget | null
}

const place = (kind: Kind, id: string | null) => `${kind} ${id ?? ''}`

/** Teams, members and keys, each under the one that it is in; the whole account is above. */
export function nest(all: readonly Budget[]): Line[] {
  interface Node {
    readonly kind: Kind
    readonly id: string | null
    name: string | null
    readonly budgets: Budget[]
    readonly under: Node[]
  }
  const known = new Map<string, Node>()
  const roots: Node[] = []
  const node = (kind: Kind, id: string | null, name: string | null, above: Node | null): Node => {
    const at = place(kind, id)
    let n = known.get(at)
    if (!n) {
      n = { kind, id, name, budgets: [], under: [] }
      known.set(at, n)
      ;(above?.under ?? roots).push(n)
    }
    n.name ??= name
    return n
  }
  const account = all.some((b) => b.scope.kind === 'organization')
    ? node('organization', null, null, null)
    : null
  for (const b of all) {
    const { kind, id, name, team, member } = b.scope
    if (kind === 'tag' || kind === 'session') continue
    let above = kind === 'organization' ? null : account
    if (team) above = node('team', team.id, team.name, above)
    if (member) above = node('member', member.id, member.name, above)
    node(kind, id, name, above).budgets.push(b)
  }
  const lines: Line[] = []
  const walk = (n: Node, depth: number) => {
    const line = { depth, kind: n.kind, id: n.id, name: n.name }
    if (n.budgets.length === 0) lines.push({ ...line, key: place(n.kind, n.id), budget: null })
    for (const budget of n.budgets) lines.push({ ...line, key: budget.id, budget })
    for (const one of n.under) walk(one, depth + 1)
  }
  for (const n of roots) walk(n, 0)
  return lines
}
/** Tags and sessions, which lie in no team. */
export const beside = (all: readonly Budget[]): Line[] =>
  all
    .filter((b) => b.scope.kind === 'tag' || b.scope.kind === 'session')
    .map((budget) => ({
      key: budget.id,
      depth: 0,
      kind: budget.scope.kind,
      id: budget.scope.id,
      name: budget.scope.id,
      budget,
    }))

/** The parts of a budget in thousandths, for the width of a bar. */
export function parts(b: Pick<Budget, 'amount' | 'spent' | 'held'>): { spent: number; held: number } {
  const amount = decimal(b.amount),
    of = (v: string | null) => {
      const d = decimal(v)
      if (!d || !amount || d.digits === 0n) return 0
      if (amount.digits === 0n) return 1000
      const share = divide(d, amount)
      return share ? Math.min(1000, Math.max(1, Math.floor(approximately(share) * 1000))) : 0
    }
  return { spent: of(b.spent), held: of(b.held) }
}
/** The alarms that have gone out in this period. */
export function alarmed(b: Pick<Budget, 'amount' | 'spent' | 'alarms'>): number | null {
  const spent = decimal(b.spent),
    amount = decimal(b.amount)
  if (!spent || !amount) return null
  const hundred = { digits: spent.digits * 100n, scale: spent.scale }
  return (
    b.alarms.filter((n) => compare(hundred, { ...amount, digits: amount.digits * BigInt(n) }) >= 0).at(-1) ??
    null
  )
}
/** The one that leaves least of its amount, which is looked at first. */
export function nearest(all: readonly Budget[]): Budget | null {
  const used = (b: Budget) => {
    const p = parts(b)
    return (b.hard ? 1000 : 0) + p.spent + p.held
  }
  return all.reduce<Budget | null>((most, b) => (!most || used(b) > used(most) ? b : most), null)
}
/** What a call within a budget is to the question what it may still cost. A session that nobody has begun stands for each one. */
export function callOf(b: Budget | null): Record<string, string> {
  if (!b) return {}
  const { kind, id, key, team } = b.scope
  switch (kind) {
    case 'key':
      return key?.hash && !key.deleted ? { key: key.hash } : {}
    case 'member':
      return { member: id ?? '', ...(team ? { team: team.id } : {}) }
    case 'team':
      return { team: id ?? '' }
    case 'tag':
      return { tags: id ?? '' }
    case 'session':
      return { session: id ?? 'of nobody yet' }
    default:
      return {}
  }
}
/** The filter of the list of calls that a budget counts; null: of all of them, or of none in particular. */
export function filterOf(line: Pick<Line, 'kind' | 'id' | 'budget'>): Record<string, string> | null {
  const id = line.id
  if (line.kind === 'organization') return {}
  if (id === null) return null
  if (line.kind === 'key') {
    const hash = line.budget?.scope.key?.hash
    return hash ? { key: hash } : null
  }
  return { [line.kind]: id }
}
/** Rubles as they were typed, with a comma or a dot; null: no amount. */
export function amountOf(text: string): Decimal | null {
  const d = decimal(text.replace(/[\s\u202f\u00a0₽]/g, '').replace(',', '.'))
  return d && d.digits >= 0n ? d : null
}
/** Per cents as they were typed; null: something else is among them. */
export function alarmsOf(text: string): number[] | null {
  const words = text.split(/[\s,;%]+/).filter(Boolean)
  const all = words.map(Number)
  return all.length <= 5 && all.every((n) => Number.isInteger(n) && n >= 1 && n <= 100)
    ? [...new Set(all)].sort((a, b) => a - b)
    : null
}
export const linesOf = (text: string): string[] =>
  text
    .split(/[\s,]+/)
    .map((w) => w.trim())
    .filter(Boolean)
export const sum = (...all: (string | null)[]): Decimal =>
  all.reduce<Decimal>((s, v) => add(s, decimal(v) ?? ZERO), ZERO)
