/** Files of a message: what kind they are, how they are read, made smaller and recorded. Nothing leaves the browser before the message is sent. */
import type { Attachment, FileKind } from './stream'

/** Bytes. The gateway takes bodies of 32 MiB, in which files are a third larger. */
export const mostOfOne = 20 << 20
export const mostOfAll = 23 << 20
export const mostFiles = 16
const mostText = 1 << 20
/** Most models shrink larger pictures themselves. */
const edge = 1568

export type Refusal =
  | 'fileKind'
  | 'fileOther'
  | 'fileLarge'
  | 'fileBroken'
  | 'fileMany'
  | 'filesLarge'
  | 'fileEmpty'
  | 'textLarge'
export class FileError extends Error {
  constructor(
    readonly why: Refusal,
    readonly file: string,
  ) {
    super(why)
  }
}

const texts = new RegExp(
  '\\.(txt|md|markdown|csv|tsv|json|jsonl|xml|ya?ml|toml|ini|log|sql|html?|css|jsx?|tsx?|mjs|py|go|rs|java|kt|' +
    'c|h|cc|cpp|hpp|cs|rb|php|sh|swift|scala|lua|r|tex|diff|patch|env|conf|srt|vtt)$',
  'i',
)
export function kindOf(file: { readonly name: string; readonly type: string }): FileKind | null {
  if (/^image\/(png|jpeg|webp|gif)$/.test(file.type)) return 'image'
  if (file.type === 'application/pdf' || /\.pdf$/i.test(file.name)) return 'pdf'
  if (
    file.type.startsWith('audio/') ||
    file.type === 'video/webm' ||
    /\.(mp3|wav|m4a|ogg|oga|opus|flac|aac|webm)$/i.test(file.name)
  )
    return 'audio'
  if (
    (file.type.startsWith('text/') ||
      /^application\/(json|xml|yaml|toml|sql)/.test(file.type) ||
      texts.test(file.name)) &&
    !file.type.startsWith('image/')
  )
    return 'text'
  return null
}
/** Control characters and marks that turn the direction of writing are shown as what they are. */
export function shownName(name: string): string {
  return (name || 'file')
    .replace(
      /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    .slice(0, 200)
}
const newId = () => crypto.randomUUID?.() ?? String(Math.random())

export function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const r = new FileReader()
    r.onload = () => resolve(String(r.result))
    r.onerror = () => reject(r.error ?? new Error('unreadable'))
    r.readAsDataURL(blob)
  })
}
export function blobOf(url: string): Blob {
  const [, type = '', base64 = ''] = /^data:([^;,]*)[^,]*,([\s\S]*)$/.exec(url) ?? []
  const raw = atob(base64)
  const bytes = new Uint8Array(raw.length)
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i)
  return new Blob([bytes], { type })
}
/** Those of the pictures that a browser can read. */
export const picturesOf = (urls: readonly string[]): Blob[] =>
  urls.flatMap((url) => {
    try {
      return /^data:image\//.test(url) ? [blobOf(url)] : []
    } catch {
      return [] // no base64
    }
  })
/** Saves bytes under a name. They are saved as plain bytes, so that no browser opens them as a page. */
export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }))
  const a = document.createElement('a')
  a.href = url
  a.download = name
  a.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
/** Pages of a PDF as far as its bytes tell them without being unpacked. */
export function pagesOf(bytes: Uint8Array): number | undefined {
  const text = new TextDecoder('latin1').decode(bytes)
  const counts = [...text.matchAll(/\/Type\s*\/Pages\b[^>]{0,2000}?\/Count\s+(\d{1,6})/g)].map((m) =>
    Number(m[1]),
  )
  const n = Math.max(0, ...counts) || [...text.matchAll(/\/Type\s*\/Page\b(?!s)/g)].length
  return n || undefined
}

export async function read(file: File): Promise<Attachment> {
  const name = shownName(file.name)
  const kind = kindOf(file)
  if (!kind) throw new FileError('fileKind', name)
  if (file.size === 0) throw new FileError('fileEmpty', name)
  if (file.size > mostOfOne) throw new FileError('fileLarge', name)
  const base = { id: newId(), kind, name, size: file.size }
  switch (kind) {
    case 'text': {
      if (file.size > mostText) throw new FileError('textLarge', name)
      const data = await file.text()
      if (data.includes('\u0000')) throw new FileError('fileKind', name)
      return { ...base, data }
    }
    case 'pdf': {
      const bytes = new Uint8Array(await file.arrayBuffer())
      if (new TextDecoder('latin1').decode(bytes.subarray(0, 1024)).indexOf('%PDF-') < 0)
        throw new FileError('fileBroken', name)
      const pages = pagesOf(bytes)
      return {
        ...base,
        data: await dataUrl(new Blob([bytes], { type: 'application/pdf' })),
        ...(pages ? { pages } : {}),
      }
    }
    case 'image': {
      const picture = await createImageBitmap(file).catch(() => {
        throw new FileError('fileBroken', name)
      })
      const { width, height } = picture
      picture.close()
      return { ...base, data: await dataUrl(file), width, height }
    }
    case 'audio': {
      if (/mpeg|mp3/.test(file.type) || /\.mp3$/i.test(file.name))
        return { ...base, data: await dataUrl(new Blob([file], { type: 'audio/mpeg' })) }
      const wav = /wav/.test(file.type) ? file : await toWav(file, name)
      return { ...base, size: wav.size, data: await dataUrl(new Blob([wav], { type: 'audio/wav' })) }
    }
  }
}
/** All of them, or why one of them is not taken. */
export async function readAll(
  files: readonly File[],
  before: readonly Attachment[],
  kinds: readonly FileKind[],
): Promise<Attachment[]> {
  for (const f of files) {
    const kind = kindOf(f)
    if (kind && !kinds.includes(kind)) throw new FileError('fileOther', shownName(f.name))
  }
  if (files.length + before.length > mostFiles) throw new FileError('fileMany', '')
  const sum = [...before, ...files].reduce((n, f) => n + f.size, 0)
  if (sum > mostOfAll) throw new FileError('filesLarge', '')
  return Promise.all(files.map(read))
}
export const canShrink = (f: Attachment) => f.kind === 'image' && Math.max(f.width ?? 0, f.height ?? 0) > edge
/** A smaller copy of a picture. */
export async function shrink(f: Attachment): Promise<Attachment> {
  const picture = await createImageBitmap(blobOf(f.data))
  const by = edge / Math.max(picture.width, picture.height)
  const width = Math.max(1, Math.round(picture.width * by)),
    height = Math.max(1, Math.round(picture.height * by))
  const canvas = document.createElement('canvas')
  canvas.width = width
  canvas.height = height
  canvas.getContext('2d')!.drawImage(picture, 0, 0, width, height)
  picture.close()
  const type = f.data.startsWith('data:image/png') ? 'image/png' : 'image/jpeg'
  const blob = await new Promise<Blob>((resolve, reject) =>
    canvas.toBlob((b) => (b ? resolve(b) : reject(new FileError('fileBroken', f.name))), type, 0.88),
  )
  return { ...f, size: blob.size, data: await dataUrl(blob), width, height }
}

/** A recording in the form that models take: one channel, 16 kHz, 16 bits. */
export async function toWav(blob: Blob, name: string): Promise<Blob> {
  const rate = 16_000
  const context = new OfflineAudioContext(1, 1, rate)
  const sound = await context.decodeAudioData(await blob.arrayBuffer()).catch(() => {
    throw new FileError('fileBroken', name)
  })
  const all = Array.from({ length: sound.numberOfChannels }, (_, i) => sound.getChannelData(i))
  const bytes = new DataView(new ArrayBuffer(44 + sound.length * 2))
  const word = (at: number, s: string) => {
    for (let i = 0; i < s.length; i++) bytes.setUint8(at + i, s.charCodeAt(i))
  }
  word(0, 'RIFF')
  bytes.setUint32(4, 36 + sound.length * 2, true)
  word(8, 'WAVEfmt ')
  bytes.setUint32(16, 16, true)
  bytes.setUint16(20, 1, true)
  bytes.setUint16(22, 1, true)
  bytes.setUint32(24, rate, true)
  bytes.setUint32(28, rate * 2, true)
  bytes.setUint16(32, 2, true)
  bytes.setUint16(34, 16, true)
  word(36, 'data')
  bytes.setUint32(40, sound.length * 2, true)
  for (let i = 0; i < sound.length; i++) {
    let v = 0
    for (const c of all) v += c[i]!
    bytes.setInt16(44 + i * 2, Math.max(-1, Math.min(1, v / all.length)) * 32767, true)
  }
  return new Blob([bytes], { type: 'audio/wav' })
}
