/**
 * What the API says of a field, in Russian. Its sentences are the keys, as the gateway's source has them, with % where a value stands; {1} is the
 * first value. A test of the source fails on a sentence that has no Russian. Loaded with the first such error.
 */
import russian from './fields.ru.json'

const marks = /%(?:\.\d+)?[sdqv]/
const length = (english: string) => english.split(marks).join('').length
// what says most comes first: "name is missing." before "% is missing."
const patterns = Object.entries(russian).sort(([a], [b]) => length(b) - length(a)).map(([english, text]) => {
  const parts = english.split(marks).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('auto\\.', '(?:auto\\.)?')) // some routes name these fields without it
  return [new RegExp(`^${parts.join('"?(.*?)"?')}$`, 's'), text] as const
})

/** The sentence in Russian; null for one that no page expects. */
export function inRussian(sentence: string): string | null {
  for (const [pattern, text] of patterns) {
    const found = pattern.exec(sentence)
    if (found) return text.replace(/\{(\d)\}/g, (_, n: string) => found[Number(n)] ?? '')
  }
  return null
}
