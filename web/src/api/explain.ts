import { duration } from '../format'
import { translator } from '../i18n'
import { ApiError, account } from './client'

/** A failure in the person's language: by its kind, with the API's English text as the details. */
export function explain(error: unknown): string {
  const t = translator('common')
  if (!(error instanceof ApiError)) return t('error_server')
  if (typeof error.metadata.seeing === 'string')
    return t.or(`error_seeing_${error.metadata.seeing}`, 'error_permission_denied')
  if (error.type === 'permission_denied' && account !== null)
    return t(Array.isArray(error.metadata.roles) ? 'error_role_here' : 'error_whole_organization')
  if (error.type === 'authentication' && !error.requestId) return t('error_signed_out')
  if (error.type === 'rate_limit_exceeded' && error.retryAfter)
    return t('error_rate_limit_wait', { time: duration(error.retryAfter * 1000) })
  return t.or(
    `error_${error.type}`,
    t.or(
      error.status >= 500
        ? 'error_server'
        : error.status === 404
          ? 'error_not_found'
          : 'error_invalid_request',
    ),
  )
}

/** What is wrong with a field, in the person's language. */
export function said(error: unknown): string {
  return error instanceof ApiError && error.said !== null ? error.said : explain(error)
}
