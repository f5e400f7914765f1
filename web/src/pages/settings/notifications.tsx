/** What the account is told before it costs it something, and where to. */
import { useAction } from '../../api/action'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, post, put, type Reply } from '../../api/client'
import { explain } from '../../api/explain'
import { queries } from '../../api/query'
import { getNotifications, getWebhookSecret } from '../../api/operations'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Secret } from '../../ui/copy'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Checkbox, Field, Input } from '../../ui/field'
import { Link } from '../../ui/link'
import { Panel } from '../../ui/page'
import { toast, toastError } from '../../ui/toast'
import { Settings } from './parts'

const reading = getNotifications()
const secret = getWebhookSecret()
type Told = Reply<'/api/notifications'>['data']
const causes = [
  'low_balance',
  'key_limit',
  'key_expiring',
  'model_retiring',
  'payment',
  'unusual_spending',
] as const
const channels = ['email', 'webhook'] as const

export default function NotificationsPage() {
  const t = useT('notifications')
  const { data, error, refetch } = useQuery(reading)
  const off = error instanceof ApiError && error.status === 404
  return (
    <Settings at="notifications">
      {off ? (
        <Empty icon="warning" title={t('off')} />
      ) : error && !data ? (
        <ErrorBox error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Panel>
          <SkeletonRows rows={8} />
        </Panel>
      ) : (
        <>
          <Switches d={data.data} />
          <Threshold d={data.data} />
          <Watched d={data.data} />
          <Channels d={data.data} />
        </>
      )}
    </Settings>
  )
}

function Switches({ d }: { d: Told }) {
  const t = useT('notifications')
  const flip = async (cause: (typeof causes)[number], channel: (typeof channels)[number], on: boolean) => {
    queries.setQueryData(reading.queryKey, {
      data: { ...d, causes: { ...d.causes, [cause]: { ...d.causes[cause], [channel]: on } } },
    })
    try {
      queries.setQueryData(
        reading.queryKey,
        await put('/api/notifications', { body: { causes: { [cause]: { [channel]: on } } } }),
      )
      toast(t('saved'))
    } catch (e) {
      void queries.invalidateQueries({ queryKey: reading.queryKey })
      toast(explain(e))
    }
  }
  return (
    <Panel title={t('told')}>
      <p className="pb-2 text-ink2">{t('toldText')}</p>
      <table className="w-full border-collapse">
        <caption className="sr-only">{t('told')}</caption>
        <thead>
          <tr className="text-left text-small text-ink3">
            <th scope="col" className="py-1.5 font-normal">
              {t('cause')}
            </th>
            <th scope="col" className="w-20 py-1.5 text-center font-normal">
              {t('byEmail')}
            </th>
            <th scope="col" className="w-20 py-1.5 text-center font-normal">
              {t('byWebhook')}
            </th>
          </tr>
        </thead>
        <tbody>
          {causes.map((cause) => (
            <tr key={cause} className="border-t border-line">
              <th scope="row" className="py-2 pr-3 text-left font-medium">
                {t(cause)}
                <span className="block text-small font-normal text-ink3">{t(`${cause}_help`)}</span>
              </th>
              {channels.map((channel) => (
                <td key={channel} className="p-0">
                  <Checkbox
                    className="justify-center"
                    checked={d.causes[cause]?.[channel] ?? false}
                    label={t('switch', {
                      cause: t(cause),
                      channel: t(channel === 'email' ? 'byEmail' : 'byWebhook'),
                    })}
                    onChange={(on) => void flip(cause, channel, on)}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="pt-3">
        <Link to="/docs/notifications">{t('how')}</Link>
      </p>
    </Panel>
  )
}

/** A form of one field that saves it. wrong is what to say of a value that the API refuses. */
function One({
  label,
  help,
  wrong,
  value,
  body,
  mode = 'decimal',
}: {
  label: string
  help: string
  wrong: string
  value: string
  body: (v: string) => { threshold: string } | { webhook_url: string | null } | { watched_tags: string[] }
  mode?: 'decimal' | 'text' | 'url'
}) {
  const t = useT('notifications'),
    c = useT('common')
  const [text, setText] = useState(value)
  const save = useAction(async () => {
    queries.setQueryData(reading.queryKey, await put('/api/notifications', { body: body(text.trim()) }))
    toast(t('saved'))
  })
  const failed = save.error
  const field = failed instanceof ApiError && failed.field !== null
  return (
    <form onSubmit={save.submit} noValidate className="flex flex-wrap items-start gap-2">
      <Field className="min-w-0 flex-1 basis-60" label={label} help={help} error={field ? wrong : undefined}>
        <Input
          type={mode === 'url' ? 'url' : 'text'}
          inputMode={mode}
          maxLength={5000}
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={(e) => setText(e.target.value)}
        />
      </Field>
      <div className="pt-6">
        <Button type="submit" busy={save.busy} disabled={text.trim() === value}>
          {c('save')}
        </Button>
      </div>
      {failed !== null && !field && (
        <div className="basis-full">
          <ErrorBox error={failed} title={explain(failed)} />
        </div>
      )}
    </form>
  )
}

function Threshold({ d }: { d: Told }) {
  const t = useT('notifications')
  return (
    <Panel>
      <One
        key={d.threshold}
        label={t('threshold')}
        help={t('thresholdHelp')}
        wrong={t('thresholdWrong')}
        value={d.threshold}
        body={(v) => ({ threshold: v.replace(',', '.').replace(/\s/g, '') })}
      />
    </Panel>
  )
}

function Watched({ d }: { d: Told }) {
  const t = useT('notifications')
  const value = d.watched_tags.join(', ')
  return (
    <Panel>
      <One
        key={value}
        mode="text"
        label={t('watched')}
        help={t('watchedHelp')}
        wrong={t('watchedWrong')}
        value={value}
        body={(v) => ({
          watched_tags: v
            .split(',')
            .map((s) => s.trim())
            .filter((s) => s !== ''),
        })}
      />
    </Panel>
  )
}

function Channels({ d }: { d: Told }) {
  const t = useT('notifications')
  const mail = !d.email.available
    ? t('emailOff')
    : d.email.address === null
      ? t('emailNone')
      : t.rich(d.email.confirmed ? 'emailTo' : 'emailUnconfirmed', {
          email: (
            <span translate="no" className="font-medium break-all text-ink">
              {d.email.address}
            </span>
          ),
        })
  return (
    <Panel title={t('channels')}>
      <p className="pb-4 text-ink2">{mail}</p>
      {d.webhook.available ? (
        <>
          <One
            key={d.webhook.url}
            mode="url"
            label={t('webhook')}
            help={t('webhookHelp')}
            wrong={t('webhookWrong')}
            value={d.webhook.url ?? ''}
            body={(v) => ({ webhook_url: v === '' ? null : v })}
          />
          <WebhookSecret />
        </>
      ) : (
        <p className="text-ink2">{t('webhookOff')}</p>
      )}
      <Test />
    </Panel>
  )
}

/** The secret that signs webhooks. It is shown once, when it is made. */
function WebhookSecret() {
  const t = useT('notifications')
  const { data } = useQuery(secret)
  const [made, setMade] = useState<string | null>(null)
  const some = data?.data ?? null
  const make = useAction(
    async () => {
      setMade((await post('/api/account/webhook-secret', {})).data.secret)
      await queries.invalidateQueries({ queryKey: secret.queryKey })
    },
    { failed: toastError },
  )
  return (
    <div className="mt-4 border-t border-line pt-4">
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-0 flex-1 basis-52">
          <span className="font-medium">{t('secret')}</span>
          {': '}
          {some ? t('secretEnds', { last4: some.last4 }) : t('secretNone')}
          <span className="block text-small text-ink3">{t('secretText')}</span>
        </p>
        <Button small busy={make.busy} onClick={() => make.run()}>
          {t(some ? 'secretReplace' : 'secretMake')}
        </Button>
      </div>
      {made && (
        <div className="pt-3">
          <Secret value={made} label={t('secret')} />
          {some?.previous_until && <p className="pt-2 text-ink2">{t('secretOld')}</p>}
        </div>
      )}
    </div>
  )
}

function Test() {
  const t = useT('notifications')
  const [said, setSaid] = useState<string | null>(null)
  const send = useAction(
    async () => {
      setSaid(null)
      const { email, webhook } = (await post('/api/notifications/test', {})).data
      setSaid(t(email && webhook ? 'sentBoth' : webhook ? 'sentWebhook' : 'sentMail'))
    },
    {
      failed: (e) =>
        setSaid(
          e instanceof ApiError && e.status === 409
            ? t('testNowhere')
            : e instanceof ApiError && e.status === 429
              ? t('testEnough')
              : explain(e),
        ),
    },
  )
  return (
    <div className="mt-4 flex flex-wrap items-center gap-3 border-t border-line pt-4">
      <p className="min-w-0 flex-1 basis-52 text-ink2" role="status">
        {said ?? t('testText')}
      </p>
      <Button busy={send.busy} onClick={() => send.run()}>
        {t('test')}
      </Button>
    </div>
  )
}
