/**
 * Messages in two languages. An area is a pair of files, messages/<area>.en.ts and .ru.ts; each page loads its areas in one language, before
 * it is shown. A message is a text with {places}, or its plural forms, chosen by the number `n`.
 */
import { Fragment, createElement, useSyncExternalStore, type ReactNode } from 'react'
import { integer, setFormatLanguage, type Language } from './format'

export type { Language }
export type Plural = {
  readonly one: string
  readonly few?: string
  readonly many?: string
  readonly other: string
}
export type Message = string | Plural
export type Messages = { readonly [key: string]: Message }

/** Each English file adds its area here: declare module '../i18n' { interface Areas { catalog: typeof messages } } */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface Areas {}
export type Area = keyof Areas & string

/** What a Russian file satisfies: the same keys, with plural forms where English has them. */
export type Translation<M> = {
  readonly [K in keyof M]: M[K] extends string
    ? string
    : { readonly one: string; readonly few: string; readonly many: string; readonly other: string }
}

const files = import.meta.glob<{ default: Messages }>('./messages/*.{en,ru}.ts')
const loaded = new Map<string, Messages>()
const listeners = new Set<() => void>()
let current: Language = 'en'

export const languages: readonly Language[] = ['en', 'ru']
export function language(): Language {
  return current
}
export function useLanguage(): Language {
  return useSyncExternalStore(
    (f) => {
      listeners.add(f)
      return () => listeners.delete(f)
    },
    () => current,
  )
}

/** Loads areas in the present language; at once when they are there. */
export async function loadMessages(areas: readonly string[], l: Language = current): Promise<void> {
  await Promise.all(
    areas.map(async (area) => {
      const name = `${area}.${l}`
      if (loaded.has(name)) return
      const file = files[`./messages/${name}.ts`]
      if (!file) throw new Error(`no messages ${name}`)
      loaded.set(name, (await file()).default)
    }),
  )
}
/** For tests, and for pages that carry their messages themselves. */
export function provide(area: string, l: Language, messages: Messages): void {
  loaded.set(`${area}.${l}`, messages)
}

/** Switches everything to a language: its messages first, then the page. */
export async function setLanguage(l: Language): Promise<void> {
  await loadMessages([...new Set([...loaded.keys()].map((k) => k.slice(0, -3)))], l)
  current = l
  setFormatLanguage(l)
  document.documentElement.lang = l
  listeners.forEach((f) => f())
}
/** Before the first paint, from what the server has written into the page. */
export function startLanguage(l: string): void {
  current = l === 'ru' ? 'ru' : 'en'
  setFormatLanguage(current)
}

const rules = { en: new Intl.PluralRules('en'), ru: new Intl.PluralRules('ru') }
export type Arguments = { readonly [name: string]: string | number }

function text(area: string, key: string, n: unknown): string {
  const m = loaded.get(`${area}.${current}`)?.[key]
  if (m === undefined) return `${area}.${key}`
  if (typeof m === 'string') return m
  const form = rules[current].select(Number(n ?? 0)) as keyof Plural
  return m[form] ?? m.other
}
const shown = (v: string | number | undefined, name: string) =>
  v === undefined ? `{${name}}` : typeof v === 'number' ? integer(v) : v

export interface T<A extends Area> {
  /** The message as text. Numbers are written with groups. */
  (key: keyof Areas[A] & string, args?: Arguments): string
  /** The message with elements in its places. */
  rich(key: keyof Areas[A] & string, args: { readonly [name: string]: ReactNode }): ReactNode
  /** The message under a key that came from elsewhere, such as a state of the API; otherwise the key itself. */
  or(key: string, otherwise?: string, args?: Arguments): string
}

/** Messages of an area, in the present language. */
export function useT<A extends Area>(area: A): T<A> {
  useLanguage()
  return translator(area)
}
const translators = new Map<string, unknown>()
/** The same outside of components. */
export function translator<A extends Area>(area: A): T<A> {
  let t = translators.get(area) as T<A> | undefined
  if (!t) {
    t = Object.assign(
      (key: string, args: Arguments = {}) =>
        text(area, key, args.n).replace(/\{(\w+)\}/g, (_, name: string) => shown(args[name], name)),
      {
        rich: (key: string, args: { readonly [name: string]: ReactNode }): ReactNode =>
          text(area, key, args.n)
            .split(/\{(\w+)\}/)
            .map((part, i) => {
              if (i % 2 === 0) return part
              const v = args[part]
              return createElement(Fragment, { key: i }, typeof v === 'number' ? integer(v) : v)
            }),
        or: (key: string, otherwise?: string, args?: Arguments): string =>
          loaded.get(`${area}.${current}`)?.[key] === undefined
            ? (otherwise ?? key)
            : (t as T<A>)(key as never, args),
      },
    ) as T<A>
    translators.set(area, t)
  }
  return t
}
