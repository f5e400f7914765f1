/** How a directory says with SCIM who belongs to an organization: its address and token, what it has sent, and what its groups give. For owners. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/action'
import { ApiError, post, remove } from '../../api/client'
import { getOrganization, getOrganizationDirectory, listOrganizationMembers } from '../../api/operations'
import { renew } from '../../api/query'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Copy, Secret } from '../../ui/copy'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Panel } from '../../ui/page'
import { When } from '../../ui/values'
import { Form, Sure } from './parts'

export function Directory({ id, teamName }: { id: string; teamName: (team: string | null) => string }) {
  const t = useT('organization')
  const path = { id }
  const { data, error, refetch } = useQuery(getOrganizationDirectory({ path }))
  const [open, setOpen] = useState<'token' | 'disconnect' | null>(null)
  const close = () => setOpen(null)
  const none = error instanceof ApiError && error.status === 404
  const d = none ? undefined : data?.data
  return (
    <Panel
      title={t('directory')}
      actions={
        (d || none) && (
          <Button small icon={d ? 'refresh' : 'plus'} onClick={() => setOpen('token')}>
            {t(d ? 'newToken' : 'connect')}
          </Button>
        )
      }
    >
      {d ? (
        <div className="flex flex-col gap-3">
          <p className="flex items-center gap-2">
            <code className="min-w-0 rounded-tag bg-sunken px-1.5 break-all">{d.url}</code>
            <Copy text={d.url} what={t('directoryUrl')} />
          </p>
          <p className="text-small text-ink3">
            {t('directoryHas', { n: d.users })}, {t('membersOf', { n: d.members })},{' '}
            {t('groupsOf', { n: d.groups })}.{' '}
            {d.used_at ? (
              <>
                {t('lastRequest')} <When at={d.used_at} />
              </>
            ) : (
              t('noRequest')
            )}
          </p>
          {d.given.length > 0 && (
            <ul className="m-0 list-none border-t border-line p-0">
              {d.given.map((g) => (
                <li
                  key={g.group}
                  className="flex flex-wrap gap-x-2 border-b border-line py-1.5 last:border-0"
                >
                  <span translate="no" className="font-medium break-words">
                    {g.group}
                  </span>
                  <span className="text-small text-ink3">
                    → {t(`role_${g.role}`)}
                    {g.team && (
                      <>
                        , <span translate="no">{teamName(g.team)}</span>
                      </>
                    )}
                    , {t('people', { n: g.people })}
                  </span>
                </li>
              ))}
            </ul>
          )}
          <div>
            <Button look="bad" onClick={() => setOpen('disconnect')}>
              {t('disconnect')}
            </Button>
          </div>
        </div>
      ) : none ? (
        <Empty title={t('noDirectory')}>{t('noDirectoryText')}</Empty>
      ) : error ? (
        <ErrorBox error={error} onRetry={() => void refetch()} />
      ) : (
        <SkeletonRows rows={2} />
      )}
      {open === 'token' && <Token id={id} again={d !== undefined} onClose={close} />}
      {open === 'disconnect' && d && (
        <Sure
          title={t('disconnectTitle')}
          verb={t('disconnect')}
          onClose={close}
          act={async () => {
            await remove('/api/organizations/{id}/directory', { path })
            await renew(getOrganizationDirectory, getOrganization, listOrganizationMembers)
          }}
        >
          {t('disconnectText', { n: d.members })} {t('disconnectGroups', { n: d.groups })}
        </Sure>
      )}
    </Panel>
  )
}

/** The text of a token is shown once, in the window that has made it. */
function Token({ id, again, onClose }: { id: string; again: boolean; onClose: () => void }) {
  const t = useT('organization')
  const [made, setMade] = useState<string | null>(null)
  const make = useAction(async () => {
    const { data } = await post('/api/organizations/{id}/directory', { path: { id } })
    setMade(data.token ?? '')
    await renew(getOrganizationDirectory)
  })
  return (
    <Form
      title={t(again ? 'newToken' : 'connectTitle')}
      text={t(made !== null ? 'tokenOnce' : again ? 'newTokenText' : 'connectText')}
      verb={t('makeToken')}
      shown={made !== null && <Secret value={made} label={t('token')} />}
      doing={make}
      fields={[]}
      onClose={onClose}
    >
      {null}
    </Form>
  )
}
