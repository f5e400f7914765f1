/** Files of a message as chips. */
import { useEffect, useState, type ReactNode } from 'react'
import { bytes, integer } from '../../format'
import { useT } from '../../i18n'
import { Button, IconButton } from '../../ui/button'
import { Icon, type IconName } from '../../ui/icons'
import { blobOf, canShrink, save } from './attach'
import type { Attachment, FileKind } from './stream'

const icons: Record<FileKind, IconName> = { image: 'image', audio: 'microphone', pdf: 'file', text: 'text' }

/** An address of data for as long as it is shown. */
export function useBlob(data: string | undefined): string | undefined {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (!data) return
    let made: string | undefined
    try {
      made = URL.createObjectURL(blobOf(data))
      setUrl(made)
    } catch {
      /* no data that a browser reads */
    }
    return () => {
      if (made) URL.revokeObjectURL(made)
      setUrl(undefined)
    }
  }, [data])
  return url
}
export function Files({
  files,
  onRemove,
  onShrink,
}: {
  files: readonly Attachment[]
  onRemove?: (id: string) => void
  onShrink?: (f: Attachment) => void
}) {
  const t = useT('playground')
  if (files.length === 0) return null
  return (
    <ul aria-label={t('files')} className="flex flex-wrap gap-1.5">
      {files.map((f) => (
        <Chip key={f.id} file={f} {...(onRemove ? { onRemove } : {})} {...(onShrink ? { onShrink } : {})} />
      ))}
    </ul>
  )
}
function Chip({
  file: f,
  onRemove,
  onShrink,
}: {
  file: Attachment
  onRemove?: (id: string) => void
  onShrink?: (f: Attachment) => void
}) {
  const t = useT('playground')
  const url = useBlob(f.kind === 'image' ? f.data : undefined)
  const sizes = [
    f.pages ? t('pages', { n: f.pages }) : f.width ? `${integer(f.width)} × ${integer(f.height ?? 0)}` : '',
    bytes(f.size),
    f.data ? '' : t('fileGone'),
  ]
    .filter(Boolean)
    .join(' · ')
  return (
    <li className="flex min-h-7 max-w-full items-center gap-1.5 rounded-tag bg-sunken py-0.5 pr-1.5 pl-1.5 text-small text-ink2">
      {url ? (
        <img src={url} alt="" className="size-6 rounded-tag object-cover" />
      ) : (
        <Icon name={icons[f.kind]} size={14} className="mx-0.5" />
      )}
      <span translate="no" className="min-w-0 truncate text-ink">
        {f.name}
      </span>
      <span className="whitespace-nowrap text-ink3">{sizes}</span>
      {onShrink && canShrink(f) && (
        <button
          type="button"
          onClick={() => onShrink(f)}
          className="min-h-6 font-medium whitespace-nowrap text-accent-ink"
        >
          {t('shrink')}
        </button>
      )}
      {onRemove && (
        <IconButton small icon="x" label={t('removeFile', { name: f.name })} onClick={() => onRemove(f.id)} />
      )}
    </li>
  )
}

const suffixes: { readonly [type: string]: string } = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/svg+xml': 'svg',
}
/** A picture of a model: shown from its bytes as an image, never as a document. */
export function Picture({
  data,
  n,
  alt,
  name,
  children,
}: {
  data: string
  n: number
  alt?: string
  name?: string /** More that can be done with it */
  children?: ReactNode
}) {
  const t = useT('playground')
  const url = useBlob(data)
  const type = /^data:([^;,]+)/.exec(data)?.[1] ?? ''
  if (!url) return null
  return (
    <figure className="m-0 py-2">
      <img
        src={url}
        alt={alt ?? t('picture', { n })}
        className="max-h-[420px] max-w-full rounded-panel border border-line bg-sunken object-contain"
      />
      <figcaption className="flex flex-wrap gap-1 pt-1">
        <Button
          small
          icon="download"
          onClick={() => save(blobOf(data), `${name ?? 'picture'}-${n}.${suffixes[type] ?? 'bin'}`)}
        >
          {t('download')}
        </Button>
        {children}
      </figcaption>
    </figure>
  )
}
