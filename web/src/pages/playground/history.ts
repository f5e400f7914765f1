/** Chats are kept in this browser: IndexedDB, by person, bounded. Where the account wants it, they are kept with the account as well. */
import { meQuery, queries } from '../../api/query'
import { deleteOfChats } from './made'
import type { Chat } from './stream'

export interface Kept {
  readonly id: string
  readonly title: string
  readonly at: number
  readonly size: number
}
interface Entry extends Kept {
  readonly person: string
}
interface Row {
  readonly id: string
  readonly person: string
  readonly chat: Chat
}

const mostChats = 100
/** Of all chats of a person, in bytes */
const mostBytes = 200 << 20
/** Files of a chat beyond this are not kept; their names are */
const mostFiles = 24 << 20

function wait<T>(r: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    r.onsuccess = () => resolve(r.result)
    r.onerror = () => reject(r.error ?? new Error('IndexedDB'))
  })
}
let opened: Promise<IDBDatabase> | null = null
function open(): Promise<IDBDatabase> {
  opened ??= new Promise<IDBDatabase>((resolve, reject) => {
    const r = indexedDB.open('weir', 1)
    r.onupgradeneeded = () => {
      r.result.createObjectStore('chats', { keyPath: 'id' })
      r.result.createObjectStore('list', { keyPath: 'id' }).createIndex('person', ['person', 'at'])
    }
    r.onsuccess = () => {
      r.result.onversionchange = () => {
        r.result.close()
        opened = null
      }
      resolve(r.result)
    }
    r.onerror = () => reject(r.error ?? new Error('IndexedDB'))
    r.onblocked = () => reject(new Error('blocked'))
  }).catch((e: unknown) => {
    opened = null
    throw e
  })
  return opened
}
async function tables(mode: IDBTransactionMode): Promise<{ chats: IDBObjectStore; list: IDBObjectStore }> {
  const t = (await open()).transaction(['chats', 'list'], mode)
  return { chats: t.objectStore('chats'), list: t.objectStore('list') }
}

/** What of a chat is kept: no raw frames, and files up to the bound, the newest first. */
export function reduced(chat: Chat): { chat: Chat; size: number } {
  let files = 0,
    size = 0
  const turns = Object.fromEntries(
    Object.entries(chat.turns).map(([model, all]) => [
      model,
      [...all]
        .reverse()
        .map((t) => {
          size +=
            t.prompt.length * 2 +
            t.answer.text.length * 2 +
            t.answer.reasoning.length * 2 +
            t.answer.images.reduce((n, u) => n + u.length, 0)
          if (!t.files?.length) return t
          return {
            ...t,
            files: t.files.map((f) => {
              files += f.data.length
              return files > mostFiles ? { ...f, data: '' } : f
            }),
          }
        })
        .reverse(),
    ]),
  )
  return { chat: { ...chat, turns }, size: size + Math.min(files, mostFiles) }
}
/** Keeps a chat and lets the oldest go when there are too many. Answers whether it was kept. */
export async function keepChat(person: string, id: string, title: string, whole: Chat): Promise<boolean> {
  const { chat, size } = reduced(whole)
  try {
    const t = await tables('readwrite')
    const row: Row = { id, person, chat }
    const entry: Entry = { id, person, title, at: Date.now(), size }
    const put = [wait(t.chats.put(row)), wait(t.list.put(entry))]
    t.chats.transaction.commit() // by itself it would commit after an answer to the page, and be lost with a page that is left
    await Promise.all(put)
    await prune(person, id)
    return true
  } catch {
    return false
  }
}
async function prune(person: string, but: string): Promise<void> {
  let sum = 0
  const over = (await listChats(person)).filter((k, i) => {
    sum += k.size
    return k.id !== but && (i >= mostChats || sum > mostBytes)
  })
  if (over.length) await deleteChats(over.map((k) => k.id))
}
async function readHere(person: string, id: string): Promise<{ chat: Chat; at: number } | null> {
  try {
    const t = await tables('readonly')
    const [row, entry] = (await Promise.all([wait(t.chats.get(id)), wait(t.list.get(id))])) as [
      Row | undefined,
      Entry | undefined,
    ]
    return row?.person === person ? { chat: row.chat, at: entry?.at ?? 0 } : null
  } catch {
    return null
  }
}

/** Whether the account keeps chats; it is off until somebody switches it on. */
export const keeps = () => queries.getQueryData(meQuery.queryKey)?.user?.keeps_chats === true
/** What talks to the account, which most people never load. */
export const account = () => import('./account')
/** A chat as it was changed last, here or in another browser; `there`: the account has it. */
export async function readChat(person: string, id: string): Promise<{ chat: Chat; there: boolean } | null> {
  const here = await readHere(person, id)
  const a = keeps() ? await account() : null
  const there = a && (await a.readThere(id))
  const chat =
    a && there && there.at > (here?.at ?? 0) ? a.withFiles(there.chat, here?.chat ?? null) : here?.chat
  return chat ? { chat, there: !!there } : null
}
/** Those of this browser and of the account, the newest first. */
export async function listAll(person: string): Promise<readonly (Kept & { readonly there?: boolean })[]> {
  const here = await listChats(person)
  if (!keeps()) return here
  const there = await (await account()).listThere()
  const ids = new Set(there.map((k) => k.id))
  const known = new Map(here.map((k) => [k.id, k]))
  return [
    ...here.filter((k) => !ids.has(k.id)),
    ...there.map((k) => ({ ...k, at: Math.max(k.at, known.get(k.id)?.at ?? 0), there: true })),
  ].sort((a, b) => b.at - a.at)
}
/** Deletes chats here and, where they are, with the account; `all`: these are all. It fails when one is still there. */
export async function deleteEverywhere(ids: readonly string[], all: boolean): Promise<void> {
  await Promise.all([deleteChats(ids).catch(() => {}), deleteOfChats(ids)])
  if (!keeps()) return
  const a = await account()
  await (all ? a.deleteAllThere() : a.deleteThere(ids))
}
/** The newest first. */
export async function listChats(person: string): Promise<Kept[]> {
  try {
    const all = (await wait(
      (
        await tables('readonly')
      ).list
        .index('person')
        .getAll(IDBKeyRange.bound([person, 0], [person, Infinity])),
    )) as Entry[]
    return all.reverse()
  } catch {
    return []
  }
}
export async function deleteChats(ids: readonly string[]): Promise<void> {
  const t = await tables('readwrite')
  await Promise.all(ids.flatMap((id) => [wait(t.chats.delete(id)), wait(t.list.delete(id))]))
}
