/** One thing of the gallery, large, with what is known of it and what can be done. */
import { useEffect, useState, type ReactNode } from 'react'
import { useAction } from '../../api/action'
import { useQuery } from '@tanstack/react-query'
import { address, remove } from '../../api/client'
import { useMe } from '../../api/query'
import { bytes, dayText } from '../../format'
import { useT } from '../../i18n'
import { Button, IconButton, buttonClass } from '../../ui/button'
import { Copy } from '../../ui/copy'
import { leaveDraft } from '../../ui/draft'
import { Icon } from '../../ui/icons'
import { Link, useGo } from '../../ui/link'
import { Confirm, Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'
import { Money, When } from '../../ui/values'
import { save } from '../playground/attach'
import { listChats } from '../playground/history'
import { deleteMade, endingOf, noteCost } from '../playground/made'
import { settled } from '../playground/settle'
import { makers, type Item } from './items'
import { tileId, useFile } from './tile'

export default function Viewer({
  item,
  n,
  of,
  onTo,
  onClose,
  onGone,
}: {
  item: Item
  /** It is the nth of so many, from 1 */
  n: number
  of: number
  onTo: (by: 1 | -1) => void
  onClose: () => void
  onGone: () => void
}) {
  const t = useT('gallery')
  const [asking, ask] = useState(false)
  useEffect(() => {
    const f = (e: KeyboardEvent) => {
      if (asking || e.defaultPrevented || e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) return
      if (e.key !== 'ArrowLeft' && e.key !== 'ArrowRight') return
      if (e.target instanceof HTMLMediaElement) return // there they wind
      e.preventDefault()
      onTo(e.key === 'ArrowLeft' ? -1 : 1)
    }
    window.addEventListener('keydown', f)
    return () => window.removeEventListener('keydown', f)
  }, [asking, onTo])
  return (
    <Dialog
      open
      wide="screen"
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      onClosed={(e) => {
        const tile = document.getElementById(tileId(item.id))
        if (!tile) return
        e.preventDefault()
        tile.focus()
      }}
      title={t(`untitled_${item.kind}`)}
    >
      <div className="grid gap-x-6 gap-y-4 md:grid-cols-[minmax(0,1fr)_300px]">
        <div className="min-w-0">
          <Media key={item.id} item={item} />
          {of > 1 && (
            <p className="flex items-center justify-center gap-2 pt-2 text-small text-ink3 tabular-nums">
              <IconButton icon="left" label={t('before')} disabled={n === 1} onClick={() => onTo(-1)} />
              <span role="status">{t('nth', { n, of })}</span>
              <IconButton icon="right" label={t('after')} disabled={n === of} onClick={() => onTo(1)} />
            </p>
          )}
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <Facts key={item.id} item={item} />
          <Acts key={`${item.id} acts`} item={item} onDelete={() => ask(true)} />
        </div>
      </div>
      {asking && <Delete item={item} onClose={() => ask(false)} onGone={onGone} />}
    </Dialog>
  )
}

function Media({ item }: { item: Item }) {
  const t = useT('gallery')
  const { url, lost } = useFile(item, true)
  const label = item.prompt.slice(0, 200) || t(`untitled_${item.kind}`)
  const look = 'mx-auto block max-h-[70dvh] max-w-full rounded-panel border border-line bg-sunken'
  if (item.address !== null)
    return (
      <video
        src={address(item.address)}
        controls
        preload="metadata"
        playsInline
        aria-label={label}
        className={`${look} w-full`}
      />
    )
  if (lost) return <p className="py-12 text-center text-ink2">{t('lost')}</p>
  if (!url) return <div className="late aspect-square max-h-[70dvh] rounded-panel bg-sunken" />
  return item.kind === 'audio' ? (
    <audio controls src={url} aria-label={label} className="my-6 w-full" />
  ) : (
    <img src={url} alt={label} className={`${look} object-contain`} />
  )
}

function Facts({ item }: { item: Item }) {
  const t = useT('gallery')
  // A tab that was closed before the charge was known could not note it.
  const { data: late } = useQuery({
    queryKey: ['made', 'cost', item.call],
    queryFn: async () => {
      const cost = await settled(item.call!)
      if (cost !== null) void noteCost(item.call!, cost)
      return cost
    },
    enabled: item.cost === null && item.call !== null,
    staleTime: Infinity,
    placeholderData: undefined,
  })
  const cost = item.cost ?? late
  const rows: readonly (readonly [string, ReactNode] | false)[] = [
    [
      t('model'),
      <Link to={`/models/${item.model}`} translate="no">
        {item.model}
      </Link>,
    ],
    [t('made'), <When at={item.at} form="full" />],
    cost != null && [
      t('cost'),
      <>
        <Money value={cost} exact />{' '}
        {item.of > 1 && <span className="text-small text-ink3">{t('costOf', { n: item.of })}</span>}
      </>,
    ],
    item.size > 0 && [t('size'), bytes(item.size)],
    item.until !== null && [t('until'), <When at={item.until} form="full" />],
    item.call !== null && [t('call'), <Link to={`/calls/${item.call}`}>{t('toCall')}</Link>],
    item.job !== null && [t('job'), <Link to={`/jobs/${item.job}`}>{t('toJob')}</Link>],
  ]
  return (
    <>
      <div>
        <h3 className="pb-1 text-small text-ink3">{t('prompt')}</h3>
        {item.prompt ? (
          <p
            dir="auto"
            translate="no"
            tabIndex={0}
            className="max-h-60 overflow-y-auto break-words whitespace-pre-wrap"
          >
            {item.prompt}
          </p>
        ) : (
          <p className="text-ink2">{t(item.kind === 'video' ? 'promptGone' : 'noPrompt')}</p>
        )}
        {item.from > 0 && <p className="pt-1 text-small text-ink3">{t('from', { n: item.from })}</p>}
      </div>
      <dl className="m-0 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5">
        {rows.map(
          (r) =>
            r && (
              <div key={r[0]} className="contents">
                <dt className="text-ink3">{r[0]}</dt>
                <dd className="m-0 min-w-0 break-words">{r[1]}</dd>
              </div>
            ),
        )}
        {item.chat !== null && <Conversation chat={item.chat} />}
      </dl>
    </>
  )
}
/** The way to a chat that this browser still has. */
function Conversation({ chat }: { chat: string }) {
  const t = useT('gallery')
  const person = useMe()?.user?.id ?? ''
  const { data: there } = useQuery({
    queryKey: ['made', 'chat', chat],
    queryFn: async () => (await listChats(person)).some((k) => k.id === chat),
    staleTime: 0,
    placeholderData: undefined,
  })
  return there ? (
    <div className="contents">
      <dt className="text-ink3">{t('conversation')}</dt>
      <dd className="m-0">
        <Link to={`/playground/${chat}`}>{t('toChat')}</Link>
      </dd>
    </div>
  ) : null
}

function Acts({ item, onDelete }: { item: Item; onDelete: () => void }) {
  const t = useT('gallery')
  const go = useGo()
  const { file } = useFile(item, true)
  const name = `weir-${dayText(item.at)}`
  const again = () => {
    const m = makers[item.kind]
    leaveDraft(m.draft, item.prompt)
    go(m.page, { search: { models: item.model, ...item.settings } })
  }
  return (
    <div className="flex flex-wrap gap-2 border-t border-line pt-4">
      {item.address !== null ? (
        <a
          href={address(item.address)}
          download={`weir-${item.id.replace(/\W/g, '-')}.mp4`}
          className={`${buttonClass('main')} no-underline`}
        >
          <Icon name="download" />
          {t('download')}
        </a>
      ) : (
        file && (
          <Button
            look="main"
            icon="download"
            onClick={() => save(file, `${name}.${endingOf(file.type || item.type)}`)}
          >
            {t('download')}
          </Button>
        )
      )}
      {item.prompt && (
        <Copy text={item.prompt} small={false}>
          {t('copyPrompt')}
        </Copy>
      )}
      {item.chat === null && (
        <Button icon="refresh" onClick={again}>
          {t('another')}
        </Button>
      )}
      <Button look="bad" icon="trash" onClick={onDelete}>
        {t('delete')}
      </Button>
    </div>
  )
}

function Delete({ item, onClose, onGone }: { item: Item; onClose: () => void; onGone: () => void }) {
  const t = useT('gallery')
  const act = useAction(
    async () => {
      if (item.job !== null)
        await remove('/api/v1/videos/{id}' as '/v1/videos/{id}', { path: { id: item.job } })
      await deleteMade([item.job ?? item.id])
      toast(t('deleted'))
      onGone()
    },
    { failed: () => toast(t('notDeleted')), settled: onClose },
  )
  return (
    <Confirm
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('deleteTitle')}
      verb={t('delete')}
      busy={act.busy}
      onConfirm={() => act.run()}
    >
      {item.job !== null
        ? t('deleteVideo', { n: item.of })
        : t(item.chat === null ? 'deleteText' : 'deleteChat')}
    </Confirm>
  )
}
