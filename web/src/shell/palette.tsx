import { useQuery } from '@tanstack/react-query'
import { Dialog as RadixDialog } from 'radix-ui'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { account, send } from '../api/client'
import { useMe } from '../api/query'
import { listKeys, listModels } from '../api/operations'
import { useT } from '../i18n'
import { hasPage } from '../routes/paths'
import { Icon, type IconName } from '../ui/icons'
import { useGo, useIsPage } from '../ui/link'
import { score } from '../ui/search'
import { sections } from '../pages/settings/parts'
import { places } from './admin-frame'
import { members, notices, settings, side, top } from './nav'
import { endTyped } from './typed'

interface Entry {
  key: string
  group: string
  icon: IconName
  title: string
  note?: string
  to: string
  search?: { [k: string]: string }
}

/** Models by name, for whoever asks first. */
async function modelNames(signal: AbortSignal): Promise<{ id: string; name: string }[]> {
  const page = (await (await send('get', '/v1/models', { signal, quiet: true })).json()) as {
    data: { id: string; name: string }[]
  }
  return page.data.map(({ id, name }) => ({ id, name }))
}
async function keyNames(signal: AbortSignal): Promise<{ hash: string; name: string }[]> {
  const page = (await (await send('get', '/api/v1/keys', { signal, quiet: true })).json()) as {
    data: { hash: string; name: string }[]
  }
  return page.data
}

const playgrounds = ['image', 'video', 'audio', 'embeddings'] as const

interface DocPage {
  path: string
  title: string
  about: string
  headings: [id: string, text: string][]
}
/** The pages of the documentation and their sections, for whoever asks first. */
async function docEntries(signal: AbortSignal): Promise<{ title: string; note: string; to: string }[]> {
  const answer = await fetch('/docs/pages.json', { signal })
  if (!answer.ok) throw new Error(answer.statusText)
  const pages = (await answer.json()) as DocPage[]
  return pages.flatMap((p) => [
    { title: p.title, note: p.about, to: p.path },
    ...(p.path.startsWith('/docs/reference/objects') ? [] : p.headings).map(([id, text]) => ({
      title: text,
      note: p.title,
      to: `${p.path}#${id}`,
    })),
  ])
}

/** ⌘K: models, pages, own keys, and whatever has an id. A list box under a text field (ARIA 1.2). */
export default function Palette({ onClose }: { onClose: () => void }) {
  const t = useT('common')
  const s = useT('settings')
  const a = useT('admin')
  const go = useGo()
  const isPage = useIsPage()
  const me = useMe()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const list = useRef<HTMLUListElement>(null)
  const models = useQuery({
    queryKey: listModels.key('names'),
    queryFn: ({ signal }) => modelNames(signal),
    staleTime: 300_000,
  }).data
  const keys = useQuery({
    queryKey: listKeys.key('names'),
    queryFn: ({ signal }) => keyNames(signal),
    enabled: Boolean(me?.user) && hasPage('/keys/$hash'),
    staleTime: 60_000,
  }).data
  const docs = useQuery({
    queryKey: ['docs'],
    queryFn: ({ signal }) => docEntries(signal),
    enabled: Boolean(me?.features.docs),
    staleTime: Infinity,
    retry: false,
  }).data
  const found = useMemo(() => {
    const q = text.trim()
    const out: Entry[] = []
    if (me?.user && /^(gen|chatcmpl|msg|resp|call|req|vj|video|emb|img|tr|rr)[-_][\w-]{6,}$/.test(q)) {
      if (/^(vj|video)[-_]/.test(q) && isPage(`/jobs/${q}`))
        out.push({
          key: 'id',
          group: t('paletteOpen'),
          icon: 'video',
          title: t('paletteJob', { id: q }),
          to: `/jobs/${q}`,
        })
      else if (/^req[-_]/.test(q) && hasPage('/calls'))
        out.push({
          key: 'id',
          group: t('paletteOpen'),
          icon: 'route',
          title: t('paletteRequest', { id: q }),
          to: '/calls',
          search: { id: q },
        })
      else if (isPage(`/calls/${q}`))
        out.push({
          key: 'id',
          group: t('paletteOpen'),
          icon: 'route',
          title: t('paletteCall', { id: q }),
          to: `/calls/${q}`,
        })
    }
    const ranked = <R,>(rows: readonly R[], words: (r: R) => string[], n: number) =>
      rows
        .map((r) => ({ r, s: q ? score(q, words(r)) : 1 }))
        .filter((x) => x.s > 0)
        .sort((a, b) => b.s - a.s)
        .slice(0, n)
        .map((x) => x.r)
    const mine = me?.user ? [...side, ...(account === null ? [] : [members]), settings] : []
    const pages: Omit<Entry, 'key' | 'group'>[] = [...top, ...mine]
      .filter((p) => hasPage(p.to))
      .map((p) => ({ title: t(p.label), to: p.to, icon: p.icon }))
    // What lies a step deeper is found by name, and not listed before.
    const deeper: typeof pages = []
    if (me?.user) {
      for (const at of sections)
        deeper.push({ title: s(at), note: s('title'), to: `/settings/${at}`, icon: 'gear' })
      if (me.features.notices) deeper.push({ title: t(notices.label), to: notices.to, icon: notices.icon })
      deeper.push({ title: t('compare'), to: '/models/compare', icon: 'box' })
      for (const at of playgrounds)
        deeper.push({ title: t(`play_${at}`), note: t('playground'), to: `/playground/${at}`, icon: 'play' })
    }
    if (me?.operator)
      for (const p of places) deeper.push({ title: a(p.label), note: t('console'), to: p.to, icon: p.icon })
    const acts: typeof pages = !me?.user
      ? []
      : [
          { title: t('actKey'), to: '/keys', icon: 'key', search: { new: '1' } },
          { title: t('actTopUp'), to: '/money/top-up', icon: 'wallet' },
          { title: t('actPreset'), to: '/presets', icon: 'sliders' },
        ]
    if (me?.features.docs) pages.push({ title: t('docs'), to: '/docs', icon: 'book' })
    if (me?.features.rankings && hasPage('/rankings'))
      pages.push({ title: t('rankings'), to: '/rankings', icon: 'chart' })
    if (hasPage('/status')) pages.push({ title: t('status'), to: '/status', icon: 'pulse' })
    for (const p of ranked(acts, (x) => [x.title, x.to], 3))
      out.push({ key: p.to, group: t('paletteActs'), ...p })
    const all = q ? [...pages, ...deeper.filter((p) => hasPage(p.to))] : pages
    for (const p of ranked(all, (x) => [x.title, x.to, x.note ?? ''], q ? 6 : 12))
      out.push({ key: p.to, group: t('palettePages'), ...p })
    for (const m of ranked(models ?? [], (x) => [x.id, x.name], q ? 12 : 5))
      out.push({
        key: m.id,
        group: t('paletteModels'),
        icon: 'box',
        title: m.name,
        note: m.id,
        to: isPage(`/models/${m.id}`) ? `/models/${m.id}` : '/models',
        ...(isPage(`/models/${m.id}`) ? {} : { search: { q: m.id } }),
      })
    for (const k of q ? ranked(keys ?? [], (x) => [x.name], 5) : [])
      out.push({ key: k.hash, group: t('paletteKeys'), icon: 'key', title: k.name, to: `/keys/${k.hash}` })
    for (const d of q ? ranked(docs ?? [], (x) => [x.title, x.note], 6) : [])
      out.push({ key: d.to, group: t('paletteDocs'), icon: 'book', title: d.title, note: d.note, to: d.to })
    if (q && me?.features.docs)
      out.push({
        key: 'search-docs',
        group: t('paletteDocs'),
        icon: 'search',
        title: t('paletteSearchDocs', { text: q }),
        to: `/docs/search?q=${encodeURIComponent(q.slice(0, 90))}`,
      })
    return out
  }, [text, models, keys, docs, me, t, s, a, isPage])
  // What was typed while this window was still loading is in the field before the next key comes.
  const field = useCallback((e: HTMLInputElement | null) => {
    if (!e) return
    e.focus()
    const typed = endTyped()
    if (typed) setText((now) => now + typed)
  }, [])
  useEffect(() => {
    setAt(0)
  }, [text])
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [at, found])
  const open = (e: Entry | undefined) => {
    if (!e) return
    onClose()
    if (isPage(e.to)) go(e.to, e.search ? { search: e.search } : {})
    else window.location.assign(e.to)
  }
  return (
    <RadixDialog.Root
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
    >
      <RadixDialog.Portal>
        <RadixDialog.Overlay className="fixed inset-0 z-40 animate-appear bg-veil" />
        <RadixDialog.Content
          aria-describedby={undefined}
          className={
            'fixed top-[12vh] left-1/2 z-40 flex max-h-[70vh] w-[600px] max-w-[calc(100vw-24px)] ' +
            '-translate-x-1/2 animate-appear flex-col overflow-hidden rounded-float border ' +
            'border-line bg-surface shadow-float focus:outline-none max-md:top-3'
          }
        >
          <RadixDialog.Title className="sr-only">{t('find')}</RadixDialog.Title>
          <label className="flex items-center gap-3 border-b border-line px-4">
            <Icon name="search" className="text-ink3" />
            <span className="sr-only">{t('find')}</span>
            <input
              ref={field}
              value={text}
              onChange={(e) => setText(e.target.value)}
              placeholder={t('find')}
              role="combobox"
              aria-expanded
              aria-controls="palette-list"
              aria-autocomplete="list"
              aria-activedescendant={found[at] ? `palette-${at}` : undefined}
              autoComplete="off"
              spellCheck={false}
              className="h-12 min-w-0 flex-1 bg-transparent text-[16px] outline-none"
              onKeyDown={(e) => {
                const last = found.length - 1
                if (e.key === 'ArrowDown') {
                  e.preventDefault()
                  setAt(at >= last ? 0 : at + 1)
                } else if (e.key === 'ArrowUp') {
                  e.preventDefault()
                  setAt(at <= 0 ? last : at - 1)
                } else if (e.key === 'Enter') {
                  e.preventDefault()
                  open(found[at])
                }
              }}
            />
          </label>
          <ul
            ref={list}
            id="palette-list"
            role="listbox"
            aria-label={t('find')}
            className="m-0 min-h-0 flex-1 list-none overflow-y-auto p-1.5"
          >
            {found.map((e, i) => [
              found[i - 1]?.group !== e.group && (
                <li
                  key={`group ${e.group}`}
                  role="presentation"
                  className="px-3 pt-2.5 pb-1 text-label font-medium text-ink3"
                >
                  {e.group}
                </li>
              ),
              <li
                key={`${e.group} ${e.key}`}
                id={`palette-${i}`}
                role="option"
                aria-selected={i === at}
                onMouseMove={() => setAt(i)}
                onClick={() => open(e)}
                className="flex min-h-9 items-center gap-3 rounded-control px-3 aria-selected:bg-sunken max-md:min-h-11"
              >
                <Icon name={e.icon} className="text-ink3" />
                <span className="min-w-0 truncate">{e.title}</span>
                {e.note && <code className="min-w-0 flex-1 truncate text-right text-ink3">{e.note}</code>}
              </li>,
            ])}
          </ul>
          {found.length === 0 && <p className="px-4 pb-5 text-center text-ink2">{t('paletteEmpty')}</p>}
          <p className="border-t border-line px-4 py-2 text-label text-ink3 max-md:hidden">
            {t('paletteHelp')}
          </p>
          <span role="status" className="sr-only">
            {text ? t('paletteResults', { n: found.length }) : ''}
          </span>
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  )
}
