/** The mark of a vendor: letters in the colour in which people know it. No pictures: those are the vendors' own. */
import type { CSSProperties } from 'react'

/** The colour in which people know a vendor: its hue, or null for grey. */
const hues: Record<string, number | null> = {
  amazon: 65,
  anthropic: 40,
  baidu: 255,
  'black-forest-labs': null,
  cohere: 20,
  deepgram: 160,
  deepseek: 270,
  elevenlabs: null,
  gigachat: 150,
  google: 255,
  'kling-ai': 190,
  luma: 310,
  'meta-llama': 260,
  meta: 260,
  microsoft: 235,
  minimax: 5,
  mistralai: 55,
  moonshotai: 280,
  nvidia: 130,
  openai: 170,
  perplexity: 205,
  qwen: 295,
  runway: null,
  sber: 150,
  't-tech': 95,
  'x-ai': null,
  yandex: 28,
  'z-ai': 265,
}
/** The hue of a vendor's mark; of one that is not listed by its name, always the same. */
export function hueOf(vendor: string): number | null {
  const known = hues[vendor]
  return known !== undefined ? known : [...vendor].reduce((n, c) => (n * 31 + c.codePointAt(0)!) % 360, 0)
}
/** Two letters for a vendor: of its words, or of its one word. */
export function lettersOf(name: string): string {
  const words = name.split(/[^\p{L}\p{Nd}]+/u).filter(Boolean)
  const two = words.length > 1 ? words[0]![0]! + words[1]![0]! : [...(words[0] ?? '?')].slice(0, 2).join('')
  return two[0]!.toUpperCase() + two.slice(1)
}

/** `vendor`: its id. The name stands beside it, so that it says nothing to a screen reader. */
export function VendorMark({ vendor, size = 26 }: { vendor: string; size?: 26 | 32 | 44 }) {
  const hue = hueOf(vendor)
  const classes = {
    26: 'size-[26px] rounded-control text-label',
    32: 'size-8 rounded-control text-dense',
    44: 'size-11 rounded-float text-[18px]',
  }[size]
  return (
    <span
      aria-hidden
      translate="no"
      title={vendor}
      style={hue === null ? undefined : ({ '--hue': hue } as CSSProperties)}
      className={`grid flex-none place-items-center leading-none font-semibold ${hue === null ? 'bg-sunken text-ink2' : 'vendor'} ${classes}`}
    >
      {lettersOf(vendor)}
    </span>
  )
}
