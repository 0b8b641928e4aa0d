/** What is sent with every attempt: a copy made when the call was made, or a stream, which can be read once. */
import * as Effect from "effect/Effect"
import * as forms from "../semantics/form.ts"
import { beforeDeadline, inTime } from "../semantics/time.ts"
import * as recorded from "./recorded.ts"

export interface Body {
  /** What one attempt gives to fetch. */
  readonly take: () => RequestInit
  /** Whether another attempt would send all of it again. */
  readonly replayable: () => boolean
  /** Somebody else reads it: fetch refuses it. */
  readonly taken?: true
  /** Its `content-type`, where fetch would not know it. */
  readonly type?: string
  /** What is sent in its place, where making that takes a moment; an attempt may take so many milliseconds. */
  readonly prepared?: (attempt: number) => Effect.Effect<Body>
  /** The call has failed: nothing will read it any more. */
  readonly cancel: (reason: unknown) => void
}

const ignore = (): void => {}
const always = (): boolean => true

const replayed = (init: RequestInit): Body => ({ take: () => init, replayable: always, cancel: ignore })

export const none: Body = /* @__PURE__ */ replayed({})

/** A body that fetch refuses. */
export const taken = (init: RequestInit): Body => ({ ...replayed(init), taken: true })

/** A body that can be read once and cannot be watched: sent once. */
const once = (init: RequestInit): Body => {
  let taken = false
  return {
    take: () => {
      taken = true
      return init
    },
    replayable: () => !taken,
    cancel: ignore
  }
}

type Source = ReadableStream<Uint8Array<ArrayBuffer>>

const recordedAs = ({ cancel, replayable, stream }: recorded.Recorded): Body => {
  // The key is not in the types of all runtimes, which want it all the same.
  return { take: () => ({ body: stream(), duplex: "half" } as RequestInit), replayable, cancel }
}

/** A stream, of which up to `limit` bytes are kept for another attempt. */
const streamed = (source: Source, limit: number): Body =>
  source.locked ? taken({ body: source }) : recordedAs(recorded.record(source, limit))

// What most requests send, and what a caller had in memory already.
const mostBytes = 1_048_576
// A text is there at once, and a stream that is not is sent as it comes.
const longest = 100

/** The body of a `Request`, of which nothing tells whether it was a text: sent as bytes where it ends soon. */
export const ofRequest = (source: Source, limit: number): Body => {
  if (source.locked) return taken({})
  const recording = recorded.record(source, limit)
  const body = recordedAs(recording)
  const whole = Effect.promise((signal) => recording.whole(mostBytes, signal))
  const prepared = (attempt: number) =>
    Effect.map(
      inTime(whole, beforeDeadline(Math.min(longest, attempt))),
      (bytes) => bytes === undefined ? body : replayed({ body: bytes })
    )
  return { ...body, prepared }
}

/** The body of a `Request` that does not show its stream: it has none that goes on while it is sent. */
export const ofHidden = (request: Request): Body => {
  const copied = async (): Promise<Body> => {
    try {
      const blob = await request.clone().blob()
      return blob.size === 0 ? none : replayed({ body: blob })
    } catch {
      // Fetch meets it again.
      return once({})
    }
  }
  return { ...none, prepared: () => Effect.promise(copied) }
}

/** A form that is written once, or goes as it is. */
const formed = (form: FormData): Body => {
  const body = replayed({ body: form })
  const prepared = (attempt: number) =>
    Effect.map(
      forms.written(form, attempt),
      (written) => written === undefined ? body : { ...replayed({ body: written.bytes }), type: written.type }
    )
  return { ...body, prepared }
}

// Bytes are copied as fetch does it: what the caller does with them afterwards is none of the request's business.
const bytesOf = (body: unknown): Uint8Array<ArrayBuffer> | undefined => {
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice()
  return body instanceof ArrayBuffer ? new Uint8Array(body).slice() : undefined
}

/** Any body of `fetch`'s second argument. */
export const fromInit = (body: unknown, limit: number): Body => {
  if (body === null || body === undefined) return none
  if (body instanceof ReadableStream) return streamed(body, limit)
  // All else goes through to fetch as it came, which knows what it takes.
  if (body instanceof URLSearchParams) return replayed({ body: new URLSearchParams(body) })
  if (body instanceof FormData) return formed(forms.copy(body))
  const init = { body: body as BodyInit }
  if (typeof body !== "object" || body instanceof Blob) return replayed(init)
  const bytes = bytesOf(body)
  return bytes === undefined ? once(init) : replayed({ body: bytes })
}
