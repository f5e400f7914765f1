/** Over the playground: its settings become a preset. */
import { useAction } from '../../api/action'
import { useState } from 'react'
import { ApiError, get, post, put } from '../../api/client'
import { explain, said } from '../../api/explain'
import { listPresets } from '../../api/operations'
import { renew } from '../../api/query'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Field, Input } from '../../ui/field'
import { useGo } from '../../ui/link'
import { Dialog } from '../../ui/overlay'
import { toast } from '../../ui/toast'
import type { Settings } from '../playground/stream'
import { goodName, saidBy } from './data'

/** `onSaved` instead of the message that it is saved. */
export default function SavePreset({
  model,
  settings,
  suggested = '',
  onSaved,
  onClose,
}: {
  model: string
  settings: Settings
  suggested?: string
  onSaved?: (name: string) => void
  onClose: () => void
}) {
  const t = useT('playground')
  const go = useGo()
  const [name, setName] = useState(suggested)
  const save = useAction(async () => {
    if (!goodName(name)) return
    const body = saidBy({ model, settings, parameters: '', provider: '', plugins: '' })
    if (taken)
      await put('/api/presets/{name}', {
        path: { name },
        body: {
          ...body,
          description: (await get('/api/presets/{name}', { path: { name } })).data.description,
        },
      })
    else await post('/api/presets', { body: { name, ...body } })
    await renew(listPresets)
    onClose()
    if (onSaved) onSaved(name)
    else toast(t('presetSaved', { name }), { label: t('presetOpen'), run: () => go(`/presets/${name}`) })
  })
  const { error } = save
  const taken = error instanceof ApiError && error.status === 409
  const wrong =
    name !== '' && !goodName(name)
      ? t('presetNameHelp')
      : taken
        ? t('presetTaken')
        : error !== null
          ? error instanceof ApiError && error.field
            ? said(error)
            : explain(error)
          : undefined
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('savePreset')}
      description={t('savePresetText')}
      footer={
        <Button look="main" type="submit" form="preset-form" busy={save.busy} disabled={!goodName(name)}>
          {t(taken ? 'presetNext' : 'presetSave')}
        </Button>
      }
    >
      <form id="preset-form" onSubmit={save.submit} className="pt-2">
        <Field label={t('presetName')} help={t('presetNameHelp')} error={wrong}>
          <Input
            value={name}
            maxLength={64}
            spellCheck={false}
            autoComplete="off"
            onChange={(e) => {
              setName(e.target.value)
              save.clear()
            }}
          />
        </Field>
      </form>
    </Dialog>
  )
}
