/** Search as people type: words in any order, prefixes first, and with the keyboard in the wrong layout. */
const cyrillic = 'йцукенгшщзхъфывапролджэячсмитьбюё'
const latin = "qwertyuiop[]asdfghjkl;'zxcvbnm,.`"
const swap = new Map([...cyrillic].map((c, i) => [c, latin[i]!]))

for (const [c, l] of [...swap]) swap.set(l, c)

/** What the same keys write with the other layout: сдфгву is claude, and zyltrc is яндекс. */
export function unswap(text: string): string {
  return [...text.toLowerCase()].map((c) => swap.get(c) ?? c).join('')
}

/** Names without what separates their parts: gpt-5, GPT 5 and gpt5 are one. */
export const squeeze = (text: string) => text.replace(/[^\p{L}\p{Nd}]/gu, '')

const digit = /\p{Nd}/u
/**
 * Whether a part of the text is the word but for one letter that is missing, added, wrong or exchanged
 * with its neighbour. Digits are versions: they must be right.
 */
export function slips(text: string, word: string): boolean {
  const w = [...word]
  if (w.length < 4 || w.length > 64) return false
  const fixed = w.map((c) => digit.test(c))
  let before = w.map(() => 2),
    row = w.map((_, j) => Math.min(j + 1, 2)),
    last = ''
  before.unshift(2)
  row.unshift(0)
  for (const c of text) {
    const next = [0],
      free = !digit.test(c)
    for (let j = 1; j <= w.length; j++) {
      let least = 2
      if (w[j - 1] === c) least = row[j - 1]!
      else if (free && !fixed[j - 1]) least = Math.min(least, row[j - 1]! + 1)
      if (free && j < w.length) least = Math.min(least, row[j]! + 1)
      if (!fixed[j - 1]) least = Math.min(least, next[j - 1]! + 1)
      if (j > 1 && w[j - 1] === last && w[j - 2] === c && last !== c && free && !digit.test(last))
        least = Math.min(least, before[j - 2]! + 1)
      next.push(least)
    }
    if (next[w.length]! < 2) return true
    before = row
    row = next
    last = c
  }
  return false
}

export const fold = (text: string) =>
  text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')

/** How well the words of `query` fit the texts: 0 when one of them is nowhere. The first text counts most; its beginning more than its middle. */
export function score(query: string, texts: readonly string[]): number {
  const folded = texts.map(fold)
  return Math.max(one(fold(query), folded), one(unswap(query), folded) * 0.9)
}
function one(query: string, texts: readonly string[]): number {
  let total = 0
  for (const word of query.split(/\s+/)) {
    if (!word) continue
    let best = 0
    for (let i = 0; i < texts.length; i++) {
      const at = texts[i]!.indexOf(word)
      if (at < 0) continue
      const start = at === 0 ? 3 : /[\s/._:-]/.test(texts[i]![at - 1]!) ? 2 : 1
      best = Math.max(best, start + 1 / (i + 1) + word.length / (texts[i]!.length + 1))
    }
    if (best === 0) return 0
    total += best
  }
  return total
}
