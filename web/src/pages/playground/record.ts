/** Recordings from the microphone. They stay in this tab, and end by themselves before they are too large to be sent. */

export interface Limits {
  /** Milliseconds */
  readonly longest: number
  /** Bytes, as the browser packs them */
  readonly largest: number
}
export interface Recording {
  /** Ends it; the same file however often it is asked for. */
  stop(): Promise<File>
  /** Ends it and throws it away. */
  cancel(): void
  /** What is heard, for showing how loud it is */
  readonly stream: MediaStream
}
export type Refused = 'microphoneRefused' | 'microphoneNone' | 'microphoneBusy' | 'microphoneNever'
/** Why there is no recording, as the key of a message. */
export function whyNot(e: unknown): Refused {
  switch (e instanceof DOMException ? e.name : '') {
    case 'NotAllowedError':
    case 'SecurityError':
      return 'microphoneRefused'
    case 'NotFoundError':
    case 'OverconstrainedError':
      return 'microphoneNone'
    case 'NotReadableError':
    case 'AbortError':
      return 'microphoneBusy'
    default:
      return 'microphoneNever'
  }
}
/** Browsers hand over what they have recorded in pieces of so many milliseconds. */
const piece = 1000

/** Records until it is told to stop, or `limits` are reached: then `onFull` is told, and stop() gives what there is. Throws what whyNot() explains. */
export async function record(limits: Limits, onFull: () => void): Promise<Recording> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true })
  const end = () => {
    for (const track of stream.getTracks()) track.stop()
  }
  let recorder: MediaRecorder
  try {
    recorder = new MediaRecorder(stream)
  } catch (e) {
    end()
    throw e
  }
  const pieces: Blob[] = []
  let size = 0,
    largest = 0,
    full = false
  const done = new Promise<File>((resolve) => {
    recorder.onstop = () => {
      end()
      const type = (recorder.mimeType || 'audio/webm').split(';')[0]!
      resolve(
        new File(
          pieces,
          `recording.${type.includes('mp4') ? 'm4a' : type.includes('ogg') ? 'ogg' : 'webm'}`,
          { type },
        ),
      )
    }
  })
  recorder.ondataavailable = (e) => {
    if (size + e.data.size > limits.largest) full = true
    else {
      pieces.push(e.data)
      size += e.data.size
      largest = Math.max(largest, e.data.size)
    }
    // The next piece must fit, too.
    full ||= pieces.length * piece >= limits.longest || size + largest > limits.largest
    if (full && recorder.state === 'recording') {
      recorder.stop()
      onFull()
    }
  }
  recorder.start(piece)
  return {
    stream,
    stop: () => {
      if (recorder.state !== 'inactive') recorder.stop()
      return done
    },
    cancel: () => {
      recorder.onstop = null
      recorder.ondataavailable = null
      if (recorder.state !== 'inactive') recorder.stop()
      pieces.length = 0
      end()
    },
  }
}
