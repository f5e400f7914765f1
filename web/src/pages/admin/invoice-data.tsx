/** What the pages of invoices, statements and acts share. */
import type { Reply } from '../../api/client'
import { useT } from '../../i18n'
import { buttonClass } from '../../ui/button'
import { State, Tag } from '../../ui/marks'

export type Row = Reply<'/api/admin/invoices'>['data'][number]
export type Invoice = Reply<'/api/admin/invoices/{id}'>['data']

export function Standing({ i }: { i: Row }) {
  const t = useT('adminbank')
  const tones = { open: 'hold', paid: 'good', cancelled: 'plain' } as const
  return (
    <span className="flex flex-wrap items-center gap-2">
      <State tone={tones[i.state]}>{t(`state_${i.state}`)}</State>
      {i.expired && <Tag tone="warn">{t('overdue')}</Tag>}
    </span>
  )
}

export function Buyer({ b }: { b: { name: string; inn: string } }) {
  const t = useT('adminbank')
  return (
    <span className="block max-w-[40ch] py-1 wrap-anywhere">
      <span translate="no">{b.name}</span>
      <span className="block text-small text-ink3">{t('inn', { inn: b.inn })}</span>
    </span>
  )
}

export function Pdf({ href, of }: { href: string; of: string }) {
  const t = useT('adminbank')
  return (
    <a
      href={href}
      download
      aria-label={t('pdfOf', { number: of })}
      className={`${buttonClass('plain', true)} no-underline`}
    >
      {t('pdf')}
    </a>
  )
}
