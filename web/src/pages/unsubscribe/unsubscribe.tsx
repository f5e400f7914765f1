/** Where the link of a mail leads: it asks before it switches the mails of one cause off, because programs open links, too. */
import { useAction } from '../../api/action'
import { useState } from 'react'
import { ApiError, post } from '../../api/client'
import { explain } from '../../api/explain'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { ErrorBox, Notice } from '../../ui/feedback'
import { Link } from '../../ui/link'
import { Page, PageHead } from '../../ui/page'

const token = decodeToken(location.hash.slice(1))
function decodeToken(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

export default function UnsubscribePage() {
  const t = useT('notifications')
  const [stopped, setStopped] = useState<string | null>(null)
  const stop = useAction(async () => {
    setStopped((await post('/api/unsubscribe/{token}', { path: { token }, quiet: true })).data.cause)
  })
  const failed = stop.error
  const wrong = token === '' || (failed instanceof ApiError && failed.status === 404)
  const settings = <Link to="/settings/notifications">{t('settings')}</Link>
  return (
    <Page width="text" className="max-w-[560px]!">
      <PageHead title={t('stopTitle')} />
      {stopped !== null ? (
        <Notice tone="good" title={t('stopped', { cause: t.or(stopped, stopped) })} action={settings}>
          {t('stoppedText')}
        </Notice>
      ) : wrong ? (
        <Notice tone="warn" title={t('stopWrong')} action={settings}>
          {t('stopWrongText')}
        </Notice>
      ) : (
        <>
          <p className="pb-4 text-ink2">{t('stopText')}</p>
          {failed !== null && (
            <div className="pb-4">
              <ErrorBox error={failed} title={explain(failed)} />
            </div>
          )}
          <div className="flex flex-wrap items-center gap-4">
            <Button look="main" busy={stop.busy} onClick={() => stop.run()}>
              {t('stop')}
            </Button>
            {settings}
          </div>
        </>
      )}
    </Page>
  )
}
