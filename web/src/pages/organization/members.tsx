/** /org/members: who belongs to the organization in which the page acts, its teams, and who has not come yet. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { account, patch, post, remove } from '../../api/client'
import { getOrganization, listBudgets, listOrganizationMembers } from '../../api/operations'
import { meQuery, queries, renew } from '../../api/query'
import { decimal, money } from '../../format'
import { useT } from '../../i18n'
import { Button, IconButton } from '../../ui/button'
import { Secret } from '../../ui/copy'
import { Empty, ErrorBox, Notice, SkeletonRows } from '../../ui/feedback'
import { Field, Input, Select } from '../../ui/field'
import { Tag } from '../../ui/marks'
import { Menu, type MenuItem } from '../../ui/menu'
import { Page, PageHead, Panel } from '../../ui/page'
import { toast } from '../../ui/toast'
import { Money, When } from '../../ui/values'
import { Bars } from '../budgets/bar'
import { Directory } from './directory'
import { Form, Sure, TeamField, type Invitation, type Member, type Organization, type Team } from './parts'
import { Services } from './services'
import { moment } from '../../ui/order'
import { Sorted } from '../../ui/sorted'

type Role = Member['role']
const roles: readonly Role[] = ['owner', 'manager', 'member', 'billing']

/** What is done in a window over the page. */
type Open =
  | { what: 'invite' | 'settings' | 'newTeam' | 'close' }
  | { what: 'change' | 'remove'; member: Member }
  | { what: 'rename' | 'deleteTeam'; team: Team }
  | { what: 'again' | 'revoke'; invitation: Invitation }

export default function MembersPage() {
  const t = useT('organization')
  if (account === null)
    return (
      <Page width="text">
        <PageHead title={t('title')} />
        <Notice title={t('personal')}>{t('personalText')}</Notice>
      </Page>
    )
  return <Members id={account} />
}

function Members({ id }: { id: string }) {
  const t = useT('organization')
  const path = { id }
  const org = useQuery(getOrganization({ path }))
  const members = useQuery(listOrganizationMembers({ path }))
  const budgets = useQuery({ ...listBudgets(), enabled: org.data?.data.budgets === true }).data?.data ?? []
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  const o = org.data?.data
  const all = members.data?.data
  const groups = o?.teams ?? []
  if (!o)
    return (
      <Page>
        <PageHead title={t('title')} />
        {org.error ? (
          <ErrorBox error={org.error} onRetry={() => void org.refetch()} />
        ) : (
          <SkeletonRows rows={6} />
        )}
      </Page>
    )
  const owns = o.role === 'owner'
  const leads = owns || o.role === 'manager'
  const makesTeams = owns || (leads && o.managers_see === 'all')
  const manages = (role: Role, team: string | null) =>
    owns || (leads && role === 'member' && (o.managers_see === 'all' || team === o.team))
  const teamName = (team: string | null) => groups.find((g) => g.id === team)?.name ?? ''
  const you = all?.find((m) => m.you)
  const actions = (m: Member) => {
    if (m.you || !manages(m.role, m.team)) return null
    const items: MenuItem[] = [
      { label: t('change'), icon: 'edit', onSelect: () => setOpen({ what: 'change', member: m }) },
      {
        label: t('remove'),
        icon: 'trash',
        tone: 'bad',
        onSelect: () => setOpen({ what: 'remove', member: m }),
      },
    ]
    return (
      <Menu items={items} trigger={<IconButton icon="more" label={t('actions', { name: m.name })} small />} />
    )
  }
  const person = (m: Member) => (
    <span className="block min-w-0">
      <span className="font-medium">
        <span translate="no">{m.name}</span> {m.you && <Tag>{t('you')}</Tag>}
      </span>
      {m.email !== null && m.email !== m.name && (
        <span translate="no" className="block truncate text-small text-ink3">
          {m.email}
        </span>
      )}
    </span>
  )
  return (
    <Page>
      <PageHead
        title={t('title')}
        note={all && `${t('people', { n: all.length })}, ${t('teamsOf', { n: groups.length })}`}
      >
        {leads && (
          <Button look="main" icon="plus" onClick={() => setOpen({ what: 'invite' })}>
            {t('invite')}
          </Button>
        )}
      </PageHead>
      <div className="flex flex-col gap-4">
        <Panel>
          <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
            <h2 translate="no" className="min-w-0 text-section break-words">
              {o.name}
            </h2>
            <span className="text-small text-ink3">
              {o.role === 'manager' ? t(`as_manager_${o.managers_see}`) : t(`as_${o.role}`)}
            </span>
            <span className="flex-1" />
            {owns && (
              <Button small icon="edit" onClick={() => setOpen({ what: 'settings' })}>
                {t('edit')}
              </Button>
            )}
            {you && (
              <Button small onClick={() => setOpen({ what: 'remove', member: you })}>
                {t('leave')}
              </Button>
            )}
          </div>
        </Panel>
        <Panel flush>
          <Sorted<Member>
            main
            caption={t('title')}
            rows={all}
            rowKey={(m) => m.id}
            error={members.error}
            onRetry={() => void members.refetch()}
            columns={[
              { key: 'person', head: t('person'), sort: { value: (m) => m.name }, cell: person },
              {
                key: 'role',
                head: t('role'),
                sort: { value: (m) => t(`role_${m.role}`) },
                cell: (m) => t(`role_${m.role}`),
              },
              {
                key: 'team',
                head: t('team'),
                sort: { value: (m) => teamName(m.team) || null },
                cell: (m) => <span translate="no">{teamName(m.team)}</span>,
              },
              {
                key: 'keys',
                head: t('keys'),
                align: 'end',
                sort: { value: (m) => m.keys, down: true },
                cell: (m) => m.keys,
              },
              {
                key: 'spent',
                head: t('spentMonth'),
                align: 'end',
                sort: { value: (m) => decimal(m.spent_month), down: true },
                cell: (m) => (
                  <>
                    {m.spent_month !== null && <Money value={m.spent_month} />}
                    <Bars all={budgets} kind="member" id={m.id} />
                  </>
                ),
              },
              {
                key: 'active',
                head: t('active'),
                from: 'lg',
                sort: { value: (m) => moment(m.last_active_at), down: true },
                cell: (m) =>
                  m.last_active_at ? (
                    <When at={m.last_active_at} />
                  ) : (
                    m.spent_month !== null && <span className="text-ink3">{t('inactive')}</span>
                  ),
              },
              {
                key: 'since',
                head: t('since'),
                from: 'xl',
                sort: { value: (m) => moment(m.joined_at), down: true },
                cell: (m) => <When at={m.joined_at} />,
              },
              { key: 'act', head: '', name: t('actionsHead'), align: 'end', cell: actions },
            ]}
            phone={(m) => (
              <div className="flex items-center gap-2">
                <span className="min-w-0 flex-1">
                  {person(m)}
                  <span className="block text-small text-ink3">
                    {t(`role_${m.role}`)}
                    {m.team && (
                      <>
                        , <span translate="no">{teamName(m.team)}</span>
                      </>
                    )}
                    , {t('keysOf', { n: m.keys })}
                    {m.spent_month !== null && <>, {t('thisMonth', { spent: money(m.spent_month) })}</>}
                  </span>
                  <Bars all={budgets} kind="member" id={m.id} />
                </span>
                {actions(m)}
              </div>
            )}
          />
        </Panel>
        <div className="grid items-start gap-4 lg:grid-cols-2">
          <Panel
            flush
            title={t('teams')}
            actions={
              makesTeams && (
                <Button small icon="plus" onClick={() => setOpen({ what: 'newTeam' })}>
                  {t('newTeam')}
                </Button>
              )
            }
          >
            {groups.length === 0 ? (
              <Empty title={t('noTeams')}>{t('noTeamsText')}</Empty>
            ) : (
              <ul className="m-0 list-none border-t border-line p-0">
                {groups.map((g) => (
                  <li
                    key={g.id}
                    className="flex min-h-11 items-center gap-2 border-b border-line px-4 py-1.5 last:border-0"
                  >
                    <span className="min-w-0 flex-1">
                      <span translate="no" className="font-medium break-words">
                        {g.name}
                      </span>{' '}
                      <span className="text-small whitespace-nowrap text-ink3">
                        {t('people', { n: g.members })}
                      </span>
                      <Bars all={budgets} kind="team" id={g.id} />
                    </span>
                    {makesTeams && (
                      <Menu
                        items={[
                          {
                            label: t('rename'),
                            icon: 'edit',
                            onSelect: () => setOpen({ what: 'rename', team: g }),
                          },
                          {
                            label: t('delete'),
                            icon: 'trash',
                            tone: 'bad',
                            onSelect: () => setOpen({ what: 'deleteTeam', team: g }),
                          },
                        ]}
                        trigger={<IconButton icon="more" label={t('actions', { name: g.name })} small />}
                      />
                    )}
                  </li>
                ))}
              </ul>
            )}
          </Panel>
          {o.invitations && <Invitations list={o.invitations} teamName={teamName} onOpen={setOpen} />}
          {o.services && <Services o={o} list={o.services} teamName={teamName} />}
          {owns && <Directory id={id} teamName={teamName} />}
          {owns && (
            <Panel title={t('closing')}>
              <p className="pb-3 text-small text-ink2">{t('closingText')}</p>
              <Button look="bad" onClick={() => setOpen({ what: 'close' })}>
                {t('close')}
              </Button>
            </Panel>
          )}
        </div>
      </div>
      {open?.what === 'invite' && <Invite o={o} groups={groups} onClose={close} />}
      {open?.what === 'settings' && <Settings o={o} onClose={close} />}
      {open?.what === 'change' && <Change o={o} m={open.member} groups={groups} onClose={close} />}
      {open?.what === 'newTeam' && <TeamName id={id} onClose={close} />}
      {open?.what === 'rename' && <TeamName id={id} team={open.team} onClose={close} />}
      {open?.what === 'again' && <Again id={id} i={open.invitation} onClose={close} />}
      {open?.what === 'remove' && (
        <Sure
          title={
            open.member.you ? t('leaveTitle', { name: o.name }) : t('removeTitle', { name: open.member.name })
          }
          verb={open.member.you ? t('leave') : t('remove')}
          onClose={close}
          act={async () => {
            await remove('/api/organizations/{id}/members/{member}', {
              path: { id, member: open.member.id },
            })
            if (open.member.you) {
              location.assign('/')
              return
            }
            await renew(listOrganizationMembers, getOrganization)
            toast(t('removed', { name: open.member.name }))
          }}
        >
          {t('keysStop', { n: open.member.keys })} {t(open.member.you ? 'leaveText' : 'removeText')}
        </Sure>
      )}
      {open?.what === 'deleteTeam' && (
        <Sure
          title={t('deleteTitle', { name: open.team.name })}
          verb={t('delete')}
          onClose={close}
          act={async () => {
            await remove('/api/organizations/{id}/teams/{team}', { path: { id, team: open.team.id } })
            await renew(getOrganization, listOrganizationMembers)
          }}
        >
          {t('deleteText')}
        </Sure>
      )}
      {open?.what === 'revoke' && (
        <Sure
          title={t('revokeTitle')}
          verb={t('revoke')}
          onClose={close}
          act={async () => {
            await remove('/api/organizations/{id}/invitations/{invitation}', {
              path: { id, invitation: open.invitation.id },
            })
            await renew(getOrganization)
          }}
        >
          {t('revokeText')}
        </Sure>
      )}
      {open?.what === 'close' && (
        <Sure
          title={t('closeTitle', { name: o.name })}
          verb={t('close')}
          typed={o.name}
          onClose={close}
          act={async () => {
            await remove('/api/organizations/{id}', { path: { id } })
            location.assign('/')
          }}
        >
          {t('closeText', { n: all?.length ?? 0, keys: keysOf(o, all ?? []) })}
        </Sure>
      )}
    </Page>
  )
}

/** How many keys stop when an organization is closed. */
const keysOf = (o: Organization, members: readonly Member[]): number =>
  [...members, ...(o.services ?? [])].reduce((n, x) => n + x.keys, 0)

function Invitations({
  list,
  teamName,
  onOpen,
}: {
  list: readonly Invitation[]
  teamName: (team: string | null) => string
  onOpen: (o: Open) => void
}) {
  const t = useT('organization')
  return (
    <Panel flush title={t('invitations')}>
      {list.length === 0 ? (
        <Empty title={t('noInvitations')}>{t('noInvitationsText')}</Empty>
      ) : (
        <ul className="m-0 list-none border-t border-line p-0">
          {list.map((i) => (
            <li key={i.id} className="flex items-start gap-2 border-b border-line px-4 py-2 last:border-0">
              <span className="min-w-0 flex-1">
                <span translate="no" className="block font-medium break-words">
                  {i.email ?? (i.note || t('link'))}
                </span>
                <span className="block text-small text-ink3">
                  {t(`role_${i.role}`)}
                  {i.team && (
                    <>
                      , <span translate="no">{teamName(i.team)}</span>
                    </>
                  )}
                  {i.places > 1 && <>, {t('places', { taken: i.taken, places: i.places })}</>}
                  {i.opened_at && i.taken === 0 && <>, {t('opened')}</>}, {t('ends')}{' '}
                  <When at={i.expires_at} />
                </span>
              </span>
              <Menu
                items={[
                  {
                    label: t(i.email ? 'sendAgain' : 'newLink'),
                    icon: 'refresh',
                    onSelect: () => onOpen({ what: 'again', invitation: i }),
                  },
                  {
                    label: t('revoke'),
                    icon: 'trash',
                    tone: 'bad',
                    onSelect: () => onOpen({ what: 'revoke', invitation: i }),
                  },
                ]}
                trigger={
                  <IconButton
                    icon="more"
                    label={t('actions', { name: i.email ?? (i.note || t('link')) })}
                    small
                  />
                }
              />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function Invite({ o, groups, onClose }: { o: Organization; groups: readonly Team[]; onClose: () => void }) {
  const t = useT('organization')
  const owns = o.role === 'owner'
  const bound = !owns && o.managers_see === 'team'
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const [team, setTeam] = useState(bound ? (o.team ?? '') : '')
  const [places, setPlaces] = useState('1')
  const [days, setDays] = useState('7')
  const [note, setNote] = useState('')
  const [url, setUrl] = useState<string | null>(null)
  const address = email.trim()
  const make = useAction(async () => {
    const { data } = await post('/api/organizations/{id}/invitations', {
      path: { id: o.id },
      body: {
        role,
        ...(address ? { email: address } : {}),
        places: address ? null : Number(places),
        ...(team ? { team } : {}),
        ...(note.trim() ? { note: note.trim() } : {}),
        days: Number(days),
      },
    })
    setUrl(data.url ?? null)
    void renew(getOrganization)
  })
  return (
    <Form
      title={t('inviteTitle')}
      text={t('inviteText')}
      verb={t('inviteDo')}
      shown={url && <Secret value={url} label={t('theLink')} />}
      doing={make}
      fields={['email', 'role', 'team', 'places', 'days', 'note']}
      onClose={onClose}
    >
      <Field label={t('email')} optional help={t('emailHelp')} error={make.at('email')}>
        <Input type="email" value={email} onChange={(e) => setEmail(e.target.value)} autoComplete="off" />
      </Field>
      {owns && <RoleField value={role} onChange={setRole} error={make.at('role')} />}
      {!bound && groups.length > 0 && (
        <TeamField groups={groups} value={team} onChange={setTeam} error={make.at('team')} />
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        {!address && (
          <Field label={t('placesField')} error={make.at('places')}>
            <Input inputMode="numeric" value={places} onChange={(e) => setPlaces(e.target.value)} />
          </Field>
        )}
        <Field label={t('days')} error={make.at('days')}>
          <Input inputMode="numeric" value={days} onChange={(e) => setDays(e.target.value)} />
        </Field>
      </div>
      <Field label={t('note')} optional help={t('noteHelp')} error={make.at('note')}>
        <Input value={note} onChange={(e) => setNote(e.target.value)} maxLength={200} autoComplete="off" />
      </Field>
    </Form>
  )
}

function RoleField({
  value,
  onChange,
  error,
}: {
  value: Role
  onChange: (r: Role) => void
  error: string | undefined
}) {
  const t = useT('organization')
  return (
    <Field label={t('role')} help={t(`may_${value}`)} error={error}>
      <Select
        value={value}
        onChange={(e) => onChange(e.target.value as Role)}
        options={roles.map((r) => ({ value: r, label: t(`role_${r}`) }))}
      />
    </Field>
  )
}

function Change({
  o,
  m,
  groups,
  onClose,
}: {
  o: Organization
  m: Member
  groups: readonly Team[]
  onClose: () => void
}) {
  const t = useT('organization')
  const [role, setRole] = useState<Role>(m.role)
  const [team, setTeam] = useState(m.team ?? '')
  const save = useAction(async () => {
    await patch('/api/organizations/{id}/members/{member}', {
      path: { id: o.id, member: m.id },
      body: {
        ...(role === m.role ? {} : { role }),
        ...(team === (m.team ?? '') ? {} : { team: team || null }),
      },
    })
    await renew(listOrganizationMembers, getOrganization)
    onClose()
  })
  return (
    <Form
      title={t('changeTitle', { name: m.name })}
      verb={t('save')}
      doing={save}
      fields={['role', 'team']}
      onClose={onClose}
    >
      {o.role === 'owner' && <RoleField value={role} onChange={setRole} error={save.at('role')} />}
      {role === 'billing' && m.role !== 'billing' && m.keys > 0 && (
        <Notice tone="warn" title={t('keysStop', { n: m.keys })} />
      )}
      <TeamField groups={groups} value={team} onChange={setTeam} error={save.at('team')} />
    </Form>
  )
}

function Settings({ o, onClose }: { o: Organization; onClose: () => void }) {
  const t = useT('organization')
  const [name, setName] = useState(o.name)
  const [sees, setSees] = useState(o.managers_see)
  const save = useAction(async () => {
    await patch('/api/organizations/{id}', {
      path: { id: o.id },
      body: { name: name.trim(), managers_see: sees },
    })
    await renew(getOrganization)
    void queries.invalidateQueries({ queryKey: meQuery.queryKey })
    onClose()
  })
  return (
    <Form
      title={t('editTitle')}
      verb={t('save')}
      doing={save}
      fields={['name', 'managers_see']}
      onClose={onClose}
    >
      <Field label={t('name')} error={save.at('name')}>
        <Input value={name} onChange={(e) => setName(e.target.value)} maxLength={256} autoComplete="off" />
      </Field>
      <Field label={t('sees')} error={save.at('managers_see')}>
        <Select
          value={sees}
          onChange={(e) => setSees(e.target.value as typeof sees)}
          options={(['team', 'all'] as const).map((v) => ({ value: v, label: t(`sees_${v}`) }))}
        />
      </Field>
    </Form>
  )
}

function TeamName({ id, team, onClose }: { id: string; team?: Team; onClose: () => void }) {
  const t = useT('organization')
  const [name, setName] = useState(team?.name ?? '')
  const save = useAction(async () => {
    const body = { name: name.trim() }
    if (team) await patch('/api/organizations/{id}/teams/{team}', { path: { id, team: team.id }, body })
    else await post('/api/organizations/{id}/teams', { path: { id }, body })
    await renew(getOrganization)
    onClose()
  })
  return (
    <Form
      title={team ? t('renameTitle', { name: team.name }) : t('newTeam')}
      verb={team ? t('rename') : t('makeTeam')}
      doing={save}
      fields={['name']}
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
    </Form>
  )
}

function Again({ id, i, onClose }: { id: string; i: Invitation; onClose: () => void }) {
  const t = useT('organization')
  const [url, setUrl] = useState<string | null>(null)
  const again = useAction(async () => {
    const { data } = await post('/api/organizations/{id}/invitations/{invitation}/again', {
      path: { id, invitation: i.id },
    })
    setUrl(data.url ?? null)
    void renew(getOrganization)
  })
  return (
    <Form
      title={t(i.email ? 'sendAgain' : 'newLink')}
      text={t('againText')}
      verb={t('inviteDo')}
      shown={url && <Secret value={url} label={t('theLink')} />}
      doing={again}
      fields={[]}
      onClose={onClose}
    >
      {i.email && <p translate="no">{i.email}</p>}
    </Form>
  )
}
