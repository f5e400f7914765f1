/** A request as code that runs: exactly what the page sends, without the stream. */
import type { Snippet } from '../../ui/code'
import type { Request } from './stream'

const json = (v: unknown) => JSON.stringify(v)
const sh = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
const indent = (v: unknown, by: string) => JSON.stringify(v, null, 2).replaceAll('\n', '\n' + by)

export function code(base: string, r: Request): Snippet[] {
  const named = Object.entries(r)
  return [
    { id: 'curl', label: 'curl', language: 'shell', code: `curl ${base}/v1/chat/completions \\\n  -H "Authorization: Bearer $WEIR_API_KEY" \\\n  -H "Content-Type: application/json" \\\n  -d ${sh(JSON.stringify(r, null, 2))}` },
    { id: 'python', label: 'Python', language: 'python', code: `import os\nfrom openai import OpenAI\n\nclient = OpenAI(\n    base_url=${json(base + '/v1')},\n    api_key=os.environ["WEIR_API_KEY"],\n)\nr = client.chat.completions.create(\n${named.map(([k, v]) => `    ${k}=${indent(v, '    ')},`).join('\n')}\n)\nprint(r.choices[0].message.content)` },
    { id: 'node', label: 'Node', language: 'js', code: `import OpenAI from "openai";\n\nconst client = new OpenAI({\n  baseURL: ${json(base + '/v1')},\n  apiKey: process.env.WEIR_API_KEY,\n});\nconst r = await client.chat.completions.create({\n${named.map(([k, v]) => `  ${k}: ${indent(v, '  ')},`).join('\n')}\n});\nconsole.log(r.choices[0].message.content);` },
  ]
}
