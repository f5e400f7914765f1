/** The playground with the model and the settings of a call, and with its text where that is stored. Pure. */
import type { Search } from '../../ui/link'
import { playgroundOf, type Place } from '../../trying'
import type { Call } from './data'

const kinds: { readonly [api: string]: string } = {
  completions: 'chat',
  messages: 'chat',
  responses: 'chat',
  gemini: 'chat',
  image: 'image',
  video: 'video',
  'audio.transcriptions': 'audio_transcription',
  'audio.speech': 'audio_speech',
  embeddings: 'embedding',
}
type Values = { readonly [name: string]: unknown }
const object = (v: unknown): Values =>
  typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Values) : {}
const word = (...all: readonly unknown[]) => {
  const v = all.find((x) => x !== undefined && x !== null)
  return typeof v === 'number' || typeof v === 'string' ? String(v) : undefined
}
const is = (on: boolean) => (on ? '1' : undefined)

/** Where a call can be made once more; null: the playground has no such calls. */
export function againOf(
  c: Pick<Call, 'kind' | 'model' | 'model_asked'> & {
    readonly parameters?: unknown
    readonly id?: string
    readonly stored_text?: boolean
  },
): Place | null {
  const kind = kinds[c.kind]
  const model = (c.model ?? c.model_asked).replace(/:[^/]*$/, '')
  if (!kind || model.startsWith('@')) return null
  const place = playgroundOf(kind, [model])
  if (!place) return null
  const p = object(c.parameters),
    reasoning = object(p.reasoning),
    provider = object(p.provider),
    gemini = object(p.generationConfig)
  const said: Search =
    kind === 'chat'
      ? {
          t: word(p.temperature, gemini.temperature),
          p: word(p.top_p, gemini.topP),
          max: word(p.max_tokens, p.max_completion_tokens, p.max_output_tokens, gemini.maxOutputTokens),
          effort: word(
            p.reasoning_effort,
            reasoning.effort,
            reasoning.enabled === false ? 'none' : undefined,
          ),
          format: object(p.response_format).type === 'json_object' ? 'json' : undefined,
          sort: word(provider.sort),
          notrain: is(provider.data_collection === 'deny'),
          zero: is(provider.zdr === true),
          one: is(provider.allow_fallbacks === false),
          again: c.stored_text ? c.id : undefined,
          fallbacks: Array.isArray(p.models)
            ? p.models.filter((m) => typeof m === 'string' && m !== model).join() || undefined
            : undefined,
        }
      : {
          size: word(p.size),
          quality: word(p.quality),
          n: word(p.n),
          format: word(p.output_format, p.response_format),
          background: word(p.background),
          duration: word(p.duration),
          resolution: word(p.resolution),
          ratio: word(p.aspect_ratio),
          audio: is(p.generate_audio === true),
          voice: word(p.voice),
          speed: word(p.speed),
          seed: word(p.seed),
        }
  return {
    to: place.to,
    search: Object.fromEntries(
      Object.entries({ ...place.search, ...said }).filter(([, v]) => v !== undefined),
    ) as Search,
  }
}
