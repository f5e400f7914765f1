import { useAction } from '../../api/action'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState, type ReactNode } from 'react'
import { post, type Reply } from '../../api/client'
import { useRenewed } from '../../api/live'
import { meQuery, queries, useMe } from '../../api/query'
import { getSetup } from '../../api/operations'
import { chatSnippets } from '../../code/snippets'
import { list, money } from '../../format'
import { useT } from '../../i18n'
import { hasPage } from '../../routes/paths'
import { Button } from '../../ui/button'
import { CodeTabs } from '../../ui/code'
import { Segmented } from '../../ui/controls'
import { ErrorBox, Skeleton } from '../../ui/feedback'
import { Icon } from '../../ui/icons'
import { LinkButton } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { useTitle } from '../../ui/page'
import { Money } from '../../ui/values'

type Setup = Reply<'/api/setup'>
type Step = Setup['steps'][number]

/** What the simulator is asked to do, in the prompt. */
const ways = ['well', 'fails', 'slow', 'cut'] as const
type Way = (typeof ways)[number]
function prompt(way: Way, hello: string, round: number): string {
  return {
    well: hello,
    fails: `[[sim fault=u16 times=1 id=welcome-${round}]] ${hello}`,
    slow: `[[sim first=2s]] ${hello}`,
    cut: `[[sim fault=u7 after=3]] ${hello}`,
  }[way]
}

/** From a running gateway to the first call: the page follows along. */
export default function Welcome() {
  const t = useT('welcome')
  const me = useMe()
  const setup = useQuery({
    ...getSetup({ quiet: true }),
    queryKey: getSetup.key(me?.user?.id ?? null),
    enabled: me !== undefined,
    refetchInterval: me?.user ? 5000 : 2000,
    staleTime: 0,
  })
  useRenewed(['calls', 'keys', 'money'], [getSetup], { every: 1_000, on: Boolean(me?.user) })
  const [way, setWay] = useState<Way>('well')
  const [round, setRound] = useState(1)
  const data = setup.data
  const call = data?.steps.find((s) => s.id === 'call')
  const ready = Boolean(data?.demo) || Boolean(data?.steps.find((s) => s.id === 'provider')?.done && me?.user)
  const title = call?.done ? t('titleDone') : ready ? t('titleCall') : t('titleSetup')
  useTitle(title)
  const snippets = useMemo(
    () =>
      data
        ? chatSnippets({
            base: data.base_url.replace(/\/$/, ''),
            model: data.demo ? 'sim/anywhere' : (call?.detail.model ?? 'openai/gpt-5'),
            key: data.key,
            stream: true,
            prompt: prompt(way, t('prompt'), round),
          })
        : [],
    [data, call, way, round, t],
  )
  return (
    <div className="mx-auto max-w-[1060px] px-4 pt-8 pb-16 md:px-7 md:pt-[72px]">
      {data?.demo && (
        <p className="pb-3.5">
          <Tag tone="accent">
            <span className="whitespace-normal">{t('demoTag')}</span>
          </Tag>
        </p>
      )}
      <h1 tabIndex={-1} className="text-display max-md:text-[26px] max-md:leading-8">
        {title}
      </h1>
      <p className="max-w-[700px] pt-2 pb-7 text-lead text-ink2">{ready ? t('leadCall') : t('leadSetup')}</p>
      {setup.error && !data ? (
        <ErrorBox error={setup.error} onRetry={() => void setup.refetch()} />
      ) : (
        <div className="flex items-start gap-8 max-lg:flex-col">
          <div className="w-full min-w-0 flex-1">
            {!data ? (
              <Skeleton className="h-56 w-full" />
            ) : (
              <>
                {data.demo && !me?.user && me?.features.demo && <Begin />}
                {ready && (
                  <>
                    {data.demo && (
                      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 pb-3">
                        <span className="text-small text-ink3">{t('how')}</span>
                        <Segmented
                          small
                          label={t('how')}
                          value={way}
                          onChange={(w) => {
                            setWay(w)
                            setRound(round + 1)
                          }}
                          options={ways.map((w) => ({ value: w, label: t(`how_${w}`) }))}
                        />
                      </div>
                    )}
                    <CodeTabs label={t('code')} snippets={snippets} main />
                    <p className="px-0.5 pt-2.5 text-small text-ink3">
                      {data.demo && way !== 'well' && (
                        <span className="text-ink2">{t(`howHelp_${way}`)} </span>
                      )}
                      {data.key ? t('keyNote') : t('keyNone')}
                    </p>
                  </>
                )}
                {(ready || call?.done) && call && <Arrival step={call} signedIn={Boolean(me?.user)} />}
                {!ready && me?.user && (
                  <div className="rounded-panel border border-line bg-surface px-5 py-4">
                    <p className="pb-3 text-ink2">{t(me.operator ? 'connectText' : 'connectOthers')}</p>
                    {me.operator && (
                      <LinkButton to="/admin/providers" look="main" icon="box">
                        {t('step_provider')}
                      </LinkButton>
                    )}
                  </div>
                )}
                {!ready && !me?.user && (
                  <div className="flex flex-wrap gap-2">
                    {me?.features.docs && (
                      <LinkButton to="/docs/start" look="main" icon="book">
                        {t('guide')}
                      </LinkButton>
                    )}
                    <LinkButton to="/models" look={me?.features.docs ? 'plain' : 'main'}>
                      {t('models')}
                    </LinkButton>
                  </div>
                )}
              </>
            )}
          </div>
          <ol aria-label={t('steps')} className="m-0 w-full flex-none list-none p-0 lg:w-[320px]">
            {data && (
              <StepRow n={1} done title={t('step_up')} last={data.steps.length === 0}>
                {t('step_up_text', { address: data.base_url.replace(/^https?:\/\//, '') })}
              </StepRow>
            )}
            {data?.steps.map((s, i) => (
              <StepRow
                key={s.id}
                n={i + 2}
                done={s.done}
                next={!s.done && data.steps.slice(0, i).every((x) => x.done)}
                title={t.or(`step_${s.id}`, s.id)}
                last={i === data.steps.length - 1}
              >
                <StepText step={s} />
              </StepRow>
            ))}
          </ol>
        </div>
      )}
    </div>
  )
}

/** Signs this browser in to the demo, in place. */
function Begin() {
  const t = useT('welcome')
  const begin = useAction(
    async () => {
      queries.setQueryData(meQuery.queryKey, (await post('/api/auth/demo', { quiet: true })) as never)
    },
    { leaves: true },
  )
  return (
    <div className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2 rounded-panel border border-line bg-surface px-5 py-4">
      <Button look="main" icon="play" busy={begin.busy} onClick={() => begin.run()}>
        {t('begin')}
      </Button>
      <span className="min-w-0 flex-1 basis-56 text-small text-ink2">{t('beginText')}</span>
      {begin.error !== null && (
        <div className="w-full">
          <ErrorBox error={begin.error} />
        </div>
      )}
    </div>
  )
}

function Arrival({ step, signedIn }: { step: Step; signedIn: boolean }) {
  const t = useT('welcome')
  if (!step.done)
    return (
      <div
        role="status"
        className="mt-4 flex items-center gap-3 rounded-panel border border-dashed border-line2 px-5 py-4 text-ink2"
      >
        <span aria-hidden className="size-2 animate-pulse rounded-full bg-accent" />
        {t('waiting')}
      </div>
    )
  const d = step.detail
  const failed = (d.attempts ?? 1) - 1
  const provider = d.provider ?? ''
  return (
    <div role="status" className="mt-4 animate-appear rounded-panel border border-good bg-surface px-5 py-4">
      <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
        <Tag tone="good">
          <Icon name="check" size={14} />
          {t('arrived')}
        </Tag>
        {d.model && <span className="font-medium">{d.model}</span>}
        {provider && (
          <span className="text-small text-ink2">
            {failed > 0 ? t('answeredAfter', { provider, n: failed }) : t('answeredBy', { provider })}
          </span>
        )}
        {d.cost !== undefined && <Money value={d.cost} className="ml-auto font-semibold" />}
      </p>
      {signedIn && (
        <div className="flex flex-wrap gap-2 pt-3 empty:hidden">
          {d.generation && hasPage('/calls/$id') && provider && (
            <LinkButton to={`/calls/${d.generation}`}>{t('why', { provider })}</LinkButton>
          )}
          {hasPage('/money') && <LinkButton to="/money">{t('statement')}</LinkButton>}
          {hasPage('/playground') && (
            <LinkButton to="/playground" look="quiet">
              {t('playground')}
            </LinkButton>
          )}
        </div>
      )}
    </div>
  )
}

function StepRow({
  n,
  done,
  next,
  title,
  last,
  children,
}: {
  n: number
  done?: boolean
  next?: boolean
  title: string
  last?: boolean
  children: ReactNode
}) {
  const t = useT('welcome')
  return (
    <li className="relative flex gap-3.5 pb-6">
      {!last && <span aria-hidden className="absolute top-[30px] bottom-1 left-[12.5px] w-px bg-line" />}
      <span
        aria-hidden
        className={
          `grid size-[26px] flex-none place-items-center rounded-full text-label font-semibold ` +
          `${done ? 'bg-good text-surface' : next ? 'bg-accent text-on-accent' : 'bg-sunken text-ink3'}`
        }
      >
        {done ? <Icon name="check" size={14} /> : n}
      </span>
      <div className="min-w-0 pt-0.5">
        <p className="font-semibold">
          {title}
          <span className="sr-only">, {done ? t('done') : t('notDone')}</span>
        </p>
        <div className="pt-0.5 text-small text-ink2">{children}</div>
      </div>
    </li>
  )
}
function StepText({ step: { id, done, detail } }: { step: Step }) {
  const t = useT('welcome')
  const some = (words: readonly string[]) =>
    words.length > 3 ? `${words.slice(0, 3).join(', ')} ${t('more', { n: words.length - 3 })}` : list(words)
  if (id === 'provider') {
    if (done) return <>{t('step_provider_done', { providers: some(detail.providers ?? []) })}</>
    return <>{t('step_provider_any')}</>
  }
  if (id === 'call' && done)
    return <>{t('step_call_done', { model: detail.model ?? '', amount: money(detail.cost) })}</>
  return <>{t.or(`step_${id}_${done ? 'done' : 'text'}`, '')}</>
}
