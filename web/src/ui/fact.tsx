/** How a notice is said: with the words of mails. */
import type { ReactNode } from 'react'
import type { Reply } from '../api/client'
import { date, money, percent } from '../format'
import { useT, type T } from '../i18n'
import { When } from './values'

export type Fact = Reply<'/api/overview'>['data']['notices'][number]
export interface Said {
  readonly title: ReactNode
  readonly text: ReactNode
  /** What has gone wrong already, not what will. */
  readonly bad: boolean
  /** Where something can be done about it. */
  readonly to: string | null
  readonly toName: string
}

/** The same forms as tongue.fact of internal/mail chooses. */
export function formOf({ kind, ref, detail }: Fact): string {
  if (kind === 'money_low' && detail.days !== null && detail.days !== undefined)
    return detail.days > 0 ? '_days' : '_today'
  if (kind === 'key_limit_reached' || kind === 'budget_reached') return detail.resets ? '_resets' : ''
  if (kind === 'unusual_spending') return ref ? '_tag' : ''
  return kind === 'agent_out_of_money' && detail.repeated ? '_loop' : ''
}

/** What grew on a day of unusual spending, with a space before it; nothing where that is not known. */
function grew(t: T<'facts'>, list: Fact['detail']['grown']): string {
  const all = list?.map((g) =>
    t(`grew_${g.by}`, {
      name: g.name,
      spent: money(g.spent),
      usual: Number(g.usual) ? money(g.usual) : t('grew_nothing'),
    }),
  )
  return all?.length ? ` ${t('grew', { list: all.join('; ') })}` : ''
}

/** Models go and money is spent on days of a calendar; a key expires at a moment. */
const dayOf = ({ kind, detail: { at } }: Fact) =>
  !at ? '' : kind.startsWith('key_') ? <When at={at} form="date" /> : date(at)

export function sayFact(t: T<'facts'>, f: Fact): Said {
  const { kind, detail: d } = f
  const sum = money(d.available ?? d.limit ?? d.amount ?? d.spent ?? null)
  const form = formOf(f)
  const places = {
    sum,
    limit: t.or(`per_${d.resets}`, sum, { sum }),
    spent: money(d.spent ?? null),
    usual: money(d.usual ?? null),
    percent: percent(d.percent ?? null, 0),
    name: f.name ?? f.ref ?? '',
    ref: f.ref ?? '',
    day: dayOf(f),
    n: d.repeated?.times ?? d.days ?? 0,
    tools: d.repeated?.tools ?? '',
    grew: grew(t, d.grown),
  }
  const title = t.or(kind + form, '') ? kind + form : kind
  const text = t.or(kind + form + '_text', '') ? kind + form + '_text' : kind + '_text'
  const page = f.page?.split(/[/?]/)[1] ?? ''
  return {
    title: t.or(kind, '') ? t.rich(title as 'key_limit', places) : kind,
    text: t.rich(text as 'key_limit_text', { ...places, at: <When at={d.at ?? null} form="full" /> }),
    bad: /_(reached|gone|expired|down|failed)$|^agent_/.test(kind),
    to: f.page,
    toName: t.or(kind.startsWith('money_') ? 'to_top_up' : `to_${page}`, page),
  }
}

export function useFact(f: Fact): Said {
  return sayFact(useT('facts'), f)
}
