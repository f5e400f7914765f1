import { useRouterState } from '@tanstack/react-router'
import { useT, type Areas } from '../i18n'
import { hasPage } from '../routes/paths'
import { Kbd } from '../ui/marks'
import { Dialog } from '../ui/overlay'
import { side, top } from './nav'

/** The keys that only some pages have, by their path. */
const pages: readonly (readonly [
  path: RegExp,
  keys: readonly (readonly [string, keyof Areas['shortcuts'] & string])[],
])[] = [
  [
    /^\/overview$/,
    [
      ['t', 'topUp'],
      ['T', 'chartTable'],
    ],
  ],
  [
    /^\/activity$/,
    [
      ['← →', 'period'],
      ['T', 'chartTable'],
    ],
  ],
  [
    /^\/calls$/,
    [
      ['o', 'full'],
      ['l', 'live'],
      ['f', 'cell'],
    ],
  ],
  [
    /^\/calls\/./,
    [
      ['c', 'copyId'],
      ['T', 'routeTable'],
    ],
  ],
  [/^\/keys$/, [['n', 'newKey']]],
  [/^\/keys\/./, [['T', 'chartTable']]],
  [/^\/presets$/, [['n', 'newPreset']]],
  [/^\/money$/, [['e', 'file']]],
  [/^\/jobs\/./, [['Space', 'play']]],
  [
    /^\/models$/,
    [
      ['x', 'select'],
      ['c', 'compare'],
    ],
  ],
]

/** The keys of the page, and those that work everywhere. */
export default function Keys({ onClose }: { onClose: () => void }) {
  const t = useT('common'),
    k = useT('shortcuts')
  const path = useRouterState({ select: (s) => s.location.pathname })
  const here = pages.find(([of]) => of.test(path))?.[1] ?? []
  const everywhere: [string, string][] = [
    ['Ctrl K', t('shortcutSearch')],
    ['/', t('shortcutPageSearch')],
    ['j k', t('shortcutRows')],
    ['Enter', t('shortcutOpen')],
    ['Esc', t('shortcutClose')],
    ['?', t('shortcutHelp')],
    ...[...side, ...top]
      .filter((p) => p.key && hasPage(p.to))
      .map((p): [string, string] => [`g ${p.key}`, t('shortcutGo', { page: t(p.label) })]),
  ]
  const list = (rows: readonly (readonly [string, string])[]) => (
    <dl className="m-0 grid grid-cols-[auto_1fr] items-center gap-x-5 gap-y-2 pt-2">
      {rows.map(([key, what]) => [
        <dt key={key} className="flex gap-1" translate="no">
          {key.split(' ').map((x) => (
            <Kbd key={x}>{x}</Kbd>
          ))}
        </dt>,
        <dd key={what} className="m-0 text-ink2">
          {what}
        </dd>,
      ])}
    </dl>
  )
  return (
    <Dialog
      open
      onOpenChange={(o) => {
        if (!o) onClose()
      }}
      title={t('shortcuts')}
    >
      {here.length > 0 && (
        <div className="pb-4">
          <h3 className="pt-1 text-section">{k('here')}</h3>
          {list(here.map(([key, what]) => [key, k(what)]))}
        </div>
      )}
      {list(everywhere)}
    </Dialog>
  )
}
