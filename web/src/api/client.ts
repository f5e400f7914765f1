/**
 * Requests to this gateway. Types come from its OpenAPI document (npm run types). A request that needs a sign-in, or a fresh one, waits for
 * the person to sign in over the page and is then sent again, so that no form loses its text.
 */
import { language } from '../i18n'
import type { paths } from './schema'

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
type Operation<P extends keyof paths, M extends Method> = Exclude<paths[P][M & keyof paths[P]], undefined>
/** Paths that have the method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: Operation<P, M> extends { responses: unknown } ? P : never
}[keyof paths]

type Content<R> = R extends { content: { 'application/json': infer J } } ? J : undefined
type Good<R> = { [S in keyof R]: S extends 200 | 201 | 202 | 204 ? Content<R[S]> : never }[keyof R]
/** What the operation answers when it went well. */
export type Reply<P extends keyof paths, M extends Method = 'get'> =
  Operation<P, M> extends { responses: infer R } ? Good<R> : never
/** What the operation takes. */
export type Body<P extends keyof paths, M extends Method = 'post'> =
  Operation<P, M> extends { requestBody?: infer B } ? Content<NonNullable<B>> : undefined

type Value = string | number | boolean | null | undefined
export interface Options {
  /** Values of {places} in the path. */
  readonly path?: { readonly [name: string]: string }
  readonly query?: { readonly [name: string]: Value | readonly string[] }
  readonly body?: unknown
  readonly headers?: { readonly [name: string]: string }
  readonly signal?: AbortSignal | undefined
  /** Does not ask for a sign-in; the error arrives as it is. */
  readonly quiet?: boolean
}

/** A failed request. `message` is the API's English text; ui/feedback.tsx says it in the person's language by `type`. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  constructor(
    /** error_type of the API, or 'offline', 'unreadable' */
    readonly type: string,
    message: string,
    /** 0 when no answer came */
    readonly status: number,
    readonly requestId: string | null = null,
    /** the field that is wrong, when the API names one */
    readonly field: string | null = null,
    readonly retryAfter: number | null = null,
    readonly metadata: { readonly [name: string]: unknown } = {},
    /** what is wrong with the field, in the person's language; null where the page knows only the kind of the error */
    readonly said: string | null = null,
  ) {
    super(message)
  }
}

/** Asks the person to sign in over the page. Resolves to whether they did. The shell sets it. */
export type Gate = (why: 'expired' | 'prove') => Promise<boolean>
let gate: Gate | null = null
export function setGate(g: Gate | null): void {
  gate = g
}

/** As whom this page believes its session to see the interface: the id of a person, null for oneself. Doubt is called where the gateway says another. */
let sees: string | null = null
let doubt: (() => void) | null = null
export function believe(who: string | null, otherwise: () => void): void {
  sees = who
  doubt = otherwise
}

/** The account of an organization in which this document acts, from its address; null: the person's own. Another account is another document, so that nothing that was read of one stands in the other. */
export const account: string | null = accountIn(location.search)
export function accountIn(search: string): string | null {
  const named = new URLSearchParams(search).get('account')
  return named?.startsWith('org_') ? named : null
}
/** What belongs to a person or to everybody, and not to an account; a test compares it with the OpenAPI document. */
const personal =
  /^\/api\/((me|setup|auth|admin|organizations|chats|invitations|unsubscribe|models|status|rankings|oauth)(\/|$)|chats\.json$|account(\/profile)?$|catalog$|payments\/notifications$)/
export const takesAccount = (path: string): boolean => path.startsWith('/api/') && !personal.test(path)

export function address(path: string, o: Pick<Options, 'path' | 'query'> = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(o.path?.[name] ?? ''))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(o.query ?? {})) {
    if (Array.isArray(value)) value.forEach((v: string) => query.append(name, v))
    else if (value !== undefined && value !== null && value !== '') query.set(name, String(value))
  }
  if (account !== null && takesAccount(path)) query.set('account', account)
  const text = query.toString()
  return filled + (text ? (filled.includes('?') ? '&' : '?') + text : '')
}

/** Sends and answers with the raw response, which is a good one: for streams and files. */
export async function send(method: Method, path: string, o: Options = {}): Promise<Response> {
  for (;;) {
    // Nothing of our own with a GET: an answer that the document has asked for serves only a request with the same headers.
    const headers: Record<string, string> = { ...o.headers }
    if (method !== 'get') headers['X-Weir'] = '1'
    if (sees !== null && path !== '/api/me') headers['X-Weir-Sees'] = sees
    let body: BodyInit | undefined
    if (o.body instanceof FormData || o.body instanceof Blob) body = o.body
    else if (o.body !== undefined) {
      body = JSON.stringify(o.body)
      headers['Content-Type'] = 'application/json'
    }
    let response: Response
    try {
      response = await fetch(address(path, o), {
        method: method.toUpperCase(),
        headers,
        ...(body === undefined ? {} : { body }),
        ...(o.signal ? { signal: o.signal } : {}),
        credentials: 'same-origin',
      })
    } catch (e) {
      if (o.signal?.aborted) throw e
      throw new ApiError('offline', 'The gateway cannot be reached.', 0)
    }
    const as = response.headers.get('x-weir-sees')
    if (as !== null && as !== sees && path !== '/api/me') doubt?.()
    if (response.ok) return response
    const error = await failure(response)
    if (error.metadata.seeing === 'ended') doubt?.()
    const why = error.metadata.sign_in === 'again' ? 'prove' : error.status === 401 ? 'expired' : null
    if (why && gate && !o.quiet && !o.signal?.aborted && (await gate(why))) continue
    throw error
  }
}

/** Reads what a refused request says. */
export async function failure(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id')
  const seconds = Number(response.headers.get('retry-after'))
  const retryAfter = Number.isFinite(seconds) && seconds > 0 ? seconds : null
  let e: { message?: unknown; param?: unknown; metadata?: { [name: string]: unknown } } | undefined
  try {
    e = ((await response.json()) as { error?: typeof e }).error
  } catch {
    /* no JSON: a proxy's own page */
  }
  if (!e || typeof e !== 'object')
    return new ApiError('unreadable', `HTTP ${response.status}`, response.status, requestId, null, retryAfter)
  const metadata = e.metadata ?? {}
  const field =
    typeof e.param === 'string'
      ? e.param
      : typeof metadata.field === 'string'
        ? metadata.field
        : typeof metadata.param === 'string'
          ? metadata.param
          : null
  const message = String(e.message ?? '')
  return new ApiError(
    String(metadata.error_type ?? 'unreadable'),
    message,
    response.status,
    requestId,
    field,
    retryAfter,
    metadata,
    field === null ? null : await inLanguage(message, metadata.code, metadata.params),
  )
}

/** What is wrong with a field, in the language of the page: the gateway says it in English and as a code with its values. Null: no sentence is known. */
async function inLanguage(english: string, code: unknown, params: unknown): Promise<string | null> {
  if (language() === 'en') return english
  try {
    const russian: { [code: string]: string } = (await import('../messages/refusals.ru.json')).default
    const values = (params ?? {}) as { [name: string]: unknown }
    return (
      russian[String(code)]?.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? '')) ?? null
    )
  } catch {
    return null
  } // offline meanwhile
}

async function json(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined
  try {
    return await response.json()
  } catch {
    throw new ApiError(
      'unreadable',
      'The answer is not readable.',
      response.status,
      response.headers.get('x-request-id'),
    )
  }
}

export async function get<P extends PathOf<'get'>>(path: P, o?: Omit<Options, 'body'>): Promise<Reply<P>> {
  return (await json(await send('get', path, o))) as Reply<P>
}
export async function post<P extends PathOf<'post'>>(
  path: P,
  o?: Omit<Options, 'body'> & { body?: Body<P, 'post'> },
): Promise<Reply<P, 'post'>> {
  return (await json(await send('post', path, { body: {}, ...o }))) as Reply<P, 'post'>
}
export async function put<P extends PathOf<'put'>>(
  path: P,
  o?: Omit<Options, 'body'> & { body?: Body<P, 'put'> },
): Promise<Reply<P, 'put'>> {
  return (await json(await send('put', path, o))) as Reply<P, 'put'>
}
export async function patch<P extends PathOf<'patch'>>(
  path: P,
  o?: Omit<Options, 'body'> & { body?: Body<P, 'patch'> },
): Promise<Reply<P, 'patch'>> {
  return (await json(await send('patch', path, o))) as Reply<P, 'patch'>
}
export async function remove<P extends PathOf<'delete'>>(
  path: P,
  o?: Omit<Options, 'body'>,
): Promise<Reply<P, 'delete'>> {
  return (await json(await send('delete', path, o))) as Reply<P, 'delete'>
}
