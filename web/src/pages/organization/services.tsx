/** Programs that work for an organization, and not for one of its people: each with its keys. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { patch, post, remove } from '../../api/client'
import { getOrganization, listAccountKeys } from '../../api/operations'
import { renew } from '../../api/query'
import { money } from '../../format'
import { useT } from '../../i18n'
import { Button, IconButton } from '../../ui/button'
import { Secret } from '../../ui/copy'
import { Empty } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Menu } from '../../ui/menu'
import { Panel } from '../../ui/page'
import { toast } from '../../ui/toast'
import { When } from '../../ui/values'
import { Form, Sure, TeamField, type Organization, type Service } from './parts'

type Open = { what: 'new'; service?: undefined } | { what: 'change' | 'key' | 'end'; service: Service }

export function Services({
  o,
  list,
  teamName,
}: {
  o: Organization
  list: readonly Service[]
  teamName: (team: string | null) => string
}) {
  const t = useT('organization')
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  const may = (team: string | null) => o.role === 'owner' || o.managers_see === 'all' || team === o.team
  return (
    <Panel
      flush
      title={t('services')}
      actions={
        (may(null) || o.team !== null) && (
          <Button small icon="plus" onClick={() => setOpen({ what: 'new' })}>
            {t('newService')}
          </Button>
        )
      }
    >
      {list.length === 0 ? (
        <Empty title={t('noServices')}>{t('noServicesText')}</Empty>
      ) : (
        <ul className="m-0 list-none border-t border-line p-0">
          {list.map((s) => (
            <li
              key={s.id}
              className="flex min-h-11 items-start gap-2 border-b border-line px-4 py-1.5 last:border-0"
            >
              <span className="min-w-0 flex-1">
                <span translate="no" className="block font-medium break-words">
                  {s.name}
                </span>
                <span className="block text-small text-ink3">
                  {t('keysOf', { n: s.keys })}
                  {s.team && (
                    <>
                      , <span translate="no">{teamName(s.team)}</span>
                    </>
                  )}
                  {s.spent_month !== null && <>, {t('thisMonth', { spent: money(s.spent_month) })}</>}
                  {s.last_active_at && (
                    <>
                      , {t('activeAt')} <When at={s.last_active_at} />
                    </>
                  )}
                </span>
              </span>
              {may(s.team) && (
                <Menu
                  items={[
                    {
                      label: t('newKey'),
                      icon: 'key',
                      onSelect: () => setOpen({ what: 'key', service: s }),
                    },
                    {
                      label: t('changeService'),
                      icon: 'edit',
                      onSelect: () => setOpen({ what: 'change', service: s }),
                    },
                    {
                      label: t('endService'),
                      icon: 'trash',
                      tone: 'bad',
                      onSelect: () => setOpen({ what: 'end', service: s }),
                    },
                  ]}
                  trigger={<IconButton icon="more" label={t('actions', { name: s.name })} small />}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {(open?.what === 'new' || open?.what === 'change') && (
        <Edit o={o} {...(open.service ? { s: open.service } : {})} onClose={close} />
      )}
      {open?.what === 'key' && <NewKey s={open.service} onClose={close} />}
      {open?.what === 'end' && (
        <Sure
          title={t('endTitle', { name: open.service.name })}
          verb={t('endService')}
          onClose={close}
          act={async () => {
            await remove('/api/organizations/{id}/services/{service}', {
              path: { id: o.id, service: open.service.id },
            })
            await renew(getOrganization, listAccountKeys)
            toast(t('ended', { name: open.service.name }))
          }}
        >
          {t('keysStop', { n: open.service.keys })} {t('endText')}
        </Sure>
      )}
    </Panel>
  )
}

function Edit({ o, s, onClose }: { o: Organization; s?: Service; onClose: () => void }) {
  const t = useT('organization')
  const bound = o.role === 'manager' && o.managers_see === 'team'
  const [name, setName] = useState(s?.name ?? '')
  const [team, setTeam] = useState(s?.team ?? (bound ? (o.team ?? '') : ''))
  const save = useAction(async () => {
    const path = { id: o.id }
    if (s)
      await patch('/api/organizations/{id}/services/{service}', {
        path: { ...path, service: s.id },
        body: {
          name: name.trim(),
          ...(team === (s.team ?? '') ? {} : { team: team || null }),
        },
      })
    else
      await post('/api/organizations/{id}/services', {
        path,
        body: { name: name.trim(), ...(team ? { team } : {}) },
      })
    await renew(getOrganization)
    onClose()
  })
  return (
    <Form
      title={s ? t('changeServiceTitle', { name: s.name }) : t('newService')}
      {...(s ? {} : { text: t('newServiceText') })}
      verb={t(s ? 'save' : 'makeService')}
      doing={save}
      fields={['name', 'team']}
      onClose={onClose}
    >
      <Field label={t('name')} error={save.at('name')}>
        <Input
          value={name}
          onChange={(e) => setName(e.target.value)}
          maxLength={256}
          autoComplete="off"
          autoFocus
        />
      </Field>
      {!bound && o.teams.length > 0 && (
        <TeamField groups={o.teams} value={team} onChange={setTeam} error={save.at('team')} />
      )}
    </Form>
  )
}

/** The text of a key is shown once, in the window that has made it. */
function NewKey({ s, onClose }: { s: Service; onClose: () => void }) {
  const t = useT('organization')
  const [name, setName] = useState('')
  const [text, setText] = useState<string | null>(null)
  const make = useAction(async () => {
    const made = await post('/api/keys', { body: { name: name.trim(), service: s.id } })
    setText(made.key)
    await renew(getOrganization, listAccountKeys)
  })
  return (
    <Form
      title={t('keyTitle', { name: s.name })}
      text={t(text === null ? 'keyText' : 'keyOnce')}
      verb={t('newKey')}
      shown={text !== null && <Secret value={text} label={t('keySecret')} />}
      doing={make}
      fields={['name']}
      onClose={onClose}
    >
      <Field label={t('name')} error={make.at('name')}>
        <Input
          value={name}
          onChange={(e) => setName(e.target.value)}
          maxLength={256}
          autoComplete="off"
          autoFocus
        />
      </Field>
    </Form>
  )
}
