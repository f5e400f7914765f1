/** Where the next message is written: its text, its files, and what it may cost. */
import { Suspense, lazy, useEffect, useRef, useState, type ReactNode } from 'react'
import { duration, seconds } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Icon } from '../../ui/icons'
import { Kbd } from '../../ui/marks'
import { toast } from '../../ui/toast'
import { FileError, mostOfOne, readAll, shrink } from './attach'
import { Files } from './attachments'
import { record, whyNot, type Limits, type Recording } from './record'
import type { Attachment, FileKind } from './stream'

const Loudness = lazy(() => import('./loudness'))
const everyKind: readonly FileKind[] = ['image', 'audio', 'pdf', 'text']

/** Takes files wherever they come from, and says why one is refused. */
export function useFiles(
  files: readonly Attachment[],
  onFiles: (f: (now: readonly Attachment[]) => readonly Attachment[]) => void,
  kinds: readonly FileKind[] = everyKind,
) {
  const t = useT('playground')
  const [reading, setReading] = useState(0)
  const refuse = (e: unknown) => {
    toast(e instanceof FileError ? t(e.why, { name: e.file }) : t('fileBroken', { name: '' }))
  }
  const take = async (list: readonly File[]) => {
    if (list.length === 0) return
    setReading((n) => n + 1)
    try {
      const fresh = await readAll(list, files, kinds)
      onFiles((now) => [...now, ...fresh])
    } catch (e) {
      refuse(e)
    } finally {
      setReading((n) => n - 1)
    }
  }
  const smaller = async (f: Attachment) => {
    try {
      const s = await shrink(f)
      onFiles((now) => now.map((x) => (x.id === f.id ? s : x)))
    } catch (e) {
      refuse(e)
    }
  }
  return { take, smaller, reading: reading > 0 }
}

/** Models hear recordings of a chat as WAV, of which ten minutes are as much as may be sent. */
const chatLimits: Limits = { longest: 600_000, largest: mostOfOne }
/** A button that records from the microphone and gives the recording as a file. */
export function Recorder({
  onFile,
  small,
  limits = chatLimits,
}: {
  onFile: (f: File) => void
  small?: boolean
  limits?: Limits
}) {
  const t = useT('playground')
  const [since, setSince] = useState<number | null>(null)
  const [, tick] = useState(0)
  const running = useRef<Recording | 'asking' | null>(null)
  const gone = useRef(false)
  useEffect(() => {
    gone.current = false
    return () => {
      gone.current = true
      if (running.current !== 'asking') running.current?.cancel()
    }
  }, [])
  useEffect(() => {
    if (since === null) return
    const timer = setInterval(() => tick((n) => n + 1), 500)
    return () => clearInterval(timer)
  }, [since])
  const finish = async () => {
    const r = running.current
    if (r === null || r === 'asking') return
    running.current = null
    setSince(null)
    onFile(await r.stop())
  }
  const press = async () => {
    if (running.current === 'asking') return
    if (running.current) {
      await finish()
      return
    }
    running.current = 'asking'
    try {
      const r = await record(limits, () => {
        toast(t('recordingFull', { time: duration(limits.longest) }))
        void finish()
      })
      // Who left the page while the browser asked is not recorded.
      if (gone.current) {
        r.cancel()
        return
      }
      running.current = r
      setSince(Date.now())
    } catch (e) {
      running.current = null
      if (!gone.current) toast(t(whyNot(e)))
    }
  }
  return since === null ? (
    <Button
      small={small ?? false}
      look={small ? 'quiet' : 'plain'}
      icon="microphone"
      onClick={() => void press()}
    >
      <span className={small ? 'max-sm:sr-only' : ''}>{t('record')}</span>
    </Button>
  ) : (
    <span className="inline-flex items-center gap-2">
      <Button small={small ?? false} look="bad" icon="stop" onClick={() => void press()}>
        {t('recording', { time: seconds(Math.max(1000, Math.floor((Date.now() - since) / 1000) * 1000)) })}
      </Button>
      {running.current !== null && running.current !== 'asking' && (
        <Suspense fallback={null}>
          <Loudness stream={running.current.stream} />
        </Suspense>
      )}
    </span>
  )
}

export function Composer({
  draft,
  onDraft,
  files,
  onFiles,
  kinds = everyKind,
  placeholder,
  busy,
  ready,
  why,
  onSubmit,
  onStop,
  onLast,
  left,
  right,
  verb,
}: {
  draft: string
  onDraft: (s: string) => void
  files: readonly Attachment[]
  onFiles: (f: (now: readonly Attachment[]) => readonly Attachment[]) => void
  /** Of files that are taken */
  kinds?: readonly FileKind[]
  placeholder: string
  busy: boolean
  ready: boolean
  /** Why it cannot be sent, in words */
  why: string | null
  onSubmit: () => void
  onStop: () => void
  onLast: () => void
  left?: ReactNode
  right?: ReactNode
  verb?: string
}) {
  const t = useT('playground')
  const picker = useRef<HTMLInputElement>(null)
  const [over, setOver] = useState(false)
  const { take, smaller, reading } = useFiles(files, onFiles, kinds)
  return (
    <form
      data-bar
      data-composer
      className="border-t border-line bg-surface p-3 md:px-5 md:py-4"
      onSubmit={(e) => {
        e.preventDefault()
        if (!reading) onSubmit()
      }}
      onDragOver={(e) => {
        if (kinds.length && e.dataTransfer.types.includes('Files')) {
          e.preventDefault()
          setOver(true)
        }
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(e) => {
        setOver(false)
        if (kinds.length && e.dataTransfer.files.length) {
          e.preventDefault()
          void take([...e.dataTransfer.files])
        }
      }}
    >
      <div
        className={
          `rounded-panel border bg-surface outline-offset-[-1px] outline-accent ` +
          `focus-within:border-accent has-[textarea:focus-visible]:outline-2 ` +
          `${over ? 'border-accent bg-accent-soft' : 'border-line2'}`
        }
      >
        {files.length > 0 && (
          <div className="px-3 pt-2.5">
            <Files
              files={files}
              onRemove={(id) => onFiles((now) => now.filter((f) => f.id !== id))}
              onShrink={(f) => void smaller(f)}
            />
          </div>
        )}
        <textarea
          value={draft}
          onChange={(e) => onDraft(e.target.value)}
          aria-label={t('message')}
          placeholder={over ? t('dropHere') : placeholder}
          rows={Math.min(8, Math.max(2, draft.split('\n').length))}
          dir="auto"
          autoFocus
          onPaste={(e) => {
            if (kinds.length && e.clipboardData.files.length) {
              e.preventDefault()
              void take([...e.clipboardData.files])
            }
          }}
          onKeyDown={(e) => {
            if (e.key === 'Enter' && !e.shiftKey && !e.nativeEvent.isComposing) {
              e.preventDefault()
              if (!reading) onSubmit()
            } else if (e.key === 'ArrowUp' && draft === '') {
              e.preventDefault()
              onLast()
            }
          }}
          className="block w-full resize-none rounded-panel bg-transparent px-3.5 pt-3 pb-1 text-answer text-ink placeholder:text-ink3 focus:outline-none"
        />
        <div className="flex flex-wrap items-center gap-1 px-2.5 pb-2.5">
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            data-attach
            onChange={(e) => {
              void take([...(e.target.files ?? [])])
              e.target.value = ''
            }}
          />
          {kinds.length > 0 && (
            <Button small look="quiet" icon="attach" onClick={() => picker.current?.click()}>
              <span className="max-sm:sr-only">{t('attach')}</span>
            </Button>
          )}
          {kinds.includes('audio') && <Recorder small onFile={(f) => void take([f])} />}
          {left}
          <span className="flex-1" />
          {why && !busy ? (
            <span className="flex items-center gap-1.5 pr-1 text-small text-warn max-sm:order-first max-sm:basis-full max-sm:pb-1">
              <Icon name="warning" size={14} />
              {why}
            </span>
          ) : (
            right
          )}
          {busy ? (
            <>
              <span className="max-md:hidden">
                <Kbd>Esc</Kbd>
              </span>
              <Button look="bad" icon="stop" onClick={onStop}>
                {t('stop')}
              </Button>
            </>
          ) : (
            <Button look="main" type="submit" icon="send" disabled={!ready || reading} busy={reading}>
              {verb ?? t('send')}
            </Button>
          )}
        </div>
      </div>
    </form>
  )
}
