import { useEffect, useId, useRef, useState } from 'react'
import { send } from '../../api/client'
import type { Me } from '../../api/query'
import {
  ZERO,
  add,
  bytes,
  clock,
  decimal,
  divide,
  duration,
  money,
  multiply,
  perToken,
  plain,
  times,
} from '../../format'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Segmented } from '../../ui/controls'
import { Copy } from '../../ui/copy'
import { Empty } from '../../ui/feedback'
import { Field, Input, Select, Textarea } from '../../ui/field'
import { useDraft } from '../../ui/draft'
import { Icon } from '../../ui/icons'
import type { Model } from '../catalog/filter'
import { save, shownName } from './attach'
import { Recorder } from './composer'
import { keepMade, noteCost } from './made'
import { Frame, Ready } from './modes'
import { Sum } from './panel'
import { settled, spent } from './settle'
import { bytesOf, costOf, guess } from './stream'
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

interface Segment {
  readonly start: number
  readonly end: number
  readonly text: string
  readonly speaker: string | null
}
interface Heard extends Work {
  readonly kind: 'heard'
  readonly file: File
  readonly text: string
  readonly segments: readonly Segment[]
}
interface Spoken extends Work {
  readonly kind: 'spoken'
  readonly input: string
  readonly sound: Blob | null
  readonly format: string
}
type Sound = Heard | Spoken
const forms = ['json', 'verbose_json', 'diarized_json', 'srt', 'vtt'] as const
const formats = ['mp3', 'opus', 'aac', 'flac', 'wav'] as const
const voices = [
  'alloy',
  'ash',
  'ballad',
  'coral',
  'echo',
  'fable',
  'nova',
  'onyx',
  'sage',
  'shimmer',
  'verse',
]
/** Bytes of the longest recording that the gateway takes. */
const mostSound = 26_214_400
const soundLimits = { longest: 1_500_000, largest: mostSound }
const hears = (m: Model) => m.type === 'audio_transcription',
  speaks = (m: Model) => m.type === 'audio_speech'

export default function AudioPage() {
  return (
    <Ready mode="audio" fits={(m) => hears(m) || speaks(m)}>
      {(me, models) => <Sounds key={me.user!.id} me={me} models={models} />}
    </Ready>
  )
}

function Sounds({ me, models }: { me: Me; models: readonly Model[] }) {
  const t = useT('media'),
    p = useT('playground')
  const person = me.user!.id
  const listeners = models.filter(hears),
    speakers = models.filter(speaks)
  const [wanted, want] = useKept<'heard' | 'spoken'>(`${person} audio way`, 'heard')
  const way = listeners.length === 0 ? 'spoken' : speakers.length === 0 ? 'heard' : wanted
  const [works, change] = useKept<readonly Sound[]>(`${person} audio`, [])
  const [listener, chooseListener] = useModel('heard', listeners.length ? listeners : models)
  const [speaker, chooseSpeaker] = useModel('spoken', speakers.length ? speakers : models)
  const [s, setS] = useKept(`${person} audio settings`, {
    form: 'json',
    language: '',
    hint: '',
    voice: 'alloy',
    format: 'mp3',
    speed: '',
  })
  useAsked((a) => {
    const m = models.find((x) => x.id === a.models)
    if (!m) return
    want(() => (speaks(m) ? 'spoken' : 'heard'))
    setS((x) =>
      speaks(m)
        ? {
            ...x,
            voice: (a.voice ?? x.voice).slice(0, 200),
            format: oneOf(a.format, formats, x.format),
            speed: (a.speed ?? '').slice(0, 8),
          }
        : { ...x, form: oneOf(a.format, forms, x.form) },
    )
  })
  const [file, setFile] = useState<File | null>(null)
  const [refused, refuse] = useState<string | null>(null)
  const [input, setInput] = useDraft('speech', '', { quiet: true })
  const [sheet, setSheet] = useState(false)
  const [code, setCode] = useState(false)
  const speed = s.speed.trim() === '' ? null : Number(s.speed.replace(',', '.'))
  const badSpeed = speed !== null && !(speed >= 0.25 && speed <= 4)
  const set = (c: Partial<typeof s>) => setS((x) => ({ ...x, ...c }))
  const take = (f: File | undefined) => {
    if (!f) return
    const name = shownName(f.name)
    const wrong =
      !/^(audio\/|video\/(mp4|webm|mpeg))/.test(f.type) &&
      !/\.(mp3|mp4|mpeg|mpga|m4a|wav|webm|ogg|oga|opus|flac)$/i.test(f.name)
        ? t('noSound', { name })
        : f.size === 0
          ? p('fileEmpty', { name })
          : f.size > mostSound
            ? t('soundLarge', { name })
            : null
    refuse(wrong)
    if (!wrong) setFile(f)
  }
  const update = (id: string, c: Partial<Heard> | Partial<Spoken>) =>
    change((all) => all.map((x) => (x.id === id ? ({ ...x, ...c } as Sound) : x)))
  const finish = async (id: string, call: string | null, cost: string | null) => {
    if (cost === null && call) {
      const found = await settled(call)
      update(id, { cost: found })
      if (found !== null) void noteCost(call, found)
    } else {
      update(id, { cost })
      spent()
    }
  }

  const listen = async (f: File, model: string, form: string, language: string, hint: string) => {
    const w: Heard = { ...work(model), kind: 'heard', file: f, text: '', segments: [] }
    change((all) => [w, ...all].slice(0, 30))
    let call: string | null = null
    try {
      const body = new FormData()
      body.append('model', model)
      body.append('response_format', form)
      if (language.trim()) body.append('language', language.trim())
      if (hint.trim()) body.append('prompt', hint)
      if (form === 'diarized_json') body.append('chunking_strategy', 'auto')
      body.append('file', f)
      const response = await send('post', '/api/v1/audio/transcriptions', { body })
      call = response.headers.get('x-generation-id')
      update(w.id, { call })
      const said = await response.text()
      const json =
        form === 'srt' || form === 'vtt'
          ? null
          : (JSON.parse(said) as {
              text?: unknown
              segments?: { start?: unknown; end?: unknown; text?: unknown; speaker?: unknown }[]
            })
      const segments = (json?.segments ?? []).slice(0, 20_000).flatMap((x) =>
        typeof x.start === 'number' && typeof x.text === 'string'
          ? [
              {
                start: x.start,
                end: typeof x.end === 'number' ? x.end : x.start,
                text: x.text.trim(),
                speaker: typeof x.speaker === 'string' ? x.speaker : null,
              },
            ]
          : [],
      )
      update(w.id, {
        state: 'done',
        text: json ? String(json.text ?? '') : said,
        segments,
        took: Date.now() - w.at,
      })
      await finish(w.id, call, json ? costOf(said) : null)
    } catch (e) {
      update(w.id, { state: 'failed', error: asFailure(e) })
      await finish(w.id, call, null)
    }
  }
  const speak = async (model: string, text: string, format: string) => {
    const w: Spoken = { ...work(model), kind: 'spoken', input: text, sound: null, format }
    change((all) => [w, ...all].slice(0, 30))
    let call: string | null = null
    try {
      const response = await send('post', '/api/v1/audio/speech', {
        body: speech(model, text, format),
        headers: { Accept: '*/*' },
      })
      call = response.headers.get('x-generation-id')
      update(w.id, { call })
      const sound = await response.blob()
      const took = Date.now() - w.at
      kept(
        await keepMade(w.id, [sound], {
          kind: 'audio',
          model,
          prompt: text,
          call,
          cost: null,
          from: 0,
          settings: {
            voice: s.voice.trim() || 'alloy',
            format,
            ...(s.speed.trim() ? { speed: s.speed } : {}),
          },
          chat: null,
        }),
      )
      update(w.id, { sound, state: 'done', took })
    } catch (e) {
      update(w.id, { state: 'failed', error: asFailure(e) })
    }
    await finish(w.id, call, null)
  }
  const speech = (model: string, text: string, format: string) => ({
    model,
    input: text,
    voice: s.voice.trim() || 'alloy',
    response_format: format,
    ...(speed === null || badSpeed ? {} : { speed }),
  })
  const busy = works.some((w) => w.state === 'running')
  const model = way === 'heard' ? listener : speaker
  const before = way === 'spoken' && input ? speechCost(speaker, input) : null
  const voiceList = useId()
  const settings = (
    <div className="flex flex-col gap-4">
      <Sum title={t('session')} costs={works.flatMap((w) => w.cost ?? [])} />
      {listeners.length > 0 && speakers.length > 0 && (
        <Segmented
          wide
          label={t('way')}
          value={way}
          onChange={(v) => want(() => v)}
          options={[
            { value: 'heard', label: t('heard') },
            { value: 'spoken', label: t('spoken') },
          ]}
        />
      )}
      <ModelField
        models={way === 'heard' ? listeners : speakers}
        model={model}
        onModel={way === 'heard' ? chooseListener : chooseSpeaker}
      />
      {way === 'heard' ? (
        <>
          <Field label={t('form')} help={t('formHelp')}>
            <Select
              value={s.form}
              onChange={(e) => set({ form: e.target.value })}
              options={forms.map((v) => ({ value: v, label: t(`form_${v}`) }))}
            />
          </Field>
          <Field label={t('spokenLanguage')} help={t('languageHelp')}>
            <Input
              value={s.language}
              maxLength={16}
              placeholder={p('byDefault')}
              onChange={(e) => set({ language: e.target.value })}
            />
          </Field>
          <Field label={t('hint')} help={t('hintHelp')}>
            <Textarea rows={2} value={s.hint} dir="auto" onChange={(e) => set({ hint: e.target.value })} />
          </Field>
          <p className="text-small text-ink3">
            {listener.unit === 'minute' && listener.each
              ? t('perMinute', { amount: money(listener.each) })
              : listener.in !== null
                ? t('perAudioToken', { amount: money(listener.in) })
                : ''}
          </p>
        </>
      ) : (
        <>
          <Field label={t('voice')} help={t('voiceHelp')}>
            <Input
              value={s.voice}
              list={voiceList}
              maxLength={200}
              onChange={(e) => set({ voice: e.target.value })}
            />
          </Field>
          <datalist id={voiceList}>
            {voices.map((v) => (
              <option key={v} value={v} />
            ))}
          </datalist>
          <Field label={t('fileFormat')}>
            <Select
              value={s.format}
              onChange={(e) => set({ format: e.target.value })}
              options={formats.map((v) => ({ value: v, label: v.toUpperCase() }))}
            />
          </Field>
          <Field label={t('speed')} error={badSpeed && t('badSpeed')}>
            <Input
              inputMode="decimal"
              value={s.speed}
              placeholder="1"
              onChange={(e) => set({ speed: e.target.value })}
            />
          </Field>
        </>
      )}
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
      <KeptNote me={me}>{t('keptSpeech')}</KeptNote>
    </div>
  )
  const picker = useRef<HTMLInputElement>(null)
  return (
    <Frame
      mode="audio"
      settings={settings}
      open={sheet}
      onOpen={setSheet}
      foot={
        way === 'heard' ? (
          <form
            className="border-t border-line bg-surface p-3 md:px-5 md:py-4"
            onSubmit={(e) => {
              e.preventDefault()
              if (file && !busy) {
                void listen(file, listener.id, s.form, s.language, s.hint)
                setFile(null)
              }
            }}
            onDragOver={(e) => e.preventDefault()}
            onDrop={(e) => {
              e.preventDefault()
              take(e.dataTransfer.files[0])
            }}
          >
            <div className="flex flex-wrap items-center gap-2">
              <input
                ref={picker}
                type="file"
                accept="audio/*,video/mp4,video/webm"
                hidden
                data-sound
                onChange={(e) => {
                  take(e.target.files?.[0])
                  e.target.value = ''
                }}
              />
              <Button icon="attach" onClick={() => picker.current?.click()}>
                {t('chooseFile')}
              </Button>
              <Recorder onFile={take} limits={soundLimits} />
              {file && (
                <span className="flex min-w-0 items-center gap-1.5 text-small">
                  <Icon name="microphone" size={14} className="text-ink3" />
                  <span translate="no" className="min-w-0 truncate">
                    {shownName(file.name)}
                  </span>
                  <span className="whitespace-nowrap text-ink3">{bytes(file.size)}</span>
                </span>
              )}
              {refused && (
                <span role="alert" className="text-small text-bad">
                  {refused}
                </span>
              )}
              {!file && !refused && (
                <span className="text-small text-ink3 max-sm:hidden">{t('soundHere')}</span>
              )}
              <span className="flex-1" />
              <Button
                look="main"
                type="submit"
                icon="text"
                className="max-sm:basis-full"
                disabled={!file || busy}
              >
                {t('transcribe')}
              </Button>
            </div>
          </form>
        ) : (
          <form
            className="border-t border-line bg-surface p-3 md:px-5 md:py-4"
            onSubmit={(e) => {
              e.preventDefault()
              if (input.trim() && !busy && !badSpeed) void speak(speaker.id, input, s.format)
            }}
          >
            <div
              className={
                'rounded-panel border border-line2 bg-surface outline-offset-[-1px] outline-accent ' +
                'focus-within:border-accent has-[textarea:focus-visible]:outline-2'
              }
            >
              <textarea
                value={input}
                onChange={(e) => setInput(e.target.value)}
                aria-label={t('speechInput')}
                placeholder={t('speechInput')}
                rows={Math.min(8, Math.max(2, input.split('\n').length))}
                maxLength={100_000}
                dir="auto"
                className="block w-full resize-none rounded-panel bg-transparent px-3.5 pt-3 pb-1 text-answer text-ink placeholder:text-ink3 focus:outline-none"
              />
              <div className="flex flex-wrap items-center gap-2 px-2.5 pb-2.5">
                <span className="flex-1" />
                {before && (
                  <span className="text-small text-ink3 tabular-nums">
                    {t('fromPrice', { amount: money(before) })}
                  </span>
                )}
                <Button look="main" type="submit" icon="speaker" disabled={!input.trim() || busy || badSpeed}>
                  {t('speak')}
                </Button>
              </div>
            </div>
          </form>
        )
      }
    >
      <div
        className="min-h-0 flex-1 overflow-y-auto px-4 py-4 md:px-5"
        tabIndex={0}
        role="region"
        aria-label={t('made')}
      >
        <span role="status" className="sr-only">
          {busy ? t('making') : ''}
        </span>
        {works.length === 0 && (
          <Empty
            icon={way === 'heard' ? 'microphone' : 'speaker'}
            title={t(way === 'heard' ? 'noTranscripts' : 'noSpeech')}
          >
            {t(way === 'heard' ? 'noTranscriptsText' : 'noSpeechText')}
          </Empty>
        )}
        {works.map((w) => (
          <article key={w.id} className="mb-4 rounded-panel border border-line bg-surface p-4">
            {w.kind === 'heard' ? <Transcript w={w} /> : <Speech w={w} />}
            {w.state === 'running' && <p className="pt-2 text-small text-ink3">{t('making')}</p>}
            <Failed
              w={w}
              {...(w.kind === 'heard'
                ? { onRetry: () => void listen(w.file, w.model, s.form, s.language, s.hint) }
                : { onRetry: () => void speak(w.model, w.input, w.format) })}
            />
            <Foot w={w} name={models.find((m) => m.id === w.model)?.name ?? w.model}>
              {w.took !== null && <span>{duration(w.took)}</span>}
            </Foot>
          </article>
        ))}
      </div>
      {code && (
        <CodeOf
          onClose={() => setCode(false)}
          of={
            way === 'heard'
              ? {
                  form: {
                    model: listener.id,
                    response_format: s.form,
                    ...(s.language.trim() ? { language: s.language.trim() } : {}),
                    ...(s.hint.trim() ? { prompt: s.hint } : {}),
                    ...(s.form === 'diarized_json' ? { chunking_strategy: 'auto' } : {}),
                  },
                  file: file ? shownName(file.name) : 'speech.mp3',
                }
              : { kind: 'speech', body: speech(speaker.id, input.trim() || 'Hello', s.format) }
          }
        />
      )}
    </Frame>
  )
}
/** An address of a blob for as long as it is shown. */
function useAddress(blob: Blob | null): string | undefined {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (!blob) return
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return url
}
function Transcript({ w }: { w: Heard }) {
  const t = useT('media')
  const url = useAddress(w.file)
  const player = useRef<HTMLAudioElement>(null)
  return (
    <>
      <p translate="no" className="flex items-center gap-2 pb-2 text-small text-ink2">
        <Icon name="microphone" />
        {shownName(w.file.name)}
      </p>
      {url && (
        <audio
          ref={player}
          controls
          src={url}
          aria-label={shownName(w.file.name)}
          className="h-10 w-full max-w-xl"
        />
      )}
      {w.segments.length > 0 ? (
        <ol className="max-h-96 overflow-y-auto pt-2" tabIndex={0} aria-label={t('transcript')}>
          {w.segments.map((s, i) => (
            <li key={i} className="flex gap-3 py-0.5 [content-visibility:auto]">
              <button
                type="button"
                title={t('seek')}
                aria-label={t('seekTo', { time: clock(s.start) })}
                onClick={() => {
                  const a = player.current
                  if (a) {
                    a.currentTime = s.start
                    void a.play().catch(() => {})
                  }
                }}
                className="min-h-6 w-14 flex-none text-right text-small text-accent-ink tabular-nums underline"
              >
                {clock(s.start)}
              </button>
              <p className="min-w-0 break-words">
                {s.speaker && (
                  <span translate="no" className="pr-2 font-medium text-ink2">
                    {s.speaker}
                  </span>
                )}
                <span dir="auto" translate="no">
                  {s.text}
                </span>
              </p>
            </li>
          ))}
        </ol>
      ) : (
        w.text && (
          <p dir="auto" translate="no" className="pt-2 text-answer break-words whitespace-pre-wrap">
            {w.text}
          </p>
        )
      )}
      {w.text && (
        <div className="pt-1">
          <Copy text={w.text} what={t('transcript')} />
        </div>
      )}
    </>
  )
}
function Speech({ w }: { w: Spoken }) {
  const p = useT('playground')
  const url = useAddress(w.sound)
  return (
    <>
      <p dir="auto" translate="no" className="line-clamp-4 pb-2 text-answer break-words whitespace-pre-wrap">
        {w.input}
      </p>
      {url && w.sound && (
        <div className="flex flex-wrap items-center gap-2">
          <audio controls src={url} aria-label={w.input.slice(0, 100)} className="h-10 w-full max-w-xl" />
          <Button small icon="download" onClick={() => save(w.sound!, `speech.${w.format}`)}>
            {p('download')}
          </Button>
        </div>
      )}
    </>
  )
}
/** What the text alone costs; sound that is priced by its own tokens comes to it. */
function speechCost(m: Model, text: string): string | null {
  const each = decimal(m.each ?? null)
  if (m.unit === 'characters_1k' && each) {
    const thousandth = divide(each, { digits: 1000n, scale: 0 })
    return thousandth && plain(times(thousandth, [...text].length))
  }
  const token = decimal(perToken(m.in))
  return token ? plain(add(multiply(token, { digits: BigInt(guess(bytesOf(text))), scale: 0 }), ZERO)) : null
}
