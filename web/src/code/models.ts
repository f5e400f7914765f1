/** Code that asks a model of any kind. What is copied runs; e2e/web runs it. */
import type { Snippet } from '../ui/code'
import { jsHead, json, node, pyHead, python, type For } from './heads'
import { phpPost, phpVideo } from './php'
import { requestSnippets } from './requests'
import { auth, chatSnippets, curl, go, panics } from './snippets'

/** Writes what was downloaded to a file. */
const goSave = (name: string) =>
  `\tdefer r.Body.Close()\n\tfile, err := os.Create(${json(name)})\n` +
  `${panics}\tdefer file.Close()\n\tif _, err := io.Copy(file, r.Body); err != nil {\n` +
  `\t\tpanic(err)\n\t}\n`

export function snippetsFor(kind: string, f: For): Snippet[] {
  const m = json(f.model)
  const php = (path: string, body: object, then: string) =>
    phpPost({ url: f.base + path, key: f.key, body: { model: f.model, ...body }, then })
  switch (kind) {
    case 'embedding':
      return [
        curl(f, '/v1/embeddings', { model: f.model, input: 'A weir measures water' }),
        python(
          `${pyHead(f)}r = client.embeddings.create(model=${m}, input="A weir measures water")\nprint(len(r.data[0].embedding))`,
        ),
        node(
          `${jsHead(f)}const r = await client.embeddings.create({ model: ${m}, input: "A weir measures water" });\nconsole.log(r.data[0].embedding.length);`,
        ),
        go(
          f,
          [],
          `\tr, err := client.Embeddings.New(context.Background(), openai.EmbeddingNewParams{\n` +
            `\t\tModel: ${m},\n` +
            `\t\tInput: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("A weir measures water")},\n` +
            `\t})\n${panics}\tfmt.Println(len(r.Data[0].Embedding))\n`,
        ),
        php(
          '/v1/embeddings',
          { input: 'A weir measures water' },
          'echo count(json_decode($answer)->data[0]->embedding), "\\n";',
        ),
      ]
    case 'image':
      return [
        curl(
          f,
          '/v1/images/generations',
          { model: f.model, prompt: 'A heron in a river' },
          ' \\\n  -o image.json',
        ),
        python(
          `import base64\n` +
            `${pyHead(f)}r = client.images.generate(model=${m}, prompt="A heron in a river")\n` +
            `open("heron.png", "wb").write(base64.b64decode(r.data[0].b64_json))`,
        ),
        node(
          `import { writeFileSync } from "node:fs";\n` +
            `${jsHead(f)}const r = await client.images.generate({ model: ${m}, prompt: "A heron in a river" });\n` +
            `writeFileSync("heron.png", Buffer.from(r.data[0].b64_json, "base64"));`,
        ),
        go(
          f,
          ['encoding/base64', 'os'],
          `\tr, err := client.Images.Generate(context.Background(), openai.ImageGenerateParams{\n` +
            `\t\tModel:  ${m},\n\t\tPrompt: "A heron in a river",\n\t})\n` +
            `${panics}\timage, err := base64.StdEncoding.DecodeString(r.Data[0].B64JSON)\n` +
            `${panics}\tif err := os.WriteFile("heron.png", image, 0o644); err != nil {\n` +
            `\t\tpanic(err)\n\t}\n`,
          true,
        ),
        php(
          '/v1/images/generations',
          { prompt: 'A heron in a river' },
          'file_put_contents("heron.png", base64_decode(json_decode($answer)->data[0]->b64_json));',
        ),
      ]
    case 'video':
      return [
        curl(f, '/v1/videos', { model: f.model, prompt: 'A heron in a river' }),
        python(
          `${pyHead(f)}job = client.videos.create_and_poll(model=${m}, prompt="A heron in a ` +
            `river")\nclient.videos.download_content(job.id).write_to_file("heron.mp4")`,
        ),
        node(
          `import { writeFileSync } from "node:fs";\n` +
            `${jsHead(f)}let job = await client.videos.create({ model: ${m}, prompt: "A heron in a river" });\n` +
            `while (["queued", "in_progress"].includes(job.status)) {\n` +
            `  await new Promise((r) => setTimeout(r, 2000));\n` +
            `  job = await client.videos.retrieve(job.id);\n}\n` +
            `const file = await client.videos.downloadContent(job.id);\n` +
            `writeFileSync("heron.mp4", Buffer.from(await file.arrayBuffer()));`,
        ),
        go(
          f,
          ['io', 'os', 'time'],
          `\tctx := context.Background()\n` +
            `\tjob, err := client.Videos.New(ctx, openai.VideoNewParams{\n\t\tModel:  ${m},\n` +
            `\t\tPrompt: "A heron in a river",\n\t})\n` +
            `${panics}\tfor job.Status == "queued" || job.Status == "in_progress" {\n` +
            `\t\ttime.Sleep(2 * time.Second)\n` +
            `\t\tif job, err = client.Videos.Get(ctx, job.ID); err != nil {\n\t\t\tpanic(err)\n` +
            `\t\t}\n\t}\n` +
            `\tr, err := client.Videos.DownloadContent(ctx, job.ID, openai.VideoDownloadContentParams{})\n` +
            `${panics}${goSave('heron.mp4')}`,
          true,
        ),
        phpVideo(f.base, f.key, { model: f.model, prompt: 'A heron in a river' }, 'heron.mp4'),
      ]
    case 'audio_transcription':
    case 'transcription':
      return [
        {
          id: 'curl',
          label: 'curl',
          language: 'shell',
          code: `curl ${f.base}/v1/audio/transcriptions \\\n  -H "${auth(f.key)}" \\\n  -F file=@speech.mp3 \\\n  -F model=${f.model}`,
        },
        python(
          `${pyHead(f)}r = client.audio.transcriptions.create(model=${m}, file=open("speech.mp3", "rb"))\nprint(r.text)`,
        ),
        node(
          `import { createReadStream } from "node:fs";\n` +
            `${jsHead(f)}const r = await client.audio.transcriptions.create({ model: ${m}, file: createReadStream("speech.mp3") });\n` +
            `console.log(r.text);`,
        ),
        go(
          f,
          ['os'],
          `\tfile, err := os.Open("speech.mp3")\n` +
            `${panics}\tr, err := client.Audio.Transcriptions.New(context.Background(), openai.AudioTranscriptionNewParams{\n` +
            `\t\tModel: ${m},\n\t\tFile:  file,\n\t})\n${panics}\tfmt.Println(r.Text)\n`,
        ),
        phpPost({
          url: `${f.base}/v1/audio/transcriptions`,
          key: f.key,
          form: { fields: { model: f.model }, file: 'speech.mp3' },
          then: 'echo json_decode($answer)->text, "\\n";',
        }),
      ]
    case 'audio_speech':
    case 'speech':
      return [
        curl(
          f,
          '/v1/audio/speech',
          { model: f.model, input: 'Hello', voice: 'alloy' },
          ' \\\n  -o speech.mp3',
        ),
        python(
          `${pyHead(f)}client.audio.speech.create(model=${m}, input="Hello", voice="alloy").write_to_file("speech.mp3")`,
        ),
        node(
          `import { writeFileSync } from "node:fs";\n` +
            `${jsHead(f)}const r = await client.audio.speech.create({ model: ${m}, input: "Hello", voice: "alloy" });\n` +
            `writeFileSync("speech.mp3", Buffer.from(await r.arrayBuffer()));`,
        ),
        go(
          f,
          ['io', 'os'],
          `\tr, err := client.Audio.Speech.New(context.Background(), openai.AudioSpeechNewParams{\n` +
            `\t\tModel: ${m},\n\t\tInput: "Hello",\n` +
            `\t\tVoice: openai.AudioSpeechNewParamsVoiceUnion{OfString: openai.String("alloy")},\n` +
            `\t})\n${panics}${goSave('speech.mp3')}`,
          true,
        ),
        php(
          '/v1/audio/speech',
          { input: 'Hello', voice: 'alloy' },
          'file_put_contents("speech.mp3", $answer);',
        ),
      ]
    case 'rerank':
      return requestSnippets(
        f.base,
        'rerank',
        { model: f.model, query: 'water', documents: ['A weir measures water', 'A kite measures wind'] },
        f.key,
      ).filter((s) => s.id !== 'json')
    case 'moderation':
      return [
        curl(f, '/v1/moderations', { model: f.model, input: 'Hello' }),
        python(
          `${pyHead(f)}r = client.moderations.create(model=${m}, input="Hello")\nprint(r.results[0].flagged)`,
        ),
        node(
          `${jsHead(f)}const r = await client.moderations.create({ model: ${m}, input: "Hello" });\nconsole.log(r.results[0].flagged);`,
        ),
        go(
          f,
          [],
          `\tr, err := client.Moderations.New(context.Background(), openai.ModerationNewParams{\n` +
            `\t\tModel: ${m},\n` +
            `\t\tInput: openai.ModerationNewParamsInputUnion{OfString: openai.String("Hello")},\n` +
            `\t})\n${panics}\tfmt.Println(r.Results[0].Flagged)\n`,
        ),
        php('/v1/moderations', { input: 'Hello' }, 'var_dump(json_decode($answer)->results[0]->flagged);'),
      ]
    default:
      return chatSnippets(f)
  }
}
