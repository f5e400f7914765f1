/** How loud the microphone is while it records, and in words when nothing is heard. Loaded with the first recording. */
import { useEffect, useState } from 'react'
import { useT } from '../../i18n'

/** Listens to how loud a stream is. Speech is at about a tenth of what fits, so that the root is shown. */
function meter(stream: MediaStream): { level: () => number | null; end: () => void } {
  if (typeof AudioContext === 'undefined') return { level: () => null, end: () => {} }
  try {
    const context = new AudioContext(),
      ear = context.createAnalyser()
    ear.fftSize = 1024
    context.createMediaStreamSource(stream).connect(ear)
    const wave = new Float32Array(ear.fftSize)
    return {
      level: () => {
        ear.getFloatTimeDomainData(wave)
        return Math.min(1, Math.sqrt(Math.max(...wave.map(Math.abs))))
      },
      end: () => {
        void context.close()
      },
    }
  } catch {
    return { level: () => null, end: () => {} }
  }
}

/** Milliseconds without a sound after which it is said. */
const quietFor = 4000
export default function Loudness({ stream }: { stream: MediaStream }) {
  const t = useT('playground')
  const [now, set] = useState<number | null>(0)
  const [silent, setSilent] = useState(false)
  useEffect(() => {
    const sound = meter(stream)
    let heard = Date.now()
    const timer = setInterval(() => {
      const v = sound.level()
      set(v)
      if (v === null || v > 0.05) heard = Date.now()
      setSilent(Date.now() - heard > quietFor)
    }, 100)
    return () => {
      clearInterval(timer)
      sound.end()
    }
  }, [stream])
  if (now === null) return null
  return (
    <>
      <span
        role="meter"
        aria-label={t('level')}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(now * 100)}
        className="h-1.5 w-16 overflow-hidden rounded-full border border-line2 bg-sunken"
      >
        <span className="block h-full bg-accent" style={{ width: `${Math.round(now * 100)}%` }} />
      </span>
      {silent && (
        <span role="status" className="text-small whitespace-nowrap text-warn">
          {t('silent')}
        </span>
      )}
    </>
  )
}
