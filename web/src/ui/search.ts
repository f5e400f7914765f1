/** Search as people type: words in any order, prefixes first, and with the keyboard in the wrong layout. */
const cyrillic = 'йцукенгшщзхъфывапролджэячсмитьбюё'
const latin = "qwertyuiop[]asdfghjkl;'zxcvbnm,.`"
const swap = new Map([...cyrillic].map((c, i) => [c, latin[i]!]))

/** What was meant when Russian letters were typed for Latin ones: сдфгву is claude. */
export function unswap(text: string): string { return [...text.toLowerCase()].map((c) => swap.get(c) ?? c).join('') }

export const fold = (text: string) => text.toLowerCase().normalize('NFKD').replace(/[\u0300-\u036f]/g, '')

/** How well the words of `query` fit the texts: 0 when one of them is nowhere. The first text counts most; its beginning more than its middle. */
export function score(query: string, texts: readonly string[]): number {
  const folded = texts.map(fold)
  return Math.max(one(fold(query), folded), /[а-яё]/i.test(query) ? one(unswap(query), folded) * 0.9 : 0)
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
