import type { ErrorComponentProps } from '@tanstack/react-router'
import { ApiError } from '../api/client'
import { useMe } from '../api/query'
import { useT } from '../i18n'
import { Button } from '../ui/button'
import { ErrorBox } from '../ui/feedback'
import { LinkButton } from '../ui/link'
import { Page, PageHead, useTitle } from '../ui/page'

export function NotFound() {
  const t = useT('common')
  const me = useMe()
  return (
    <Page width="text">
      <div className="py-16">
        <PageHead title={t('notFoundTitle')} />
        <p className="pb-5 text-ink2">{t('notFoundText')}</p>
        <div className="flex flex-wrap gap-2">
          <LinkButton to="/models" look="main">
            {t('toModels')}
          </LinkButton>
          {me?.features.docs && (
            <LinkButton to="/docs" icon="book">
              {t('docs')}
            </LinkButton>
          )}
        </div>
      </div>
    </Page>
  )
}

/** A page that failed: by a request, or by a mistake of ours. The rest of the frame goes on. */
export function Crashed({ error, reset }: ErrorComponentProps) {
  const t = useT('common')
  useTitle(t('crashed'))
  return (
    <Page width="text">
      <div className="py-16">
        {error instanceof ApiError ? (
          <>
            <h1 tabIndex={-1} className="sr-only">
              {t('errorTitle')}
            </h1>
            <ErrorBox error={error} onRetry={reset} />
          </>
        ) : (
          <>
            <h1 tabIndex={-1} className="pb-2 text-title">
              {t('crashed')}
            </h1>
            <p className="pb-4 text-ink2">{t('crashedText')}</p>
            <Button look="main" onClick={() => location.reload()}>
              {t('reload')}
            </Button>
            <pre
              className="mt-5 overflow-x-auto rounded-panel border border-line bg-surface p-3 text-small text-ink2"
              tabIndex={0}
              lang="en"
            >
              {error instanceof Error ? error.message : String(error)}
            </pre>
          </>
        )}
      </div>
    </Page>
  )
}
