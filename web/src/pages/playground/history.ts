/** Chats are kept in this browser, and nowhere else: IndexedDB, by person, bounded. */
import type { Chat } from './chat'

export interface Kept { readonly id: string; readonly title: string; readonly at: number; readonly size: number }
interface Entry extends Kept { readonly person: string }
interface Row { readonly id: string; readonly person: string; readonly chat: Chat }

const mostChats = 100
/** Of all chats of a person, in bytes */
const mostBytes = 200 << 20
/** Files of a chat beyond this are not kept; their names are */
const mostFiles = 24 << 20

function wait<T>(r: IDBRequest<T>): Promise<T> { return new Promise((resolve, reject) => { r.onsuccess = () => resolve(r.result); r.onerror = () => reject(r.error ?? new Error('IndexedDB')) }) }
let opened: Promise<IDBDatabase> | null = null
function open(): Promise<IDBDatabase> {
  opened ??= new Promise<IDBDatabase>((resolve, reject) => {
    const r = indexedDB.open('weir', 1)
    r.onupgradeneeded = () => { r.result.createObjectStore('chats', { keyPath: 'id' }); r.result.createObjectStore('list', { keyPath: 'id' }).createIndex('person', ['person', 'at']) }
    r.onsuccess = () => { r.result.onversionchange = () => { r.result.close(); opened = null }; resolve(r.result) }
    r.onerror = () => reject(r.error ?? new Error('IndexedDB'))
    r.onblocked = () => reject(new Error('blocked'))
  }).catch((e: unknown) => { opened = null; throw e })
  return opened
}
async function tables(mode: IDBTransactionMode): Promise<{ chats: IDBObjectStore; list: IDBObjectStore }> {
  const t = (await open()).transaction(['chats', 'list'], mode)
  return { chats: t.objectStore('chats'), list: t.objectStore('list') }
}

/** What of a chat is kept: no raw frames, and files up to the bound, the newest first. */
export function reduced(chat: Chat): { chat: Chat; size: number } {
  let files = 0, size = 0
  const turns = Object.fromEntries(Object.entries(chat.turns).map(([model, all]) => [model, [...all].reverse().map((t) => {
    size += t.prompt.length * 2 + t.answer.text.length * 2 + t.answer.reasoning.length * 2 + t.answer.images.reduce((n, u) => n + u.length, 0)
    if (!t.files?.length) return t
    return { ...t, files: t.files.map((f) => { files += f.data.length; return files > mostFiles ? { ...f, data: '' } : f }) }
  }).reverse()]))
  return { chat: { ...chat, turns }, size: size + Math.min(files, mostFiles) }
}
/** Keeps a chat and lets the oldest go when there are too many. Answers whether it was kept. */
export async function keepChat(person: string, id: string, title: string, whole: Chat): Promise<boolean> {
  const { chat, size } = reduced(whole)
  try {
    const t = await tables('readwrite')
    const row: Row = { id, person, chat }
    const entry: Entry = { id, person, title, at: Date.now(), size }
    await Promise.all([wait(t.chats.put(row)), wait(t.list.put(entry))])
    await prune(person, id)
    return true
  } catch { return false }
}
async function prune(person: string, but: string): Promise<void> {
  let sum = 0
  const over = (await listChats(person)).filter((k, i) => { sum += k.size; return k.id !== but && (i >= mostChats || sum > mostBytes) })
  if (over.length) await deleteChats(over.map((k) => k.id))
}
export async function readChat(person: string, id: string): Promise<Chat | null> {
  try {
    const row = (await wait((await tables('readonly')).chats.get(id))) as Row | undefined
    return row?.person === person ? row.chat : null
  } catch { return null }
}
/** The newest first. */
export async function listChats(person: string): Promise<Kept[]> {
  try {
    const all = (await wait((await tables('readonly')).list.index('person').getAll(IDBKeyRange.bound([person, 0], [person, Infinity])))) as Entry[]
    return all.reverse()
  } catch { return [] }
}
export async function deleteChats(ids: readonly string[]): Promise<void> {
  const t = await tables('readwrite')
  await Promise.all(ids.flatMap((id) => [wait(t.chats.delete(id)), wait(t.list.delete(id))]))
}
