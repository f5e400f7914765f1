/** Signing in at other providers: the browser goes there and comes back. Loaded where there are any. */
import { useEffect, useState } from 'react'
import { loadMessages, translator, useT } from '../i18n'
import { Button } from '../ui/button'
import { useAction } from './action'
import { post, type Reply } from './client'
import { explain } from './explain'

type Provider = Reply<'/api/me'>['features']['oidc'][number]

/** Goes to a provider. It does not return, unless that fails. */
export async function visit(
  provider: string,
  purpose: 'sign_in' | 'link' | 'prove',
  to: string,
  invitation?: string,
): Promise<void> {
  const { url } = await post('/api/auth/oidc/{id}', {
    path: { id: provider },
    body: { purpose, to, ...(invitation ? { invitation } : {}) },
    quiet: purpose !== 'link',
  })
  location.assign(url)
  await new Promise(() => undefined)
}

/** Why a visit was in vain, from the address to which the browser came back; null if it was not. */
export function problemOf(search: string, providers: readonly Provider[]): string | null {
  const q = new URLSearchParams(search)
  const problem = q.get('problem')
  if (!problem || !/^[a-z]+$/.test(problem)) return null
  const t = translator('elsewhere')
  const id = q.get('provider') ?? ''
  return t.or(problem, t('step'), {
    name: providers.find((p) => p.id === id)?.name ?? id,
    request: q.get('request') ?? '',
  })
}

/** A button for each provider, and what went wrong. */
export default function Elsewhere({
  providers,
  purpose,
  to,
  invitation,
}: {
  providers: readonly Provider[]
  purpose: 'sign_in' | 'prove'
  to: string
  invitation?: string
}) {
  const [ready, setReady] = useState(false)
  useEffect(() => {
    void loadMessages(['elsewhere']).then(() => setReady(true))
  }, [])
  return ready ? (
    <Buttons providers={providers} purpose={purpose} to={to} {...(invitation ? { invitation } : {})} />
  ) : (
    <div className="late h-8" aria-hidden />
  )
}
function Buttons({
  providers,
  purpose,
  to,
  invitation,
}: {
  providers: readonly Provider[]
  purpose: 'sign_in' | 'prove'
  to: string
  invitation?: string
}) {
  const t = useT('elsewhere')
  const [before, setBefore] = useState(() =>
    purpose === 'sign_in' ? problemOf(location.search, providers) : null,
  )
  const go = useAction(
    (p: Provider) => {
      setBefore(null)
      return visit(p.id, purpose, to, invitation)
    },
    { leaves: true },
  )
  const error = before ?? (go.error === null ? null : explain(go.error))
  return (
    <div className="flex flex-col gap-3">
      {error && (
        <p role="alert" className="rounded-control bg-bad-soft px-3 py-2.5 text-small text-bad">
          {error}
        </p>
      )}
      {providers.map((p) => (
        <Button key={p.id} wide busy={go.running?.[0].id === p.id} onClick={() => go.busy || go.run(p)}>
          {t('continueWith', { name: p.name })}
        </Button>
      ))}
    </div>
  )
}
