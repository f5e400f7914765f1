/** A request of the playground as code that sends exactly it. What is copied runs; e2e/web runs it. */
import type { Snippet } from '../ui/code'
import { goHead, goMain, goText, jsHead, json, node, pyHead, python, sh } from './heads'
import { phpEcho, phpPost } from './php'
import { FromFile, curlBody, fileName, js, pieces, py, withFiles } from './quote'

interface Kind {
  readonly path: string
  /** null: the libraries have no call that takes all of it as JSON */
  readonly call: string | null
  /** Fields that the Python library knows by name; others go as extra_body */
  readonly known: readonly string[]
  readonly py: string
  readonly js: string
  /** Unless the answer is shown as it is */
  readonly php?: string
  /** After the command of curl */
  readonly more?: string
  readonly pyImport?: string
  readonly jsImport?: string
}
const chatFields = [
  'model',
  'messages',
  'temperature',
  'top_p',
  'max_tokens',
  'reasoning_effort',
  'tools',
  'response_format',
]
const ending = (body: { readonly [name: string]: unknown }) =>
  ({ jpeg: 'jpg', webp: 'webp' })[String(body.output_format)] ?? 'png'
const kinds = {
  chat: () => ({
    path: '/v1/chat/completions',
    call: 'chat.completions.create',
    known: chatFields,
    py: 'message = r.choices[0].message\nprint(message.content or message.tool_calls)',
    js: 'const { content, tool_calls } = r.choices[0].message;\nconsole.log(content || tool_calls);',
    php: '$message = json_decode($answer)->choices[0]->message;\necho $message->content ?: json_encode($message->tool_calls), "\\n";',
  }),
  image: (body) => ({
    path: '/v1/images/generations',
    call: 'images.generate',
    known: ['model', 'prompt', 'n', 'size', 'quality', 'background', 'output_format'],
    more: ' \\\n  -o image.json',
    pyImport: 'import base64\n',
    py: `for i, image in enumerate(r.data):\n    open(f"made-{i}.${ending(body)}", "wb").write(base64.b64decode(image.b64_json))`,
    jsImport: 'import { writeFileSync } from "node:fs";\n',
    js: `r.data.forEach((image, i) => writeFileSync(\`made-\${i}.${ending(body)}\`, Buffer.from(image.b64_json, "base64")));`,
    php: `foreach (json_decode($answer)->data as $i => $image) {\n    file_put_contents("made-$i.${ending(body)}", base64_decode($image->b64_json));\n}`,
  }),
  embeddings: () => ({
    path: '/v1/embeddings',
    call: 'embeddings.create',
    known: ['model', 'input', 'dimensions'],
    py: 'print([len(d.embedding) for d in r.data])',
    js: 'console.log(r.data.map((d) => d.embedding.length));',
    php: 'echo json_encode(array_map(fn($d) => count($d->embedding), json_decode($answer)->data)), "\\n";',
  }),
  speech: () => ({
    path: '/v1/audio/speech',
    call: 'audio.speech.create',
    known: ['model', 'input', 'voice', 'response_format', 'speed', 'instructions'],
    more: ' \\\n  -o speech.audio',
    py: 'r.write_to_file("speech.audio")',
    jsImport: 'import { writeFileSync } from "node:fs";\n',
    js: 'writeFileSync("speech.audio", Buffer.from(await r.arrayBuffer()));',
    php: 'file_put_contents("speech.audio", $answer);',
  }),
  edit: () => ({
    path: '/v1/images/edits',
    call: null,
    known: [],
    py: '',
    js: '',
    more: ' \\\n  -o image.json',
  }),
  video: () => ({ path: '/v1/videos', call: null, known: [], py: '', js: '' }),
  rerank: () => ({ path: '/v1/rerank', call: null, known: [], py: '', js: '' }),
} as const satisfies { readonly [name: string]: (body: { readonly [name: string]: unknown }) => Kind }

/** The request in every language, and as JSON. */
export function requestSnippets(
  base: string,
  kind: keyof typeof kinds,
  body: { readonly model: string; readonly [name: string]: unknown },
  key?: string | null,
): Snippet[] {
  const k: Kind = kinds[kind](body)
  const { value, files, short } = withFiles(
    Object.fromEntries(Object.entries(body).filter(([, v]) => v !== undefined)),
  )
  const f = { base, model: body.model, ...(key ? { key } : {}) }
  const parts = pieces(value, files)
  const secret = key ? json(key) : 'os.environ["WEIR_API_KEY"]'
  const rest = [
    goPost(
      base + k.path,
      parts,
      key,
      kind === 'image' || kind === 'edit' ? 'image.json' : kind === 'speech' ? 'speech.audio' : null,
    ),
    phpPost({ url: base + k.path, key, body: value, then: k.php ?? phpEcho }),
    { id: 'json', label: 'JSON', language: 'json', code: JSON.stringify(short, null, 2) },
  ] as const satisfies Snippet[]
  const head =
    `curl ${base}${k.path} \\\n  -H "Authorization: Bearer ${key ?? '$WEIR_API_KEY'}" \\\n` +
    `  -H "Content-Type: application/json"${k.more ?? ''} \\\n  `
  const curl: Snippet = { id: 'curl', label: 'curl', language: 'shell', code: head + curlBody(parts) }
  const readsFile = files.length > 0
  if (k.call === null) {
    const imports = ['json', ...(readsFile ? ['base64'] : []), ...(key ? [] : ['os']), 'urllib.request']
      .sort()
      .join(', ')
    return [
      curl,
      python(
        `import ${imports}\n\nrequest = urllib.request.Request(\n    ${json(base + k.path)},\n` +
          `    data=json.dumps(${py(value, '    ')}).encode(),\n` +
          `    headers={"Authorization": "Bearer " + ${secret}, "Content-Type": "application/json"},\n` +
          `)\nprint(urllib.request.urlopen(request).read().decode())`,
      ),
      node(
        `${readsFile ? 'import { readFileSync } from "node:fs";\n\n' : ''}const r = await fetch(${json(base + k.path)}, {\n` +
          `  method: "POST",\n` +
          `  headers: { Authorization: ${key ? json(`Bearer ${key}`) : '`Bearer ${process.env.WEIR_API_KEY}`'}, "Content-Type": "application/json" },\n` +
          `  body: JSON.stringify(${js(value, '  ')}),\n});\nconsole.log(await r.json());`,
      ),
      ...rest,
    ]
  }
  const named = Object.entries(value)
  const other = named.filter(([n]) => !k.known.includes(n))
  const pyImport = k.pyImport ?? (readsFile ? 'import base64\n' : '')
  const jsImport = `${k.jsImport ?? ''}${readsFile ? 'import { readFileSync } from "node:fs";\n' : ''}`
  return [
    curl,
    python(
      `${pyImport}${pyHead(f)}r = client.${k.call}(\n${named
        .filter(([n]) => k.known.includes(n))
        .map(([n, v]) => `    ${n}=${py(v, '    ')},\n`)
        .join(
          '',
        )}${other.length ? `    extra_body=${py(Object.fromEntries(other), '    ')},\n` : ''})\n${k.py}`,
    ),
    node(`${jsImport}${jsHead(f)}const r = await client.${k.call}(${js(value, '')});\n${k.js}`),
    ...rest,
  ]
}

function goPost(
  url: string,
  parts: readonly (string | FromFile)[],
  key: string | null | undefined,
  into: string | null,
): Snippet {
  const reads = parts.some((x) => x instanceof FromFile)
  const imports = [...(reads ? ['encoding/base64'] : []), 'io', 'net/http', 'os', 'strings']
  const body = parts
    .map((x) => (typeof x === 'string' ? goText(x) : `base64Of(${json(x.name)})`))
    .join(' +\n\t\t')
  return {
    id: 'go',
    label: 'Go',
    language: 'go',
    code:
      goHead(imports) +
      goMain(
        `\tbody := ${body}\n` +
          `\treq, err := http.NewRequest("POST", ${json(url)}, strings.NewReader(body))\n` +
          `\tif err != nil {\n\t\tpanic(err)\n\t}\n` +
          `\treq.Header.Set("Authorization", "Bearer "+${key ? json(key) : 'os.Getenv("WEIR_API_KEY")'})\n` +
          `\treq.Header.Set("Content-Type", "application/json")\n` +
          `\tr, err := http.DefaultClient.Do(req)\n\tif err != nil {\n\t\tpanic(err)\n\t}\n` +
          `\tdefer r.Body.Close()\n` +
          (into
            ? `\tfile, err := os.Create(${json(into)})\n\tif err != nil {\n\t\tpanic(err)\n\t}\n` +
              `\tdefer file.Close()\n\tif _, err := io.Copy(file, r.Body); err != nil {\n` +
              `\t\tpanic(err)\n\t}\n`
            : '\tif _, err := io.Copy(os.Stdout, r.Body); err != nil {\n\t\tpanic(err)\n\t}\n'),
      ) +
      (reads
        ? '\n\nfunc base64Of(name string) string {\n\tdata, err := os.ReadFile(name)\n' +
          '\tif err != nil {\n\t\tpanic(err)\n\t}\n' +
          '\treturn base64.StdEncoding.EncodeToString(data)\n}'
        : ''),
  }
}

/** A transcription: a form with a file. */
export function formSnippets(
  base: string,
  fields: { readonly model: string; readonly [name: string]: string },
  recording: string,
): Snippet[] {
  const f = { base, model: fields.model }
  const named = Object.entries(fields)
  const file = fileName(recording, 'speech.mp3')
  const text = fields.response_format === 'srt' || fields.response_format === 'vtt'
  const url = `${base}/v1/audio/transcriptions`
  return [
    // --form-string: -F would take a value that begins with @ for the name of a file.
    {
      id: 'curl',
      label: 'curl',
      language: 'shell',
      code:
        `curl ${url} \\\n  -H "Authorization: Bearer $WEIR_API_KEY" \\\n` +
        `${named.map(([k, v]) => `  --form-string ${sh(`${k}=${v}`)} \\\n`).join('')}  -F ${sh(`file=@${file}`)}`,
    },
    python(
      `${pyHead(f)}r = client.audio.transcriptions.create(\n` +
        `${named.map(([k, v]) => `    ${k}=${json(v)},\n`).join('')}    file=open(${json(file)}, "rb"),\n` +
        `)\nprint(${text ? 'r' : 'r.text'})`,
    ),
    node(
      `import { createReadStream } from "node:fs";\n` +
        `${jsHead(f)}const r = await client.audio.transcriptions.create({\n` +
        `${named.map(([k, v]) => `  ${k}: ${json(v)},\n`).join('')}  file: createReadStream(${json(file)}),\n` +
        `});\nconsole.log(${text ? 'r' : 'r.text'});`,
    ),
    {
      id: 'go',
      label: 'Go',
      language: 'go',
      code:
        goHead(['bytes', 'io', 'mime/multipart', 'net/http', 'os']) +
        goMain(
          `\tvar body bytes.Buffer\n\tform := multipart.NewWriter(&body)\n` +
            `${named.map(([k, v]) => `\tform.WriteField(${json(k)}, ${goText(v)})\n`).join('')}\trecording, err := os.ReadFile(${json(file)})\n` +
            `\tif err != nil {\n\t\tpanic(err)\n\t}\n` +
            `\tpart, err := form.CreateFormFile("file", ${json(file)})\n\tif err != nil {\n` +
            `\t\tpanic(err)\n\t}\n\tpart.Write(recording)\n\tform.Close()\n` +
            `\treq, err := http.NewRequest("POST", ${json(url)}, &body)\n\tif err != nil {\n` +
            `\t\tpanic(err)\n\t}\n` +
            `\treq.Header.Set("Authorization", "Bearer "+os.Getenv("WEIR_API_KEY"))\n` +
            `\treq.Header.Set("Content-Type", form.FormDataContentType())\n` +
            `\tr, err := http.DefaultClient.Do(req)\n\tif err != nil {\n\t\tpanic(err)\n\t}\n` +
            `\tdefer r.Body.Close()\n\tif _, err := io.Copy(os.Stdout, r.Body); err != nil {\n` +
            `\t\tpanic(err)\n\t}\n`,
        ),
    },
    phpPost({
      url,
      form: { fields, file },
      then: text ? phpEcho : 'echo json_decode($answer)->text, "\\n";',
    }),
  ]
}
