/** A model's text as elements: never as HTML, never with anything loaded. Finished blocks are not drawn again while the next one grows. */
import { Fragment, memo, useMemo, type ReactNode } from 'react'
import { highlight, type Snippet } from '../../ui/code'
import { Copy } from '../../ui/copy'
import { useT } from '../../i18n'

export type Block = { readonly kind: 'fence'; readonly language: string; readonly text: string } | { readonly kind: 'heading' | 'text' | 'quote' | 'rule'; readonly text: string } | { readonly kind: 'list'; readonly ordered: boolean; readonly text: string }

const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/
const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/
/** An open fence is a fence from its first line on. */
export function blocks(source: string): Block[] {
  const out: Block[] = []
  const lines = source.replaceAll('\r\n', '\n').split('\n')
  let plain: string[] = []
  const flush = () => { if (plain.length) out.push({ kind: 'text', text: plain.join('\n') }); plain = [] }
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!
    const open = fence.exec(line)
    if (open) {
      flush()
      const code: string[] = []
      const end = new RegExp(`^ {0,3}${open[1]![0]}{${open[1]!.length},}\\s*$`)
      while (++i < lines.length && !end.test(lines[i]!)) code.push(lines[i]!)
      out.push({ kind: 'fence', language: open[2] ?? '', text: code.join('\n') })
      continue
    }
    const first = item.exec(line)
    if (/^ {0,3}([-*_])( *\1){2,} *$/.test(line)) { flush(); out.push({ kind: 'rule', text: '' }) }
    else if (/^#{1,6} /.test(line)) { flush(); out.push({ kind: 'heading', text: line.replace(/^#+ +/, '').replace(/ +#+$/, '') }) }
    else if (/^ {0,3}>/.test(line)) {
      flush()
      const quoted = [line]
      while (i + 1 < lines.length && /^ {0,3}>/.test(lines[i + 1]!)) quoted.push(lines[++i]!)
      out.push({ kind: 'quote', text: quoted.map((l) => l.replace(/^ {0,3}> ?/, '')).join('\n') })
    } else if (first) {
      flush()
      const items = [line]
      while (i + 1 < lines.length && (item.test(lines[i + 1]!) || /^\s+\S/.test(lines[i + 1]!)) && !fence.test(lines[i + 1]!)) items.push(lines[++i]!)
      out.push({ kind: 'list', ordered: /\d/.test(first[2]!), text: items.join('\n') })
    } else if (line.trim() === '') flush()
    else plain.push(line)
  }
  flush()
  return out
}

/** Addresses that may be followed. */
export function safe(address: string): string | null {
  if (/[\u0000-\u0020]/.test(address)) return null
  try { const u = new URL(address); return ['http:', 'https:', 'mailto:'].includes(u.protocol) ? u.href : null } catch { return null }
}
/** Marks inside a line. How far the end of a mark is looked for is bounded: a model may write thousands of marks without an end. */
const marks = /(?<!`)(`{1,8})(?!`)([^`]{1,4000}?|[^`][\s\S]{0,4000}?[^`])\1(?!`)|\*\*(?=\S)([\s\S]{0,1000}?\S)\*\*|(?<![*\w])\*(?=[^\s*])([^*]{0,1000}?[^\s*])\*(?!\*)|!?\[([^\]\n]{0,500})\]\(([^()\s]{0,2000}(?:\([^()\s]{0,500}\)[^()\s]{0,500}){0,4})(?:\s+"[^"\n]{0,500}")?\)|(https?:\/\/[^\s<>"'`)\]]*[^\s<>"'`)\].,;:!?])/g
export function inline(source: string, depth = 0): ReactNode[] {
  if (depth > 4) return [source]
  const out: ReactNode[] = []
  let at = 0
  for (const m of source.matchAll(marks)) {
    if (m.index > at) out.push(source.slice(at, m.index))
    at = m.index + m[0].length
    const key = m.index
    if (m[2] !== undefined) out.push(<code key={key} className="rounded-tag bg-sunken px-1 break-words">{m[2]}</code>)
    else if (m[3] !== undefined) out.push(<strong key={key} className="font-semibold">{inline(m[3], depth + 1)}</strong>)
    else if (m[4] !== undefined) out.push(<em key={key}>{inline(m[4], depth + 1)}</em>)
    else {
      const address = safe(m[6] ?? m[7] ?? '')
      out.push(address ? <a key={key} href={address} target="_blank" rel="noopener noreferrer nofollow" title={address} className="break-words text-accent-ink underline">{m[5] || m[7] || address}</a> : m[0])
    }
  }
  if (at < source.length) out.push(source.slice(at))
  return out
}

const languages: { readonly [name: string]: Snippet['language'] } = { bash: 'shell', sh: 'shell', shell: 'shell', zsh: 'shell', py: 'python', python: 'python', js: 'js', ts: 'js', javascript: 'js', typescript: 'js', jsx: 'js', tsx: 'js', go: 'go', json: 'json', toml: 'toml', yaml: 'yaml', yml: 'yaml' }
function Fence({ language, text }: { language: string; text: string }) {
  const t = useT('playground')
  const known = languages[language.toLowerCase()]
  return (
    <div className="my-2 overflow-hidden rounded-panel border border-line bg-sunken">
      <div className="flex items-center gap-2 border-b border-line py-1 pr-1.5 pl-3 text-label text-ink3"><span className="flex-1" translate="no">{language}</span><Copy text={text} what={t('code')} /></div>
      <pre tabIndex={0} aria-label={t('code')} className="m-0 overflow-x-auto px-3 py-2 text-dense whitespace-pre"><code>{known ? highlight(text, known) : text}</code></pre>
    </div>
  )
}
const One = memo(function One({ kind, text, language, ordered }: { kind: Block['kind']; text: string; language: string; ordered: boolean }) {
  switch (kind) {
    case 'fence': return <Fence language={language} text={text} />
    case 'heading': return <p role="heading" aria-level={4} className="pt-2 pb-1 text-section break-words">{inline(text)}</p>
    case 'rule': return <hr className="my-3 border-line" />
    case 'quote': return <blockquote className="my-2 border-l-2 border-line2 pl-3 break-words whitespace-pre-wrap text-ink2">{inline(text)}</blockquote>
    case 'list': {
      const items: { text: string; deep: boolean; n: number }[] = []
      for (const line of text.split('\n')) {
        const m = item.exec(line)
        if (m) items.push({ text: m[3]!, deep: m[1]!.length > 1, n: parseInt(m[2]!, 10) })
        else if (items.length) items[items.length - 1]!.text += '\n' + line.trim()
      }
      const inside = items.map((i, n) => <li key={n} {...(ordered && Number.isFinite(i.n) ? { value: i.n } : {})} className={`py-0.5 break-words whitespace-pre-wrap ${i.deep ? 'ml-5' : ''} ${ordered && !Number.isFinite(i.n) ? 'list-disc' : ''}`}>{inline(i.text)}</li>)
      return ordered ? <ol className="my-1.5 list-decimal pl-6">{inside}</ol> : <ul className="my-1.5 list-disc pl-6">{inside}</ul>
    }
    default: return <p className="py-1 break-words whitespace-pre-wrap">{inline(text)}</p>
  }
})
export function AnswerText({ text }: { text: string }) {
  const all = useMemo(() => blocks(text), [text])
  return <div dir="auto" translate="no" className="text-answer">{all.map((b, i) => <Fragment key={i}><One kind={b.kind} text={b.text} language={b.kind === 'fence' ? b.language : ''} ordered={b.kind === 'list' && b.ordered} /></Fragment>)}</div>
}
