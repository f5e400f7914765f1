/** Preact empties what an element no longer has, and an empty maxLength is 0, an empty src this page. So an element is made anew when it gets or loses one of them. */
import { options } from 'preact'

const names = ['maxLength', 'minLength', 'rows', 'cols', 'size', 'src'] as const
const before = options.vnode
options.vnode = (v) => {
  if (typeof v.type === 'string' && v.key == null) {
    const given = v.props as { [name in (typeof names)[number]]?: unknown }
    const has = names.filter((n) => given[n] != null)
    if (has.length > 0) v.key = has.join()
  }
  before?.(v)
}
