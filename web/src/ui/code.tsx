import { Tabs } from 'radix-ui'
import { useMemo, useState, type ReactNode } from 'react'
import { useT } from '../i18n'
import { remember, remembered } from '../settings'
import { Copy } from './copy'
import { Icon } from './icons'

export interface Snippet {
  readonly id: string
  readonly label: string
  readonly code: string
  readonly language: 'shell' | 'python' | 'js' | 'go' | 'php' | 'json' | 'toml' | 'yaml' | 'text'
}

const words: Partial<Record<Snippet['language'], string>> = {
  python: 'from|import|def|return|for|in|if|else|with|as|print|None|True|False|async|await|class',
  js: 'import|from|const|let|await|async|for|of|new|return|if|else|function|export|true|false|null',
  go: 'package|import|func|return|if|err|nil|for|range|defer|var|type|struct|map|string',
  php: 'echo|if|foreach|as|while|function|return|throw|new|true|false|null|object',
  shell: 'export|curl|npm|npx|pip|claude|codex|echo|cd',
  json: 'true|false|null',
  toml: 'true|false',
  yaml: 'true|false|null',
}
/** Colours of short snippets of our own: texts, notes, words. Elements, never HTML. */
export function highlight(code: string, language: Snippet['language']): ReactNode[] {
  const note =
    language === 'go' || language === 'js' || language === 'php'
      ? '//[^\\n]*'
      : language === 'json' || language === 'text'
        ? '(?!)'
        : '(?<![\\w$&"\'{])#[^\\n]*'
  const pattern = new RegExp(
    `(${note})|("(?:[^"\\\\\\n]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'|\`[^\`]*\`)|\\b(${words[language] ?? '(?!)'})\\b`,
    'g',
  )
  const out: ReactNode[] = []
  let at = 0
  for (const m of code.matchAll(pattern)) {
    if (m.index > at) out.push(code.slice(at, m.index))
    out.push(
      <span key={m.index} className={m[1] ? 'syntax-note' : m[2] ? 'syntax-text' : 'syntax-word'}>
        {m[0]}
      </span>,
    )
    at = m.index + m[0].length
  }
  out.push(code.slice(at))
  return out
}
/** A block of code that scrolls in its frame. */
export function Code({
  code,
  language,
  label,
  className = '',
}: {
  code: string
  language: Snippet['language']
  label: string
  className?: string
}) {
  const parts = useMemo(() => highlight(code, language), [code, language])
  return (
    <pre
      tabIndex={0}
      role="group"
      aria-label={label}
      className={`m-0 overflow-x-auto px-4 py-3.5 leading-[19px] whitespace-pre focus-visible:outline-offset-[-2px] ${className}`}
    >
      <code>{parts}</code>
    </pre>
  )
}

/** The same thing in several languages. The choice is remembered in this browser. */
export function CodeTabs({
  snippets,
  label,
  foot,
  main,
}: {
  snippets: readonly Snippet[]
  label: string
  foot?: ReactNode
  main?: boolean
}) {
  const t = useT('common')
  const [chosen, choose] = useState(() => remembered('code') ?? '')
  const now = snippets.find((s) => s.id === chosen) ?? snippets[0]
  if (!now) return null
  return (
    <Tabs.Root
      value={now.id}
      onValueChange={(v) => {
        choose(v)
        remember('code', v)
      }}
      className="overflow-hidden rounded-panel border border-line bg-surface"
    >
      <div className="flex items-center gap-2 border-b border-line px-2">
        <Tabs.List aria-label={label} className="flex min-w-0 flex-1 overflow-x-auto">
          {snippets.map((s) => (
            <Tabs.Trigger
              key={s.id}
              value={s.id}
              className={
                '-mb-px border-b-2 border-transparent px-2.5 pt-2.5 pb-2 text-small font-medium ' +
                'whitespace-nowrap text-ink2 hover:text-ink focus-visible:outline-offset-[-2px] ' +
                'data-[state=active]:border-accent data-[state=active]:text-ink max-md:py-3'
              }
            >
              {s.label}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {!foot && (
          <Copy text={now.code} look={main ? 'main' : 'plain'}>
            {t('copy')}
          </Copy>
        )}
      </div>
      {snippets.map((s) => (
        <Tabs.Content key={s.id} value={s.id} tabIndex={-1}>
          <Code code={s.code} language={s.language} label={s.label} />
        </Tabs.Content>
      ))}
      {foot && (
        <div className="flex items-center gap-3 border-t border-line px-4 py-2">
          <span className="min-w-0 flex-1 text-label text-ink3">{foot}</span>
          <Copy text={now.code}>{t('copy')}</Copy>
        </div>
      )}
    </Tabs.Root>
  )
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [k: string]: Json }
/** JSON as text that folds. `open`: how many levels are open at first. */
export function Json({ value, open = 2 }: { value: unknown; open?: number }) {
  return (
    <div className="overflow-x-auto font-mono text-small leading-5">
      <Node value={value as Json} open={open} last />
    </div>
  )
}
function Node({ name, value, open, last }: { name?: string; value: Json; open: number; last?: boolean }) {
  const t = useT('common')
  const [shown, setShown] = useState(open > 0)
  const head = name === undefined ? null : <span className="text-ink2">{JSON.stringify(name)}: </span>
  const comma = last ? '' : ','
  if (value === null || typeof value !== 'object')
    return (
      <div className="pl-5 whitespace-pre-wrap wrap-anywhere">
        {head}
        <span className={typeof value === 'string' ? 'syntax-text' : 'syntax-number'}>
          {JSON.stringify(value)}
        </span>
        {comma}
      </div>
    )
  const list = Array.isArray(value)
  const entries: [string | undefined, Json][] = list
    ? (value as readonly Json[]).map((v) => [undefined, v])
    : Object.entries(value as { [k: string]: Json })
  const [a, b] = list ? ['[', ']'] : ['{', '}']
  return (
    <div>
      <button
        type="button"
        aria-expanded={shown}
        onClick={() => setShown(!shown)}
        className="inline-flex items-center text-left"
      >
        <Icon name={shown ? 'down' : 'right'} size={14} className="mr-1.5 text-ink3" />
        {head}
        {shown ? (
          a
        ) : (
          <>
            {a}
            <span className="text-ink3">{t('items', { n: entries.length })}</span>
            {b}
            {comma}
          </>
        )}
      </button>
      {shown && (
        <>
          <div className="pl-4">
            {entries.map(([k, v], i) => (
              <Node
                key={k ?? i}
                {...(k === undefined ? {} : { name: k })}
                value={v}
                open={open - 1}
                last={i === entries.length - 1}
              />
            ))}
          </div>
          <div className="pl-5">
            {b}
            {comma}
          </div>
        </>
      )}
    </div>
  )
}
