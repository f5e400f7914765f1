/** Where the code of a terminal leads: it says what asks, and lets it act for the person who is signed in, or not. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { ApiError, post, type Reply } from '../../api/client'
import { useMe } from '../../api/query'
import { explain } from '../../api/explain'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Field, Input } from '../../ui/field'
import { Link } from '../../ui/link'
import { Page, PageHead, Panel } from '../../ui/page'
import { When } from '../../ui/values'

type Device = Reply<'/api/auth/device', 'post'>

export default function DevicePage() {
  const t = useT('device')
  const [device, setDevice] = useState<Device | null>(null)
  const [done, setDone] = useState<'allowed' | 'denied' | null>(null)
  return (
    <Page width="text" className="max-w-[560px]!">
      <PageHead title={t('title')} />
      {done ? (
        <Notice
          tone={done === 'allowed' ? 'good' : 'warn'}
          title={t(done, { client: device?.client ?? '' })}
          action={<Link to="/keys">{t('keys')}</Link>}
        >
          {t(`${done}Text`)}
        </Notice>
      ) : device ? (
        <Decide device={device} onDone={setDone} onBack={() => setDevice(null)} />
      ) : (
        <Code onFound={setDevice} />
      )}
    </Page>
  )
}

/** The code is looked up when its person presses the button, never by the address alone: the address may be another one's. */
function Code({ onFound }: { onFound: (d: Device) => void }) {
  const t = useT('device')
  const [code, setCode] = useState(() => new URLSearchParams(location.search).get('user_code') ?? '')
  const look = useAction(async () => onFound(await post('/api/auth/device', { body: { code } })))
  const unknown = look.error instanceof ApiError && look.error.status === 404
  return (
    <form className="flex flex-col gap-4" noValidate onSubmit={(e) => look.submit(e)}>
      <p className="text-ink2">{t('intro')}</p>
      <Field label={t('code')} help={t('codeHelp')} error={unknown ? t('unknown') : undefined}>
        <Input
          value={code}
          onChange={(e) => setCode(e.target.value)}
          maxLength={32}
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
          className="font-mono uppercase"
          required
          autoFocus
        />
      </Field>
      {look.error !== null && !unknown && <ErrorBox error={look.error} title={explain(look.error)} />}
      <div>
        <Button look="main" type="submit" busy={look.busy}>
          {t('next')}
        </Button>
      </div>
    </form>
  )
}

function Decide({
  device,
  onDone,
  onBack,
}: {
  device: Device
  onDone: (what: 'allowed' | 'denied') => void
  onBack: () => void
}) {
  const t = useT('device')
  const me = useMe()
  const decide = useAction(async (allow: boolean) => {
    await post('/api/auth/device/decision', { body: { code: device.code, allow } })
    onDone(allow ? 'allowed' : 'denied')
  })
  const over = decide.error instanceof ApiError && decide.error.status === 404
  const facts: [string, React.ReactNode][] = [
    [t('program'), <span translate="no">{device.client}</span>],
    [
      t('code'),
      <code translate="no" className="text-section tracking-widest">
        {device.code}
      </code>,
    ],
    [
      t('from'),
      <>
        <span translate="no">{device.address ?? t('nowhere')}</span>{' '}
        <span className="text-ink3">{device.here ? t('here') : t('elsewhere')}</span>
      </>,
    ],
    [t('asked'), <When at={device.created_at} />],
    [t('account'), <span translate="no">{me?.user?.email ?? me?.user?.name}</span>],
  ]
  return (
    <div className="flex flex-col gap-4">
      <Panel>
        <dl className="m-0 grid grid-cols-[auto_1fr] items-baseline gap-x-6 gap-y-2">
          {facts.map(([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-small text-ink3">{name}</dt>
              <dd className="m-0 min-w-0 break-words">{value}</dd>
            </div>
          ))}
        </dl>
      </Panel>
      <p className="text-ink2">{t('may')}</p>
      <Notice tone="warn" title={t('compare')}>
        {device.here ? t('compareText') : t('compareFar')}
      </Notice>
      {over ? (
        <ErrorBox error={decide.error} title={t('unknown')} />
      ) : (
        decide.error !== null && <ErrorBox error={decide.error} title={explain(decide.error)} />
      )}
      <div className="flex flex-wrap gap-2">
        {over ? (
          <Button onClick={onBack}>{t('another')}</Button>
        ) : (
          <>
            <Button
              look="main"
              busy={decide.running?.[0] === true}
              disabled={decide.busy}
              onClick={() => decide.run(true)}
            >
              {t('allow')}
            </Button>
            <Button
              busy={decide.running?.[0] === false}
              disabled={decide.busy}
              onClick={() => decide.run(false)}
            >
              {t('deny')}
            </Button>
          </>
        )}
      </div>
    </div>
  )
}
