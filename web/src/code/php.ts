/** Programs in PHP with its extension curl, which needs no package. */
import type { Snippet } from '../ui/code'
import { FromFile } from './quote'

/** A text of PHP: as in JSON, save what PHP reads otherwise. */
export const phpText = (text: string): string =>
  JSON.stringify(text).replace(
    /\\(?:u(d[89a-f]..)|u(....)|b|.)|\$/g,
    (found, half?: string, code?: string) =>
      found === '$'
        ? '\\$'
        : half
          ? '\\u{fffd}'
          : code
            ? `\\u{${code}}`
            : found === '\\b'
              ? '\\x08'
              : found === '\\/'
                ? '/'
                : found,
  )

/** A value of PHP that becomes the same JSON again. `by`: the spaces before its last line. */
export function phpValue(v: unknown, by: string): string {
  if (v instanceof FromFile)
    return `${v.head ? `${phpText(v.head)} . ` : ''}base64_encode(file_get_contents(${phpText(v.name)}))`
  if (typeof v === 'string') return phpText(v)
  if (v === null || typeof v !== 'object') return JSON.stringify(v ?? null)
  const inner = by + '    '
  const lines = Array.isArray(v)
    ? v.map((x) => phpValue(x, inner))
    : Object.entries(v)
        .filter(([, x]) => x !== undefined)
        .map(([k, x]) => `${phpText(k)} => ${phpValue(x, inner)}`)
  // An array with numbers for keys would become a list, and an empty one always does.
  const named = !Array.isArray(v) && Object.keys(v).every((k) => /^\d+$/.test(k)) ? '(object) ' : ''
  return named + (lines.length ? `[\n${lines.map((l) => `${inner}${l},\n`).join('')}${by}]` : '[]')
}

const php = (code: string): Snippet => ({ id: 'php', label: 'PHP', language: 'php', code: `<?php\n${code}` })
const secret = (key: string | null | undefined) =>
  key ? phpText(`Authorization: Bearer ${key}`) : '"Authorization: Bearer " . getenv("WEIR_API_KEY")'
const failed = (by: string) =>
  `${by}if ($answer === false || curl_getinfo($call, CURLINFO_RESPONSE_CODE) >= 400) {\n${by}    throw new Exception($answer ?: curl_error($call));\n${by}}\n`
const jsonType = '"Content-Type: application/json"'

export interface Post {
  readonly url: string
  readonly key?: string | null | undefined
  /** Sent as JSON */
  readonly body?: object
  /** Sent as a form, with a file of this name */
  readonly form?: { readonly fields: { readonly [name: string]: string }; readonly file: string }
  /** What is done with $answer */
  readonly then: string
}
/** One request. */
export function phpPost(p: Post): Snippet {
  const fields = p.form
    ? `[\n${Object.entries(p.form.fields)
        .map(([k, v]) => `        ${phpText(k)} => ${phpText(v)},\n`)
        .join('')}        "file" => new CURLFile(${phpText(p.form.file)}),\n    ]`
    : `json_encode(${phpValue(p.body ?? {}, '    ')})`
  return php(
    `$call = curl_init(${phpText(p.url)});\ncurl_setopt_array($call, [\n` +
      `    CURLOPT_HTTPHEADER => [${secret(p.key)}${p.form ? '' : `, ${jsonType}`}],\n` +
      `    CURLOPT_POSTFIELDS => ${fields},\n    CURLOPT_RETURNTRANSFER => true,\n]);\n` +
      `$answer = curl_exec($call);\n${failed('')}${p.then}`,
  )
}
/** A video: the job is made, asked for until it has ended, and its file is written. */
export function phpVideo(base: string, key: string | null | undefined, body: object, file: string): Snippet {
  return php(
    `function weir($path, $body = null) {\n` +
      `    $call = curl_init(${phpText(base + '/v1/videos')} . $path);\n` +
      `    curl_setopt_array($call, [\n` +
      `        CURLOPT_HTTPHEADER => [${secret(key)}, ${jsonType}],\n` +
      `        CURLOPT_RETURNTRANSFER => true,\n    ]);\n    if ($body !== null) {\n` +
      `        curl_setopt($call, CURLOPT_POSTFIELDS, json_encode($body));\n    }\n` +
      `    $answer = curl_exec($call);\n${failed('    ')}    return $answer;\n}\n\n` +
      `$job = json_decode(weir("", ${phpValue(body, '')}));\n` +
      `while (in_array($job->status, ["pending", "in_progress"])) {\n    sleep(2);\n` +
      `    $job = json_decode(weir("/$job->id"));\n}\n` +
      `file_put_contents(${phpText(file)}, weir("/$job->id/content"));`,
  )
}
export const phpEcho = 'echo $answer, "\\n";'
