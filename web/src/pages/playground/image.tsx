import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api/client'
import type { Me } from '../../api/query'
import { listProviders } from '../../api/operations'
import { decimal, duration, money, perToken, plain, price, times } from '../../format'
import { useT } from '../../i18n'
import { useDraft } from '../../ui/draft'
import { Button } from '../../ui/button'
import { Empty } from '../../ui/feedback'
import { Field, Input, Select } from '../../ui/field'
import type { Model } from '../catalog/filter'
import { blobOf, picturesOf } from './attach'
import { Files, Picture, useBlob } from './attachments'
import { Composer } from './composer'
import { keepMade, noteCost } from './made'
import { Frame, Ready } from './modes'
import { Sum } from './panel'
import { settled, spent } from './settle'
import { EventReader, costOf, type Attachment } from './stream'
import {
  CodeOf,
  Failed,
  Foot,
  KeptNote,
  ModelField,
  asFailure,
  kept,
  oneOf,
  useAsked,
  useKept,
  useModel,
  work,
  type Work,
} from './works'

interface Made extends Work {
  readonly prompt: string
  readonly body: Body
  readonly references: readonly Attachment[]
  readonly images: readonly string[] /** A preview of the one that is being made */
  readonly preview: string | null
  readonly count: number
}
interface Settings {
  readonly size: string
  readonly quality: string
  readonly count: string
  readonly format: string
  readonly background: string
}
type Body = { readonly model: string; readonly prompt: string; readonly [name: string]: unknown }
const unset: Settings = { size: '', quality: '', count: '', format: '', background: '' }
const sizes = ['1024x1024', '1536x1024', '1024x1536', '1K', '2K', '4K'] as const
const qualities = ['low', 'medium', 'high'] as const
const fileForms = ['png', 'jpeg', 'webp', 'svg'] as const
const kinds = ['image'] as const
const controls = new Map<string, AbortController>()

export default function ImagePage() {
  return (
    <Ready mode="image" fits={(m) => m.type === 'image'}>
      {(me, models) => <Images key={me.user!.id} me={me} models={models} />}
    </Ready>
  )
}

function Images({ me, models }: { me: Me; models: readonly Model[] }) {
  const t = useT('media'),
    p = useT('playground')
  const person = me.user!.id
  const [works, change] = useKept<readonly Made[]>(`${person} image`, [])
  const [s, setS] = useKept<Settings>(`${person} image settings`, unset)
  const [model, choose] = useModel('image', models)
  useAsked((a) => {
    if (a.models)
      setS(() => ({
        size: oneOf(a.size, sizes, ''),
        quality: oneOf(a.quality, qualities, ''),
        count: /^(10|[1-9])$/.test(a.n ?? '') ? a.n! : '',
        format: oneOf(a.format, fileForms, ''),
        background: oneOf(a.background, ['transparent', 'opaque'], ''),
      }))
  })
  const [draft, setDraft] = useDraft('image', '', { quiet: true })
  const [files, setFiles] = useState<readonly Attachment[]>([])
  const [sheet, setSheet] = useState(false)
  const [code, setCode] = useState(false)
  const { data: offers } = useQuery({
    ...listProviders({
      path: { vendor: model.id.split('/')[0]!, model: model.id.split('/').slice(1).join('/') },
      quiet: true,
    }),
    staleTime: 300_000,
  })
  const n = s.count.trim() === '' ? 1 : Number(s.count)
  const badCount = !Number.isInteger(n) || n < 1 || n > 10
  const unable =
    files.length > 0 && !model.ins.includes('image') ? p('lacks_image', { name: model.name }) : null
  const why = unable ?? (badCount ? p('badSetting') : null)
  const running = works.some((w) => w.state === 'running')
  const ready = draft.trim() !== '' && why === null && works.filter((w) => w.state === 'running').length < 4
  const body = (prompt: string, references: readonly Attachment[]): Body => ({
    model: model.id,
    prompt,
    ...(s.size ? { size: s.size } : {}),
    ...(s.quality ? { quality: s.quality } : {}),
    ...(n > 1 ? { n } : {}),
    ...(s.format ? { output_format: s.format } : {}),
    ...(s.background ? { background: s.background } : {}),
    ...(references.length ? { images: references.map((f) => ({ image_url: f.data })) } : {}),
  })
  const run = async (body: Body, references: readonly Attachment[]) => {
    const w: Made = {
      ...work(body.model),
      prompt: body.prompt,
      body,
      references,
      images: [],
      preview: null,
      count: typeof body.n === 'number' ? body.n : 1,
    }
    const at = (f: (w: Made) => Partial<Made>) =>
      change((all) => all.map((x) => (x.id === w.id ? { ...x, ...f(x) } : x)))
    const control = new AbortController()
    controls.set(w.id, control)
    change((all) => [w, ...all].slice(0, 30))
    let call: string | null = null,
      cost: string | null = null
    const images: string[] = []
    let end: Partial<Made>
    try {
      const response = await send(
        'post',
        references.length ? '/api/v1/images/edits' : '/api/v1/images/generations',
        {
          body: { ...body, stream: true, partial_images: 2 },
          signal: control.signal,
          headers: { Accept: 'text/event-stream' },
        },
      )
      call = response.headers.get('x-generation-id')
      at(() => ({ call }))
      const reader = response.body!.getReader()
      const events = new EventReader()
      let ended = false
      for (;;) {
        const { value, done } = await reader.read()
        if (done) break
        for (const data of events.push(value)) {
          if (data === '[DONE]') {
            ended = true
            continue
          }
          const frame = JSON.parse(data) as {
            type?: string
            b64_json?: string
            media_type?: string
            output_format?: string
            error?: {
              message?: string
              code?: number
              metadata?: { error_type?: string; request_id?: string }
            }
          }
          if (frame.error)
            throw Object.assign(asFailure(null), {
              type: frame.error.metadata?.error_type ?? 'server',
              message: frame.error.message ?? '',
              status: frame.error.code ?? 0,
              requestId: frame.error.metadata?.request_id ?? null,
            })
          const format = /^\w+$/.test(frame.output_format ?? '') ? frame.output_format : 'png'
          const type = /^image\/[\w+.-]+$/.test(frame.media_type ?? '') ? frame.media_type : `image/${format}`
          const image = frame.b64_json ? `data:${type};base64,${frame.b64_json}` : null
          if (image && frame.type?.endsWith('.partial_image')) at(() => ({ preview: image }))
          else if (image) {
            images.push(image)
            at(() => ({ images: [...images], preview: null }))
          }
          cost = costOf(data) ?? cost
        }
      }
      if (!ended) throw asFailure(null)
      end = { state: 'done', cost, took: Date.now() - w.at }
    } catch (e) {
      end = control.signal.aborted ? { state: 'stopped' } : { state: 'failed', error: asFailure(e) }
    }
    controls.delete(w.id)
    // What is said to be done may be left.
    if (images.length > 0)
      kept(
        await keepMade(w.id, picturesOf(images), {
          kind: 'image',
          model: body.model,
          prompt: body.prompt,
          call,
          cost,
          from: references.length,
          settings: settingsOf(body),
          chat: null,
        }),
      )
    at(() => ({ ...end, preview: null }))
    if (cost === null && call) {
      cost = await settled(call)
      at(() => ({ cost }))
      if (cost !== null) void noteCost(call, cost)
    } else spent()
  }
  const submit = () => {
    if (!ready) return
    void run(body(draft, files), files)
    setDraft('')
    setFiles([])
  }
  const before = estimate(
    t,
    model,
    n,
    offers?.providers[0]?.pricing.base as { readonly [name: string]: string } | undefined,
  )
  const set = (change: Partial<Settings>) => setS((x) => ({ ...x, ...change }))
  const settings = (
    <div className="flex flex-col gap-4">
      <Sum title={t('session')} costs={works.flatMap((w) => w.cost ?? [])} />
      <ModelField
        models={models}
        model={model}
        onModel={choose}
        mark={(m) => (files.length && !m.ins.includes('image') ? p('no_image') : null)}
      />
      <Field label={t('size')}>
        <Select
          value={s.size}
          onChange={(e) => set({ size: e.target.value })}
          options={[
            { value: '', label: p('byDefault') },
            ...sizes.map((v) => ({ value: v, label: v.replace('x', ' × ') })),
          ]}
        />
      </Field>
      <Field label={t('quality')}>
        <Select
          value={s.quality}
          onChange={(e) => set({ quality: e.target.value })}
          options={(['', ...qualities] as const).map((v) => ({
            value: v,
            label: v ? t(`quality_${v}`) : p('byDefault'),
          }))}
        />
      </Field>
      <Field label={t('count')} error={badCount && t('badCount')}>
        <Input
          inputMode="numeric"
          value={s.count}
          placeholder="1"
          onChange={(e) => set({ count: e.target.value })}
        />
      </Field>
      <Field label={t('fileFormat')}>
        <Select
          value={s.format}
          onChange={(e) => set({ format: e.target.value })}
          options={['', ...fileForms].map((v) => ({ value: v, label: v ? v.toUpperCase() : p('byDefault') }))}
        />
      </Field>
      <Field label={t('background')}>
        <Select
          value={s.background}
          onChange={(e) => set({ background: e.target.value })}
          options={(['', 'transparent', 'opaque'] as const).map((v) => ({
            value: v,
            label: v ? t(`background_${v}`) : p('byDefault'),
          }))}
        />
      </Field>
      <p className="text-small text-ink3">{p('onlySet')}</p>
      <div className="border-t border-line pt-4">
        <Button
          small
          icon="json"
          onClick={() => {
            setSheet(false)
            setCode(true)
          }}
        >
          {p('showCode')}
        </Button>
      </div>
      <KeptNote me={me}>{t('keptImages')}</KeptNote>
    </div>
  )
  return (
    <Frame
      mode="image"
      settings={settings}
      open={sheet}
      onOpen={setSheet}
      foot={
        <Composer
          draft={draft}
          onDraft={setDraft}
          files={files}
          onFiles={setFiles}
          kinds={kinds}
          placeholder={files.length ? t('imageEdit') : t('imagePrompt')}
          busy={false}
          ready={ready}
          why={why}
          verb={t('make')}
          onSubmit={submit}
          onStop={() => {}}
          onLast={() => {
            if (works[0]) setDraft(works[0].prompt)
          }}
          right={<span className="pr-2 text-small text-ink3 tabular-nums">{before}</span>}
        />
      }
    >
      <div
        className="min-h-0 flex-1 overflow-y-auto px-4 py-4 md:px-5"
        tabIndex={0}
        role="region"
        aria-label={t('made')}
      >
        <span role="status" className="sr-only">
          {running ? t('making') : ''}
        </span>
        {works.length === 0 && (
          <Empty icon="image" title={t('noImages')}>
            {t('noImagesText')}
          </Empty>
        )}
        {works.map((w) => (
          <article key={w.id} className="mb-4 rounded-panel border border-line bg-surface p-4">
            <p dir="auto" translate="no" className="text-answer break-words whitespace-pre-wrap">
              {w.prompt}
            </p>
            {w.references.length > 0 && (
              <div className="pt-2">
                <Files files={w.references} />
              </div>
            )}
            <div className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,220px),1fr))] gap-x-4">
              {w.images.map((data, i) => (
                <Picture key={i} data={data} n={i + 1} alt={w.prompt.slice(0, 200)} name="weir">
                  {model.ins.includes('image') && (
                    <Button
                      small
                      look="quiet"
                      icon="edit"
                      onClick={() => setFiles((f) => [...f, asFile(data, i, w.id)].slice(-16))}
                    >
                      {t('useIt')}
                    </Button>
                  )}
                </Picture>
              ))}
              {w.preview && <Preview data={w.preview} label={t('preview')} />}
              {w.state === 'running' && !w.preview && (
                <div
                  role="img"
                  aria-label={t('making')}
                  className="my-2 grid aspect-square place-items-center rounded-panel border border-dashed border-line2 text-small text-ink3"
                >
                  {t('making')}
                </div>
              )}
            </div>
            <Failed w={w} onRetry={() => void run(w.body, w.references)} />
            <Foot w={w} name={models.find((m) => m.id === w.model)?.name ?? w.model}>
              {w.took !== null && <span>{duration(w.took)}</span>}
              {w.state === 'running' ? (
                <Button small look="bad" icon="stop" onClick={() => controls.get(w.id)?.abort()}>
                  {p('stop')}
                </Button>
              ) : (
                w.state === 'done' && (
                  <Button small look="quiet" icon="refresh" onClick={() => void run(w.body, w.references)}>
                    {p('again')}
                  </Button>
                )
              )}
            </Foot>
          </article>
        ))}
      </div>
      {code && (
        <CodeOf
          onClose={() => setCode(false)}
          of={{
            kind: files.length ? 'edit' : 'image',
            body: body(draft.trim() || works[0]?.prompt || 'A heron in a river', files),
          }}
        />
      )}
    </Frame>
  )
}
/** As the address of this page has them. */
const settingsOf = (b: Body) => {
  const { size, quality, n, output_format: format, background } = b
  return Object.fromEntries(
    Object.entries({ size, quality, n, format, background }).flatMap(([k, v]) =>
      v === undefined ? [] : [[k, String(v)]],
    ),
  )
}
function Preview({ data, label }: { data: string; label: string }) {
  const url = useBlob(data)
  return url ? (
    <figure className="m-0 py-2">
      <img
        src={url}
        alt={label}
        className="max-h-[420px] max-w-full rounded-panel border border-line object-contain opacity-80"
      />
      <figcaption className="pt-1 text-small text-ink3">{label}</figcaption>
    </figure>
  ) : null
}
const asFile = (data: string, i: number, id: string): Attachment => ({
  id: `${id} ${i} ${Date.now()}`,
  kind: 'image',
  name: `picture-${i + 1}`,
  size: blobOf(data).size,
  data,
})
/** What it will cost as far as that is known before. */
function estimate(
  t: ReturnType<typeof useT<'media'>>,
  m: Model,
  n: number,
  base: { readonly [name: string]: string } | undefined,
): string {
  const each = decimal(m.each ?? null)
  if (m.unit === 'image' && each)
    return t('fromPrice', { amount: money(plain(times(each, Number.isInteger(n) && n > 0 ? n : 1))) })
  if (m.unit === 'megapixel' && each) return t('megapixel', { amount: money(plain(each)) })
  const token = base?.image_output_tokens_per_1k
  return token ? t('byToken', { price: price(perToken(token), '1k') }) : ''
}
