import { lazy, Suspense, useState } from 'react'
import { loadMessages } from '../../i18n'
import { Button } from '../../ui/button'

const Import = lazy(async () => (await Promise.all([import('./import'), loadMessages(['import'])]))[0])

/** Opens the import; its code is loaded when it is asked for. */
export function ImportButton({ label }: { label: string }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>{label}</Button>
      {open && (
        <Suspense>
          <Import onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
