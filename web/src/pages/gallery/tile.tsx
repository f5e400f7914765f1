/** One thing of the gallery in its grid. Its file is read when it comes near the screen. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { address } from '../../api/client'
import { useT } from '../../i18n'
import { Icon } from '../../ui/icons'
import { useNear } from '../../ui/near'
import { When } from '../../ui/values'
import { fileOf } from '../playground/made'
import type { Item } from './items'

/** The file of a thing that this browser has, with an address for as long as it is shown; `lost`: it is not there. */
export function useFile(item: Item, when: boolean): { file?: Blob; url?: string; lost: boolean } {
  const { data, isSuccess, isError } = useQuery({
    queryKey: ['made', 'file', item.id],
    queryFn: () => fileOf(item.id),
    enabled: when && item.address === null,
    staleTime: Infinity,
    gcTime: 0,
    placeholderData: undefined,
  })
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (!data) return
    const made = URL.createObjectURL(data)
    setUrl(made)
    return () => {
      URL.revokeObjectURL(made)
      setUrl(undefined)
    }
  }, [data])
  return { ...(data ? { file: data } : {}), ...(url ? { url } : {}), lost: isError || (isSuccess && !data) }
}
export const tileId = (id: string) => `made ${id}`

const names = { image: 'openImage', audio: 'openAudio', video: 'openVideo' } as const
export function Tile({ item, onOpen }: { item: Item; onOpen: () => void }) {
  const t = useT('gallery')
  const [place, near] = useNear<HTMLLIElement>(true)
  const { url, lost } = useFile(item, near)
  const line = item.prompt.slice(0, 140)
  return (
    <li
      ref={place}
      className="flex min-w-0 flex-col rounded-panel border border-line bg-surface [contain-intrinsic-size:auto_260px] [content-visibility:auto]"
    >
      <button
        id={tileId(item.id)}
        type="button"
        aria-haspopup="dialog"
        aria-label={t(names[item.kind], { prompt: line || t('noPrompt') })}
        onClick={onOpen}
        className="relative grid aspect-square w-full place-items-center overflow-hidden rounded-t-panel bg-sunken text-ink3 outline-offset-[-2px]"
      >
        {item.kind === 'image' && url ? (
          <img
            src={url}
            alt=""
            decoding="async"
            className="absolute inset-0 size-full object-cover transition-opacity hover:opacity-90"
          />
        ) : item.kind === 'video' && near && item.address !== null ? (
          <>
            <video
              src={address(item.address)}
              preload="metadata"
              muted
              playsInline
              tabIndex={-1}
              aria-hidden
              className="absolute inset-0 size-full object-cover"
            />
            <span className="relative grid size-11 place-items-center rounded-full bg-surface text-ink">
              <Icon name="play" size={20} />
            </span>
          </>
        ) : (
          <span className="flex flex-col items-center gap-2 p-3 text-small">
            <Icon name={item.kind === 'audio' ? 'speaker' : item.kind} size={28} />
            {item.kind === 'audio' && line && (
              <span dir="auto" translate="no" className="line-clamp-4 text-left break-words text-ink2">
                {line}
              </span>
            )}
            {lost && t('lost')}
          </span>
        )}
      </button>
      {item.kind === 'audio' && url && (
        <audio
          controls
          preload="none"
          src={url}
          aria-label={line}
          className="mx-2 mt-2 h-9 w-[calc(100%-16px)]"
        />
      )}
      <p className="flex min-w-0 items-center gap-2 px-3 py-2 text-small text-ink3">
        <span translate="no" className="min-w-0 flex-1 truncate text-ink2">
          {item.model}
        </span>
        <When at={item.at} className="flex-none max-sm:hidden" />
      </p>
    </li>
  )
}
