/** The account's presets: made with a name, opened to be edited, played with and deleted here. */
import { useAction } from '../../api/action'
import { useQuery } from '@tanstack/react-query'
import { Suspense, lazy, useRef, useState } from 'react'
import { ApiError, post, remove } from '../../api/client'
import { said } from '../../api/explain'
import { renew, useMe } from '../../api/query'
import { listPresets } from '../../api/operations'
import { loadMessages, useT } from '../../i18n'
import { Button, IconButton } from '../../ui/button'
import { Slug } from '../../ui/copy'
import { Empty } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { useGo } from '../../ui/link'
import { Menu, type MenuItem } from '../../ui/menu'
import { Confirm } from '../../ui/overlay'
import { Page, PageHead, Panel } from '../../ui/page'
import { useShortcuts } from '../../ui/shortcuts'
import { Table } from '../../ui/table'
import { toast, toastError } from '../../ui/toast'
import { When } from '../../ui/values'
import { ImportButton } from '../account/import-button'
import { goodName, type Row } from './data'

const FromChat = lazy(() =>
  Promise.all([import('./from-chat'), loadMessages(['playground'])]).then(([m]) => m),
)

export function Used({ uses }: { uses: Row['uses'] }) {
  const t = useT('presets')
  if (uses.calls === 0) return <span className="text-ink3">{t('notUsed')}</span>
  return (
    <span className="tabular-nums">
      {t('usedCalls', { n: uses.calls })} {t('usedKeys', { n: uses.keys })}
    </span>
  )
}
function Named({ p }: { p: Row }) {
  return (
    <span className="block min-w-0 py-1.5">
      <span className="block font-medium break-all" translate="no">
        {p.name}
      </span>
      {p.description && (
        <span className="block text-label break-words text-ink3" dir="auto">
          {p.description}
        </span>
      )}
    </span>
  )
}

export default function Presets() {
  const t = useT('presets')
  const me = useMe()
  const go = useGo()
  const { data, error, refetch } = useQuery(listPresets())
  const [name, setName] = useState('')
  const [removing, setRemoving] = useState<Row | null>(null)
  const field = useRef<HTMLInputElement>(null)
  const bad = name !== '' && !goodName(name)
  const make = useAction(async () => {
    if (!goodName(name)) return
    await post('/api/presets', { body: { name } })
    await renew(listPresets)
    go(`/presets/${name}`)
  })
  const failed = make.error
  const erase = useAction(
    async (p: Row) => {
      await remove('/api/presets/{name}', { path: { name: p.name } })
      setRemoving(null)
      toast(t('removed', { name: p.name }))
      await renew(listPresets)
    },
    { failed: toastError },
  )
  useShortcuts({ n: () => field.current?.focus() })
  const menu = (p: Row) => {
    const items: MenuItem[] = [
      { label: t('open'), icon: 'sliders', onSelect: () => go(`/presets/${p.name}`) },
      { kind: 'line' },
      { label: t('remove'), icon: 'trash', tone: 'bad', onSelect: () => setRemoving(p) },
    ]
    return (
      <span onClick={(e) => e.stopPropagation()}>
        <Menu trigger={<IconButton icon="more" label={t('actions', { name: p.name })} />} items={items} />
      </span>
    )
  }
  const model = (p: Row) =>
    p.model ? (
      <span translate="no" className="break-all">
        {p.model}
      </span>
    ) : (
      <span className="text-ink3">{t('anyModel')}</span>
    )
  return (
    <Page>
      <PageHead title={t('title')} note={t('note')}>
        {me && <ImportButton label={t('importOpen')} />}
      </PageHead>
      {me && (
        <form onSubmit={make.submit} className="mb-5 flex max-w-xl flex-wrap items-end gap-2">
          <Field
            label={t('newName')}
            className="min-w-52 flex-1"
            error={
              bad
                ? t('newHelp')
                : failed
                  ? failed instanceof ApiError && failed.status === 409
                    ? t('taken')
                    : said(failed)
                  : undefined
            }
          >
            <Input
              ref={field}
              value={name}
              maxLength={64}
              placeholder={t('newHint')}
              spellCheck={false}
              onChange={(e) => {
                setName(e.target.value)
                make.clear()
              }}
              autoComplete="off"
            />
          </Field>
          <Button look="main" type="submit" icon="plus" busy={make.busy} disabled={!goodName(name)}>
            {t('make')}
          </Button>
        </form>
      )}
      <Panel flush {...(data ? { note: t('count', { n: data.data.length, most: data.most }) } : {})}>
        <Table<Row>
          main
          name="presets"
          caption={t('title')}
          rows={data?.data}
          rowKey={(p) => p.name}
          error={error}
          onRetry={() => {
            void refetch()
          }}
          empty={
            <Empty
              icon="sliders"
              title={t('empty')}
              action={
                me?.user && (
                  <Suspense>
                    <FromChat person={me.user.id} />
                  </Suspense>
                )
              }
            >
              {t('emptyText')}
            </Empty>
          }
          onOpen={(p) => go(`/presets/${p.name}`)}
          columns={[
            { key: 'name', head: t('name'), cell: (p) => <Named p={p} /> },
            {
              key: 'slug',
              head: t('slug'),
              from: 'xl',
              cell: (p) => (
                <span onClick={(e) => e.stopPropagation()}>
                  <Slug>{p.slug}</Slug>
                </span>
              ),
            },
            { key: 'model', head: t('model'), width: '22%', cell: model },
            { key: 'used', head: t('used'), from: 'lg', cell: (p) => <Used uses={p.uses} /> },
            { key: 'version', head: t('version'), align: 'end', from: 'md', cell: (p) => p.version },
            { key: 'changed', head: t('changed'), cell: (p) => <When at={p.updated_at} /> },
            { key: 'menu', head: '', name: t('actionsHead'), align: 'end', width: '56px', cell: menu },
          ]}
          phone={(p) => (
            <div className="flex items-start gap-2">
              <div className="min-w-0 flex-1">
                <Named p={p} />
                <span className="block text-small text-ink2">
                  {model(p)} · {t('versionN', { n: p.version })}
                </span>
                <span className="block text-small text-ink2">
                  <Used uses={p.uses} />
                </span>
              </div>
              {menu(p)}
            </div>
          )}
        />
      </Panel>
      <Confirm
        open={removing !== null}
        onOpenChange={(o) => {
          if (!o) setRemoving(null)
        }}
        title={t('removeTitle', { name: removing?.name ?? '' })}
        verb={t('remove')}
        busy={erase.busy}
        onConfirm={() => {
          if (removing) erase.run(removing)
        }}
      >
        {t('removeText')}
      </Confirm>
    </Page>
  )
}
