/** What is sent with every attempt: a copy made when the call was made, or a stream, which can be read once. */
import * as recorded from "./recorded.ts"

export interface Body {
  /** What one attempt gives to fetch. */
  readonly take: () => RequestInit
  /** Whether another attempt would send all of it again. */
  readonly replayable: () => boolean
  /** Somebody else reads it: fetch refuses it. */
  readonly taken?: true
  /** The call has failed: nothing will read it any more. */
  readonly cancel: (reason: unknown) => void
}

const ignore = (): void => {}
const always = (): boolean => true

const replayed = (init: RequestInit): Body => ({ take: () => init, replayable: always, cancel: ignore })

export const none: Body = /* @__PURE__ */ replayed({})

/** The body of somebody else, for fetch to refuse. */
export const taken = (init: RequestInit): Body => ({ ...replayed(init), taken: true })

/** A body that can be read once and cannot be watched: sent once. */
export const once = (init: RequestInit): Body => {
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

/** A stream, of which up to `limit` bytes are kept for another attempt. */
export const streamed = (source: ReadableStream<Uint8Array<ArrayBuffer>>, limit: number): Body => {
  if (source.locked) return taken({ body: source })
  const { cancel, replayable, stream } = recorded.record(source, limit)
  // The key is not in the types of all runtimes, which want it all the same.
  return { take: () => ({ body: stream(), duplex: "half" } as RequestInit), replayable, cancel }
}

const copyOf = (form: FormData): FormData => {
  const copy = new FormData()
  form.forEach((value, name) =>
    typeof value === "string" ? copy.append(name, value) : copy.append(name, value, value.name)
  )
  return copy
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
  if (body instanceof FormData) return replayed({ body: copyOf(body) })
  const init = { body: body as BodyInit }
  if (typeof body !== "object" || body instanceof Blob) return replayed(init)
  const bytes = bytesOf(body)
  return bytes === undefined ? once(init) : replayed({ body: bytes })
}
