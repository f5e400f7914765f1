import { useBlocker } from '@tanstack/react-router'
import { useRef, type ReactNode } from 'react'
import { Confirm } from './overlay'

/**
 * Asks once before a page is left that shows what is shown only now: in a window for a step within the interface, with the browser's own words
 * when the tab is closed. `stays`: whether a step from one path to another keeps it on the screen.
 */
export function AskBeforeLeaving({
  title,
  text,
  verb,
  stays = () => false,
}: {
  title: string
  text: ReactNode
  verb: string
  stays?: (from: string, to: string) => boolean
}) {
  const left = useRef(false) // the next page may still load: another step meanwhile asks nothing
  const asked = useBlocker({
    shouldBlockFn: ({ current, next }) =>
      !left.current && current.pathname !== next.pathname && !stays(current.pathname, next.pathname),
    enableBeforeUnload: () => !left.current,
    withResolver: true,
  })
  const leave = () => {
    left.current = true
    asked.proceed?.()
  }
  return (
    <Confirm
      open={asked.status === 'blocked'}
      onOpenChange={(open) => {
        if (!open) asked.reset?.()
      }}
      title={title}
      verb={verb}
      onConfirm={leave}
    >
      {text}
    </Confirm>
  )
}
