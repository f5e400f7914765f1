/** A cause of failures: its name, its code and what the provider said. */
import type { Reply } from '../../api/client'
import { useT } from '../../i18n'

export type Cause = Reply<'/api/admin/errors'>['data']['causes'][number]

export function CauseOf({ r, onOpen }: { r: Cause; onOpen?: () => void }) {
  const route = useT('route')
  const c = useT('calls')
  const name = route.or(`fault_${r.code}`, c.or(`result_${r.code}`, r.code.replace(/_/g, ' ')))
  return (
    <span className="block min-w-0 py-1">
      <span className="flex flex-wrap items-center gap-2">
        {onOpen ? (
          <button type="button" className="text-left font-medium hover:underline" onClick={onOpen}>
            {name}
          </button>
        ) : (
          <span className="font-medium">{name}</span>
        )}
        <code className="text-label text-ink3">{r.code}</code>
      </span>
      {r.said && (
        <span lang="en" className="block max-w-[52ch] text-small break-words text-ink2">
          “{r.said}”
        </span>
      )}
    </span>
  )
}
