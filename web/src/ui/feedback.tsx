/** What a page says when something happened, is missing or went wrong. */
import { useId, useState, type ReactNode } from 'react'
import { ApiError } from '../api/client'
import { explain } from '../api/explain'
import { useT } from '../i18n'
import { Button } from './button'
import { Copy } from './copy'
import { Icon, type IconName } from './icons'

const notices = {
  plain: ['border-line bg-surface', 'info', 'text-ink3'],
  accent: ['border-transparent bg-accent-soft', 'info', 'text-accent-ink'],
  good: ['border-good bg-good-soft', 'check', 'text-good'],
  warn: ['border-warn bg-warn-soft', 'warning', 'text-warn'],
  bad: ['border-bad bg-bad-soft', 'warning', 'text-bad'],
} as const
/** Something to know, with its one action. */
export function Notice({
  tone = 'plain',
  title,
  children,
  action,
  icon,
}: {
  tone?: keyof typeof notices
  title?: ReactNode
  children?: ReactNode
  action?: ReactNode
  icon?: IconName
}) {
  const [box, picture, ink] = notices[tone]
  return (
    <div className={`flex gap-2.5 rounded-panel border px-3.5 py-3 ${box}`}>
      <Icon name={icon ?? picture} className={`mt-0.5 ${ink}`} />
      <div className="min-w-0 flex-1">
        {title && <p className={`font-medium ${tone === 'plain' ? 'text-ink' : ink}`}>{title}</p>}
        {children && <div className={`text-small text-ink2 ${title ? 'pt-0.5' : 'pt-px'}`}>{children}</div>}
        {action && <div className="pt-2">{action}</div>}
      </div>
    </div>
  )
}

/** Nothing here: one sentence why, one action. */
export function Empty({
  title,
  children,
  action,
  icon,
}: {
  title: ReactNode
  children?: ReactNode
  action?: ReactNode
  icon?: IconName
}) {
  return (
    <div className="flex flex-col items-center px-6 py-12 text-center">
      {icon && (
        <span className="mb-3 grid size-11 place-items-center rounded-full bg-sunken text-ink3">
          <Icon name={icon} size={20} />
        </span>
      )}
      <p className="text-section">{title}</p>
      {children && <div className="max-w-md pt-1 text-ink2">{children}</div>}
      {action && <div className="flex flex-wrap justify-center gap-2 pt-4">{action}</div>}
    </div>
  )
}

/** A block that failed: what, the way out where a page knows one, the API's own words, the request id to copy, and again. */
export function ErrorBox({
  error,
  onRetry,
  title,
  action,
}: {
  error: unknown
  onRetry?: () => void
  title?: ReactNode
  action?: ReactNode
}) {
  const t = useT('common')
  const [open, setOpen] = useState(false)
  const id = useId()
  const api = error instanceof ApiError ? error : null
  const detail = api ? api.message : error instanceof Error ? error.message : ''
  return (
    <div role="alert" className="rounded-panel border border-bad bg-bad-soft px-4 py-3">
      <p className="flex gap-2 font-medium text-bad">
        <Icon name="warning" className="mt-0.5" />
        {title ?? t('errorTitle')}
      </p>
      <p className="pt-1 pl-6 text-ink2">{explain(error)}</p>
      <div className="flex flex-wrap items-center gap-2 pt-2 pl-6">
        {action}
        {onRetry && (
          <Button small icon="refresh" onClick={onRetry}>
            {t('again')}
          </Button>
        )}
        {detail && (
          <Button small look="quiet" aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)}>
            {t('details')}
          </Button>
        )}
        {api?.requestId && (
          <span className="inline-flex items-center gap-1 text-small text-ink2">
            {t('request')} <code className="break-all">{api.requestId}</code>
            <Copy text={api.requestId} what={t('requestId')} />
          </span>
        )}
      </div>
      {open && (
        <p id={id} lang="en" className="pt-2 pl-6 text-small break-words text-ink2">
          {detail}
        </p>
      )}
    </div>
  )
}

/** A grey bar in the place of a value that is on its way; shown only when it takes longer than 200 ms. */
export function Skeleton({ className = 'h-4 w-24' }: { className?: string }) {
  return <span aria-hidden className={`late block rounded-tag bg-sunken ${className}`} />
}
/** Rows of the true height while a list is on its way. */
export function SkeletonRows({ rows = 8, height = 44 }: { rows?: number; height?: number }) {
  const t = useT('common')
  return (
    <div role="status" aria-label={t('loading')} className="late">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className="flex items-center gap-4 border-b border-line px-4" style={{ height }}>
          <Skeleton className="h-3.5 w-1/3" />
          <span className="flex-1" />
          <Skeleton className="h-3.5 w-16" />
          <Skeleton className="h-3.5 w-16" />
        </div>
      ))}
    </div>
  )
}
