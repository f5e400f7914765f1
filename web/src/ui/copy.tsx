import { useEffect, useRef, useState, type ReactNode } from 'react'
import { useT } from '../i18n'
import { Button, IconButton } from './button'
import { toast } from './toast'

/** Copies and says so on the button itself for two seconds. */
export function useCopy(): [boolean, (text: string) => void] {
  const [done, setDone] = useState(false)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const t = useT('common')
  useEffect(() => () => clearTimeout(timer.current), [])
  return [
    done,
    (text) => {
      void write(text).then(
        () => {
          setDone(true)
          clearTimeout(timer.current)
          timer.current = setTimeout(() => setDone(false), 2000)
        },
        () => toast(t('copyFailed')),
      )
    },
  ]
}
/** Browsers have no clipboard on plain HTTP, except on this machine; the old way still works there. */
async function write(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  area.style.position = 'fixed'
  area.style.opacity = '0'
  document.body.append(area)
  area.select()
  const ok = document.execCommand('copy')
  area.remove()
  if (!ok) throw new Error('refused')
}

/** A copy button. With `what` only a picture, named "Copy <what>"; with children a button with words. */
export function Copy({
  text,
  what,
  children,
  small = true,
  look,
}: {
  text: string
  what?: string
  children?: ReactNode
  small?: boolean
  look?: 'main' | 'plain' | 'quiet'
}) {
  const t = useT('common')
  const [done, copy] = useCopy()
  return (
    <>
      {children === undefined ? (
        <IconButton
          icon={done ? 'check' : 'copy'}
          label={what ? t('copyNamed', { what }) : t('copy')}
          small={small}
          onClick={(e) => {
            e.stopPropagation()
            copy(text)
          }}
        />
      ) : (
        <Button
          icon={done ? 'check' : 'copy'}
          small={small}
          look={look ?? 'plain'}
          onClick={() => copy(text)}
        >
          {children}
        </Button>
      )}
      <span role="status" className="sr-only">
        {done ? t('copied') : ''}
      </span>
    </>
  )
}

/** A model's slug or another name that goes into code, with its copy button. */
export function Slug({
  children,
  copy = true,
  className = '',
}: {
  children: string
  copy?: boolean
  className?: string
}) {
  return (
    <span className={`inline-flex min-w-0 items-center gap-1 ${className}`}>
      <code className="truncate text-ink2">{children}</code>
      {copy && <Copy text={children} what={children} />}
    </span>
  )
}

/** A secret that is shown once, selected and ready to be copied. Forgotten with the element. */
export function Secret({ value, label }: { value: string; label: string }) {
  const t = useT('common')
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    input.current?.focus()
    input.current?.select()
  }, [])
  return (
    <div>
      <div className="flex gap-2">
        <input
          ref={input}
          readOnly
          value={value}
          aria-label={label}
          autoComplete="off"
          spellCheck={false}
          onFocus={(e) => e.target.select()}
          className="h-8 min-w-0 flex-1 rounded-control border border-line2 bg-surface px-2.5 font-mono text-small max-md:h-11"
        />
        <Copy text={value} small={false} look="main">
          {t('copy')}
        </Copy>
      </div>
      <p className="pt-1.5 text-small text-ink3">{t('secretOnce')}</p>
    </div>
  )
}
