/** Where in the playground models of a kind are tried. Pure. */
import type { Search } from './ui/link'

export interface Place {
  readonly to: string
  readonly search: Search
}
const paths: { readonly [type: string]: string } = {
  chat: '/playground',
  image: '/playground/image',
  video: '/playground/video',
  audio_transcription: '/playground/audio',
  audio_speech: '/playground/audio',
  embedding: '/playground/embeddings',
}

/** null: the playground has no such models. */
export function playgroundOf(type: string, models: readonly string[]): Place | null {
  const to = paths[type]
  return to && models.length ? { to, search: { models: models.join() } } : null
}
/** Where several models are tried: those that chat side by side, or the first that can be tried. */
export function together(models: readonly { readonly id: string; readonly type: string }[]): Place | null {
  const chats = models.filter((m) => m.type === 'chat')
  if (chats.length)
    return playgroundOf(
      'chat',
      chats.map((m) => m.id),
    )
  const first = models.find((m) => paths[m.type])
  return first ? playgroundOf(first.type, [first.id]) : null
}
