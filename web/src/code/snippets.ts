/** Code that calls this installation, with its address filled in. What is copied runs; e2e/web runs it. */
import type { Snippet } from '../ui/code'
import { phpPost } from './php'
import { goHead, goMain, goText, jsHead, json, node, pyHead, python, sh, type For } from './heads'

export const auth = (key: string | null | undefined) =>
  key ? `Authorization: Bearer ${key}` : 'Authorization: Bearer $WEIR_API_KEY'

export function curl(f: For, path: string, body: object, more = ''): Snippet {
  return {
    id: 'curl',
    label: 'curl',
    language: 'shell',
    code: `curl ${f.base}${path} \\\n  -H "${auth(f.key)}" \\\n  -H "Content-Type: application/json" \\\n  -d ${sh(
      '{' +
        Object.entries(body)
          .map(([k, v]) => `${json(k)}: ${json(v)}`)
          .join(',\n    ') +
        '}',
    )}${more}`,
  }
}
export const panics = '\tif err != nil {\n\t\tpanic(err)\n\t}\n'
/** A program with the library of OpenAI. `packages`: of the standard library, besides context; fmt, unless `silent`. */
export function go(f: For, packages: readonly string[], body: string, silent = false): Snippet {
  const standard = [
    ...new Set(['context', ...(silent ? [] : ['fmt']), ...packages, ...(f.key ? [] : ['os'])]),
  ]
  return {
    id: 'go',
    label: 'Go',
    language: 'go',
    code:
      goHead(standard, ['github.com/openai/openai-go/v3', 'github.com/openai/openai-go/v3/option']) +
      goMain(
        `\tclient := openai.NewClient(\n\t\toption.WithBaseURL(${json(f.base + '/v1/')}),\n` +
          `\t\toption.WithAPIKey(${f.key ? json(f.key) : 'os.Getenv("WEIR_API_KEY")'}),\n\t)\n` +
          `${body}`,
      ),
  }
}
export function chatSnippets(f: For): Snippet[] {
  const prompt = f.prompt ?? 'Hello'
  const body = {
    model: f.model,
    ...(f.stream ? { stream: true } : {}),
    messages: [{ role: 'user', content: prompt }],
  }
  const secret = f.key ?? '$WEIR_API_KEY'
  const sent =
    `{"model": ${json(f.model)},${f.stream ? ' "stream": true,' : ''}\n` +
    `    "messages": [{"role": "user",\n      "content": ${json(prompt)}}]}`
  return [
    {
      ...curl(f, '/v1/chat/completions', body),
      code:
        `curl ${f.base}/v1/chat/completions \\\n  -H "${auth(f.key)}" \\\n` +
        `  -H "Content-Type: application/json" \\\n` +
        `  -d ${sh(sent)}`,
    },
    python(
      `${pyHead(f)}r = client.chat.completions.create(\n    model=${json(f.model)},\n` +
        `    messages=[{"role": "user", "content": ${json(prompt)}}],\n)\n` +
        `print(r.choices[0].message.content)`,
    ),
    node(
      `${jsHead(f)}const r = await client.chat.completions.create({\n` +
        `  model: ${json(f.model)},\n  messages: [{ role: "user", content: ${json(prompt)} }],\n` +
        `});\nconsole.log(r.choices[0].message.content);`,
    ),
    go(
      f,
      [],
      `\tr, err := client.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{\n` +
        `\t\tModel: ${json(f.model)},\n\t\tMessages: []openai.ChatCompletionMessageParamUnion{\n` +
        `\t\t\topenai.UserMessage(${goText(prompt)}),\n\t\t},\n\t})\n` +
        `${panics}\tfmt.Println(r.Choices[0].Message.Content)\n`,
    ),
    phpPost({
      url: `${f.base}/v1/chat/completions`,
      key: f.key,
      body: { model: f.model, messages: [{ role: 'user', content: prompt }] },
      then: 'echo json_decode($answer)->choices[0]->message->content, "\\n";',
    }),
    {
      id: 'claude',
      label: 'Claude Code',
      language: 'shell',
      code:
        `unset ANTHROPIC_API_KEY\nexport ANTHROPIC_BASE_URL=${f.base}\n` +
        `export ANTHROPIC_AUTH_TOKEN=${secret}\nexport ANTHROPIC_MODEL=${f.model}\n` +
        `export ANTHROPIC_SMALL_FAST_MODEL=${f.model}\nclaude`,
    },
    {
      id: 'codex',
      label: 'Codex',
      language: 'toml',
      code:
        `# ~/.codex/config.toml\n` +
        `${f.key ? `# export WEIR_API_KEY=${f.key}\n` : ''}model = ${json(f.model)}\n` +
        `model_provider = "weir"\n\n[model_providers.weir]\nname = "Weir"\n` +
        `base_url = ${json(f.base + '/v1')}\nenv_key = "WEIR_API_KEY"\nwire_api = "responses"`,
    },
    {
      id: 'cursor',
      label: 'Cursor',
      language: 'yaml',
      code: `# Settings → Models → API Keys\nOpenAI API Key: ${secret}\nOverride OpenAI Base URL: ${f.base}/v1\n# Add custom model\nModel: ${f.model}`,
    },
    {
      id: 'continue',
      label: 'Continue',
      language: 'yaml',
      code:
        `# ~/.continue/config.yaml\nname: Weir\nversion: 1.0.0\nschema: v1\nmodels:\n` +
        `  - name: ${json(f.model)}\n    provider: openai\n    model: ${f.model}\n` +
        `    apiBase: ${f.base}/v1\n    apiKey: ${f.key ?? '${{ secrets.WEIR_API_KEY }}'}`,
    },
    {
      id: 'cline',
      label: 'Cline',
      language: 'yaml',
      code: `# Settings → API Configuration\nAPI Provider: OpenAI Compatible\nBase URL: ${f.base}/v1\nAPI Key: ${secret}\nModel ID: ${f.model}`,
    },
  ]
}
