/**
 * What was made in the playground is kept in this browser: images and speech with their files, and of videos, which the gateway has, the prompt.
 * It is kept by person and account, bounded for each person, and not at all where the data settings of the account forbid it.
 */
import { account } from '../../api/client'
import { meQuery, queries, type Me } from '../../api/query'

export type MadeKind = 'image' | 'audio' | 'video'
export interface Made {
  readonly id: string
  readonly kind: MadeKind
  /** Milliseconds since 1970 */
  readonly at: number
  /** Of the file, in bytes, and its media type */
  readonly size: number
  readonly type: string
  readonly model: string
  readonly prompt: string
  readonly call: string | null
  /** Rubles of the whole call, as the gateway wrote them; null until they are known */
  readonly cost: string | null
  /** How many files the call made, and from how many of the person's, which are not kept */
  readonly of: number
  readonly from: number
  /** As the address of the page that made it names them */
  readonly settings: { readonly [name: string]: string }
  readonly chat: string | null
}
/** What all files of a call share. */
export type MadeCall = Omit<Made, 'id' | 'at' | 'size' | 'type' | 'of'>
interface Row extends Made {
  readonly person: string
  readonly account: string
}

/** Of a person, in all of their accounts. */
export const mostMade = 300
export const mostBytes = 300_000_000
const aDay = 86_400_000

/** For how many days this account lets a browser keep things: 0 not at all, null as long as there is room. */
export function keepDays(me: Me | undefined): number | null {
  const of = me?.accounts.find((a) => a.id === (account ?? me.user?.id))
  return of ? of.keep_days : 0
}
/** Those that have to go: beyond the bounds, or older than `days` where they are of `of`. `rows` are the newest first. */
export function tooMany(
  rows: readonly Pick<Row, 'id' | 'at' | 'size' | 'prompt' | 'account'>[],
  of: string,
  days: number | null,
  now: number,
): string[] {
  let sum = 0
  return rows
    .filter((r, i) => {
      sum += r.size + r.prompt.length * 2
      return i >= mostMade || sum > mostBytes || (!!days && r.account === of && r.at < now - days * aDay)
    })
    .map((r) => r.id)
}

function wait<T>(r: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    r.onsuccess = () => resolve(r.result)
    r.onerror = () => reject(r.error ?? new Error('IndexedDB'))
  })
}
/** A database of its own: that of the chats stays as pages of older versions know it. */
function open(): Promise<IDBDatabase> {
  const r = indexedDB.open('weir-made', 1)
  r.onupgradeneeded = () => {
    r.result.createObjectStore('files')
    r.result.createObjectStore('list', { keyPath: 'id' }).createIndex('person', ['person', 'at'])
  }
  return wait(r)
}
async function inTables<T>(
  mode: IDBTransactionMode,
  work: (list: IDBObjectStore, files: IDBObjectStore) => Promise<T>,
): Promise<T> {
  const db = await open()
  try {
    const t = db.transaction(['list', 'files'], mode)
    const done = new Promise<void>((resolve, reject) => {
      t.oncomplete = () => resolve()
      t.onabort = () => reject(t.error ?? new Error('IndexedDB'))
    })
    const [answer] = await Promise.all([work(t.objectStore('list'), t.objectStore('files')), done])
    return answer
  } finally {
    db.close()
  }
}
const whose = () => {
  const me = queries.getQueryData(meQuery.queryKey)
  const person = me?.user?.id ?? ''
  return { person, account: account ?? person, days: keepDays(me) }
}
/** All of a person, the newest first; those of one call in the order in which they came. */
const allOf = async (list: IDBObjectStore, person: string) =>
  (
    (await wait(list.index('person').getAll(IDBKeyRange.bound([person, 0], [person, Infinity])))) as Row[]
  ).sort((a, b) => b.at - a.at || (a.id < b.id ? -1 : 1))
function drop(ids: readonly string[], list: IDBObjectStore, files: IDBObjectStore): void {
  for (const id of ids) {
    list.delete(id)
    files.delete(id)
  }
}

/** Keeps the files of a call, and lets the oldest go. `id` is that of the call's work; a video has no file here. Answers whether they were kept. */
export async function keepMade(
  id: string,
  files: readonly (Blob | null)[],
  call: MadeCall,
): Promise<'kept' | 'forbidden' | 'failed'> {
  const { person, account, days } = whose()
  if (!person || days === 0) return 'forbidden'
  const at = Date.now()
  try {
    await inTables('readwrite', async (list, store) => {
      files.forEach((file, i) => {
        const row: Row = {
          ...call,
          id: files.length > 1 ? `${id}.${String(i).padStart(2, '0')}` : id,
          at,
          size: file?.size ?? 0,
          type: file?.type ?? '',
          of: files.length,
          person,
          account,
        }
        list.put(row)
        if (file) store.put(file, row.id)
      })
      drop(tooMany(await allOf(list, person), account, days, at), list, store)
    })
    return 'kept'
  } catch {
    return 'failed'
  }
}
/** Notes what a call cost, which is known after its files. */
export async function noteCost(call: string, cost: string): Promise<void> {
  await inTables('readwrite', async (list) => {
    for (const row of await allOf(list, whose().person)) if (row.call === call) list.put({ ...row, cost })
  }).catch(() => {})
}
/** What the person made in this account, the newest first. */
export async function listMade(): Promise<readonly Made[]> {
  const { person, account, days } = whose()
  try {
    return await inTables('readwrite', async (list, files) => {
      const rows = await allOf(list, person)
      const gone = new Set(tooMany(rows, account, days, Date.now()))
      drop([...gone], list, files)
      return rows.filter((r) => r.account === account && !gone.has(r.id))
    })
  } catch {
    return []
  }
}
/** The same as what a page reads; another account is another document. */
export const madeQuery = (person: string) => ({
  queryKey: ['made', person, account],
  queryFn: listMade,
  staleTime: 0,
})
export async function fileOf(id: string): Promise<Blob | null> {
  return inTables('readonly', async (_, files) => ((await wait(files.get(id))) as Blob | undefined) ?? null)
}
/** It fails when they are still there. */
export async function deleteMade(ids: readonly string[]): Promise<void> {
  await inTables('readwrite', async (list, files) => drop(ids, list, files))
}
/** Pictures go with the chat that they were made in. */
export async function deleteOfChats(chats: readonly string[]): Promise<void> {
  await inTables('readwrite', async (list, files) => {
    const rows = await allOf(list, whose().person)
    drop(
      rows.flatMap((r) => (r.chat && chats.includes(r.chat) ? r.id : [])),
      list,
      files,
    )
  }).catch(() => {})
}

const endings: { readonly [type: string]: string } = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/svg+xml': 'svg',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'opus',
  'audio/opus': 'opus',
  'audio/aac': 'aac',
  'audio/flac': 'flac',
  'audio/x-flac': 'flac',
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
}
/** How the name of a file of this type ends. */
export const endingOf = (type: string) => endings[type.split(';')[0]!.trim().toLowerCase()] ?? 'bin'
