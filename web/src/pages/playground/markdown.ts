/**
 * Markdown that grows at its end, as the text of a streamed answer does. Whole lines are read once; only a line that is not over yet is read
 * again with each new piece. Blocks that are over keep their identity, so that they are not drawn again.
 */
export type Block =
  | {
      readonly kind: 'fence'
      readonly language: string
      readonly text: string /** It has ended */
      readonly over: boolean
    }
  | { readonly kind: 'heading' | 'text' | 'quote' | 'rule'; readonly text: string }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly text: string }
  | { readonly kind: 'table'; readonly head: string; readonly text: string }

const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/
export const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/
const rule = /^ {0,3}([-*_])( *\1){2,} *$/
const heading = /^#{1,6} /
const quote = /^ {0,3}>/
const columns = /^ {0,3}\|? *:?-+:? *(\| *:?-+:? *)*\|? *$/

interface Fence {
  readonly kind: 'fence'
  readonly mark: string
  readonly language: string
  readonly text: string
  readonly lines: number
}
type Open = Fence | Exclude<Block, { kind: 'fence' }> | null

const closed = (o: Open, over: boolean): Block | null =>
  o === null ? null : o.kind === 'fence' ? { kind: 'fence', language: o.language, text: o.text, over } : o
/** One more line: the block that it leaves open, and those that it ends are put into `done`. */
function step(open: Open, line: string, done: Block[]): Open {
  const flush = () => {
    const b = closed(open, true)
    if (b) done.push(b)
  }
  if (open?.kind === 'fence') {
    const end = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(line)?.[1]
    if (end && end[0] === open.mark[0] && end.length >= open.mark.length) {
      flush()
      return null
    }
    return { ...open, text: open.lines ? open.text + '\n' + line : line, lines: open.lines + 1 }
  }
  const opens = fence.exec(line)
  if (opens) {
    flush()
    return { kind: 'fence', mark: opens[1]!, language: opens[2] ?? '', text: '', lines: 0 }
  }
  if (open?.kind === 'quote' && quote.test(line))
    return { ...open, text: open.text + '\n' + line.replace(/^ {0,3}> ?/, '') }
  if (open?.kind === 'list' && (item.test(line) || /^\s+\S/.test(line)))
    return { ...open, text: open.text + '\n' + line }
  if (open?.kind === 'table' && line.includes('|'))
    return { ...open, text: open.text ? open.text + '\n' + line : line }
  if (open?.kind === 'text' && line.includes('|') && columns.test(line)) {
    const at = open.text.lastIndexOf('\n')
    const head = open.text.slice(at + 1)
    if (head.includes('|')) {
      if (at > 0) done.push({ kind: 'text', text: open.text.slice(0, at) })
      return { kind: 'table', head, text: '' }
    }
  }
  if (rule.test(line)) {
    flush()
    done.push({ kind: 'rule', text: '' })
    return null
  }
  if (heading.test(line)) {
    flush()
    done.push({ kind: 'heading', text: line.replace(/^#+ +/, '').replace(/ +#+$/, '') })
    return null
  }
  if (quote.test(line)) {
    flush()
    return { kind: 'quote', text: line.replace(/^ {0,3}> ?/, '') }
  }
  const first = item.exec(line)
  if (first) {
    flush()
    return { kind: 'list', ordered: /\d/.test(first[2]!), text: line }
  }
  if (line.trim() === '') {
    flush()
    return null
  }
  if (open?.kind === 'text') return { kind: 'text', text: open.text + '\n' + line }
  flush()
  return { kind: 'text', text: line }
}

/** Characters of a line that decide what it is: the beginning of a longer one is looked at, the rest belongs to it as it is. */
const longLine = 4000
function take(open: Open, line: string, done: Block[]): Open {
  if (line.length <= longLine || open?.kind === 'fence') return step(open, line, done)
  const first = step(open, line.slice(0, longLine), done)
  const rest = line.slice(longLine)
  if (first === null) return { kind: 'text', text: rest }
  return first.kind === 'fence'
    ? { ...first, text: first.text + rest, lines: first.lines + 1 }
    : { ...first, text: first.text + rest }
}
/** Whether a text is an earlier one that went on. It is seen at the joint: comparing all of a long text would take longer than reading its new piece. */
const goesOn = (before: string, now: string) =>
  now.length >= before.length &&
  now.slice(Math.max(0, before.length - 500), before.length) === before.slice(-500)

/** Characters of a piece: from this many to twice as many. */
const pieceSize = 2000
/**
 * A text that grows, in pieces: those that are over stay the same, so that they are neither drawn nor laid out again. A piece ends with a line after
 * which one begins that `begins` takes; `words`: in a longer line, between words.
 */
export class Pieces {
  private text = ''
  private at = 0
  private over: string[] = []
  constructor(
    private readonly begins: (line: string) => boolean = () => true,
    private readonly words = true,
  ) {}

  /** The pieces without the ends of lines between them. */
  read(text: string): readonly string[] {
    if (!goesOn(this.text, text)) {
      this.at = 0
      this.over = []
    }
    this.text = text
    while (text.length - this.at > 2 * pieceSize) {
      const to = this.end(text)
      if (to < 0) break
      this.over.push(text.slice(this.at, to))
      this.at = text[to] === '\n' ? to + 1 : to
    }
    return [...this.over, text.slice(this.at)]
  }
  private end(text: string): number {
    const most = this.at + 2 * pieceSize
    for (let to = text.lastIndexOf('\n', most - 1); to > this.at; to = text.lastIndexOf('\n', to - 1))
      if (this.begins(text.slice(to + 1, to + 1 + longLine))) return to
    if (!this.words) return -1
    const space = text.lastIndexOf(' ', most - 1) + 1
    if (space > this.at + pieceSize) return space
    const low = text.charCodeAt(most)
    return low >= 0xdc00 && low <= 0xdfff ? most - 1 : most
  }
}

const groupSize = 40
/** Reads a text that grows. `lexed` counts the characters that were looked at. */
export class Lexer {
  lexed = 0
  private text = ''
  private at = 0
  private open: Open = null
  private full: (readonly Block[])[] = []
  private last: Block[] = []

  /** Blocks in groups; a group that is full, and each block that is over, is the same object each time. The last group has what is still open. */
  read(text: string): readonly (readonly Block[])[] {
    if (!goesOn(this.text, text)) {
      this.at = 0
      this.open = null
      this.full = []
      this.last = []
    }
    this.text = text
    for (;;) {
      const end = text.indexOf('\n', this.at)
      if (end < 0) break
      this.take(
        text[end - 1] === '\r' && end > this.at ? text.slice(this.at, end - 1) : text.slice(this.at, end),
      )
      this.at = end + 1
    }
    const tail: Block[] = []
    let open = this.open
    if (this.at < text.length) {
      const rest = text.slice(this.at)
      this.lexed += Math.min(rest.length, longLine)
      open = take(open, rest, tail)
    }
    const b = closed(open, false)
    if (b) tail.push(b)
    return [...this.full, [...this.last, ...tail]]
  }
  private take(line: string): void {
    this.lexed += line.length + 1
    const done: Block[] = []
    this.open = take(this.open, line, done)
    for (const b of done) {
      this.last.push(b)
      if (this.last.length === groupSize) {
        this.full.push(this.last)
        this.last = []
      }
    }
  }
}
/** The blocks of a whole text. */
export function blocks(text: string): Block[] {
  return new Lexer().read(text).flat()
}
/** The cells of a row of a table. */
export function cells(row: string): string[] {
  const inner = row
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inner
    .split(/(?<!\\)\|/)
    .slice(0, 50)
    .map((c) => c.trim().replaceAll('\\|', '|'))
}
