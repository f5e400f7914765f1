/** Where the change of a provider's key stands, read from its keys: whoever opens the page goes on where another stopped. */
import type { Key } from './provider-data'

export interface Rotating {
  readonly step: 'in' | 'drain' | 'out'
  readonly old: Key
  /** The newest one in use, if that is another. */
  readonly fresh: Key | null
}

/** Undefined without a key that could be replaced here. Keys come oldest first. */
export function rotation(keys: readonly Key[]): Rotating | undefined {
  const here = keys.filter((k) => k.id !== null && k.state !== 'off')
  const used = here.filter((k) => k.state === 'in_use')
  const old = here.find((k) => k.state === 'draining') ?? here[0]
  if (!old) return undefined
  const fresh = used.findLast((k) => k !== old) ?? null
  if (old.state === 'draining') return { step: 'out', old, fresh }
  return { step: fresh ? 'drain' : 'in', old, fresh }
}
