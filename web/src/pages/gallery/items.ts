/** What the gallery shows: files that this browser has, and videos that the gateway has. Pure. */
import type { Reply } from '../../api/client'
import type { Made, MadeKind } from '../playground/made'

type Job = Pick<
  Reply<'/api/jobs'>['data'][number],
  'id' | 'model' | 'call' | 'cost' | 'created_at' | 'expires_at' | 'videos'
>
export interface Item extends Made {
  /** Where the gateway has a video; null for what this browser has */
  readonly address: string | null
  readonly job: string | null
  readonly until: string | null
}

/** The videos of a job. The prompt comes from what this browser noted when it asked for them. */
export function videosOf(j: Job, asked: Made | undefined): Item[] {
  return j.videos
    .filter((v) => v.startsWith('/api/v1/videos/')) // nothing is read from elsewhere
    .map((address, i) => ({
      id: `${j.id}.${i}`,
      kind: 'video',
      at: Date.parse(j.created_at),
      size: 0,
      type: '',
      model: j.model,
      prompt: asked?.prompt ?? '',
      call: j.call,
      cost: j.cost,
      of: j.videos.length,
      from: asked?.from ?? 0,
      settings: asked?.settings ?? {},
      chat: null,
      address,
      job: j.id,
      until: j.expires_at,
    }))
}

/**
 * All of them, the newest first. `more`: the gateway has further jobs, all older than those of `jobs`. What is older than they are waits for
 * them, so that nothing comes in between later.
 */
export function itemsOf(made: readonly Made[], jobs: readonly Job[], more: boolean): Item[] {
  const asked = new Map(made.filter((m) => m.kind === 'video').map((m) => [m.id, m]))
  const oldest = more ? Math.min(...jobs.map((j) => Date.parse(j.created_at))) : 0
  const here = made
    .filter((m) => m.kind !== 'video' && m.at >= oldest)
    .map((m): Item => ({ ...m, address: null, job: null, until: null }))
  return [...here, ...jobs.flatMap((j) => videosOf(j, asked.get(j.id)))].sort((a, b) => b.at - a.at)
}

/** The page that makes such a thing, and the name of its draft. */
export const makers: { readonly [kind in MadeKind]: { readonly page: string; readonly draft: string } } = {
  image: { page: '/playground/image', draft: 'image' },
  audio: { page: '/playground/audio', draft: 'speech' },
  video: { page: '/playground/video', draft: 'video' },
}
/** The next one in a direction, or the same at the end. */
export const beside = (items: readonly Item[], id: string, by: 1 | -1): string =>
  items[items.findIndex((x) => x.id === id) + by]?.id ?? id
