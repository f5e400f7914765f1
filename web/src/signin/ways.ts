/** Ways in besides the password, where this installation has them. */
import { post, type Reply } from '../api/client'

type Me = Reply<'/api/me'>
interface More { passkeys?: boolean; oidc?: readonly (string | { id: string; name: string })[] }

export function hasPasskeys(me: Me): boolean { return (me.features as More).passkeys === true && typeof PublicKeyCredential !== 'undefined' }
export function oidcProviders(me: Me): { id: string; name: string }[] {
  return ((me.features as More).oidc ?? []).map((p) => (typeof p === 'string' ? { id: p, name: p } : p))
}

const bytes = (text: string) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
const base64url = (b: ArrayBuffer | null) => (b ? btoa(String.fromCharCode(...new Uint8Array(b))).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '') : null)

/** Asks the browser for a passkey and signs in with it. */
export async function signInWithPasskey(): Promise<void> {
  const options = (await post('/api/auth/passkey/options' as never)) as { publicKey: { challenge: string; rpId?: string; timeout?: number; userVerification?: UserVerificationRequirement; allowCredentials?: { id: string; type: 'public-key' }[] } }
  const { publicKey } = options
  const credential = (await navigator.credentials.get({ publicKey: { ...publicKey, challenge: bytes(publicKey.challenge), allowCredentials: (publicKey.allowCredentials ?? []).map((c) => ({ ...c, id: bytes(c.id) })) } })) as PublicKeyCredential
  const r = credential.response as AuthenticatorAssertionResponse
  await post('/api/auth/passkey/verify' as never, { body: { id: credential.id, rawId: base64url(credential.rawId), type: credential.type, response: { clientDataJSON: base64url(r.clientDataJSON), authenticatorData: base64url(r.authenticatorData), signature: base64url(r.signature), userHandle: base64url(r.userHandle) } } as never })
}
