/** What budgets are called. */
import { account } from '../../api/client'
import { useT } from '../../i18n'
import type { Budget, Line } from './data'

/** What a budget is called: its name, or what it is of. */
export function useTitles(): (line: Pick<Line, 'kind' | 'id' | 'name' | 'budget'>) => string {
  const t = useT('budgets')
  return ({ kind, id, name, budget }) =>
    budget?.name ??
    name ??
    (kind === 'organization'
      ? t(account === null ? 'account' : 'organization')
      : kind === 'session' && id === null
        ? t('each')
        : (id ?? ''))
}
export const lineOf = (b: Budget): Line => ({
  key: b.id,
  depth: 0,
  kind: b.scope.kind,
  id: b.scope.id,
  name: b.scope.name ?? (b.scope.kind === 'tag' || b.scope.kind === 'session' ? b.scope.id : null),
  budget: b,
})
