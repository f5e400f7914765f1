/** What the import of a statement and the page of one share. */
import { useId, useState } from 'react'
import type { Reply } from '../../api/client'
import { getBankStatement, listAllInvoices, listBankStatements } from '../../api/operations'
import { renew } from '../../api/query'
import { date, money } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Field, Input } from '../../ui/field'
import { Tag, type Tone } from '../../ui/marks'

export type Statement = Reply<'/api/admin/statements'>['data'][number]
export type Kept = Reply<'/api/admin/statements/{id}'>['data']
export type Line = Kept['lines'][number]
export type Report = Reply<'/api/admin/invoices/import', 'post'>['data']
export type Document = Report['documents'][number]

/** A file as the API takes it. */
export interface Chosen {
  readonly name: string
  readonly base64: string
}

export const refreshStatements = () => renew(getBankStatement, listBankStatements, listAllInvoices)

const known = [
  'credited',
  'already',
  'outgoing',
  'not_arrived',
  'other_account',
  'no_number',
  'ambiguous',
  'unknown_number',
  'payer_differs',
  'cancelled',
  'unreadable',
  'refused',
] as const
type Outcome = (typeof known)[number]
const tones: Partial<Record<Outcome, Tone>> = { credited: 'good', already: 'plain', outgoing: 'plain' }
/** The words of the gateway say more than the outcome. */
const spoken: readonly string[] = ['unreadable', 'refused', 'ambiguous', 'payer_differs']

/** What becomes, or became, of a document. */
export function Became({ d, dry }: { d: Document | Line; dry: boolean }) {
  const t = useT('adminbank')
  const outcome = known.find((o) => o === d.outcome) ?? 'refused'
  const aside = 'aside' in d ? d.aside : null
  const settled = !d.needs_you && outcome !== 'credited' && 'aside' in d && d.invoice !== null
  return (
    <span className="block max-w-[44ch] wrap-anywhere">
      <Tag tone={d.needs_you ? 'warn' : (tones[outcome] ?? 'plain')}>
        {aside !== null
          ? t('aside')
          : outcome === 'credited'
            ? t(dry ? 'o_will' : 'o_credited')
            : settled
              ? t('o_credited')
              : t(`o_${outcome}`)}
      </Tag>
      {aside !== null && (
        <span translate="no" className="block text-small text-ink3">
          {aside}
        </span>
      )}
      {d.needs_you && d.note !== null && spoken.includes(outcome) && (
        <span translate="no" className="block text-small text-ink3">
          {d.note}
        </span>
      )}
    </span>
  )
}

export function Payer({ d }: { d: Document | Line }) {
  const t = useT('adminbank')
  return (
    <span className="block max-w-[48ch] py-1 wrap-anywhere">
      <span translate="no">{d.payer ?? t('unknownPayer')}</span>
      {d.payer_inn !== null && (
        <span className="text-small text-ink3"> {t('inn', { inn: d.payer_inn })}</span>
      )}
      {d.purpose !== null && (
        <span translate="no" className="block text-small text-ink3">
          {d.purpose}
        </span>
      )}
      <span className="block text-label text-ink3">
        {t('lineOf', { line: d.line, number: d.number ?? '—', date: date(d.date) })}
      </span>
    </span>
  )
}

/** Chooses an invoice for a document: an open one of this payer, or any by its number. */
export function Choose({
  d,
  verb,
  busy = false,
  error,
  onChoose,
}: {
  d: Document | Line
  verb: string
  busy?: boolean
  error?: string | undefined
  onChoose: (number: string) => void
}) {
  const t = useT('adminbank')
  const list = useId()
  const [number, setNumber] = useState(d.choices.length === 1 ? d.choices[0]!.number : '')
  return (
    <form
      noValidate
      className="flex max-w-72 flex-wrap items-start gap-2 py-1"
      onSubmit={(e) => {
        e.preventDefault()
        if (number.trim()) onChoose(number.trim())
      }}
    >
      <Field
        label={t('chooseFor', { line: d.line })}
        hideLabel
        error={error}
        {...(d.choices.length > 0
          ? {
              help: t('openOnes', {
                list: d.choices.map((x) => `${x.number} (${money(x.missing, { exact: true })})`).join(', '),
              }),
            }
          : {})}
      >
        <Input
          value={number}
          onChange={(e) => setNumber(e.target.value)}
          list={list}
          placeholder={t('numberHint')}
          autoComplete="off"
          spellCheck={false}
          maxLength={100}
        />
      </Field>
      <datalist id={list}>
        {d.choices.map((x) => (
          <option key={x.id} value={x.number} />
        ))}
      </datalist>
      <Button small type="submit" busy={busy} aria-label={`${verb}: ${t('lineN', { line: d.line })}`}>
        {verb}
      </Button>
    </form>
  )
}

export function Counts({ s }: { s: Statement }) {
  const t = useT('adminbank')
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
      {t('counts', { n: s.documents, credited: s.credited, already: s.already, outgoing: s.outgoing })}
      {s.waiting > 0 && <Tag tone="warn">{t('waiting', { n: s.waiting })}</Tag>}
    </span>
  )
}
