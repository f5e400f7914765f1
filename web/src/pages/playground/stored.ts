/** The stored text of a call as a chat that can go on: what was said before it, and what it was asked. Pure, but for the request. */
import { get, type Reply } from '../../api/client'
import { begin, bytesOf, type Attachment, type Call, type Settings, type Turn } from './stream'

export type StoredText = Reply<'/api/calls/{id}/text'>['data']
export interface Begun {
  readonly turns: readonly Turn[]
  readonly prompt: string
  readonly files: readonly Attachment[]
  readonly settings: Partial<Settings>
  /** Parts that the playground cannot send: files by link, tools of a provider, results of tools that the last message had */
  readonly left: number
}
type Values = { readonly [name: string]: unknown }
const object = (v: unknown): Values =>
  typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Values) : {}
const list = (v: unknown): readonly unknown[] => (Array.isArray(v) ? v : [])
const text = (v: unknown) => (typeof v === 'string' ? v : '')
const joined = (...all: readonly string[]) => all.filter(Boolean).join('\n\n')

/** Text and files of a message; `left` counts what is neither. */
function contentOf(v: unknown, files: number): { text: string; files: Attachment[]; left: number } {
  if (typeof v === 'string') return { text: v, files: [], left: 0 }
  const out = { text: '', files: [] as Attachment[], left: 0 }
  const add = (kind: Attachment['kind'], name: string, data: string) => {
    out.files.push({
      id: `stored-${files + out.files.length}`,
      kind,
      name: name.slice(0, 200) || `${kind} ${files + out.files.length + 1}`,
      size: Math.floor((data.length - data.indexOf(',') - 1) * 0.75),
      data,
    })
  }
  for (const p of list(v).map(object)) {
    const audio = object(p.input_audio),
      url = text(p.image_url),
      file = text(p.file_data)
    if (p.type === 'input_text' || p.type === 'output_text' || p.type === 'text')
      out.text = joined(out.text, text(p.text))
    else if (p.type === 'refusal') out.text = joined(out.text, text(p.refusal))
    else if (p.type === 'input_image' && url.startsWith('data:image/')) add('image', '', url)
    else if (p.type === 'input_file' && file.startsWith('data:application/pdf'))
      add('pdf', text(p.filename), file)
    else if (p.type === 'input_audio' && text(audio.data))
      add(
        'audio',
        '',
        `data:audio/${text(audio.format).replace(/\W/g, '') || 'wav'};base64,${text(audio.data)}`,
      )
    else out.left++
  }
  return out
}
/** Tools that the playground can send, as JSON text. */
function toolsOf(v: unknown): { tools: string; left: number } {
  const all = list(v).map(object)
  const own = all
    .filter((x) => x.type === 'function')
    .map((x) => ({
      name: x.name,
      ...(x.description ? { description: x.description } : {}),
      ...(x.parameters ? { parameters: x.parameters } : {}),
    }))
  return { tools: own.length ? JSON.stringify(own, null, 2) : '', left: all.length - own.length }
}
function formatOf(v: unknown): Partial<Settings> {
  const f = object(object(v).format)
  if (f.type === 'json_object') return { format: 'json' }
  return f.type === 'json_schema' ? { format: 'schema', schema: JSON.stringify(f.schema ?? {}, null, 2) } : {}
}

interface Draft {
  prompt: string
  files: Attachment[]
  results: { id: string; content: string }[]
  answer: string
  calls: Call[]
  answered: boolean
}
const empty = (): Draft => ({ prompt: '', files: [], results: [], answer: '', calls: [], answered: false })

/** `now`: milliseconds since 1970; the turns were asked before it. */
export function begunFrom(s: StoredText, now: number): Begun {
  let system = '',
    left = 0,
    files = 0
  const instructions =
    typeof s.instructions === 'string' ? [{ role: 'system', content: s.instructions }] : list(s.instructions)
  const drafts: Draft[] = []
  // What is asked after an answer begins the next turn.
  const open = (asks: boolean): Draft => {
    const last = drafts[drafts.length - 1]
    if (last && !(asks && last.answered)) return last
    return drafts[drafts.push(empty()) - 1]!
  }
  for (const item of [...instructions, ...s.input].map(object)) {
    const kind = text(item.type) || 'message'
    if (kind === 'message') {
      const c = contentOf(item.content, files)
      left += c.left
      if (item.role === 'assistant') {
        const d = open(false)
        d.answer = joined(d.answer, c.text)
        d.answered = true
        left += c.files.length
      } else if (item.role === 'user') {
        const d = open(true)
        d.prompt = joined(d.prompt, c.text)
        d.files.push(...c.files)
        files += c.files.length
      } else system = joined(system, c.text)
    } else if (kind === 'function_call') {
      const d = open(false)
      d.calls.push({ id: text(item.call_id), name: text(item.name), arguments: text(item.arguments) })
      d.answered = true
    } else if (kind === 'function_call_output') {
      const c = contentOf(item.output, files)
      left += c.left + c.files.length
      open(true).results.push({ id: text(item.call_id), content: c.text })
    } else if (kind !== 'reasoning') left++
  }
  const last = drafts.length && !drafts[drafts.length - 1]!.answered ? drafts.pop()! : empty()
  const tools = toolsOf(s.tools)
  // An answer without a question before it cannot be sent.
  const asked = drafts.filter((d) => d.prompt || d.files.length || d.results.length)
  left += drafts.length - asked.length
  const turns = asked.map(
    (d, i): Turn => ({
      prompt: d.prompt,
      ...(d.files.length ? { files: d.files } : {}),
      ...(d.results.length ? { results: d.results } : {}),
      answer: {
        ...begin(now - asked.length + i),
        status: 'done',
        text: d.answer,
        size: bytesOf(d.answer),
        calls: d.calls,
      },
    }),
  )
  return {
    turns,
    prompt: last.prompt,
    files: last.files,
    settings: { system, ...(tools.tools ? { tools: tools.tools } : {}), ...formatOf(s.text) },
    left: left + tools.left + last.results.length,
  }
}

export async function readStored(id: string, signal?: AbortSignal): Promise<StoredText> {
  return (await get('/api/calls/{id}/text', { path: { id }, signal })).data
}
