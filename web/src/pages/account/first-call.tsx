import { chatSnippets } from '../../code/snippets'
import { useT } from '../../i18n'
import { CodeTabs, type Snippet } from '../../ui/code'

/** Code that calls a model with a new key; the lines of an environment file stand after curl. */
export default function FirstCall({ model, secret }: { model: string; secret: string }) {
  const t = useT('keys')
  const [first, ...more] = chatSnippets({ base: location.origin, model, key: secret })
  const env: Snippet = {
    id: 'env',
    label: '.env',
    language: 'shell',
    code: `WEIR_API_KEY=${secret}\nOPENAI_API_KEY=${secret}\nOPENAI_BASE_URL=${location.origin}/v1`,
  }
  return <CodeTabs label={t('firstCall')} snippets={[...(first ? [first] : []), env, ...more]} />
}
