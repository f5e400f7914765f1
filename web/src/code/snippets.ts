/** Code that calls this installation, with its address filled in. What is copied runs; e2e/web runs it. */
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

/** Single quotes of a shell. */
const sh = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
const json = (v: unknown) => JSON.stringify(v)
const auth = (key: string | null | undefined) => (key ? `Authorization: Bearer ${key}` : 'Authorization: Bearer $WEIR_API_KEY')

function curl(f: For, path: string, body: object, more = ''): Snippet {
  return { id: 'curl', label: 'curl', language: 'shell', code: `curl ${f.base}${path} \\\n  -H "${auth(f.key)}" \\\n  -H "Content-Type: application/json" \\\n  -d ${sh('{' + Object.entries(body).map(([k, v]) => `${json(k)}: ${json(v)}`).join(',\n    ') + '}')}${more}` }
}
const pyKey = (f: For) => (f.key ? json(f.key) : 'os.environ["WEIR_API_KEY"]')
const pyHead = (f: For) => `${f.key ? '' : 'import os\n'}from openai import OpenAI\n\nclient = OpenAI(\n    base_url=${json(f.base + '/v1')},\n    api_key=${pyKey(f)},\n)\n`
const jsKey = (f: For) => (f.key ? json(f.key) : 'process.env.WEIR_API_KEY')
const jsHead = (f: For) => `import OpenAI from "openai";\n\nconst client = new OpenAI({\n  baseURL: ${json(f.base + '/v1')},\n  apiKey: ${jsKey(f)},\n});\n`
const python = (code: string): Snippet => ({ id: 'python', label: 'Python', language: 'python', code })
const node = (code: string): Snippet => ({ id: 'node', label: 'Node', language: 'js', code })

export function chatSnippets(f: For): Snippet[] {
  const prompt = f.prompt ?? 'Hello'
  const body = { model: f.model, ...(f.stream ? { stream: true } : {}), messages: [{ role: 'user', content: prompt }] }
  const secret = f.key ?? '$WEIR_API_KEY'
  return [
    { ...curl(f, '/v1/chat/completions', body), code: `curl ${f.base}/v1/chat/completions \\\n  -H "${auth(f.key)}" \\\n  -H "Content-Type: application/json" \\\n  -d ${sh(`{"model": ${json(f.model)},${f.stream ? ' "stream": true,' : ''}\n    "messages": [{"role": "user",\n      "content": ${json(prompt)}}]}`)}` },
    python(`${pyHead(f)}r = client.chat.completions.create(\n    model=${json(f.model)},\n    messages=[{"role": "user", "content": ${json(prompt)}}],\n)\nprint(r.choices[0].message.content)`),
    node(`${jsHead(f)}const r = await client.chat.completions.create({\n  model: ${json(f.model)},\n  messages: [{ role: "user", content: ${json(prompt)} }],\n});\nconsole.log(r.choices[0].message.content);`),
    { id: 'go', label: 'Go', language: 'go', code: `package main\n\nimport (\n\t"context"\n\t"fmt"\n${f.key ? '' : '\t"os"\n'}\n\t"github.com/openai/openai-go/v3"\n\t"github.com/openai/openai-go/v3/option"\n)\n\nfunc main() {\n\tclient := openai.NewClient(\n\t\toption.WithBaseURL(${json(f.base + '/v1/')}),\n\t\toption.WithAPIKey(${f.key ? json(f.key) : 'os.Getenv("WEIR_API_KEY")'}),\n\t)\n\tr, err := client.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{\n\t\tModel: ${json(f.model)},\n\t\tMessages: []openai.ChatCompletionMessageParamUnion{\n\t\t\topenai.UserMessage(${json(prompt)}),\n\t\t},\n\t})\n\tif err != nil {\n\t\tpanic(err)\n\t}\n\tfmt.Println(r.Choices[0].Message.Content)\n}` },
    { id: 'claude', label: 'Claude Code', language: 'shell', code: `unset ANTHROPIC_API_KEY\nexport ANTHROPIC_BASE_URL=${f.base}\nexport ANTHROPIC_AUTH_TOKEN=${secret}\nexport ANTHROPIC_MODEL=${f.model}\nexport ANTHROPIC_SMALL_FAST_MODEL=${f.model}\nclaude` },
    { id: 'codex', label: 'Codex', language: 'toml', code: `# ~/.codex/config.toml\n${f.key ? `# export WEIR_API_KEY=${f.key}\n` : ''}model = ${json(f.model)}\nmodel_provider = "weir"\n\n[model_providers.weir]\nname = "Weir"\nbase_url = ${json(f.base + '/v1')}\nenv_key = "WEIR_API_KEY"\nwire_api = "responses"` },
    { id: 'cursor', label: 'Cursor', language: 'yaml', code: `# Settings → Models → API Keys\nOpenAI API Key: ${secret}\nOverride OpenAI Base URL: ${f.base}/v1\n# Add custom model\nModel: ${f.model}` },
    { id: 'continue', label: 'Continue', language: 'yaml', code: `# ~/.continue/config.yaml\nname: Weir\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: ${json(f.model)}\n    provider: openai\n    model: ${f.model}\n    apiBase: ${f.base}/v1\n    apiKey: ${f.key ?? '${{ secrets.WEIR_API_KEY }}'}` },
    { id: 'cline', label: 'Cline', language: 'yaml', code: `# Settings → API Configuration\nAPI Provider: OpenAI Compatible\nBase URL: ${f.base}/v1\nAPI Key: ${secret}\nModel ID: ${f.model}` },
  ]
}

/** The code for a model of any kind. */
export function snippetsFor(kind: string, f: For): Snippet[] {
  switch (kind) {
    case 'embedding':
      return [curl(f, '/v1/embeddings', { model: f.model, input: 'A weir measures water' }), python(`${pyHead(f)}r = client.embeddings.create(model=${json(f.model)}, input="A weir measures water")\nprint(len(r.data[0].embedding))`), node(`${jsHead(f)}const r = await client.embeddings.create({ model: ${json(f.model)}, input: "A weir measures water" });\nconsole.log(r.data[0].embedding.length);`)]
    case 'image':
      return [curl(f, '/v1/images/generations', { model: f.model, prompt: 'A heron in a river' }, ' \\\n  -o image.json'), python(`import base64\n${pyHead(f)}r = client.images.generate(model=${json(f.model)}, prompt="A heron in a river")\nopen("heron.png", "wb").write(base64.b64decode(r.data[0].b64_json))`), node(`import { writeFileSync } from "node:fs";\n${jsHead(f)}const r = await client.images.generate({ model: ${json(f.model)}, prompt: "A heron in a river" });\nwriteFileSync("heron.png", Buffer.from(r.data[0].b64_json, "base64"));`)]
    case 'video':
      return [curl(f, '/v1/videos', { model: f.model, prompt: 'A heron in a river' }), python(`${pyHead(f)}job = client.videos.create_and_poll(model=${json(f.model)}, prompt="A heron in a river")\nclient.videos.download_content(job.id).write_to_file("heron.mp4")`), node(`import { writeFileSync } from "node:fs";\n${jsHead(f)}let job = await client.videos.create({ model: ${json(f.model)}, prompt: "A heron in a river" });\nwhile (["queued", "in_progress"].includes(job.status)) {\n  await new Promise((r) => setTimeout(r, 2000));\n  job = await client.videos.retrieve(job.id);\n}\nconst file = await client.videos.downloadContent(job.id);\nwriteFileSync("heron.mp4", Buffer.from(await file.arrayBuffer()));`)]
    case 'audio_transcription': case 'transcription':
      return [{ id: 'curl', label: 'curl', language: 'shell', code: `curl ${f.base}/v1/audio/transcriptions \\\n  -H "${auth(f.key)}" \\\n  -F file=@speech.mp3 \\\n  -F model=${f.model}` }, python(`${pyHead(f)}r = client.audio.transcriptions.create(model=${json(f.model)}, file=open("speech.mp3", "rb"))\nprint(r.text)`), node(`import { createReadStream } from "node:fs";\n${jsHead(f)}const r = await client.audio.transcriptions.create({ model: ${json(f.model)}, file: createReadStream("speech.mp3") });\nconsole.log(r.text);`)]
    case 'audio_speech': case 'speech':
      return [curl(f, '/v1/audio/speech', { model: f.model, input: 'Hello', voice: 'alloy' }, ' \\\n  -o speech.mp3'), python(`${pyHead(f)}client.audio.speech.create(model=${json(f.model)}, input="Hello", voice="alloy").write_to_file("speech.mp3")`), node(`import { writeFileSync } from "node:fs";\n${jsHead(f)}const r = await client.audio.speech.create({ model: ${json(f.model)}, input: "Hello", voice: "alloy" });\nwriteFileSync("speech.mp3", Buffer.from(await r.arrayBuffer()));`)]
    case 'rerank': return [curl(f, '/v1/rerank', { model: f.model, query: 'water', documents: ['A weir measures water', 'A kite measures wind'] })]
    case 'moderation': return [curl(f, '/v1/moderations', { model: f.model, input: 'Hello' }), python(`${pyHead(f)}r = client.moderations.create(model=${json(f.model)}, input="Hello")\nprint(r.results[0].flagged)`)]
    default: return chatSnippets(f)
  }
}

/** A value as Python writes it. */
function py(v: unknown, by: string): string {
  if (v === null || v === undefined) return 'None'
  if (typeof v === 'boolean') return v ? 'True' : 'False'
  if (typeof v !== 'object') return json(v)
  const inner = by + '    '
  if (Array.isArray(v)) return v.length ? `[\n${v.map((x) => inner + py(x, inner)).join(',\n')},\n${by}]` : '[]'
  const named = Object.entries(v)
  return named.length ? `{\n${named.map(([k, x]) => `${inner}${json(k)}: ${py(x, inner)}`).join(',\n')},\n${by}}` : '{}'
}
const js = (v: unknown, by: string) => JSON.stringify(v, null, 2).replaceAll('\n', '\n' + by).replace(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:')
interface Kind { readonly path: string; /** null: the libraries have no call that takes all of it as JSON */ readonly call: string | null; /** Fields that the Python library knows by name; others go as extra_body */ readonly known: readonly string[]; readonly py: string; readonly js: string; readonly more?: string; readonly pyHead?: string; readonly jsHead?: string }
const kinds = {
  chat: { path: '/v1/chat/completions', call: 'chat.completions.create', known: ['model', 'messages', 'temperature', 'top_p', 'max_tokens', 'reasoning_effort', 'tools', 'response_format'], py: 'print(r.choices[0].message.content)', js: 'console.log(r.choices[0].message.content);' },
  image: { path: '/v1/images/generations', call: 'images.generate', known: ['model', 'prompt', 'n', 'size', 'quality', 'background', 'output_format'], more: ' \\\n  -o image.json', pyHead: 'import base64\n', py: 'for i, image in enumerate(r.data):\n    open(f"image-{i}.png", "wb").write(base64.b64decode(image.b64_json))', jsHead: 'import { writeFileSync } from "node:fs";\n', js: 'r.data.forEach((image, i) => writeFileSync(`image-${i}.png`, Buffer.from(image.b64_json, "base64")));' },
  embeddings: { path: '/v1/embeddings', call: 'embeddings.create', known: ['model', 'input', 'dimensions'], py: 'print([len(d.embedding) for d in r.data])', js: 'console.log(r.data.map((d) => d.embedding.length));' },
  speech: { path: '/v1/audio/speech', call: 'audio.speech.create', known: ['model', 'input', 'voice', 'response_format', 'speed', 'instructions'], more: ' \\\n  -o speech.audio', py: 'r.write_to_file("speech.audio")', jsHead: 'import { writeFileSync } from "node:fs";\n', js: 'writeFileSync("speech.audio", Buffer.from(await r.arrayBuffer()));' },
  edit: { path: '/v1/images/edits', call: null, known: [], py: '', js: '' },
  video: { path: '/v1/videos', call: null, known: [], py: '', js: '' },
} as const satisfies { readonly [name: string]: Kind }

/** A request of a page as code that runs: exactly what is sent. */
export function requestSnippets(base: string, kind: keyof typeof kinds, body: { readonly model: string; readonly [name: string]: unknown }): Snippet[] {
  const k: Kind = kinds[kind]
  const f: For = { base, model: body.model }
  const named = Object.entries(body).filter(([, v]) => v !== undefined)
  const other = named.filter(([n]) => !k.known.includes(n))
  const text = JSON.stringify(Object.fromEntries(named), null, 2)
  if (k.call === null) {
    return [
      { id: 'curl', label: 'curl', language: 'shell', code: `curl ${base}${k.path} \\\n  -H "Authorization: Bearer $WEIR_API_KEY" \\\n  -H "Content-Type: application/json" \\\n  -d ${sh(text)}` },
      python(`import json, os, urllib.request\n\nrequest = urllib.request.Request(\n    ${json(base + k.path)},\n    data=json.dumps(${py(Object.fromEntries(named), '    ')}).encode(),\n    headers={"Authorization": "Bearer " + os.environ["WEIR_API_KEY"], "Content-Type": "application/json"},\n)\nprint(urllib.request.urlopen(request).read().decode())`),
      node(`const r = await fetch(${json(base + k.path)}, {\n  method: "POST",\n  headers: { Authorization: \`Bearer \${process.env.WEIR_API_KEY}\`, "Content-Type": "application/json" },\n  body: JSON.stringify(${js(Object.fromEntries(named), '  ')}),\n});\nconsole.log(await r.json());`),
      goPost(base + k.path, text),
      { id: 'json', label: 'JSON', language: 'json', code: text },
    ]
  }
  return [
    { id: 'curl', label: 'curl', language: 'shell', code: `curl ${base}${k.path} \\\n  -H "Authorization: Bearer $WEIR_API_KEY" \\\n  -H "Content-Type: application/json" \\\n  -d ${sh(text)}${k.more ?? ''}` },
    python(`${k.pyHead ?? ''}${pyHead(f)}r = client.${k.call}(\n${named.filter(([n]) => k.known.includes(n)).map(([n, v]) => `    ${n}=${py(v, '    ')},\n`).join('')}${other.length ? `    extra_body=${py(Object.fromEntries(other), '    ')},\n` : ''})\n${k.py}`),
    node(`${k.jsHead ?? ''}${jsHead(f)}const r = await client.${k.call}(${js(Object.fromEntries(named), '')});\n${k.js}`),
    goPost(base + k.path, text),
    { id: 'json', label: 'JSON', language: 'json', code: text },
  ]
}
function goPost(url: string, body: string): Snippet {
  const text = body.includes('`') ? json(body) : `\`${body}\``
  return { id: 'go', label: 'Go', language: 'go', code: `package main\n\nimport (\n\t"io"\n\t"net/http"\n\t"os"\n\t"strings"\n)\n\nfunc main() {\n\tbody := strings.NewReader(${text})\n\treq, err := http.NewRequest("POST", ${json(url)}, body)\n\tif err != nil {\n\t\tpanic(err)\n\t}\n\treq.Header.Set("Authorization", "Bearer "+os.Getenv("WEIR_API_KEY"))\n\treq.Header.Set("Content-Type", "application/json")\n\tr, err := http.DefaultClient.Do(req)\n\tif err != nil {\n\t\tpanic(err)\n\t}\n\tdefer r.Body.Close()\n\tio.Copy(os.Stdout, r.Body)\n}` }
}

/** A transcription: a form with a file. */
export function formSnippets(base: string, fields: { readonly model: string; readonly [name: string]: string }, file: string): Snippet[] {
  const f: For = { base, model: fields.model }
  const named = Object.entries(fields)
  const text = fields.response_format === 'srt' || fields.response_format === 'vtt'
  return [
    { id: 'curl', label: 'curl', language: 'shell', code: `curl ${base}/v1/audio/transcriptions \\\n  -H "Authorization: Bearer $WEIR_API_KEY" \\\n${named.map(([k, v]) => `  -F ${sh(`${k}=${v}`)} \\\n`).join('')}  -F ${sh(`file=@${file}`)}` },
    python(`${pyHead(f)}r = client.audio.transcriptions.create(\n${named.map(([k, v]) => `    ${k}=${json(v)},\n`).join('')}    file=open(${json(file)}, "rb"),\n)\nprint(${text ? 'r' : 'r.text'})`),
    node(`import { createReadStream } from "node:fs";\n${jsHead(f)}const r = await client.audio.transcriptions.create({\n${named.map(([k, v]) => `  ${k}: ${json(v)},\n`).join('')}  file: createReadStream(${json(file)}),\n});\nconsole.log(${text ? 'r' : 'r.text'});`),
  ]
}
