import { useT } from '../../i18n'
import { NOTHING } from '../calls/filter'
import { beyond } from './view'

/** How the value of a group is written: names as they are, kinds and results in words, what has no name as none. */
export function useGroupWord(): (group: string, value: string, label: string | null) => string {
  const t = useT('activity'),
    calls = useT('calls')
  return (group, value, label) => {
    if (value === '' || value === NOTHING) return t('nameless')
    if (value.endsWith(`=${NOTHING}`)) return t('withoutTag', { name: value.slice(0, -1 - NOTHING.length) })
    if (beyond(value)) return t('beyond')
    if (group === 'kind') return calls.or(`k_${value}`, value)
    if (group === 'result')
      return calls.or(`r_${value}`, calls.or(`result_${value}`, value.replace(/_/g, ' ')))
    return label ?? value
  }
}
