/** Values as each language writes them. Long data is read from a file beside the code, which cannot hold it. */
import { json, sh } from './heads'

/** Bytes that the code reads from a file and writes in base64 after `head`. */
export class FromFile {
  constructor(
    readonly name: string,
    readonly head: string,
  ) {}
}

/** A name that every shell and form takes as it is. */
const plainName = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= 100 && /^[\p{L}\p{N}][\p{L}\p{N}._ -]*$/u.test(name)
export const fileName = (name: string, other: string) => (plainName(name) ? name : other)

const endings: { readonly [type: string]: string } = {
  'image/jpeg': 'jpg',
  'image/svg+xml': 'svg',
  'audio/mpeg': 'mp3',
  'audio/x-wav': 'wav',
}
const longest = 400
/** The same value with long data as files, and a text instead of each for JSON. */
export function withFiles(body: object): {
  readonly value: object
  readonly files: readonly FromFile[]
  readonly short: object
} {
  const files = new Map<string, FromFile>()
  const read = (v: unknown, key: string, beside: { readonly [name: string]: unknown }): unknown => {
    if (typeof v === 'string' && v.length > longest) {
      const [head, type] =
        /^data:([\w.+/-]*);base64,/.exec(v) ??
        (key === 'data' && typeof beside.format === 'string' ? ['', `audio/${beside.format}`] : [])
      if (head === undefined || type === undefined) return v
      let file = files.get(v)
      if (!file) {
        const [kind = '', form = ''] = type.split('/')
        const name = `${kind === 'application' || kind === '' ? 'document' : kind}-${files.size + 1}.${endings[type] ?? fileName(form, 'bin')}`
        const wanted =
          plainName(beside.filename) && [...files.values()].every((f) => f.name !== beside.filename)
            ? beside.filename
            : name
        file = new FromFile(wanted, head)
        files.set(v, file)
      }
      return file
    }
    if (Array.isArray(v)) return v.map((x) => read(x, '', {}))
    if (v !== null && typeof v === 'object')
      return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, read(x, k, v as typeof beside)]))
    return v
  }
  const value = read(body, '', {}) as object
  return {
    value,
    files: [...files.values()],
    short: JSON.parse(
      JSON.stringify(value, (_, v: unknown) => (v instanceof FromFile ? `${v.head}…` : v)),
    ) as object,
  }
}

/** As Python writes it. */
export function py(v: unknown, by: string): string {
  if (v === null || v === undefined) return 'None'
  if (typeof v === 'boolean') return v ? 'True' : 'False'
  if (v instanceof FromFile)
    return `${v.head ? `${json(v.head)} + ` : ''}base64.b64encode(open(${json(v.name)}, "rb").read()).decode()`
  if (typeof v !== 'object') return json(v)
  const inner = by + '    '
  if (Array.isArray(v))
    return v.length ? `[\n${v.map((x) => inner + py(x, inner)).join(',\n')},\n${by}]` : '[]'
  const named = Object.entries(v)
  return named.length
    ? `{\n${named.map(([k, x]) => `${inner}${json(k)}: ${py(x, inner)}`).join(',\n')},\n${by}}`
    : '{}'
}
/** As JavaScript writes it. */
export function js(v: unknown, by: string): string {
  if (v instanceof FromFile)
    return `${v.head ? `${json(v.head)} + ` : ''}readFileSync(${json(v.name)}, "base64")`
  if (v === null || typeof v !== 'object') return json(v)
  const inner = by + '  '
  if (Array.isArray(v))
    return v.length ? `[\n${v.map((x) => inner + js(x, inner)).join(',\n')}\n${by}]` : '[]'
  // A key in brackets is a name even where it is __proto__.
  const key = (k: string) => (k === '__proto__' ? '["__proto__"]' : /^[A-Za-z_]\w*$/.test(k) ? k : json(k))
  const named = Object.entries(v).filter(([, x]) => x !== undefined)
  return named.length
    ? `{\n${named.map(([k, x]) => `${inner}${key(k)}: ${js(x, inner)}`).join(',\n')}\n${by}}`
    : '{}'
}
/** JSON in pieces: texts, and files between them. */
export function pieces(value: object, files: readonly FromFile[]): readonly (string | FromFile)[] {
  if (files.length === 0) return [JSON.stringify(value, null, 2)]
  const mark = `\u0001file `
  const text = JSON.stringify(
    value,
    (_, v: unknown) => (v instanceof FromFile ? `${mark}${files.indexOf(v)}${mark}` : v),
    2,
  )
  return text
    .split(/"\\u0001file (\d+)\\u0001file "/)
    .flatMap((part, i) => {
      if (i % 2 === 0) return part === '' ? [] : [part]
      const f = files[Number(part)]
      return f ? [`"${f.head}`, f, '"'] : [`"\\u0001file ${part}\\u0001file "`]
    })
    .reduce<(string | FromFile)[]>((all, x) => {
      const last = all.at(-1)
      if (typeof x === 'string' && typeof last === 'string') all[all.length - 1] = last + x
      else all.push(x)
      return all
    }, [])
}
/** The body of a request for curl. Texts in quotes have a limit (128 KiB); what the shell reads from a document has none. */
export function curlBody(parts: readonly (string | FromFile)[]): string {
  const first = parts[0]
  if (parts.length === 1 && typeof first === 'string' && first.length < 30_000) return `-d ${sh(first)}`
  return (
    `--data-binary @- <<JSON\n` +
    `${parts.map((x) => (typeof x === 'string' ? x.replace(/[\\$`]/g, '\\$&') : `$(base64 < ${sh(x.name)} | tr -d '\\n')`)).join('')}\n` +
    `JSON`
  )
}
