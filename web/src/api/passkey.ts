/** Passkeys: what the server asks of the browser, and what the browser answers. Loaded where somebody uses one. */
import { translator } from '../i18n'
import { ApiError, post, type Reply } from './client'
import { explain } from './explain'

type Creation = Reply<'/api/auth/passkeys/options', 'post'>['public_key']
type Request = Reply<'/api/auth/prove/options', 'post'>['public_key']

/** The person closed the browser's question, or the device has no passkey that fits. */
export class NoPasskey extends Error {
  constructor(readonly why: 'closed' | 'known' | 'address') {
    super(why)
  }
}

const bytes = (text: string) =>
  Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0))
const text = (b: ArrayBuffer | null | undefined) =>
  b
    ? btoa(String.fromCharCode(...new Uint8Array(b)))
        .replace(/\+/g, '-')
        .replace(/\//g, '_')
        .replace(/=+$/, '')
    : undefined
const known = (all: readonly { type: 'public-key'; id: string; transports?: string[] }[]) =>
  all.map((d) => ({ ...d, id: bytes(d.id) }) as PublicKeyCredentialDescriptor)

/** The options with bytes where the browser wants bytes; browsers before 2025 cannot read the JSON themselves. */
export function creation(o: Creation): PublicKeyCredentialCreationOptions {
  return {
    ...o,
    challenge: bytes(o.challenge),
    user: { ...o.user, id: bytes(o.user.id) },
    excludeCredentials: known(o.excludeCredentials),
  } as PublicKeyCredentialCreationOptions
}
export function request(o: Request): PublicKeyCredentialRequestOptions {
  return {
    ...o,
    challenge: bytes(o.challenge),
    allowCredentials: known(o.allowCredentials),
  } as PublicKeyCredentialRequestOptions
}

/** The answer as PublicKeyCredential.toJSON writes it. */
export function answer(c: PublicKeyCredential): {
  id: string
  rawId: string
  type: 'public-key'
  response: { [name: string]: unknown }
} {
  const made = c.response as AuthenticatorAttestationResponse,
    used = c.response as AuthenticatorAssertionResponse
  return {
    id: c.id,
    rawId: text(c.rawId)!,
    type: 'public-key',
    response: {
      clientDataJSON: text(c.response.clientDataJSON),
      ...(made.attestationObject
        ? { attestationObject: text(made.attestationObject), transports: made.getTransports?.() ?? [] }
        : {
            authenticatorData: text(used.authenticatorData),
            signature: text(used.signature),
            userHandle: text(used.userHandle),
          }),
    },
  }
}

async function ask(f: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  try {
    const c = await f()
    if (c) return c as PublicKeyCredential
  } catch (e) {
    const name = e instanceof DOMException ? e.name : ''
    if (name === 'InvalidStateError') throw new NoPasskey('known')
    if (name === 'SecurityError') throw new NoPasskey('address')
    if (name !== 'NotAllowedError' && name !== 'AbortError') throw e
  }
  throw new NoPasskey('closed')
}

/** Signs in with a passkey; nobody needs a name for it. `second`: the step that a password or another provider has left. */
export async function signInWithPasskey(second?: string): Promise<Reply<'/api/auth/passkey', 'post'>> {
  const { step, public_key } = await post('/api/auth/passkey/options', {
    body: second ? { step: second } : {},
    quiet: true,
  })
  const credential = answer(await ask(() => navigator.credentials.get({ publicKey: request(public_key) })))
  return post('/api/auth/passkey', { body: { step, credential }, quiet: true })
}

/** Proves with a passkey who is signed in. */
export async function proveWithPasskey(): Promise<void> {
  const { step, public_key } = await post('/api/auth/prove/options', { quiet: true })
  const credential = answer(await ask(() => navigator.credentials.get({ publicKey: request(public_key) })))
  await post('/api/auth/prove', { body: { step, credential }, quiet: true })
}

/** Has the account require a passkey from now on, with one that is used for it. */
export async function requirePasskey(): Promise<void> {
  const { step, public_key } = await post('/api/auth/prove/options')
  const credential = answer(await ask(() => navigator.credentials.get({ publicKey: request(public_key) })))
  await post('/api/auth/second-step', { body: { step, credential } })
}

/** Makes a passkey of the person who is signed in. */
export async function addPasskey(name: string): Promise<void> {
  const { step, public_key } = await post('/api/auth/passkeys/options')
  const credential = answer(
    await ask(() => navigator.credentials.create({ publicKey: creation(public_key) })),
  )
  await post('/api/auth/passkeys', { body: { step, name, credential } })
}

/** Why a passkey did not work, in the person's language. */
export function explainPasskey(e: unknown): string {
  const t = translator('common')
  if (e instanceof NoPasskey)
    return t(e.why === 'known' ? 'passkeyKnown' : e.why === 'address' ? 'passkeyRefused' : 'passkeyClosed')
  if (e instanceof ApiError && (e.status === 401 || e.field === 'credential')) return t('passkeyRefused')
  return explain(e)
}
