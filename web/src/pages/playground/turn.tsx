/** One message and its answer. */
import { memo, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError } from '../../api/client'
import { duration, integer } from '../../format'
import { useT, type T as Messages } from '../../i18n'
import { hasPage } from '../../routes/paths'
import { Button, IconButton } from '../../ui/button'
import { Json } from '../../ui/code'
import { Copy } from '../../ui/copy'
import { Notice } from '../../ui/feedback'
import { Field, Textarea } from '../../ui/field'
import { Icon } from '../../ui/icons'
import { Link } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { AnswerText, Grown } from './answer'
import { Files, Picture } from './attachments'
import { FailedBox } from './modes'
import { guess, bytesOf, readArguments, running, type Call, type Failure, type Turn } from './stream'
import { sampleResult } from './samples'

export type T = Messages<'playground'>
/** What may be done with a turn; the same object each time, so that turns are not drawn again for it. */
export interface Acts {
  again(): void
  goOn(): void
  edit(at: number, prompt: string): void
  other(at: number): void
  frames(asked: number): void
  results(results: readonly { id: string; content: string }[]): void
  hasFrames(asked: number): boolean
}
const asError = (f: Failure) => new ApiError(f.type, f.message, f.status, f.requestId, null, f.retryAfter)

export const TurnView = memo(function TurnView({
  turn,
  at,
  calls,
  last,
  acts,
}: {
  turn: Turn
  at: number /** of the answer before, which `results` belong to */
  calls: readonly Call[] | undefined
  last: boolean
  acts: Acts
}) {
  const t = useT('playground')
  const a = turn.answer
  const [chosen, setChosen] = useState<boolean | null>(null)
  const thinking = a.status === 'streaming' && a.text === '' && a.calls.length === 0 && a.reasoning !== ''
  const open = chosen ?? thinking
  const thoughts = useMemo(() => guess(bytesOf(a.reasoning)), [a.reasoning])
  const live = running(a)
  return (
    <div className="pb-6">
      {turn.results ? (
        <Results t={t} turn={turn} calls={calls ?? []} />
      ) : (
        <Asked t={t} turn={turn} at={at} live={live} acts={acts} />
      )}
      <div className="pt-3">
        {a.reasoning && (
          <div className="pb-2">
            <button
              type="button"
              aria-expanded={open}
              onClick={() => setChosen(!open)}
              className="flex min-h-8 items-center gap-2 text-small text-ink2 hover:text-ink"
            >
              <Icon name={open ? 'down' : 'right'} size={14} />
              <Icon name="reasoning" />
              <span>
                {thinking
                  ? t('thinking')
                  : t('thought', {
                      time: duration(Math.max(1, (a.firstText ?? a.end ?? 0) - (a.first ?? 0))),
                    })}
              </span>
              <span className="text-ink3">
                {thinking || !a.tokens?.reasoning
                  ? `≈ ${t('reasoningTokens', { n: thoughts })}`
                  : t('reasoningTokens', { n: a.tokens.reasoning })}
              </span>
            </button>
            {open && (
              <p
                dir="auto"
                translate="no"
                className="ml-1.5 border-l-2 border-line py-0.5 pl-3 text-small break-words whitespace-pre-wrap text-ink2"
              >
                <Grown text={a.reasoning} />
              </p>
            )}
          </div>
        )}
        {a.text && <AnswerText text={a.text} />}
        {a.images.map((data, i) => (
          <Picture key={i} data={data} n={i + 1} />
        ))}
        {a.calls.length > 0 && (
          <Calls t={t} calls={a.calls} waits={last && !live && a.status === 'done'} acts={acts} />
        )}
        {live && <span aria-hidden className="inline-block h-4 w-2 bg-accent align-middle" />}
        {a.status === 'stopped' && <p className="pt-1 text-small text-ink3">{t('stopped')}</p>}
        {a.status === 'done' && a.finish === 'length' && (
          <p className="pt-1 text-small text-warn">{t('cutOff')}</p>
        )}
        {a.status === 'done' && a.finish === 'content_filter' && (
          <p className="pt-1 text-small text-warn">{t('filtered')}</p>
        )}
        {a.status === 'done' && !a.text && a.calls.length === 0 && a.images.length === 0 && (
          <p className="pt-1 text-small text-ink3">{t('noText')}</p>
        )}
        {a.error && (
          <div className="pt-2">
            {a.text || a.reasoning || a.calls.length ? (
              <Broken t={t} error={a.error} acts={last ? acts : null} />
            ) : (
              <FailedBox
                title={t('failedTitle')}
                error={asError(a.error)}
                {...(last ? { onRetry: acts.again } : {})}
              />
            )}
          </div>
        )}
        {!live && (
          <div className="-ml-1 flex flex-wrap items-center gap-0.5 pt-1">
            {a.text && <Copy text={a.text} what={t('copyAnswer')} />}
            <IconButton small icon="people" label={t('otherModel')} onClick={() => acts.other(at)} />
            {acts.hasFrames(a.asked) && (
              <IconButton small icon="list" label={t('rawFrames')} onClick={() => acts.frames(a.asked)} />
            )}
            {!last && a.id && a.cost !== null && hasPage('/calls/$id') && (
              <Link
                to={`/calls/${a.id}`}
                title={t('openCall')}
                className="inline-flex min-h-6 items-center px-1 text-small text-accent-ink"
              >
                {t('openCall')}
              </Link>
            )}
          </div>
        )}
      </div>
    </div>
  )
})

function Asked({ t, turn, at, live, acts }: { t: T; turn: Turn; at: number; live: boolean; acts: Acts }) {
  const [draft, setDraft] = useState<string | null>(null)
  return (
    <div className="group rounded-panel border border-line bg-surface px-3.5 py-2.5">
      <span className="sr-only">{t('you')}: </span>
      {draft === null ? (
        <div className="flex gap-2">
          <p dir="auto" translate="no" className="min-w-0 flex-1 text-answer break-words whitespace-pre-wrap">
            {turn.prompt}
          </p>
          {!live && (
            <IconButton
              small
              icon="edit"
              label={t('edit')}
              className="-mr-1.5"
              onClick={() => setDraft(turn.prompt)}
            />
          )}
        </div>
      ) : (
        <form
          onSubmit={(e) => {
            e.preventDefault()
            if (draft.trim()) acts.edit(at, draft)
          }}
        >
          <Field label={t('edit')} hideLabel help={t('editHelp')}>
            <Textarea
              autoFocus
              rows={Math.min(10, draft.split('\n').length + 1)}
              value={draft}
              dir="auto"
              onChange={(e) => setDraft(e.target.value)}
              onKeyDown={(e) => {
                if (e.key === 'Escape') {
                  e.preventDefault()
                  e.stopPropagation()
                  setDraft(null)
                }
              }}
            />
          </Field>
          <div className="flex gap-2 pt-2">
            <Button small look="main" type="submit" disabled={!draft.trim()}>
              {t('branch')}
            </Button>
            <Button small onClick={() => setDraft(null)}>
              {t('cancel')}
            </Button>
          </div>
        </form>
      )}
      {turn.files && turn.files.length > 0 && (
        <div className="pt-1.5">
          <Files files={turn.files} />
        </div>
      )}
    </div>
  )
}
function Results({ t, turn, calls }: { t: T; turn: Turn; calls: readonly Call[] }) {
  return (
    <div className="rounded-panel border border-line bg-surface px-3.5 py-2.5">
      {turn.results!.map((r) => (
        <details key={r.id} className="py-0.5">
          <summary className="flex min-h-6 items-center gap-2 text-small text-ink2">
            <Icon name="tools" />
            <code translate="no">{calls.find((c) => c.id === r.id)?.name ?? r.id}</code>
            <Tag tone="good">{t('answered')}</Tag>
          </summary>
          <pre tabIndex={0} translate="no" className="m-0 overflow-x-auto pt-1 whitespace-pre-wrap">
            {r.content}
          </pre>
        </details>
      ))}
    </div>
  )
}

/** Calls of tools; the last ones wait for what the tools give back. */
function Calls({ t, calls, waits, acts }: { t: T; calls: readonly Call[]; waits: boolean; acts: Acts }) {
  const [given, give] = useState<{ readonly [id: string]: string }>({})
  const id = (c: Call, i: number) => c.id || String(i)
  const ready = calls.every((c, i) => (given[id(c, i)] ?? '').trim() !== '')
  return (
    <form
      className="flex flex-col gap-2 pt-2"
      onSubmit={(e) => {
        e.preventDefault()
        if (ready) acts.results(calls.map((c, i) => ({ id: c.id, content: given[id(c, i)]! })))
      }}
    >
      {calls.map((c, i) => (
        <CallCard key={i} t={t} call={c}>
          {waits && (
            <div className="border-t border-line px-3 pt-2 pb-3">
              <Field label={t('resultOf', { name: c.name })}>
                <Textarea
                  rows={2}
                  value={given[id(c, i)] ?? ''}
                  dir="auto"
                  spellCheck={false}
                  className="font-mono"
                  placeholder={t('resultPlaceholder')}
                  onChange={(e) => give({ ...given, [id(c, i)]: e.target.value })}
                />
              </Field>
              <Button small className="mt-2" onClick={() => give({ ...given, [id(c, i)]: sampleResult(c) })}>
                {t('sampleResult')}
              </Button>
            </div>
          )}
        </CallCard>
      ))}
      {waits && (
        <div>
          <Button look="main" type="submit" icon="send" disabled={!ready}>
            {t('sendResults')}
          </Button>
        </div>
      )}
    </form>
  )
}
function CallCard({ t, call, children }: { t: T; call: Call; children: React.ReactNode }) {
  const [open, setOpen] = useState(false)
  const { value, error } = readArguments(call.arguments)
  const names = typeof value === 'object' && value !== null ? Object.keys(value).join(', ') : ''
  return (
    <div className="rounded-panel border border-line bg-surface">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex min-h-9 w-full min-w-0 items-center gap-2 px-3 text-left text-small"
      >
        <Icon name="tools" className="text-ink2" />
        <code translate="no" className="text-ink">
          {call.name}
        </code>
        <span translate="no" className="min-w-0 flex-1 truncate text-ink3">
          {error ? '' : names}
        </span>
        {error && <Tag tone="bad">{t('badArguments')}</Tag>}
        <Icon name={open ? 'up' : 'down'} size={14} className="text-ink3" />
      </button>
      {(open || error) && (
        <div className="border-t border-line px-3 py-2" translate="no">
          {error ? (
            <>
              <pre tabIndex={0} className="m-0 overflow-x-auto whitespace-pre-wrap wrap-anywhere">
                {call.arguments}
              </pre>
              <p lang="en" className="pt-1 text-small text-bad">
                {error}
              </p>
            </>
          ) : (
            <Json value={value} open={3} />
          )}
        </div>
      )}
      {children}
    </div>
  )
}

/** The text that had come stays; it is charged, so the sentences about free failures do not hold. */
function Broken({ t, error, acts }: { t: T; error: Failure; acts: Acts | null }) {
  return (
    <div role="alert">
      <Notice
        tone="bad"
        title={t('failedAfter')}
        action={
          acts && (
            <span className="flex gap-2">
              <Button small icon="play" onClick={acts.goOn}>
                {t('goOn')}
              </Button>
              <Button small icon="refresh" onClick={acts.again}>
                {t('again')}
              </Button>
            </span>
          )
        }
      >
        <p>{t('brokenText')}</p>
        <p className="pt-1 break-words">
          <code>{error.type}</code>{' '}
          <span lang="en" translate="no">
            {error.message}
          </span>
        </p>
        {error.requestId && (
          <p className="flex flex-wrap items-center gap-1 pt-1">
            <code className="break-all">{error.requestId}</code>
            <Copy text={error.requestId} what={t('requestId')} />
          </p>
        )}
      </Notice>
    </div>
  )
}

/** Each frame of a stream as it came, with its time. Long ones show their beginning and their end. */
export function FrameList({
  frames,
  t,
}: {
  frames: readonly { readonly at: number; readonly data: string }[]
  t: T
}) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    box.current?.focus()
  }, [])
  const cut = frames.length > 600
  const shown = cut ? [...frames.slice(0, 300), null, ...frames.slice(-300)] : frames
  return (
    <>
      <div className="flex items-center gap-2 pb-2">
        <p className="flex-1 text-small text-ink3">{t('framesN', { n: frames.length })}</p>
        <Copy text={frames.map((f) => `${f.at}\t${f.data}`).join('\n')}>{t('copyAll')}</Copy>
      </div>
      <div
        ref={box}
        tabIndex={0}
        role="region"
        aria-label={t('rawFrames')}
        translate="no"
        className="max-h-[60dvh] overflow-auto rounded-panel border border-line bg-sunken py-2 font-mono text-small"
      >
        {shown.map((f, i) =>
          f ? (
            <div key={i} className="flex gap-3 px-3 py-px [content-visibility:auto]">
              <span className="w-20 flex-none text-right whitespace-nowrap text-ink3">
                {integer(f.at)} ms
              </span>
              <span className="min-w-0 wrap-anywhere whitespace-pre-wrap">{f.data}</span>
            </div>
          ) : (
            <p key={i} className="px-3 py-2 text-ink3">
              …
            </p>
          ),
        )}
      </div>
    </>
  )
}
