/** A request as code, loaded when somebody asks for it. */
import type { ReactNode } from 'react'
import { formSnippets, requestSnippets } from '../../code/requests'
import { useT } from '../../i18n'
import { CodeTabs } from '../../ui/code'

type Kind = Parameters<typeof requestSnippets>[1]
/** A body of JSON, or a form with a file of that name. */
export type Asked =
  | { readonly kind: Kind; readonly body: Parameters<typeof requestSnippets>[2] }
  | { readonly form: Parameters<typeof formSnippets>[1]; readonly file: string }

export default function RequestCode({ of, foot }: { of: Asked; foot?: ReactNode }) {
  const t = useT('playground')
  return (
    <CodeTabs
      snippets={
        'form' in of
          ? formSnippets(location.origin, of.form, of.file)
          : requestSnippets(location.origin, of.kind, of.body)
      }
      label={t('codeTitle')}
      foot={foot}
    />
  )
}
