/** What the pages of the settings share. */
import type { ReactNode } from 'react'
import { meQuery, queries, renew as again } from '../../api/query'
import { useT } from '../../i18n'
import { hasPage } from '../../routes/paths'
import { Link } from '../../ui/link'
import { Page, PageHead } from '../../ui/page'

/** The pages of the settings, /settings/…, in their order. */
export const sections = ['profile', 'security', 'notifications', 'routing', 'provider-keys', 'data'] as const

/** Reads parts of the page of security again, and what all pages know of the person. */
export const renew = (...read: Parameters<typeof again>) =>
  Promise.all([again(...read), queries.invalidateQueries({ queryKey: meQuery.queryKey })])

export function Settings({ at, children }: { at: (typeof sections)[number]; children: ReactNode }) {
  const t = useT('settings')
  return (
    <Page width={at === 'routing' ? 'wide' : 'text'} className={at === 'routing' ? 'max-w-[1240px]' : ''}>
      <PageHead title={t('title')} name={`${t(at)} · ${t('title')}`} />
      <nav aria-label={t('sections')} className="mb-5 flex flex-wrap gap-x-1 border-b border-line">
        {sections
          .filter((s) => hasPage(`/settings/${s}`))
          .map((s) => (
            <Link
              key={s}
              to={`/settings/${s}`}
              aria-current={s === at ? 'page' : undefined}
              className={
                '-mb-px flex min-h-9 items-center border-b-2 border-transparent px-3 font-medium ' +
                'text-ink2 no-underline hover:text-ink aria-[current=page]:border-accent ' +
                'aria-[current=page]:text-ink max-md:min-h-11'
              }
            >
              {t(s)}
            </Link>
          ))}
      </nav>
      <div className="flex flex-col gap-5">{children}</div>
    </Page>
  )
}

/** Browser and system of a User-Agent, as people call them; null for what nobody knows. */
export function browserOf(agent: string | null): { browser: string; system: string } | null {
  if (!agent) return null
  const first = (table: readonly (readonly [RegExp, string])[]) => table.find(([r]) => r.test(agent))?.[1]
  const browser = first([
    [/YaBrowser/, 'Yandex'],
    [/Edg(A|iOS)?\//, 'Edge'],
    [/OPR\//, 'Opera'],
    [/SamsungBrowser/, 'Samsung Internet'],
    [/Firefox|FxiOS/, 'Firefox'],
    [/Chrome|CriOS|HeadlessChrome/, 'Chrome'],
    [/Safari/, 'Safari'],
  ])
  const system = first([
    [/iPhone/, 'iPhone'],
    [/iPad/, 'iPad'],
    [/Android/, 'Android'],
    [/Windows/, 'Windows'],
    [/Mac OS X|Macintosh/, 'macOS'],
    [/CrOS/, 'ChromeOS'],
    [/Linux/, 'Linux'],
  ])
  return browser && system ? { browser, system } : null
}
