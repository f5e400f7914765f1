/** The account's keys: made with a name alone, shown once, limited and ended here. */
import { decimal } from '../../format'
import { useQuery } from '@tanstack/react-query'
import { useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { post } from '../../api/client'
import { useRenewed } from '../../api/live'
import { useMe } from '../../api/query'
import { listAccountKeys } from '../../api/operations'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Empty, Notice } from '../../ui/feedback'
import { Link, useGo } from '../../ui/link'
import { Page, PageHead, Panel } from '../../ui/page'
import { useShortcuts } from '../../ui/shortcuts'
import { When } from '../../ui/values'
import { ImportButton } from './import-button'
import { emptyDraft, KeyFields, useKeyForm, type Key } from './key-form'
import {
  FindKey,
  firstModel,
  found,
  KeyTags,
  Made,
  renew,
  SEARCH_FROM,
  Spending,
  useKeyActions,
} from './key-parts'
import { moment } from '../../ui/order'
import { Sorted } from '../../ui/sorted'

function Named({ k }: { k: Key }) {
  const t = useT('keys')
  return (
    <span className="block min-w-0 py-1.5">
      <span className="flex flex-wrap items-center gap-1.5">
        <Link to={`/keys/${k.hash}`} className="font-medium break-all text-ink no-underline hover:underline">
          <span translate="no">{k.name}</span>
        </Link>
        <KeyTags k={k} />
      </span>
      <code className="text-label text-ink3">{k.label}</code>
      {k.previous && (
        <span className="block text-label text-ink3">
          {t.rich('oldWorks', { time: <When at={k.previous.until} form="full" /> })}
        </span>
      )}
    </span>
  )
}

export default function Keys() {
  const t = useT('keys'),
    c = useT('common')
  const me = useMe()
  const go = useGo()
  const { data, error, refetch } = useQuery(listAccountKeys())
  useRenewed(['keys', 'calls'], [listAccountKeys], { every: 5_000 })
  const model = useQuery(firstModel)
  // The palette leads here with ?new=1.
  const wanted = useRouterState({ select: (s) => (s.location.search as { new?: string }).new === '1' })
  const [asked, setAsked] = useState(false)
  const { fresh, show, menu, windows } = useKeyActions()
  const field = useRef<HTMLInputElement>(null)
  const form = useKeyForm(emptyDraft, async (body) => {
    const made = await post('/api/keys', { body })
    show({ key: made.data, secret: made.key, rotated: false })
    form.reset()
    setAsked(false)
    void renew()
  })
  const [text, setText] = useState('')
  const rows = data && found(data.data, text)
  const full = data !== undefined && data.data.length >= data.most
  const open = asked || (data !== undefined && data.data.every((k) => k.web) && !fresh)
  const ask = () => {
    if (fresh) return
    setAsked(true)
    setTimeout(() => field.current?.focus())
  } // after the form is there
  useShortcuts({ n: ask })
  useEffect(() => {
    if (!wanted || !me) return
    ask()
    go('/keys', { replace: true })
  })
  return (
    <Page>
      <PageHead title={t('title')} note={t('note')}>
        {me && <ImportButton label={t('importOpen')} />}
        {me && !open && !fresh && (
          <Button look="main" icon="plus" onClick={ask}>
            {t('make')}
          </Button>
        )}
      </PageHead>
      {fresh && (
        <Made
          key={fresh.secret}
          fresh={fresh}
          model={model.data ?? 'openai/gpt-5'}
          onDone={() => show(null)}
        />
      )}
      {me && open && (
        <Panel className="mb-5" title={t('make')}>
          {full ? (
            <Notice tone="warn" title={t('full', { n: data.most })} />
          ) : (
            <form
              noValidate
              aria-label={t('make')}
              onSubmit={(e) => {
                e.preventDefault()
                form.save()
              }}
              className="flex flex-col gap-4"
            >
              <KeyFields form={form} row nameRef={field} />
              <div className="flex flex-wrap gap-2">
                <Button look="main" type="submit" busy={form.action.busy}>
                  {t('make')}
                </Button>
                {asked && <Button onClick={() => setAsked(false)}>{c('cancel')}</Button>}
              </div>
            </form>
          )}
        </Panel>
      )}
      {data && data.data.length > SEARCH_FROM && <FindKey text={text} onText={setText} />}
      <Panel flush {...(data ? { note: t('count', { n: data.data.length, most: data.most }) } : {})}>
        <Sorted<Key>
          main
          name="keys"
          caption={t('title')}
          rows={rows}
          rowKey={(k) => k.id}
          error={error}
          onRetry={() => {
            void refetch()
          }}
          empty={
            text ? (
              <Empty icon="search" title={t('notFound')} />
            ) : (
              <Empty icon="key" title={t('empty')}>
                {t('emptyText')}
              </Empty>
            )
          }
          onOpen={(k) => go(`/keys/${k.hash}`)}
          columns={[
            { key: 'name', head: t('name'), sort: { value: (k) => k.name }, cell: (k) => <Named k={k} /> },
            {
              key: 'spent',
              head: t('spent'),
              width: '26%',
              sort: { value: (k) => decimal(k.spent), down: true },
              cell: (k) => <Spending k={k} />,
            },
            {
              key: 'used',
              head: t('used'),
              sort: { value: (k) => moment(k.last_used_at), down: true },
              cell: (k) =>
                k.last_used_at ? (
                  <When at={k.last_used_at} />
                ) : (
                  <span className="text-ink3">{t('never')}</span>
                ),
            },
            {
              key: 'expires',
              head: t('expires'),
              from: 'lg',
              sort: { value: (k) => moment(k.agent?.ends_at ?? k.expires_at) },
              cell: (k) =>
                k.agent ? (
                  <When at={k.agent.ends_at} form="date" />
                ) : k.expires_at ? (
                  <When at={k.expires_at} form="date" />
                ) : (
                  <span className="text-ink3">{t('noExpiry')}</span>
                ),
            },
            {
              key: 'menu',
              head: '',
              name: t('actionsHead'),
              align: 'end',
              width: '56px',
              cell: (k) => menu(k),
            },
          ]}
          phone={(k) => (
            <div className="flex items-start gap-2">
              <div className="min-w-0 flex-1">
                <Named k={k} />
                <Spending k={k} />
              </div>
              {menu(k)}
            </div>
          )}
        />
      </Panel>
      {windows}
    </Page>
  )
}
