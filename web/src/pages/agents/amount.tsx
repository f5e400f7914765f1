/** Another amount for the key of an agent, with what that does said before. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { patch } from '../../api/client'
import { getAgent, listAgents } from '../../api/operations'
import { renew } from '../../api/query'
import { compare, money, plain, subtract } from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'
import { amountOf, sum } from '../budgets/data'
import { spentOf, type Agent } from './data'

export default function Amount({ a, onClose }: { a: Agent; onClose: () => void }) {
  const t = useT('agents'),
    c = useT('common')
  const [text, setText] = useState(a.amount)
  const to = amountOf(text)
  const used = sum(spentOf(a), a.held)
  const save = useAction(async () => {
    await patch('/api/keys/{hash}', { path: { hash: a.hash }, body: { limit: plain(to!) } })
    await renew(getAgent, listAgents)
    toast(c('saved'))
    onClose()
  })
  const failed = save.except('limit')
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={
        <span translate="no" className="break-words">
          {t('amountOf', { name: a.name })}
        </span>
      }
      footer={
        <>
          <Button onClick={onClose}>{c('cancel')}</Button>
          <Button look="main" type="submit" form="amount" busy={save.busy}>
            {c('save')}
          </Button>
        </>
      }
    >
      <form
        id="amount"
        noValidate
        className="flex flex-col gap-4 pt-2"
        onSubmit={(e) => {
          e.preventDefault()
          if (!save.busy && to) save.run()
        }}
      >
        <Field label={t('amount')} help={t('amountHelp')} error={to ? save.at('limit') : t('amountWrong')}>
          <Input inputMode="decimal" value={text} onChange={(e) => setText(e.target.value)} />
        </Field>
        {to &&
          (compare(to, used) < 0 ? (
            <Notice tone="warn" title={t('amountBelow', { used: money(plain(used)) })} />
          ) : (
            <Notice title={t('amountLeaves', { left: money(plain(subtract(to, used))) })} />
          ))}
        {failed !== null && <ErrorBox error={failed} />}
      </form>
    </Dialog>
  )
}
