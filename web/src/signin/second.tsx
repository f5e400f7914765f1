/** The passkey after a password, a link or another provider. Each step works once: an answer that is refused needs another sign-in. */
import { useState, type FormEvent } from 'react'
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
  const [busy, setBusy] = useState(false)
  const [why, setWhy] = useState<string | null>(null)
  const [over, setOver] = useState(false)
  const go = async (e: FormEvent) => {
    e.preventDefault()
    if (busy) return
    setBusy(true)
    setWhy(null)
    try {
      await signInWithPasskey(step)
      onDone()
    } catch (e) {
      if (e instanceof ApiError && e.status >= 400 && e.status < 500 && e.status !== 429) setOver(true)
      setWhy(e instanceof ApiError && e.field === 'step' ? t('secondOver') : explainPasskey(e))
      setBusy(false)
    }
  }
  return (
    <form
      onSubmit={(e) => {
        void go(e)
      }}
      className="flex flex-col gap-4"
    >
      {why && <Problem>{why}</Problem>}
      {!over && (
        <Button type="submit" look="main" wide icon="passkey" busy={busy} autoFocus>
          {common('usePasskey')}
        </Button>
      )}
      <p>
        <TextButton onClick={onBack}>{t('backToSignIn')}</TextButton>
      </p>
    </form>
  )
}
