import { useT } from '../i18n'
import { hasPage } from '../router'
import { Kbd } from '../ui/marks'
import { Dialog } from '../ui/overlay'
import { side, top } from './nav'

/** All keys that work everywhere. */
export default function Keys({ onClose }: { onClose: () => void }) {
  const t = useT('common')
  const rows: [string, string][] = [
    ['Ctrl K', t('shortcutSearch')], ['/', t('shortcutPageSearch')], ['j k', t('shortcutRows')], ['Enter', t('shortcutOpen')], ['Esc', t('shortcutClose')], ['?', t('shortcutHelp')],
    ...[...side, ...top].filter((p) => p.key && hasPage(p.to)).map((p): [string, string] => [`g ${p.key}`, t('shortcutGo', { page: t(p.label) })]),
  ]
  return (
    <Dialog open onOpenChange={(o) => { if (!o) onClose() }} title={t('shortcuts')}>
      <dl className="m-0 grid grid-cols-[auto_1fr] items-center gap-x-5 gap-y-2 pt-2">
        {rows.map(([key, what]) => [<dt key={key} className="flex gap-1">{key.split(' ').map((k) => <Kbd key={k}>{k}</Kbd>)}</dt>, <dd key={what} className="m-0 text-ink2">{what}</dd>])}
      </dl>
    </Dialog>
  )
}
