import { queryOptions } from '@tanstack/react-query'
import { ApiError, type Reply } from '../../api/client'
import { getCall } from '../../api/operations'
import type { Tone } from '../../ui/marks'
import type { T } from '../../i18n'

export type Call = Reply<'/api/calls/{id}'>['data']
export type CallRow = Reply<'/api/calls'>['data'][number]

/** Something is charged for and not taken yet. A call that costs nothing is never settled. */
export const isPending = (c: Call): boolean => c.settled === false && c.usage.parts.length > 0
/** The call has only just ended, and its record is on its way. */
export const isRecording = (e: unknown): boolean =>
  e instanceof ApiError && e.status === 404 && e.metadata.recording === true
export const callQuery = (id: string) =>
  queryOptions({
    ...getCall({ path: { id } }),
    retry: (n: number, e: Error) =>
      isRecording(e) ? n < 20 : n < 1 && e instanceof ApiError && (e.status === 0 || e.status >= 500),
    retryDelay: (_: number, e: Error) => (e instanceof ApiError && e.retryAfter ? e.retryAfter * 1000 : 700),
    staleTime: (q: { state: { data?: { data: Call } | undefined } }) =>
      q.state.data && !isPending(q.state.data.data) ? Infinity : 2_000,
    refetchInterval: (q: { state: { data?: { data: Call } | undefined } }) =>
      q.state.data && isPending(q.state.data.data) ? 3_000 : false,
  })

/** How a call ended, in a word or two. */
export function resultOf(
  t: T<'calls'>,
  c: { status: number; result: string; attempts: number },
): { tone: Tone; text: string } {
  if (c.result === 'ok')
    return {
      tone: 'good',
      text: c.attempts > 1 ? t('resultNth', { status: String(c.status), n: c.attempts }) : String(c.status),
    }
  if (c.result === 'canceled') return { tone: 'plain', text: t('result_canceled') }
  return {
    tone: 'bad',
    text: `${c.status > 0 ? `${c.status} ` : ''}${t.or(`result_${c.result}`, c.result.replace(/_/g, ' '))}`,
  }
}
