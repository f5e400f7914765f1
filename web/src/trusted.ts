/**
 * Runs before anything is drawn. The content policy allows style elements with this page's nonce only, and no text to become HTML; radix writes
 * two constant style elements as HTML, and nothing else may.
 */
import { setNonce } from 'get-nonce'

export const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''
setNonce(nonce)

interface Policies {
  createPolicy(name: string, rules: { createHTML(text: string): string }): unknown
}
const policies = (window as unknown as { trustedTypes?: Policies }).trustedTypes

/** The styles of radix' Select and ScrollArea, which have no name of their own. */
export function allowedHTML(text: string): string {
  if (/^\[data-radix-(select|scroll-area)-viewport\]/.test(text) && !text.includes('<')) return text
  throw new TypeError('This page makes no HTML from text.')
}
policies?.createPolicy('default', { createHTML: allowedHTML })
