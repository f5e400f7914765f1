/** Chooses whose rows a list has: by a part of the name or address. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { get, type Reply } from '../../api/client'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Popover } from '../../ui/popover'

type Found = Reply<'/api/admin/users'>['data']

export function PersonFilter({ onChoose }: { onChoose: (id: string) => void }) {
  const t = useT('adminmoney')
  const [open, setOpen] = useState(false)
  const [text, setText] = useState('')
  const [found, setFound] = useState<Found | null>(null)
  const find = useAction(async () => {
    const { data } = await get('/api/admin/users', { query: { q: text.trim(), limit: 8 } })
    setFound(data)
  })
  const choose = (id: string) => {
    setOpen(false)
    onChoose(id)
  }
  return (
    <Popover
      open={open}
      onOpenChange={setOpen}
      label={t('person')}
      trigger={<Button icon="people">{t('person')}</Button>}
    >
      <form role="search" className="flex w-64 flex-col gap-3" noValidate onSubmit={find.submit}>
        <Field label={t('personFind')} help={t('personHelp')} error={find.at('q')}>
          <Input
            icon="search"
            value={text}
            onChange={(e) => setText(e.target.value)}
            autoComplete="off"
            spellCheck={false}
            maxLength={254}
          />
        </Field>
        <Button type="submit" busy={find.busy}>
          {t('find')}
        </Button>
        {find.except('q') !== null && <ErrorBox error={find.error} />}
        {found && (
          <ul className="m-0 flex list-none flex-col gap-1 p-0" aria-label={t('personFind')}>
            {found.map((p) => (
              <li key={p.id}>
                <Button small wide look="quiet" onClick={() => choose(p.id)}>
                  <span translate="no" className="max-w-52 truncate">
                    {p.name}
                    {p.email !== null && ` · ${p.email}`}
                  </span>
                </Button>
              </li>
            ))}
            {found.length === 0 && <li className="text-small text-ink3">{t('personNone')}</li>}
          </ul>
        )}
      </form>
    </Popover>
  )
}
