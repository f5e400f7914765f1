/** What the forms before the sign-in share. */
import type { ReactNode } from 'react'
import { useT } from '../i18n'
import { Icon } from '../ui/icons'

export function Problem({ children }: { children: ReactNode }) {
  return (
    <p role="alert" className="flex gap-2 rounded-control bg-bad-soft px-3 py-2.5 text-small text-bad">
      <Icon name="warning" className="mt-px" />
      <span className="min-w-0 flex-1">{children}</span>
    </p>
  )
}
export function Bad({ onBack }: { onBack: () => void }) {
  const t = useT('signin')
  return (
    <>
      <Problem>
        <strong className="font-medium">{t('badLink')}.</strong> {t('badLinkText')}
      </Problem>
      <p className="pt-4">
        <TextButton onClick={onBack}>{t('backToSignIn')}</TextButton>
      </p>
    </>
  )
}
export function TextButton({ onClick, children }: { onClick: () => void; children: ReactNode }) {
  return (
    <button
      type="button"
      onClick={onClick}
      className="min-h-6 font-medium text-accent-ink underline-offset-2 hover:underline"
    >
      {children}
    </button>
  )
}
