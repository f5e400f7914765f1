/** How models look wherever they are listed. */
import { money, perToken, type PriceUnit } from '../../format'
import { useT } from '../../i18n'
import { Icon, type IconName } from '../../ui/icons'
import { Tag, type Tone } from '../../ui/marks'
import { Price } from '../../ui/values'
import type { Model } from './filter'

const pictures: Record<string, IconName> = {
  tools: 'tools',
  reasoning: 'reasoning',
  json: 'json',
  cache: 'cache',
  'image-in': 'eye',
  'audio-in': 'microphone',
  'file-in': 'file',
  'video-in': 'video',
  text: 'text',
  image: 'image',
  video: 'video',
  embedding: 'vector',
  transcript: 'list',
  speech: 'speaker',
  audio: 'speaker',
  rank: 'chart',
  moderation: 'shield',
}
export const pictureOf = (what: string): IconName => pictures[what] ?? 'box'

/** What a model can do, and makes when that is not text. */
export function Abilities({ model, all }: { model: Pick<Model, 'caps' | 'ins' | 'outs'>; all?: boolean }) {
  const t = useT('catalog')
  const inputs = ['image', 'audio', 'file', 'video']
    .filter((i) => model.ins.includes(i))
    .map((i) => `${i}-in`)
  const able = ['tools', 'reasoning', 'json'].filter((c) => model.caps.includes(c))
  const made = model.outs.filter((o) => o !== 'text')
  const list = [...able, ...inputs, ...(all && model.caps.includes('cache') ? ['cache'] : []), ...made]
  const shown = all || list.length <= 6 ? list : list.slice(0, 5)
  return (
    <ul className="m-0 flex list-none items-center gap-2 p-0 text-ink2">
      {shown.map((w) => (
        <li key={w} title={t.or(`can_${w}`, t.or(`makes_${w}`, w))}>
          <Icon name={pictureOf(w)} label={t.or(`can_${w}`, t.or(`makes_${w}`, w))} />
        </li>
      ))}
      {shown.length < list.length && (
        <li
          className="text-label text-ink3"
          title={list
            .slice(5)
            .map((w) => t.or(`can_${w}`, t.or(`makes_${w}`, w)))
            .join(', ')}
        >
          +{list.length - shown.length}
        </li>
      )}
    </ul>
  )
}

const tones: Record<string, Tone> = {
  zero: 'good',
  transient: 'good',
  retained: 'warn',
  training: 'bad',
  unknown: 'plain',
}
export function Policy({ value }: { value: string }) {
  const t = useT('catalog')
  return (
    <Tag tone={tones[value] ?? 'plain'} title={t.or(`policy_${value}_help`, '')}>
      {t.or(`tag_${value}`, value)}
    </Tag>
  )
}

/** The price of input, or of the model's own unit where tokens have no price. */
export function PriceCell({
  model,
  part,
  unit,
}: {
  model: Model
  part: 'in' | 'out' | 'cached'
  unit: PriceUnit
}) {
  const t = useT('catalog')
  if (model.each !== undefined && model.unit !== undefined && model.in === null && model.out === null) {
    return part === 'cached' ? (
      <>—</>
    ) : part === 'in' ? (
      <>—</>
    ) : (
      <span className="whitespace-nowrap tabular-nums">
        {money(model.each, { sign: false })}{' '}
        <span className="text-small text-ink3">{t.or(`per_${model.unit}`, model.unit)}</span>
      </span>
    )
  }
  return <Price value={perToken(model[part])} unit={unit} bare />
}

/** What is said to choose a model: see choose.tsx. */
export interface Choice {
  /** The id of the present choice, or nothing */
  value: string
  onChange: (id: string) => void
  /** Which models of the catalog can be chosen; without it all of them */
  fits?: ((m: Model) => boolean) | undefined
  /** Why a model does not fit what is asked. It can be chosen all the same. */
  mark?: ((m: Model) => string | null) | undefined
  /** The words for choosing none, where that is possible */
  none?: string | undefined
  /** What was typed can be taken as it is, too: a pattern, or a model that the catalog no longer has */
  free?: boolean | undefined
}
