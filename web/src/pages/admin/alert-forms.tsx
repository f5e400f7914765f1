/** The windows in which a channel and a rule of alerts are changed. */
import { useState } from 'react'
import { useAction } from '../../api/action'
import { put, remove } from '../../api/client'
import { getAlerts } from '../../api/operations'
import { renew } from '../../api/query'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Switch } from '../../ui/controls'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Checkbox, Field, Input, Select } from '../../ui/field'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'
import { kinds, type Channel, type Rule } from './alert-data'

const ways = ['mail', 'webhook', 'slack', 'telegram'] as const

export function ChannelForm({
  channel,
  mailReady,
  onClose,
}: {
  channel: Channel | null
  mailReady: boolean
  onClose: () => void
}) {
  const t = useT('adminalerts')
  const c = useT('common')
  const [id, setID] = useState(channel?.id ?? '')
  const [way, setWay] = useState<Channel['way']>(channel?.way ?? 'mail')
  const [address, setAddress] = useState(channel?.address ?? '')
  const [secret, setSecret] = useState('')
  const [language, setLanguage] = useState<Channel['language']>(
    channel?.language ?? (document.documentElement.lang === 'ru' ? 'ru' : 'en'),
  )
  const [enabled, setEnabled] = useState(channel?.enabled ?? true)
  const [severity, setSeverity] = useState<Channel['severity']>(channel?.severity ?? 'warning')
  const [chosen, choose] = useState<readonly Rule['kind'][]>(channel?.kinds ?? [])
  const other = channel !== null && way !== channel.way
  const save = useAction(async () => {
    await put('/api/admin/alerts/channels/{id}', {
      path: { id: id.trim() || '-' },
      query: channel ? { version: channel.version } : { new: true },
      body: {
        way,
        language,
        enabled,
        severity,
        kinds: kinds.filter((k) => chosen.includes(k)),
        ...(way === 'slack' ? {} : { address: address.trim() }),
        ...(secret.trim() ? { secret: secret.trim() } : other ? { secret: null } : {}),
      },
    })
    await renew(getAlerts)
    toast(t('saved'))
    onClose()
  })
  const wrong = save.except('id', 'way', 'address', 'secret', 'language')
  return (
    <Dialog
      open
      onOpenChange={(o) => !o && onClose()}
      title={channel ? t('changeOf', { id: channel.id }) : t('add')}
      footer={
        <>
          <Button onClick={onClose}>{c('cancel')}</Button>
          <Button look="main" type="submit" form="alert-channel" busy={save.busy}>
            {t('save')}
          </Button>
        </>
      }
    >
      <form id="alert-channel" onSubmit={save.submit} noValidate className="flex flex-col gap-4">
        {!channel && (
          <Field label={t('name')} help={t('nameHelp')} error={save.at('id')}>
            <Input value={id} onChange={(e) => setID(e.target.value)} autoComplete="off" spellCheck={false} />
          </Field>
        )}
        <Field label={t('way')} error={save.at('way')}>
          <Select
            value={way}
            onChange={(e) => setWay(e.target.value as Channel['way'])}
            options={ways.map((value) => ({ value, label: t(`way_${value}`) }))}
          />
        </Field>
        {way === 'mail' && !mailReady && <Notice tone="warn">{t('noMail')}</Notice>}
        {way !== 'slack' && (
          <Field
            label={t(`address_${way}`)}
            help={way === 'telegram' ? t('addressHelp_telegram') : undefined}
            error={save.at('address')}
          >
            <Input
              value={address}
              onChange={(e) => setAddress(e.target.value)}
              autoComplete="off"
              spellCheck={false}
            />
          </Field>
        )}
        {way !== 'mail' && (
          <Field
            label={t(`secret_${way}`)}
            help={
              channel?.last4 && !other
                ? t('keeps', { last4: channel.last4 })
                : way === 'webhook'
                  ? t('secretHelp_webhook')
                  : undefined
            }
            error={save.at('secret')}
          >
            <Input
              type="password"
              value={secret}
              onChange={(e) => setSecret(e.target.value)}
              autoComplete="off"
            />
          </Field>
        )}
        <Field label={t('language')}>
          <Select
            value={language}
            onChange={(e) => setLanguage(e.target.value as Channel['language'])}
            options={[
              { value: 'en', label: 'English' },
              { value: 'ru', label: 'Русский' },
            ]}
          />
        </Field>
        <Field label={t('severity')}>
          <Select
            value={severity}
            onChange={(e) => setSeverity(e.target.value as Channel['severity'])}
            options={(['warning', 'critical'] as const).map((value) => ({
              value,
              label: t(`severity_${value}`),
            }))}
          />
        </Field>
        <fieldset className="flex flex-col gap-2">
          <legend className="pb-1 font-medium">{t('kinds')}</legend>
          <p className="text-small text-ink3">{t('kindsHelp')}</p>
          <div className="grid gap-x-4 gap-y-1 sm:grid-cols-2">
            {kinds.map((k) => (
              <Checkbox
                key={k}
                checked={chosen.includes(k)}
                onChange={(on) => choose(on ? [...chosen, k] : chosen.filter((x) => x !== k))}
              >
                {t(`kind_${k}`)}
              </Checkbox>
            ))}
          </div>
        </fieldset>
        <Switch checked={enabled} onChange={setEnabled}>
          {t('enabled')}
        </Switch>
        {wrong !== null && <ErrorBox error={wrong} />}
      </form>
    </Dialog>
  )
}

const number = (text: string) => (/^\d{1,9}$/.test(text.trim()) ? Number(text) : -1)

export function RuleForm({ rule, onClose }: { rule: Rule; onClose: () => void }) {
  const t = useT('adminalerts')
  const c = useT('common')
  const [enabled, setEnabled] = useState(rule.enabled)
  const [limit, setLimit] = useState(String(rule.limit ?? ''))
  const [minutes, setMinutes] = useState(String(rule.minutes ?? 5))
  const [calls, setCalls] = useState(String(rule.calls ?? ''))
  const done = async () => {
    await renew(getAlerts)
    toast(t('saved'))
    onClose()
  }
  const save = useAction(async () => {
    await put('/api/admin/alerts/rules/{id}', {
      path: { id: rule.kind },
      query: rule.version ? { version: rule.version } : {},
      body: {
        enabled,
        ...(rule.unit ? { limit: number(limit) } : {}),
        ...(rule.calls === null ? {} : { minutes: Number(minutes), calls: number(calls) }),
      },
    })
    await done()
  })
  const reset = useAction(async () => {
    await remove('/api/admin/alerts/rules/{id}', {
      path: { id: rule.kind },
      query: { version: rule.version },
    })
    await done()
  })
  const wrong = reset.error ?? save.except('limit', 'minutes', 'calls')
  return (
    <Dialog
      open
      onOpenChange={(o) => !o && onClose()}
      title={t(`kind_${rule.kind}`)}
      footer={
        <>
          {rule.changed && (
            <Button busy={reset.busy} onClick={() => reset.run()}>
              {t('reset')}
            </Button>
          )}
          <Button onClick={onClose}>{c('cancel')}</Button>
          <Button look="main" type="submit" form="alert-rule" busy={save.busy}>
            {t('save')}
          </Button>
        </>
      }
    >
      <form id="alert-rule" onSubmit={save.submit} noValidate className="flex flex-col gap-4">
        <Switch checked={enabled} onChange={setEnabled}>
          {t('on')}
        </Switch>
        {rule.unit && (
          <Field label={t(`unit_${rule.unit}`)} error={save.at('limit')}>
            <Input
              inputMode="numeric"
              value={limit}
              onChange={(e) => setLimit(e.target.value)}
              autoComplete="off"
            />
          </Field>
        )}
        {rule.calls !== null && (
          <>
            <Field label={t('calls')} error={save.at('calls')}>
              <Input
                inputMode="numeric"
                value={calls}
                onChange={(e) => setCalls(e.target.value)}
                autoComplete="off"
              />
            </Field>
            <Field label={t('minutes')} error={save.at('minutes')}>
              <Select
                value={minutes}
                onChange={(e) => setMinutes(e.target.value)}
                options={['5', '30'].map((value) => ({ value, label: value }))}
              />
            </Field>
          </>
        )}
        <p className="text-small text-ink3">{t('effectOn')}</p>
        {wrong !== null && <ErrorBox error={wrong} />}
      </form>
    </Dialog>
  )
}
