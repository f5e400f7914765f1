/** How a chat begins: with the settings of the address and, where it names a call whose text is stored, with that text. */
import { useEffect, useState } from 'react'
import { ApiError } from '../../api/client'
import type { Me } from '../../api/query'
import { useT } from '../../i18n'
import { ErrorBox, Notice, Skeleton } from '../../ui/feedback'
import { Link, useGo, usePageSearch } from '../../ui/link'
import type { Model } from '../catalog/filter'
import { beginRoom, type Beginning, type Room } from './chat'
import { shape } from './share'
import type { T } from './turn'

/** A new chat. What was asked of a call is only written into it: nothing is sent before the person sends it. */
export function Fresh({ me, models }: { me: Me; models: readonly Model[] }) {
  const t = useT('playground')
  const [{ models: ids, settings, again }] = usePageSearch(shape)
  const go = useGo()
  const [error, setError] = useState<unknown>(null)
  const [tries, setTries] = useState(0)
  const enter = (room: Room, models: readonly string[]) =>
    go(`/playground/${room.id}`, { search: shape.write({ models, settings }), replace: true })
  useEffect(() => {
    const person = me.user!.id
    if (!again) {
      enter(beginRoom(person, settings), ids)
      return
    }
    const known =
      models.find((m) => m.id === ids[0] || m.aliases?.includes(ids[0] ?? '')) ??
      models.find((m) => m.rank === 1) ??
      models[0]!
    const control = new AbortController()
    const without = (missing: Beginning['missing']) =>
      enter(beginRoom(person, settings, {}, { call: again, prompt: '', files: [], left: 0, missing }), ids)
    setError(null)
    void (async () => {
      try {
        const { begunFrom, readStored } = await import('./stored')
        const text = await readStored(again, control.signal)
        const { turns, prompt, files, left, settings: said } = begunFrom(text, Date.now())
        enter(
          beginRoom(person, { ...settings, ...said }, turns.length ? { [known.id]: turns } : {}, {
            call: again,
            prompt,
            files,
            left,
            missing: text.whole ? 'nothing' : 'beginning',
          }),
          [known.id],
        )
      } catch (e) {
        if (control.signal.aborted) return
        if (e instanceof ApiError && (e.status === 404 || e.status === 413))
          without(e.status === 404 ? 'gone' : 'large')
        else setError(e)
      }
    })()
    return () => control.abort()
  }, [tries]) // eslint-disable-line react-hooks/exhaustive-deps
  return (
    <>
      <h1 tabIndex={-1} className="sr-only">
        {t('title')}
      </h1>
      {again && (
        <div className="p-5">
          {error ? (
            <ErrorBox error={error} onRetry={() => setTries((n) => n + 1)} />
          ) : (
            <Skeleton className="h-8 w-64" />
          )}
        </div>
      )}
    </>
  )
}

/** What a chat began with, and what of it is not there. */
export function BegunNote({ t, begun: b }: { t: T; begun: Beginning }) {
  const short = b.missing !== 'nothing' || b.left > 0
  const said = [
    b.missing === 'nothing' ? t('begunText') : t(`begun_${b.missing}`),
    b.left > 0 ? t('begunLeft', { n: b.left }) : '',
  ]
    .filter(Boolean)
    .join(' ')
  return (
    <div role="status" className="border-b border-line px-4 py-2 md:px-5">
      <Notice
        tone={short ? 'warn' : 'plain'}
        action={
          <Link
            to={`/calls/${b.call}`}
            className="inline-flex min-h-6 items-center text-small text-accent-ink"
          >
            {t('openCall')}
          </Link>
        }
      >
        {said}
      </Notice>
    </div>
  )
}
