/** What the snippets share: texts in quotes, and the beginnings of programs. */
import type { Snippet } from '../ui/code'

export interface For {
  /** Of this installation, without /v1 */
  readonly base: string
  readonly model: string
  /** A key to fill in; otherwise the code reads WEIR_API_KEY */
  readonly key?: string | null
  readonly stream?: boolean
  readonly prompt?: string
}

export const json = (v: unknown) => JSON.stringify(v)
/** Single quotes of a shell. */
export const sh = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
/** A text of Go. A raw one, which reads better, cannot hold everything. */
export const goText = (text: string) =>
  /[`\r\ufeff]/.test(text) ? json(text).replaceAll('\ufeff', '\\ufeff') : `\`${text}\``

const pyKey = (f: For) => (f.key ? json(f.key) : 'os.environ["WEIR_API_KEY"]')
export const pyHead = (f: For) =>
  `${f.key ? '' : 'import os\n'}from openai import OpenAI\n\nclient = OpenAI(\n    base_url=${json(f.base + '/v1')},\n    api_key=${pyKey(f)},\n)\n`
const jsKey = (f: For) => (f.key ? json(f.key) : 'process.env.WEIR_API_KEY')
export const jsHead = (f: For) =>
  `import OpenAI from "openai";\n\nconst client = new OpenAI({\n  baseURL: ${json(f.base + '/v1')},\n  apiKey: ${jsKey(f)},\n});\n`
export const python = (code: string): Snippet => ({ id: 'python', label: 'Python', language: 'python', code })
export const node = (code: string): Snippet => ({ id: 'node', label: 'Node', language: 'js', code })
/** The beginning of a program. Packages of the standard library come first, sorted. */
export const goHead = (standard: readonly string[], others: readonly string[] = []) =>
  `package main\n\nimport (\n${[...standard]
    .sort()
    .map((p) => `\t${json(p)}\n`)
    .join('')}${others.length ? `\n${others.map((p) => `\t${json(p)}\n`).join('')}` : ''})\n\n`
export const goMain = (body: string) => `func main() {\n${body}}`
