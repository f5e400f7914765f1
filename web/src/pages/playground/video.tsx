import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ApiError, remove, send } from '../../api/client'
import { queries, type Me } from '../../api/query'
import {
  ZERO,
  add,
  compare,
  decimal,
  duration,
  money,
  percent,
  plain,
  seconds,
  times,
  type Decimal,
} from '../../format'
import { useT } from '../../i18n'
import { hasPage } from '../../routes/paths'
import { useDraft } from '../../ui/draft'
import { Button } from '../../ui/button'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { Checkbox, Field, Input, Select } from '../../ui/field'
import { Link } from '../../ui/link'
import { Level, Tag } from '../../ui/marks'
import { Money, When } from '../../ui/values'
import type { Reply } from '../../api/client'
import { listJobs, listVideoModels } from '../../api/operations'
import type { Model } from '../catalog/filter'
import { save } from './attach'
import { Composer } from './composer'
import { keepMade, madeQuery } from './made'
import { FailedBox, Frame, Ready } from './modes'
import { Sum } from './panel'
import { spent } from './settle'
import type { Attachment } from './stream'
import { CodeOf, ModelField, asFailure, useAsked, useKept, useModel } from './works'

type Facts = Reply<'/v1/videos/models'>['data'][number]
type Job = Reply<'/api/jobs'>['data'][number]
interface Settings {
  readonly duration: string
  readonly resolution: string
  readonly ratio: string
  readonly size: string
  readonly audio: boolean
  readonly seed: string
}
const unset: Settings = { duration: '', resolution: '', ratio: '', size: '', audio: false, seed: '' }
const kinds = ['image'] as const,
  nothing = [] as const
const jobsQuery = listJobs({ query: { limit: 20 } })

/** Rubles of a second by the rules of the catalog: the first that fits holds, and where none does, the dearest. */
export function perSecond(
  skus: { readonly [key: string]: string },
  resolution: string,
  audio: boolean,
): Decimal | null {
  const rules = Object.entries(skus).flatMap(([key, v]) => {
    const m = /^per-video-second(?:-(.+?))?(-with-audio)?$/.exec(key)
    const rubles = decimal(v)
    return m && rubles
      ? [
          {
            resolution: m[1] === 'with-audio' ? '' : (m[1] ?? ''),
            audio: m[2] !== undefined || m[1] === 'with-audio',
            rubles,
          },
        ]
      : []
  })
  const fit = rules.find((r) => r.audio === audio && (r.resolution === '' || r.resolution === resolution))
  return (
    fit?.rubles ??
    rules
      .map((r) => r.rubles)
      .reduce<Decimal | null>((most, r) => (most && compare(most, r) >= 0 ? most : r), null)
  )
}
/** What a video costs. */
export function costOfVideo(
  skus: { readonly [key: string]: string },
  length: number,
  resolution: string,
  audio: boolean,
): string | null {
  const second = perSecond(skus, resolution, audio),
    each = decimal(skus['per-video'] ?? null)
  return second || each ? plain(add(second ? times(second, length) : ZERO, each ?? ZERO)) : null
}

export default function VideoPage() {
  return (
    <Ready mode="video" fits={(m) => m.type === 'video'}>
      {(me, models) => <Videos key={me.user!.id} me={me} models={models} />}
    </Ready>
  )
}

function Videos({ me, models }: { me: Me; models: readonly Model[] }) {
  const t = useT('media'),
    p = useT('playground')
  const person = me.user!.id
  const [prompts, setPrompts] = useKept<{ readonly [job: string]: string }>(`${person} video prompts`, {})
  const noted = useQuery(madeQuery(person)).data
  const [s, setS] = useKept<Settings>(`${person} video settings`, unset)
  const [model, choose] = useModel('video', models)
  useAsked((a) => {
    if (a.models)
      setS(() => ({
        duration: a.duration ?? '',
        resolution: a.resolution ?? '',
        ratio: a.ratio ?? '',
        size: a.size ?? '',
        audio: a.audio === '1',
        seed: /^\d{1,15}$/.test(a.seed ?? '') ? a.seed! : '',
      }))
  })
  const [draft, setDraft] = useDraft('video', '', { quiet: true })
  const [files, setFiles] = useState<readonly Attachment[]>([])
  const [sheet, setSheet] = useState(false)
  const [code, setCode] = useState(false)
  const [sending, setSending] = useState(false)
  const [error, setError] = useState<ApiError | null>(null)
  const { data: facts } = useQuery({
    ...listVideoModels({ quiet: true }),
    staleTime: 300_000,
  })
  const {
    data: jobs,
    error: jobsError,
    refetch,
  } = useQuery({
    ...jobsQuery,
    refetchInterval: (q) => ((q.state.data as Reply<'/api/jobs'> | undefined)?.active ? 1500 : 15_000),
  })
  const f: Facts | undefined = facts?.data.find((x) => x.id === model.id)
  const active = jobs?.active ?? 0,
    allowed = jobs?.allowed ?? 2
  // What ends changes the wallet.
  useEffect(() => {
    spent()
  }, [active])

  const pick = (v: string, of: readonly (string | number)[]) =>
    of.map(String).includes(v) ? v : String(of[0] ?? '')
  const length = Number(pick(s.duration, f?.supported_durations ?? []))
  const resolution = pick(s.resolution, f?.supported_resolutions ?? [])
  const ratio = pick(s.ratio, f?.supported_aspect_ratios ?? [])
  const size = resolution ? '' : pick(s.size, f?.supported_sizes ?? [])
  const audio = (f?.generate_audio ?? false) && s.audio
  const frames = f?.supported_frame_images ?? []
  const cost = f && length ? costOfVideo(f.pricing_skus, length, resolution, audio) : null
  const seed = s.seed.trim() === '' ? null : Number(s.seed)
  const badSeed = seed !== null && (!Number.isInteger(seed) || seed < 0)
  const why =
    active >= allowed
      ? t('twoJobs', { n: allowed })
      : files.length > frames.length
        ? frames.length
          ? t('framesMost', { n: frames.length })
          : p('lacks_image', { name: model.name })
        : badSeed
          ? p('badSetting')
          : null
  const ready = draft.trim() !== '' && why === null && !sending && f !== undefined
  const body = (prompt: string) => ({
    model: model.id,
    prompt,
    ...(length ? { duration: length } : {}),
    ...(resolution ? { resolution } : {}),
    ...(ratio && !size ? { aspect_ratio: ratio } : {}),
    ...(size ? { size } : {}),
    ...(f?.generate_audio ? { generate_audio: audio } : {}),
    ...(seed !== null && f?.seed ? { seed } : {}),
    ...(files.length
      ? {
          frame_images: files.map((x, i) => ({
            type: 'image_url',
            image_url: { url: x.data },
            frame_type: frames[i],
          })),
        }
      : {}),
  })
  const submit = async () => {
    if (!ready) return
    setSending(true)
    setError(null)
    try {
      const sent = body(draft)
      const job = (await (await send('post', '/api/v1/videos', { body: sent })).json()) as {
        id: string
      }
      setPrompts((x) => ({ ...x, [job.id]: draft }))
      const { model, duration, resolution, aspect_ratio: ratio, size, generate_audio: audio } = sent
      void keepMade(job.id, [null], {
        kind: 'video',
        model,
        prompt: draft,
        call: null,
        cost: null,
        from: files.length,
        settings: {
          ...(duration ? { duration: String(duration) } : {}),
          ...(resolution ? { resolution } : {}),
          ...(ratio ? { ratio } : {}),
          ...(size ? { size } : {}),
          ...(audio ? { audio: '1' } : {}),
        },
        chat: null,
      })
      setDraft('')
      setFiles([])
    } catch (e) {
      setError(asFailure(e))
    }
    setSending(false)
    void queries.invalidateQueries({ queryKey: jobsQuery.queryKey })
    spent()
  }
  const set = (change: Partial<Settings>) => setS((x) => ({ ...x, ...change }))
  const choice = (
    label: string,
    value: string,
    of: readonly (string | number)[],
    onChange: (v: string) => void,
    shown = (v: string) => v,
  ) =>
    of.length > 0 && (
      <Field label={label}>
        <Select
          value={value}
          onChange={(e) => onChange(e.target.value)}
          options={of.map((v) => ({ value: String(v), label: shown(String(v)) }))}
        />
      </Field>
    )
  const settings = (
    <div className="flex flex-col gap-4">
      <Sum
        title={t('session')}
        costs={(jobs?.data ?? []).filter((j) => prompts[j.id] !== undefined).flatMap((j) => j.cost ?? [])}
        note={t('jobsHere', { n: Object.keys(prompts).length })}
      />
      <div>
        <p className="flex items-baseline justify-between gap-2 pb-1.5 text-small">
          <span className="font-medium text-ink2">{t('jobsRun')}</span>
          <span className="text-ink3 tabular-nums">{p('place', { n: active, of: allowed })}</span>
        </p>
        <Level
          parts={[{ key: 'active', value: active, className: active >= allowed ? 'bg-warn' : 'bg-accent' }]}
          total={allowed}
          label={t('jobsLevel', { n: active, of: allowed })}
        />
      </div>
      <ModelField models={models} model={model} onModel={choose} />
      {f && (
        <>
          {choice(
            t('length'),
            String(length),
            f.supported_durations,
            (v) => set({ duration: v }),
            (v) => t('secondsOf', { n: v }),
          )}
          {choice(t('resolution'), resolution, f.supported_resolutions, (v) => set({ resolution: v }))}
          {!size && choice(t('ratio'), ratio, f.supported_aspect_ratios, (v) => set({ ratio: v }))}
          {!resolution &&
            choice(
              t('size'),
              size,
              f.supported_sizes,
              (v) => set({ size: v }),
              (v) => v.replace('x', ' × '),
            )}
          {f.generate_audio && (
            <Checkbox checked={s.audio} onChange={(on) => set({ audio: on })}>
              {t('withSound')}
            </Checkbox>
          )}
          {f.seed && (
            <Field label={t('seed')} error={badSeed && t('badSeed')}>
              <Input
                inputMode="numeric"
                value={s.seed}
                placeholder={p('byDefault')}
                onChange={(e) => set({ seed: e.target.value })}
              />
            </Field>
          )}
          {frames.length > 0 && (
            <p className="text-small text-ink3">{t(frames.length > 1 ? 'framesTwo' : 'framesOne')}</p>
          )}
        </>
      )}
      <p className="flex items-baseline justify-between gap-2 border-t border-line pt-4">
        <span className="text-section">{t('price')}</span>
        <Money value={cost} exact className="text-section" />
      </p>
      <p className="text-small text-ink3">{t('priceHelp')}</p>
      <div>
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
    </div>
  )
  return (
    <Frame
      mode="video"
      settings={settings}
      open={sheet}
      onOpen={setSheet}
      foot={
        <Composer
          draft={draft}
          onDraft={setDraft}
          files={files}
          onFiles={setFiles}
          kinds={frames.length ? kinds : nothing}
          placeholder={t('videoPrompt')}
          busy={false}
          ready={ready}
          why={why}
          verb={t('make')}
          onSubmit={() => void submit()}
          onStop={() => {}}
          onLast={() => {}}
          right={
            cost !== null && (
              <span className="pr-2 text-small text-ink3 tabular-nums">
                {t('costs', { amount: money(cost, { exact: true }) })}
              </span>
            )
          }
        />
      }
    >
      <div
        className="min-h-0 flex-1 overflow-y-auto px-4 py-4 md:px-5"
        tabIndex={0}
        role="region"
        aria-label={t('made')}
      >
        {error && (
          <div className="pb-4">
            <FailedBox title={error.status === 429 ? t('twoJobsTitle') : t('notStarted')} error={error} />
          </div>
        )}
        {jobsError && !jobs ? (
          <ErrorBox error={jobsError} onRetry={() => void refetch()} />
        ) : !jobs ? (
          <SkeletonRows rows={3} />
        ) : jobs.data.length === 0 ? (
          <Empty icon="video" title={t('noVideos')}>
            {t('noVideosText')}
          </Empty>
        ) : (
          jobs.data.map((j) => (
            <JobCard
              key={j.id}
              job={j}
              prompt={prompts[j.id] ?? noted?.find((m) => m.id === j.id)?.prompt}
              name={models.find((m) => m.id === j.model)?.name ?? j.model}
              onCancel={() =>
                void remove('/api/v1/videos/{id}' as '/v1/videos/{id}', { path: { id: j.id } })
                  .catch((e: unknown) => setError(asFailure(e)))
                  .finally(() => void refetch())
              }
            />
          ))
        )}
      </div>
      {code && (
        <CodeOf
          onClose={() => setCode(false)}
          of={{ kind: 'video', body: body(draft.trim() || 'A heron in a river') }}
        />
      )}
    </Frame>
  )
}

const tones = {
  pending: 'plain',
  in_progress: 'accent',
  completed: 'good',
  failed: 'bad',
  cancelled: 'plain',
  expired: 'plain',
} as const
function JobCard({
  job: j,
  prompt,
  name,
  onCancel,
}: {
  job: Job
  prompt: string | undefined
  name: string
  onCancel: () => void
}) {
  const t = useT('media'),
    p = useT('playground')
  const live = j.state === 'pending' || j.state === 'in_progress'
  const [videos, setVideos] = useState<readonly { url: string; blob: Blob }[] | null>(null)
  const [error, setError] = useState<ApiError | null>(null)
  const [loading, setLoading] = useState(false)
  useEffect(
    () => () => {
      for (const v of videos ?? []) URL.revokeObjectURL(v.url)
    },
    [videos],
  )
  const load = async () => {
    setLoading(true)
    setError(null)
    try {
      const blobs = await Promise.all(
        j.videos.map(async (address) =>
          (
            await send('get', address, { headers: { Accept: 'video/mp4, video/webm, video/quicktime, */*' } })
          ).blob(),
        ),
      )
      setVideos(blobs.map((blob) => ({ blob, url: URL.createObjectURL(blob) })))
    } catch (e) {
      setError(asFailure(e))
    }
    setLoading(false)
  }
  return (
    <article aria-label={prompt ?? j.id} className="mb-4 rounded-panel border border-line bg-surface p-4">
      <div className="flex flex-wrap items-center gap-2">
        <Tag tone={tones[j.state]}>{t(`state_${j.state}`)}</Tag>
        <span translate="no" className="text-small text-ink2">
          {name}
        </span>
        <span className="flex-1" />
        <span className="text-small text-ink3">
          <When at={j.created_at} />
        </span>
      </div>
      {prompt && (
        <p dir="auto" translate="no" className="pt-2 text-answer break-words whitespace-pre-wrap">
          {prompt}
        </p>
      )}
      {live && (
        <div className="pt-3">
          <p className="flex flex-wrap justify-between gap-2 pb-1.5 text-small text-ink2 tabular-nums">
            <span>
              {j.expected_ms === null
                ? t('elapsed', { time: seconds(j.elapsed_ms) })
                : t('elapsedOf', { time: seconds(j.elapsed_ms), usual: duration(j.expected_ms) })}
            </span>
            {j.progress !== null && <span>{percent(j.progress, 0)}</span>}
          </p>
          <Level
            parts={[
              {
                key: 'done',
                value: j.progress ?? Math.min(95, j.expected_ms ? (j.elapsed_ms / j.expected_ms) * 100 : 5),
                className: 'bg-accent',
              },
            ]}
            total={100}
            label={t('progress')}
          />
        </div>
      )}
      {j.error && (
        <p className="pt-2 text-small text-bad">
          <span lang="en" translate="no">
            {j.error}
          </span>
        </p>
      )}
      {videos?.map((v, i) => (
        <figure key={v.url} className="m-0 pt-3">
          <video
            controls
            playsInline
            src={v.url}
            aria-label={prompt ?? t('video')}
            className="max-h-[420px] max-w-full rounded-panel border border-line bg-sunken"
          />
          <figcaption className="pt-2">
            <Button
              small
              icon="download"
              onClick={() =>
                save(v.blob, `weir-${j.id}-${i + 1}.${v.blob.type.includes('webm') ? 'webm' : 'mp4'}`)
              }
            >
              {p('download')}
            </Button>
          </figcaption>
        </figure>
      ))}
      {error && (
        <div className="pt-2">
          <ErrorBox error={error} onRetry={() => void load()} />
        </div>
      )}
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 pt-3 text-small text-ink2 tabular-nums">
        {live && (
          <Button small look="bad" icon="stop" onClick={onCancel}>
            {t('cancelJob')}
          </Button>
        )}
        {j.state === 'completed' && !videos && j.videos.length > 0 && (
          <Button small icon="play" busy={loading} onClick={() => void load()}>
            {t('show')}
          </Button>
        )}
        {!live && <span>{t('took', { time: duration(j.elapsed_ms) })}</span>}
        {j.expires_at && j.videos.length > 0 && (
          <span>{t.rich('keptUntil', { when: <When key="when" at={j.expires_at} form="full" /> })}</span>
        )}
        <span className="flex-1" />
        {j.cost !== null ? (
          <>
            <Money value={j.cost} exact className="font-semibold text-ink" />
            <Tag tone="good">{p('settled')}</Tag>
          </>
        ) : (
          <>
            <Money value={j.hold} exact className="font-semibold text-ink" />
            <Tag tone="hold">{t('onHold')}</Tag>
          </>
        )}
        {j.cost !== null && hasPage('/calls/$id') && (
          <Link to={`/calls/${j.call}`} className="inline-flex min-h-6 items-center text-accent-ink">
            {p('openCall')}
          </Link>
        )}
      </p>
    </article>
  )
}
