/** A model's text as elements: never as HTML, never with anything loaded. Finished blocks are not drawn again while the next one grows. */
import { memo, useState, type ReactNode } from 'react'
import { highlight, type Snippet } from '../../ui/code'
import { Copy } from '../../ui/copy'
import { useT } from '../../i18n'
import { Lexer, Pieces, cells, item, type Block } from './markdown'

/** Addresses that may be followed. */
export function safe(address: string): string | null {
  if (/[\u0000-\u0020]/.test(address)) return null
  try {
    const u = new URL(address)
    return ['http:', 'https:', 'mailto:'].includes(u.protocol) ? u.href : null
  } catch {
    return null
  }
}
/** Marks inside a line. How far the end of a mark is looked for is bounded: a model may write thousands of marks without an end. */
const marks = new RegExp(
  [
    /(?<!`)(`{1,8})(?!`)([^`]{1,4000}?|[^`][\s\S]{0,4000}?[^`])\1(?!`)/,
    /\*\*(?=\S)([\s\S]{0,1000}?\S)\*\*|(?<![*\w])\*(?=[^\s*])([^*]{0,1000}?[^\s*])\*(?!\*)/,
    /!?\[([^\]\n]{0,500})\]\(([^()\s]{0,2000}(?:\([^()\s]{0,500}\)[^()\s]{0,500}){0,4})(?:\s+"[^"\n]{0,500}")?\)/,
    /(https?:\/\/[^\s<>"'`)\]]*[^\s<>"'`)\].,;:!?])/,
  ]
    .map((r) => r.source)
    .join('|'),
  'g',
)
export function inline(source: string, depth = 0): ReactNode[] {
  if (depth > 4) return [source]
  const out: ReactNode[] = []
  let at = 0
  for (const m of source.matchAll(marks)) {
    if (m.index > at) out.push(source.slice(at, m.index))
    at = m.index + m[0].length
    const key = m.index
    if (m[2] !== undefined)
      out.push(
        <code key={key} className="rounded-tag bg-sunken px-1 break-words">
          {m[2]}
        </code>,
      )
    else if (m[3] !== undefined)
      out.push(
        <strong key={key} className="font-semibold">
          {inline(m[3], depth + 1)}
        </strong>,
      )
    else if (m[4] !== undefined) out.push(<em key={key}>{inline(m[4], depth + 1)}</em>)
    else {
      const address = safe(m[6] ?? m[7] ?? '')
      out.push(
        address ? (
          <a
            key={key}
            href={address}
            target="_blank"
            rel="noopener noreferrer nofollow"
            title={address}
            className="break-words text-accent-ink underline"
          >
            {m[5] || m[7] || address}
          </a>
        ) : (
          m[0]
        ),
      )
    }
  }
  if (at < source.length) out.push(source.slice(at))
  return out
}

/** A text that grows, drawn piece by piece. What is one piece is not wrapped. */
export function Grown({ text, draw = plain }: { text: string; draw?: (text: string) => ReactNode }) {
  const [cut] = useState(() => new Pieces())
  const pieces = cut.read(text)
  return pieces.length === 1 ? draw(text) : pieces.map((p, i) => <Piece key={i} text={p} draw={draw} />)
}
const Piece = memo(function Piece({ text, draw }: { text: string; draw: (text: string) => ReactNode }) {
  return (
    <span className="block [contain-intrinsic-size:auto_800px] [content-visibility:auto]">{draw(text)}</span>
  )
})
const plain = (text: string) => text
const marked = (text: string) => inline(text)

const languages: { readonly [name: string]: Snippet['language'] } = {
  bash: 'shell',
  sh: 'shell',
  shell: 'shell',
  zsh: 'shell',
  py: 'python',
  python: 'python',
  js: 'js',
  ts: 'js',
  javascript: 'js',
  typescript: 'js',
  jsx: 'js',
  tsx: 'js',
  go: 'go',
  json: 'json',
  toml: 'toml',
  yaml: 'yaml',
  yml: 'yaml',
}
/** Colours come when the code is whole, and only while it is short. */
function Fence({ language, text, over }: { language: string; text: string; over: boolean }) {
  const t = useT('playground')
  const known = languages[language.toLowerCase()]
  return (
    <div className="my-2 overflow-hidden rounded-panel border border-line bg-sunken">
      <div className="flex items-center gap-2 border-b border-line py-1 pr-1.5 pl-3 text-label text-ink3">
        <span className="flex-1" translate="no">
          {language}
        </span>
        <Copy text={text} what={t('code')} />
      </div>
      <pre
        tabIndex={0}
        aria-label={t('code')}
        className="m-0 overflow-x-auto px-3 py-2 text-dense whitespace-pre focus-visible:outline-offset-[-2px]"
      >
        <code>{known && over && text.length < 50_000 ? highlight(text, known) : <Grown text={text} />}</code>
      </pre>
    </div>
  )
}
function Rows({ head, text }: { head: string; text: string }) {
  const t = useT('playground')
  const [cut] = useState(() => new Pieces(undefined, false))
  const names = cells(head)
  return (
    <div
      tabIndex={0}
      role="region"
      aria-label={t('tableOf')}
      className="my-2 overflow-x-auto rounded-panel border border-line focus-visible:outline-offset-[-2px]"
    >
      <table className="w-full text-body">
        <thead>
          <tr>
            {names.map((c, i) => (
              <th
                key={i}
                scope="col"
                className="border-b border-line bg-sunken px-3 py-1.5 text-left font-semibold"
              >
                {inline(c)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {text && cut.read(text).map((p, i) => <SomeRows key={i} text={p} count={names.length} />)}
        </tbody>
      </table>
    </div>
  )
}
const SomeRows = memo(function SomeRows({ text, count }: { text: string; count: number }) {
  return text
    .split('\n')
    .map(cells)
    .map((r, i) => (
      <tr key={i} className="not-last:border-b not-last:border-line">
        {Array.from({ length: count }, (_, n) => (
          <td key={n} className="px-3 py-1.5 align-top">
            {inline(r[n] ?? '')}
          </td>
        ))}
      </tr>
    ))
})
const startsItem = (line: string) => item.test(line)
function List({ ordered, text }: { ordered: boolean; text: string }) {
  const [cut] = useState(() => new Pieces(startsItem, false))
  const inside = cut.read(text).map((p, i) => <Items key={i} ordered={ordered} text={p} />)
  return ordered ? (
    <ol className="my-1.5 list-decimal pl-6">{inside}</ol>
  ) : (
    <ul className="my-1.5 list-disc pl-6">{inside}</ul>
  )
}
const Items = memo(function Items({ ordered, text }: { ordered: boolean; text: string }) {
  const items: { text: string; deep: boolean; n: number }[] = []
  for (const line of text.split('\n')) {
    const m = item.exec(line)
    if (m) items.push({ text: m[3]!, deep: m[1]!.length > 1, n: parseInt(m[2]!, 10) })
    else if (items.length) items[items.length - 1]!.text += '\n' + line.trim()
  }
  return items.map((i, n) => (
    <li
      key={n}
      {...(ordered && Number.isFinite(i.n) ? { value: i.n } : {})}
      className={`py-0.5 break-words whitespace-pre-wrap ${i.deep ? 'ml-5' : ''} ${ordered && !Number.isFinite(i.n) ? 'list-disc' : ''}`}
    >
      <Grown text={i.text} draw={marked} />
    </li>
  ))
})
const One = memo(function One({ block: b }: { block: Block }) {
  const text = b.text
  switch (b.kind) {
    case 'fence':
      return <Fence language={b.language} text={text} over={b.over} />
    case 'table':
      return <Rows head={b.head} text={text} />
    case 'heading':
      return (
        <p role="heading" aria-level={4} className="pt-2 pb-1 text-section break-words">
          {inline(text)}
        </p>
      )
    case 'rule':
      return <hr className="my-3 border-line" />
    case 'quote':
      return (
        <blockquote className="my-2 border-l-2 border-line2 pl-3 break-words whitespace-pre-wrap text-ink2">
          <Grown text={text} draw={marked} />
        </blockquote>
      )
    case 'list':
      return <List ordered={b.ordered} text={text} />
    default:
      return (
        <p className="py-1 break-words whitespace-pre-wrap">
          <Grown text={text} draw={marked} />
        </p>
      )
  }
})
/** What is out of sight is not laid out: a long answer stays light to scroll. */
const Group = memo(function Group({ blocks }: { blocks: readonly Block[] }) {
  return (
    <div className="[contain-intrinsic-size:auto_800px] [content-visibility:auto]">
      {blocks.map((b, i) => (
        <One key={i} block={b} />
      ))}
    </div>
  )
})
export function AnswerText({ text }: { text: string }) {
  const [lexer] = useState(() => new Lexer())
  const groups = lexer.read(text)
  return (
    <div dir="auto" translate="no" className="text-answer">
      {groups.map((g, i) =>
        i < groups.length - 1 ? (
          <Group key={i} blocks={g} />
        ) : (
          <div key={i}>
            {g.map((b, n) => (
              <One key={n} block={b} />
            ))}
          </div>
        ),
      )}
    </div>
  )
}
