/** The passkey after a password, a link or another provider. Each step works once: an answer that is refused needs another sign-in. */
import { useState } from 'react'
import { useAction } from '../api/action'
import { ApiError } from '../api/client'
import { explainPasskey, signInWithPasskey } from '../api/passkey'
import { useT } from '../i18n'
import { Button } from '../ui/button'
import { Problem, TextButton } from './parts'

export default function Second({
  step,
  onBack,
  onDone,
}: {
  step: string
  onBack: () => void
  onDone: () => void
}) {
  const t = useT('signin')
  const common = useT('common')
  const [over, setOver] = useState(false)
  const go = useAction(() => signInWithPasskey(step).then(onDone), {
    leaves: true,
    failed: (e) => {
      if (e instanceof ApiError && e.status >= 400 && e.status < 500 && e.status !== 429) setOver(true)
    },
  })
  const why = go.at('step') ? t('secondOver') : go.error !== null && explainPasskey(go.error)
  return (
    <form onSubmit={go.submit} className="flex flex-col gap-4">
      {why && <Problem>{why}</Problem>}
      {!over && (
        <Button type="submit" look="main" wide icon="passkey" busy={go.busy} autoFocus>
          {common('usePasskey')}
        </Button>
      )}
      <p>
        <TextButton onClick={onBack}>{t('backToSignIn')}</TextButton>
      </p>
    </form>
  )
}
