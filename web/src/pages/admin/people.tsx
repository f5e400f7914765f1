/** /admin/people and /admin/people/:id: who has an account, and beside the list the person that was chosen. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useEffect, useState, useMemo } from 'react'
import { useAction } from '../../api/action'
import { get, post, type Reply } from '../../api/client'
import { listUsers } from '../../api/operations'
import { decimal, ZERO } from '../../format'
import { useT } from '../../i18n'
import { IconButton } from '../../ui/button'
import { Button } from '../../ui/button'
import { Empty, ErrorBox } from '../../ui/feedback'
import { Field, Input, Select } from '../../ui/field'
import { Link, LinkButton, useGo, usePageSearch, type SearchShape } from '../../ui/link'
import { Mark, Tag } from '../../ui/marks'
import { Page, PageHead, Panel } from '../../ui/page'
import { Money, When } from '../../ui/values'
import { Invite } from './invite'
import { Person } from './person'
import { remember } from './person-data'
import { moment } from '../../ui/order'
import { Sorted, useOrder } from '../../ui/sorted'

type Row = Reply<'/api/admin/users'>['data'][number]

const kinds = ['all', 'user', 'operator', 'administrator', 'blocked'] as const
type Kind = (typeof kinds)[number]
interface Chosen {
  readonly q: string
  readonly kind: Kind
}
const shape: SearchShape<Chosen> = {
  read: (raw) => ({ q: raw.q ?? '', kind: kinds.find((k) => k === raw.kind) ?? 'all' }),
  write: ({ q, kind }) => ({ q: q || undefined, kind: kind === 'all' ? undefined : kind }),
}

/** What must not come into an address: a text that begins as keys do and is longer than what is shown of them. */
const isKey = (text: string) => text.startsWith('sk-') && text.length > 18

export default function People() {
  const t = useT('people')
  const { id } = useParams({ strict: false }) as { id?: string }
  const [chosen, choose] = usePageSearch(shape)
  const q = useInfiniteQuery({
    queryKey: listUsers.key(chosen.q, chosen.kind),
    queryFn: ({ signal, pageParam }) =>
      get('/api/admin/users', {
        query: {
          q: chosen.q,
          ...(chosen.kind === 'blocked'
            ? { blocked: 'true' }
            : chosen.kind === 'all'
              ? {}
              : { role: chosen.kind }),
          cursor: pageParam,
          limit: 20,
        },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  })
  const rows = useMemo(() => q.data?.pages.flatMap((p) => p.data), [q.data])
  const [order] = useOrder()
  const go = useGo()
  const open = (r: Row) => go(`/admin/people/${r.id}`, { search: shape.write(chosen) })
  const filtered = chosen.q !== '' || chosen.kind !== 'all'
  return (
    <Page>
      <PageHead title={t('title')} note={t('note')}>
        <LinkButton to="/admin/vouchers">{t('vouchers')}</LinkButton>
        <Invite />
      </PageHead>
      <div className="flex flex-wrap items-start gap-2 pb-4">
        <Find chosen={chosen} choose={choose} />
        <Field label={t('kind')} hideLabel>
          <Select
            value={chosen.kind}
            onChange={(e) => choose({ kind: e.target.value as Kind })}
            options={kinds.map((k) => ({ value: k, label: t(`kind_${k}`) }))}
          />
        </Field>
      </div>
      <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,9fr)_minmax(0,11fr)]">
        <div className={`min-w-0 ${id ? 'max-xl:hidden' : ''}`}>
          <Panel flush>
            <Sorted<Row>
              main
              whole={!q.hasNextPage}
              caption={t('title')}
              rows={rows}
              rowKey={(r) => r.id}
              error={q.error}
              onRetry={() => void q.refetch()}
              onOpen={open}
              selected={(r) => r.id === id}
              stale={q.isPlaceholderData}
              empty={
                filtered ? (
                  <Empty icon="search" title={t('notFound')}>
                    {t('notFoundText')}
                  </Empty>
                ) : (
                  <Empty icon="people" title={t('nobody')}>
                    {t('nobodyText')}
                  </Empty>
                )
              }
              columns={[
                {
                  key: 'account',
                  head: t('account'),
                  sort: { value: (r) => r.name },
                  cell: (r) => <Who r={r} chosen={chosen} />,
                },
                {
                  key: 'available',
                  head: t('available'),
                  align: 'end',
                  sort: { value: (r) => decimal(r.available), down: true },
                  cell: (r) => <Money value={r.available} sign={false} />,
                },
                {
                  key: 'month',
                  head: t('month'),
                  align: 'end',
                  sort: { value: (r) => decimal(r.spent_month), down: true },
                  cell: (r) => <Money value={r.spent_month} sign={false} className="text-ink2" />,
                },
                {
                  key: 'last',
                  head: t('last'),
                  align: 'end',
                  sort: { value: (r) => moment(r.last_call_at), down: true },
                  cell: (r) => <Last r={r} />,
                },
              ]}
              phone={(r) => (
                <div>
                  <div className="flex items-start gap-2">
                    <div className="min-w-0 flex-1">
                      <Who r={r} chosen={chosen} />
                    </div>
                    <Money value={r.available} className="font-medium" />
                  </div>
                  <div className="flex gap-2 pt-0.5 text-small text-ink3">
                    <span className="flex-1">
                      {t('month')} <Money value={r.spent_month} sign={false} />
                    </span>
                    <Last r={r} />
                  </div>
                </div>
              )}
            />
            {rows && rows.length > 0 && (
              <div className="flex items-center gap-2 px-4 py-2 text-small text-ink3">
                <span className="flex-1">{(q.hasNextPage || !order) && t('newest')}</span>
                {q.hasNextPage && (
                  <Button
                    small
                    look="quiet"
                    busy={q.isFetchingNextPage}
                    onClick={() => void q.fetchNextPage()}
                  >
                    {t('more')}
                  </Button>
                )}
              </div>
            )}
          </Panel>
        </div>
        {id ? (
          <Person key={id} id={id} back={shape.write(chosen)} />
        ) : (
          <div className="max-xl:hidden">
            <Panel>
              <Empty icon="person" title={t('choose')}>
                {t('chooseText')}
              </Empty>
            </Panel>
          </div>
        )}
      </div>
    </Page>
  )
}

/** One field for all that is known of a person. A whole key is sent in a body, and is gone from the field when it was found. */
function Find({ chosen, choose }: { chosen: Chosen; choose: (c: Partial<Chosen>) => void }) {
  const t = useT('people')
  const go = useGo()
  const [text, setText] = useState(chosen.q)
  const find = useAction(async (key: string) => {
    const { data } = await post('/api/admin/users/find', { body: { key } })
    remember(data.key)
    setText('')
    go(`/admin/people/${data.user.id}`, { search: { key: data.key.id } })
  })
  const whole = isKey(text.trim())
  useEffect(() => {
    if (whole || text.trim() === chosen.q) return
    const timer = setTimeout(() => choose({ q: text.trim() }), 250)
    return () => clearTimeout(timer)
  }, [text, whole, chosen.q, choose])
  const typed = (now: string) => {
    setText(now)
    find.clear()
    if (isKey(now.trim())) find.run(now.trim())
  }
  const wrong = find.error ? (find.at('key') ?? (isUnknown(find.error) ? t('noKey') : undefined)) : undefined
  return (
    <form
      role="search"
      className="min-w-0 flex-1 basis-72"
      onSubmit={(e) => {
        e.preventDefault()
        if (whole) find.run(text.trim())
        else choose({ q: text.trim() })
      }}
    >
      <Field
        label={t('search')}
        hideLabel
        {...(whole && !wrong ? { help: t('searchHelp') } : {})}
        error={wrong}
      >
        <span className="relative block">
          <Input
            icon="search"
            value={text}
            onChange={(e) => typed(e.target.value)}
            placeholder={t('searchHint')}
            autoComplete="off"
            spellCheck={false}
            maxLength={254}
            className="pr-9"
          />
          {text !== '' && (
            <IconButton
              small
              icon="x"
              label={t('clear')}
              className="absolute top-1/2 right-1.5 -translate-y-1/2"
              onClick={() => {
                typed('')
                choose({ q: '' })
              }}
            />
          )}
        </span>
      </Field>
      {find.error !== null && !wrong && (
        <div className="pt-2">
          <ErrorBox error={find.error} onRetry={() => find.run(text.trim())} />
        </div>
      )}
    </form>
  )
}

function isUnknown(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'status' in error && error.status === 404
}

function Who({ r, chosen }: { r: Row; chosen: Chosen }) {
  const t = useT('people')
  const empty = (decimal(r.available) ?? ZERO).digits <= 0n
  return (
    <span className="flex min-w-0 items-center gap-2.5 py-1.5">
      <Mark name={r.name} size={32} />
      <span className="min-w-0">
        <span className="flex flex-wrap items-center gap-1.5">
          <Link
            to={`/admin/people/${r.id}`}
            search={shape.write(chosen)}
            className="min-w-0 font-medium wrap-anywhere text-ink no-underline hover:underline"
          >
            <span translate="no">{r.name}</span>
          </Link>
          {r.role !== 'user' && <Tag tone="accent">{t(`role_${r.role}`)}</Tag>}
          {r.blocked ? <Tag tone="bad">{t('blocked')}</Tag> : empty && <Tag tone="warn">{t('noMoney')}</Tag>}
        </span>
        <span translate="no" className="block max-w-36 truncate text-label text-ink3 md:max-xl:max-w-none">
          {r.email ?? r.id}
        </span>
      </span>
    </span>
  )
}

function Last({ r }: { r: Row }) {
  const t = useT('people')
  return r.last_call_at ? (
    <When at={r.last_call_at} className="text-ink2" />
  ) : (
    <span className="text-ink3">{t('never')}</span>
  )
}
