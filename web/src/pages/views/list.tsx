/** The list of saved views; its code is loaded when it is opened. */
import { useAction } from '../../api/action'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, patch, post, remove, type Reply } from '../../api/client'
import { explain, said } from '../../api/explain'
import { listViews } from '../../api/operations'
import { renew } from '../../api/query'
import { useT } from '../../i18n'
import { Button, IconButton } from '../../ui/button'
import { ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Icon } from '../../ui/icons'
import { Link, type Search } from '../../ui/link'
import { toast } from '../../ui/toast'

type View = Reply<'/api/views'>['data'][number]
export type Page = View['page']

const searchOf = (query: string): Search => Object.fromEntries(new URLSearchParams(query))
/** One text for all orders and encodings of the same query. */
const sorted = (query: string) =>
  JSON.stringify([...new URLSearchParams(query)].sort(([a], [b]) => (a < b ? -1 : 1)))

export default function List({ page, now, onOpened }: { page: Page; now: string; onOpened: () => void }) {
  const t = useT('views')
  const c = useT('common')
  const { data, error, refetch } = useQuery(listViews({ query: { page } }))
  const [editing, setEditing] = useState('')
  const erase = async (v: View) => {
    try {
      await remove('/api/views/{id}', { path: { id: v.id } })
      toast(t('removed', { name: v.name }), {
        label: c('undo'),
        run: () => {
          void post('/api/views', { body: { page, name: v.name, query: v.query } }).then(
            () => renew(listViews),
            (e: unknown) => toast(explain(e)),
          )
        },
      })
    } catch (e) {
      toast(explain(e))
    }
    await renew(listViews)
  }
  return (
    <div className="flex w-80 max-w-full flex-col gap-3">
      <h2 className="text-section">{t('title')}</h2>
      {error && !data ? (
        <ErrorBox
          error={error}
          onRetry={() => {
            void refetch()
          }}
        />
      ) : !data ? (
        <SkeletonRows rows={3} height={36} />
      ) : data.data.length === 0 ? (
        <p className="text-ink2">{t('empty')}</p>
      ) : (
        <ul className="-mx-1 max-h-[40dvh] overflow-y-auto">
          {data.data.map((v) =>
            v.id === editing ? (
              <li key={v.id} className="px-1 py-2">
                <Edit view={v} now={now} onDone={() => setEditing('')} />
              </li>
            ) : (
              <li
                key={v.id}
                className="flex min-h-9 items-center rounded-control pl-1 hover:bg-sunken max-md:min-h-11"
              >
                <Link
                  to={`/${page}`}
                  search={searchOf(v.query)}
                  onClick={onOpened}
                  {...(sorted(v.query) === sorted(now) ? { 'aria-current': 'page' as const } : {})}
                  className="flex min-w-0 flex-1 items-center gap-2 self-stretch text-ink no-underline"
                >
                  <span translate="no" dir="auto" className="min-w-0 flex-1 truncate" title={v.name}>
                    {v.name}
                  </span>
                  {sorted(v.query) === sorted(now) && (
                    <span className="inline-flex items-center gap-1 text-label text-accent-ink">
                      <Icon name="check" size={14} />
                      {t('shown')}
                    </span>
                  )}
                </Link>
                <IconButton
                  small
                  icon="edit"
                  label={t('change', { name: v.name })}
                  onClick={() => setEditing(v.id)}
                />
                <IconButton
                  small
                  icon="trash"
                  label={t('remove', { name: v.name })}
                  onClick={() => {
                    void erase(v)
                  }}
                />
              </li>
            ),
          )}
        </ul>
      )}
      {data &&
        (data.data.length >= data.most ? (
          <p className="text-ink2">{t('full', { most: data.most })}</p>
        ) : (
          <Add page={page} now={now} />
        ))}
    </div>
  )
}

/** Why a name was refused: beside the field, in the words of the form. */
function useRefusal(): (error: unknown) => string | undefined {
  const t = useT('views')
  return (error) =>
    error === null
      ? undefined
      : error instanceof ApiError && error.status === 409
        ? t('taken')
        : error instanceof ApiError && error.field
          ? said(error)
          : explain(error)
}

function Add({ page, now }: { page: Page; now: string }) {
  const t = useT('views')
  const refusal = useRefusal()
  const [name, setName] = useState('')
  const add = useAction(async () => {
    if (!name.trim()) return
    const made = (await post('/api/views', { body: { page, name, query: now } })).data
    setName('')
    toast(t('saved', { name: made.name }))
    await renew(listViews)
  })
  return (
    <form onSubmit={add.submit} className="flex flex-col gap-2 border-t border-line pt-3">
      <Field label={t('name')} error={refusal(add.error)}>
        <Input
          value={name}
          maxLength={60}
          placeholder={t('hint')}
          autoComplete="off"
          onChange={(e) => {
            setName(e.target.value)
            add.clear()
          }}
        />
      </Field>
      <div>
        <Button type="submit" look="main" busy={add.busy} disabled={!name.trim()}>
          {t('save')}
        </Button>
      </div>
    </form>
  )
}

function Edit({ view, now, onDone }: { view: View; now: string; onDone: () => void }) {
  const t = useT('views')
  const c = useT('common')
  const refusal = useRefusal()
  const [name, setName] = useState(view.name)
  const change = useAction(async (body: { name?: string; query?: string }) => {
    if (!name.trim()) return
    const changed = (await patch('/api/views/{id}', { path: { id: view.id }, body })).data
    toast(t('changed', { name: changed.name }))
    await renew(listViews)
    onDone()
  })
  return (
    <form
      onSubmit={(e) => change.submit(e, { name })}
      onKeyDown={(e) => {
        if (e.key === 'Escape') {
          e.stopPropagation()
          onDone()
        }
      }}
      className="flex flex-col gap-2"
    >
      <Field label={t('rename')} error={refusal(change.error)}>
        <Input
          value={name}
          maxLength={60}
          autoFocus
          autoComplete="off"
          onChange={(e) => {
            setName(e.target.value)
            change.clear()
          }}
        />
      </Field>
      <div className="flex flex-wrap gap-2">
        <Button small type="submit" look="main" busy={change.busy} disabled={!name.trim()}>
          {c('save')}
        </Button>
        {sorted(view.query) !== sorted(now) && (
          <Button
            small
            disabled={change.busy || !name.trim()}
            onClick={() => change.run({ name, query: now })}
          >
            {t('replace')}
          </Button>
        )}
        <Button small look="quiet" onClick={onDone}>
          {c('cancel')}
        </Button>
      </div>
    </form>
  )
}
