import { useState } from 'react'
import { send } from '../../api/client'
import type { Me } from '../../api/query'
import { decimal, money, number, perToken, plain, times } from '../../format'
import { useT } from '../../i18n'
import { Button, IconButton } from '../../ui/button'
import { Field, Input, Select, Textarea } from '../../ui/field'
import { Panel } from '../../ui/page'
import type { Model } from '../catalog/filter'
import { FailedBox, Frame, Ready } from './modes'
import { Sum } from './panel'
import { settled, spent } from './settle'
import { bytesOf, costOf, guess } from './stream'
import { CodeOf, Foot, ModelField, asFailure, useKept, useModel, work, type Work } from './works'

interface Compared extends Work {
  readonly texts: readonly string[]
  readonly dimensions: number
  readonly table: readonly (readonly number[])[]
}
const most = 10
const purposes = ['', 'search_query', 'search_document', 'classification', 'clustering'] as const

/** The cosine of the angle between two vectors; 0 for one without a length. */
export function cosine(a: readonly number[], b: readonly number[]): number {
  let dot = 0,
    x = 0,
    y = 0
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    dot += a[i]! * b[i]!
    x += a[i]! ** 2
    y += b[i]! ** 2
  }
  return x && y ? Math.max(-1, Math.min(1, dot / Math.sqrt(x) / Math.sqrt(y))) : 0
}

export default function EmbeddingsPage() {
  return (
    <Ready mode="embeddings" fits={(m) => m.type === 'embedding'}>
      {(me, models) => <Vectors key={me.user!.id} me={me} models={models} />}
    </Ready>
  )
}

function Vectors({ me, models }: { me: Me; models: readonly Model[] }) {
  const t = useT('media'),
    p = useT('playground')
  const person = me.user!.id
  const [texts, setTexts] = useKept<readonly string[]>(`${person} vectors texts`, ['', ''])
  const [works, change] = useKept<readonly Compared[]>(`${person} vectors`, [])
  const [s, setS] = useKept(`${person} vectors settings`, { dimensions: '', purpose: '' })
  const [model, choose] = useModel('embeddings', models)
  const [sheet, setSheet] = useState(false)
  const [code, setCode] = useState(false)
  const written = texts.filter((x) => x.trim())
  const dimensions = s.dimensions.trim() === '' ? null : Number(s.dimensions)
  const badDimensions =
    dimensions !== null && !(Number.isInteger(dimensions) && dimensions >= 1 && dimensions <= 16_384)
  const last = works[0]
  const busy = last?.state === 'running'
  const ready = written.length > 0 && !busy && !badDimensions
  const body = (input: readonly string[]) => ({
    model: model.id,
    input,
    ...(dimensions !== null && !badDimensions ? { dimensions } : {}),
    ...(s.purpose ? { input_type: s.purpose } : {}),
  })
  const token = decimal(perToken(model.in))
  const about =
    token && written.length
      ? plain(
          times(
            token,
            written.reduce((n, x) => n + guess(bytesOf(x)), 0),
          ),
        )
      : null
  const run = async () => {
    if (!ready) return
    const w: Compared = { ...work(model.id), texts: written, dimensions: 0, table: [] }
    const at = (c: Partial<Compared>) => change((all) => all.map((x) => (x.id === w.id ? { ...x, ...c } : x)))
    change((all) => [w, ...all].slice(0, 30))
    let call: string | null = null,
      cost: string | null = null
    try {
      const response = await send('post', '/api/v1/embeddings', { body: body(written) })
      call = response.headers.get('x-generation-id')
      const said = await response.text()
      cost = costOf(said)
      const data = (JSON.parse(said) as { data: { index: number; embedding: number[] }[] }).data
      const vectors = written.map((_, i) => data.find((d) => d.index === i)?.embedding ?? [])
      at({
        call,
        cost,
        state: 'done',
        took: Date.now() - w.at,
        dimensions: vectors[0]?.length ?? 0,
        table: vectors.map((a) => vectors.map((b) => cosine(a, b))),
      })
    } catch (e) {
      at({ call, state: 'failed', error: asFailure(e) })
    }
    if (cost === null && call) at({ cost: await settled(call) })
    else spent()
  }
  const change1 = (i: number, v: string) => setTexts((all) => all.map((x, n) => (n === i ? v : x)))
  const settings = (
    <div className="flex flex-col gap-4">
      <Sum title={t('session')} costs={works.flatMap((w) => w.cost ?? [])} />
      <ModelField models={models} model={model} onModel={choose} />
      <Field label={t('dimensions')} help={t('dimensionsHelp')} error={badDimensions && t('badDimensions')}>
        <Input
          inputMode="numeric"
          value={s.dimensions}
          placeholder={p('byDefault')}
          onChange={(e) => setS((x) => ({ ...x, dimensions: e.target.value }))}
        />
      </Field>
      <Field label={t('purpose')}>
        <Select
          value={s.purpose}
          onChange={(e) => setS((x) => ({ ...x, purpose: e.target.value }))}
          options={purposes.map((v) => ({ value: v, label: t(v ? `purpose_${v}` : 'purpose_none') }))}
        />
      </Field>
      <p className="text-small text-ink3">{p('onlySet')}</p>
      <div className="border-t border-line pt-4">
        <Button
          small
          icon="json"
          onClick={() => {
            setSheet(false)
            setCode(true)
          }}
        >
          {p('showCode')}
        </Button>
      </div>
    </div>
  )
  return (
    <Frame mode="embeddings" settings={settings} open={sheet} onOpen={setSheet}>
      <div className="min-h-0 flex-1 overflow-y-auto px-4 py-4 md:px-5">
        <form
          className="flex max-w-4xl flex-col gap-3"
          onSubmit={(e) => {
            e.preventDefault()
            void run()
          }}
        >
          {texts.map((x, i) => (
            <div key={i} className="flex items-start gap-1">
              <Field label={t('textN', { n: i + 1 })} hideLabel className="min-w-0 flex-1">
                <Textarea
                  rows={2}
                  value={x}
                  dir="auto"
                  placeholder={t('textN', { n: i + 1 })}
                  onChange={(e) => change1(i, e.target.value)}
                />
              </Field>
              {texts.length > 1 && (
                <IconButton
                  icon="x"
                  label={t('removeText', { n: i + 1 })}
                  onClick={() => setTexts((all) => all.filter((_, n) => n !== i))}
                />
              )}
            </div>
          ))}
          <div className="flex flex-wrap items-center gap-2">
            <Button
              icon="plus"
              disabled={texts.length >= most}
              onClick={() => setTexts((all) => [...all, ''])}
            >
              {t('addText')}
            </Button>
            <span className="text-small text-ink3">{p('place', { n: texts.length, of: most })}</span>
            <span className="flex-1" />
            {about && (
              <span className="text-small text-ink3 tabular-nums">
                ≈{'\u202f'}
                {money(about)}
              </span>
            )}
            <Button look="main" type="submit" icon="vector" busy={busy} disabled={!ready}>
              {t('compare')}
            </Button>
          </div>
        </form>
        <div className="max-w-4xl pt-4">
          {last?.state === 'failed' && (
            <FailedBox title={p('failedTitle')} error={last.error} onRetry={() => void run()} />
          )}
          {last?.state === 'done' && (
            <Panel title={t('similarity')} note={t('similarityNote', { n: last.dimensions })}>
              <div className="overflow-x-auto" tabIndex={0} role="region" aria-label={t('similarity')}>
                <table className="w-full text-small">
                  <thead>
                    <tr>
                      <td className="p-1.5" />
                      {last.texts.map((x, i) => (
                        <th
                          key={i}
                          scope="col"
                          title={x}
                          className="px-2 py-1.5 text-right font-medium text-ink2"
                        >
                          {i + 1}
                        </th>
                      ))}
                    </tr>
                  </thead>
                  <tbody>
                    {last.table.map((row, i) => (
                      <tr key={i} className="border-t border-line">
                        <th
                          scope="row"
                          className="max-w-56 min-w-32 truncate py-1.5 pr-2 text-left font-normal text-ink2"
                        >
                          <span className="text-ink3 tabular-nums">{i + 1}</span>{' '}
                          <span translate="no" dir="auto" className="text-ink">
                            {last.texts[i]}
                          </span>
                        </th>
                        {row.map((v, n) => (
                          <td
                            key={n}
                            className="px-2 py-1.5 text-right text-ink tabular-nums"
                            style={{
                              background:
                                i === n
                                  ? undefined
                                  : `color-mix(in srgb, var(--accent) ${Math.round(Math.max(0, v) * 22)}%, transparent)`,
                            }}
                          >
                            {i === n ? <span className="text-ink3">1</span> : number(v, 3)}
                          </td>
                        ))}
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              <p className="pt-2 text-small text-ink3">{t('similarityHelp')}</p>
              <Foot w={last} name={models.find((m) => m.id === last.model)?.name ?? last.model} />
            </Panel>
          )}
        </div>
      </div>
      {code && (
        <CodeOf
          onClose={() => setCode(false)}
          of={{ kind: 'embeddings', body: body(written.length ? written : ['A weir measures water']) }}
        />
      )}
    </Frame>
  )
}
