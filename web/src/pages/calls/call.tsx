/** /calls/$id */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useRef, useState, type ReactNode } from 'react'
import { ApiError } from '../../api/client'
import { useT } from '../../i18n'
import { Button } from '../../ui/button'
import { Json } from '../../ui/code'
import { Copy } from '../../ui/copy'
import { Empty, ErrorBox, SkeletonRows } from '../../ui/feedback'
import { LinkButton, useIsPage } from '../../ui/link'
import { Tag } from '../../ui/marks'
import { Sheet } from '../../ui/overlay'
import { Page, PageHead } from '../../ui/page'
import { useShortcuts } from '../../ui/shortcuts'
import { When } from '../../ui/values'
import { againOf } from './again'
import { callQuery, isRecording, resultOf } from './data'
import { CallView } from './view'

export default function CallPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const t = useT('calls')
  const isPage = useIsPage()
  const client = useQueryClient()
  const q = useQuery(callQuery(id))
  const [json, setJson] = useState(false)
  const copyId = useRef<HTMLSpanElement>(null)
  useShortcuts({ c: () => copyId.current?.querySelector('button')?.click() })
  const call = q.isPlaceholderData ? undefined : q.data?.data
  const crumbs = (label: ReactNode) => [
    isPage('/calls') ? { label: t('title'), to: '/calls' } : { label: t('title') },
    { label },
  ]
  const reload = () => void client.resetQueries({ queryKey: callQuery(id).queryKey })
  if (!call) {
    const recording = isRecording(q.failureReason)
    const missing = q.error instanceof ApiError && q.error.status === 404 && !recording
    return (
      <Page>
        <PageHead
          title={missing ? t('missing') : recording ? t('recording') : t('one')}
          crumbs={crumbs(id)}
        />
        {recording ? (
          <div role="status">
            <Empty
              icon="clock"
              title={t('recording')}
              {...(q.isError
                ? {
                    action: (
                      <Button icon="refresh" onClick={reload}>
                        {t('again')}
                      </Button>
                    ),
                  }
                : {})}
            >
              {q.isError ? t('recordingLong') : t('recordingText')}
            </Empty>
          </div>
        ) : missing ? (
          <Empty
            icon="search"
            title={id}
            {...(isPage('/calls') ? { action: <LinkButton to="/calls">{t('toCalls')}</LinkButton> } : {})}
          >
            {t('missingText')}
          </Empty>
        ) : q.error ? (
          <ErrorBox error={q.error} onRetry={reload} />
        ) : (
          <SkeletonRows rows={8} />
        )}
      </Page>
    )
  }
  const result = resultOf(t, { status: call.status, result: call.result, attempts: call.attempts.length })
  const model = call.model ?? call.model_asked
  const again = againOf(call)
  return (
    <Page>
      <PageHead
        title={<span translate="no">{model}</span>}
        name={model}
        crumbs={crumbs(<When at={call.created_at} form="full" />)}
        note={
          <>
            <Tag tone={result.tone}>{result.text}</Tag>
            {call.own_key && (
              <>
                {' '}
                <Tag tone="accent">{t('ownKey')}</Tag>
              </>
            )}
          </>
        }
      >
        <code className="text-small break-all text-ink3">{call.id}</code>
        <span ref={copyId}>
          <Copy text={call.id}>{t('copyId')}</Copy>
        </span>
        {again && isPage(again.to) && (
          <LinkButton
            small
            icon="play"
            to={again.to}
            search={again.search}
            title={t(again.search.again ? 'runAgainText' : 'runAgainHelp')}
          >
            {t('runAgain')}
          </LinkButton>
        )}
        <Button small icon="json" onClick={() => setJson(true)}>
          {t('json')}
        </Button>
      </PageHead>
      <CallView call={call} />
      <Sheet
        wide
        open={json}
        onOpenChange={setJson}
        title={t('jsonTitle')}
        footer={<Copy text={JSON.stringify(call, null, 2)}>{t('copyJson')}</Copy>}
      >
        <Json value={call} open={2} />
      </Sheet>
    </Page>
  )
}
