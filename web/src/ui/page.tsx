/** The frame of a page: its title, its blocks. */
import { useEffect, type ReactNode } from 'react'
import { useT } from '../i18n'
import { Link } from './link'

/** The page's one h1, with what leads to it and its actions. Sets the window's title. */
export function PageHead({
  title,
  name,
  crumbs,
  note,
  children,
}: {
  title: ReactNode
  name?: string
  crumbs?: readonly { label: ReactNode; to?: string }[]
  note?: ReactNode
  children?: ReactNode
}) {
  const t = useT('common')
  useTitle(name ?? (typeof title === 'string' ? title : t('product')))
  return (
    <header className="pb-4">
      {crumbs && (
        <nav aria-label={t('back')} className="pb-2 text-small text-ink3">
          {crumbs.map((c, i) => (
            <span key={i}>
              {i > 0 && <span aria-hidden> / </span>}
              {c.to ? (
                <Link to={c.to} className="text-ink3 no-underline hover:text-ink hover:underline">
                  {c.label}
                </Link>
              ) : (
                c.label
              )}
            </span>
          ))}
        </nav>
      )}
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h1 tabIndex={-1} className="min-w-0 text-title break-words">
          {title}
        </h1>
        {note && <span className="text-small text-ink3">{note}</span>}
        <span className="flex-1" />
        {children && <div className="flex flex-wrap items-center gap-2">{children}</div>}
      </div>
    </header>
  )
}
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · Weir` : 'Weir'
  }, [title])
}

/** A white panel with a hairline. */
export function Panel({
  title,
  note,
  actions,
  children,
  className = '',
  flush,
}: {
  title?: ReactNode
  note?: ReactNode
  actions?: ReactNode
  children: ReactNode
  className?: string
  flush?: boolean
}) {
  return (
    <section className={`min-w-0 rounded-panel border border-line bg-surface ${className}`}>
      {(title || note || actions) && (
        <div className="flex flex-wrap items-center gap-x-2 gap-y-1 px-4 pt-3.5 pb-2.5">
          {title && <h2 className="text-section">{title}</h2>}
          {note && <span className="text-small text-ink3">{note}</span>}
          <span className="flex-1" />
          {actions}
        </div>
      )}
      <div className={flush ? '' : `px-4 pb-4 ${title || note || actions ? '' : 'pt-4'}`}>{children}</div>
    </section>
  )
}
/** The head of a block that is not in a panel. */
export function SectionHead({
  title,
  note,
  children,
}: {
  title: ReactNode
  note?: ReactNode
  children?: ReactNode
}) {
  return (
    <div className="flex flex-wrap items-center gap-x-2 gap-y-1 pb-2">
      <h2 className="text-section">{title}</h2>
      {note && <span className="text-small text-ink3">{note}</span>}
      <span className="flex-1" />
      {children}
    </div>
  )
}
/** Facts in a strip between hairlines: label above, value below. */
export function Strip({
  items,
}: {
  items: readonly { label: ReactNode; value: ReactNode; note?: ReactNode }[]
}) {
  return (
    <dl className="m-0 flex flex-wrap border-y border-line">
      {items.map((i, n) => (
        <div
          key={n}
          className="min-w-min flex-[1_1_50%] border-line px-4 py-3 max-md:pl-0 md:min-w-0 md:flex-none md:border-r md:px-7 md:first:pl-0 md:last:border-r-0"
        >
          <dt className="text-small text-ink3">{i.label}</dt>
          <dd className="m-0 pt-0.5 text-[16px] leading-6 font-semibold tabular-nums">
            {i.value}
            {i.note && <span className="block text-small font-normal text-ink3">{i.note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  )
}
/** The page's padding and greatest width. */
export function Page({
  children,
  width = 'wide',
  className = '',
}: {
  children: ReactNode
  width?: 'wide' | 'text' | 'full'
  className?: string
}) {
  return (
    <div
      className={`px-4 py-4 md:px-7 md:py-5 ${width === 'text' ? 'mx-auto max-w-[760px]' : width === 'wide' ? 'mx-auto max-w-[1440px]' : ''} ${className}`}
    >
      {children}
    </div>
  )
}
