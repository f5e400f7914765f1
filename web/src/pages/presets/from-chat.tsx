/** Where there is no preset: the last chat of the playground as one. A chunk of its own, with the playground's history and its words. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { LinkButton, useGo } from '../../ui/link'
import { listAll, readChat } from '../playground/history'
import { unset } from '../playground/stream'
import { nameFrom } from './data'
import SavePreset from './save'
import { listChats } from '../../api/operations'

export default function FromChat({ person }: { person: string }) {
  const t = useT('presets')
  const go = useGo()
  const [open, setOpen] = useState(false)
  const { data } = useQuery({
    queryKey: listChats.key('last', person),
    staleTime: 0,
    gcTime: 0,
    retry: false,
    queryFn: async () => {
      const last = (await listAll(person))[0]
      const chat = last ? (await readChat(person, last.id))?.chat : null
      return last && chat
        ? { title: last.title, model: chat.models[0] ?? '', settings: { ...unset, ...chat.settings } }
        : null
    },
  })
  if (data === undefined) return null
  if (data === null)
    return (
      <LinkButton to="/playground" icon="play">
        {t('toPlayground')}
      </LinkButton>
    )
  return (
    <>
      <Button icon="sliders" onClick={() => setOpen(true)}>
        {t('fromChat')}
      </Button>
      <p className="basis-full text-small text-ink3">
        {t.rich('fromChatOf', {
          title: (
            <span key="t" translate="no" dir="auto" className="text-ink2">
              {data.title.slice(0, 60)}
            </span>
          ),
          model: (
            <span key="m" translate="no" className="text-ink2">
              {data.model}
            </span>
          ),
        })}
      </p>
      {open && (
        <SavePreset
          model={data.model}
          settings={data.settings}
          suggested={nameFrom(data.title)}
          onSaved={(name) => go(`/presets/${name}`)}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}
