import { chatSnippets } from '../../code/snippets'
import { useT } from '../../i18n'
import { CodeTabs } from '../../ui/code'

/** Code for an account without calls; the key stands in the environment. */
export default function First({ model }: { model: string }) {
  const t = useT('calls')
  return <CodeTabs label={t('firstCode')} snippets={chatSnippets({ base: location.origin, model })} />
}
